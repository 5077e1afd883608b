case "$MODE" in
  low) SERVER_ARGS="--attention-backend fa3 --page-size 1" ;;
  mid|high) SERVER_ARGS="--attention-backend flashinfer" ;;
  *) SERVER_ARGS="" ;;
esac
nsys profile --output report --trace cuda python -m sglang.launch_server $SERVER_ARGS --port 30000 &
