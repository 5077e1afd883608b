#!/usr/bin/env bash
# Prefill and decode servers, each assembled as one string.
PREFILL="CACHE_DIR=${CACHE_ROOT} ${PREFILL_ENV} python3 -m sglang.launch_server \
    --model-path ${MODEL} \
    --disaggregation-mode prefill --tp-size 8 ${PREFILL_FLAGS}"
DECODE="python3 -m sglang.launch_server --model-path ${MODEL} --disaggregation-mode decode"
if is_multinode; then
  PREFILL="$PREFILL --nnodes ${NODES} --node-rank 0"
fi
DECODE+=" --tp-size 16"
setsid bash -c "$PREFILL" > prefill.log 2>&1 &
eval "$DECODE > decode.log 2>&1 &"
wait
