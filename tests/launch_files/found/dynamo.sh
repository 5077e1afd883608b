while [[ $# -gt 0 ]]; do
  case "$1" in
    --port) PORT_BASE="$2"; shift 2 ;;
    *) echo "unknown $1"; exit 1 ;;
  esac
done
DYN_PORT=${PREFILL_PORT:-8081} \
python3 -m dynamo.sglang \
  --model-path Qwen/Qwen3-0.6B --tp 2 --page-size 64 \
  --disaggregation-mode prefill \
  $GPU_MEM_ARGS &
CUDA_VISIBLE_DEVICES=1 python3 -m dynamo.sglang --model-path Qwen/Qwen3-0.6B --disaggregation-mode decode --port $PORT_BASE
