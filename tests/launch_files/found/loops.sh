for TP in 4 8; do
  python3 -m sglang.launch_server --model-path m --tp $TP
done
for CONC in $(seq 1 4); do sglang serve m --max-running-requests $CONC; done
ARGS=()
for one in --a --b; do ARGS+=("$one"); done
until sglang serve m "${ARGS[@]}"; do sleep 1; done
if ! sglang serve n; then exit 1; fi
