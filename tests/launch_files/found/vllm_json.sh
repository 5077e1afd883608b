export VLLM_USE_A2A=1
SPEC=(--speculative-config "{\"method\":\"mtp\",\"num_speculative_tokens\":$N}")
vllm serve deepseek-ai/DeepSeek-V3 --tensor-parallel-size 8 "${SPEC[@]}" &
sglang serve deepseek-ai/DeepSeek-V3 --json-model-override-args '{"a": {"b": [1, "c d"]}}'
