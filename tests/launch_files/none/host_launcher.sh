docker run --rm -e DCP_SIZE="${DCP_SIZE:-$PREFILL_DCP_SIZE}" --entrypoint bash "lmsysorg/sglang:v0.5.18" /x/start_prefill.sh
