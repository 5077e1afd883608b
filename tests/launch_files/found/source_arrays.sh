source "$(dirname "$0")/common.sh"
ARGS=(
   --model-path deepseek-ai/DeepSeek-V3

   # --page-size 256

   --tp 8
)
python3 -m sglang.launch_server "${COMMON[@]}" "${ARGS[@]}"
