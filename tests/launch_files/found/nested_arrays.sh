PY="${VENV}/bin/python"
PAR=( --tp-size 8 )
[[ -n "$CACHE" ]] && CACHE_ARGS=( --enable-hierarchical-cache ) || CACHE_ARGS=()
CMD=( "$PY" -u -m sglang.launch_server --model-path "$MODEL" "${PAR[@]}" --speculative-algorithm EAGLE "${CACHE_ARGS[@]}" )
exec "${CMD[@]}"
