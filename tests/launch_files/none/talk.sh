# python3 -m sglang.launch_server --in-a-comment 1
usage() {
  echo "Usage: python3 -m sglang.launch_server --model-path M"
  cat <<EOF
  python3 -m sglang.launch_server --in-usage 1
EOF
}
USAGE="Usage: python3 -m sglang.launch_server --model-path M"
log "python3 -m sglang.launch_server --logged 1"
printf '%s\n' "sglang serve m --tp 8"
echo "sglang serve m --tp 8" | tee -a notes.txt
echo "python3 -m sglang.launch_server --tp 8" >> README.md
pkill -9 -f "python3 -m sglang.launch_server --tp 8"
pgrep -af "sglang serve m" || true
ps aux | grep "python3 -m sglang.launch_server --tp" | grep -v grep | awk '{print $2}' | xargs kill
if pgrep -f 'sglang.launch_server' > /dev/null; then sleep 1; fi
kill $(ps aux | grep 'sglang serve' | awk '{print $2}')
pip install "sglang[all]==0.5.18" vllm
uv pip install sglang
conda install -c conda-forge sglang
git clone https://github.com/sgl-project/sglang && cd sglang
python3 -m sglang.bench_serving --backend sglang --num-prompts 100
python3 -m sglang.bench_one_batch_server --model-path m --tp 8
python3 -m sglang.check_env
python3 -m sglang_router.launch_router --worker-urls http://a
python3 -m sglang.launch_server --help
sglang --version
which sglang && command -v vllm
docker pull lmsysorg/sglang:v0.5.18
docker build -t me/sglang .
docker run --rm lmsysorg/sglang:v0.5.18 nvidia-smi
sed -i 's/sglang serve m/sglang serve n/' run.sh
trap 'pkill -f "sglang serve m --tp 8"' EXIT
[[ "$CMD" == "sglang serve m --tp 8" ]] && exit 1
curl -d '{"prompt": "python3 -m sglang.launch_server --tp 8"}' localhost
alias serve='echo sglang serve'
: "python3 -m sglang.launch_server --tp 8"
python3 -c 'print("python3 -m sglang.launch_server --tp 8")'
vllm bench serve --model m
