#!/bin/bash
# A line that grows in loops and in more branches than are told apart: its beginning is known.
CMD="LOG=${LOG:-1} \
  sglang serve org/a --tp-size 8"
for arg in $EXTRA; do CMD="$CMD $arg"; done
eval "$CMD --port 1"
LINE="vllm serve org/b --tensor-parallel-size 2"
for flag in A B C D E; do
  [ -n "${!flag}" ] && LINE="$LINE --x-$flag '${!flag}'"
done
[ -n "$F" ] && LINE+=" --x-f"
eval "$LINE"
ARGS=(--model-path org/c)
while read -r one; do ARGS+=("$one"); done < flags.txt
python3 -m sglang.launch_server "${ARGS[@]}" --tp-size 4
