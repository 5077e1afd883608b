ROLLOUT=( --sglang-mem-fraction-static 0.7 --sglang-enable-dp-attention )
ray job submit --address=http://127.0.0.1:8265 -- python3 train.py --context-parallel-size 2 ${ROLLOUT[@]}
