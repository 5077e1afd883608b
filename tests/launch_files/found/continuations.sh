FOO=1 BAR=two python3 -m sglang.launch_server --model-path $MODEL --tp-size 8 --host 0.0.0.0 \
  --attention-backend flashinfer --page-size 64 \
  $EXTRA > $LOG 2>&1 &
SERVER=$!
