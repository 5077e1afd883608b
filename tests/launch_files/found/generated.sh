#!/bin/bash
# Commands that other programs get: through pipes, files, strings and inputs.
{
    echo "export SGLANG_X=1"
    cat <<'SCRIPT'
python3 -m sglang.launch_server --model-path org/a --tp-size 8
SCRIPT
} | ssh node1 bash -s
sudo tee /etc/systemd/system/b.service > /dev/null <<UNIT
[Service]
Environment=TP=4
ExecStart=/opt/venv/bin/python -m sglang.launch_server --model-path org/b --tp-size \${TP}
UNIT
printf '%s\n' '#!/bin/bash' 'exec vllm serve org/c --tensor-parallel-size 2' > run.sh
echo 30000 30001 | xargs -n1 -P2 python3 -m sglang.launch_server --model-path org/d --port
parallel -j2 python3 -m sglang.launch_server --model-path org/e --port {} ::: 30000 30001
screen -S f -X stuff 'vllm serve org/f --port 8000\n'
python3 -c 'import subprocess; subprocess.run("vllm serve org/g --port 8001", shell=True)'
tmux send-keys -t h "vllm serve org/h --port 8002" C-m
