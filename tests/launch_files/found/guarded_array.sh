source /opt/settings.env
DCP_ARGS=()
[[ "${DCP_SIZE:-8}" -gt 1 ]] && DCP_ARGS=(--dcp-size "$DCP_SIZE")
exec python3 -m sglang.launch_server --model-path "$MODEL" --tp-size "$TP" \
  "${DCP_ARGS[@]}" --port "$PORT"
