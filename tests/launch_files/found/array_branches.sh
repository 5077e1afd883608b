set -euo pipefail
PARALLEL=( --tensor-parallel-size="$TP" --data-parallel-size=1 )
EXTRA=()
if [[ "${DP_ATTENTION}" == true ]]; then
  PARALLEL=( --tensor-parallel-size="$TP" --data-parallel-size="$TP" --enable-dp-attention )
fi
if (( CONC > 64 )); then RATIO=0.9; else RATIO=0.8; fi
python3 -m sglang.launch_server --model-path "$MODEL" "${PARALLEL[@]}" "${EXTRA[@]}" \
  --schedule-conservativeness 3.33 --mem-fraction-static "$RATIO" --port "${PORT:-30000}"
