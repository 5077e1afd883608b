exec sglang serve \
  --model nvidia/DeepSeek-R1-NVFP4 --tp-size 4 \
  --attention-backend trtllm_mla
