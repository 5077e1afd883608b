ENV_VARS=( SGLANG_LOG=1 "NCCL_DEBUG=$LEVEL" )
CMD=(
  env "${ENV_VARS[@]}"
  python3 -m sglang.launch_server
  # the reason for this flag
  --model-path deepseek-ai/DeepSeek-V3   # model
  --tp-size "$TP"

  # --dcp-size 8
  --page-size 64
)
printf '%q ' "${CMD[@]}" | tee command.txt
cat <<USAGE
  python3 -m sglang.launch_server --not-a-launch 1
USAGE
"${CMD[@]}" >> server.log 2>&1 &
