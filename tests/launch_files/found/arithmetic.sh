N=4
sglang serve deepseek-ai/DeepSeek-V3 --tp $((N * 2)) --max-running-requests $((CONC*10)) \
  --chunked-prefill-size $(( (N + 4) * 1024 / 2 )) ${SUFFIX} | tee server.log &
