#!/bin/bash
# Lines that name a launch without making one.
log_info "python3 -m sglang.launch_server --model-path org/a --tp-size 8"
wait_for_server "vllm serve org/a --port 8000"
notify-send 'vllm serve org/a --port 8000 is up'
ps aux | grep 'sglang.launch_server' | awk '{print $2}' | xargs -r kill -9
ssh node1 "pkill -f 'sglang.launch_server --model-path org/a'"
trap 'pkill -f "vllm serve org/a --port 1"' EXIT
python3 -m sglang.bench_serving --backend sglang --port 30000
python3 -m sglang_router.launch_router --worker-urls http://a:1 --policy cache_aware
vllm bench serve --backend vllm --model org/a --port 8000
vllm run-batch -i in -o out --model org/a
helm upgrade --install vllm vllm/vllm-stack -f values.yaml
