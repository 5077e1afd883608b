env -u A B=1 nohup python3 -u -m sglang.launch_server --model-path a &
numactl --cpunodebind=0 --membind=0 python3 -m sglang.launch_server --model-path b
torchrun --nnodes 2 -m sglang.launch_server --model-path c
uv run --with sglang python -m sglang.launch_server --model-path d
conda run -n serve --no-capture-output python -m sglang.launch_server --model-path e
poetry run sglang serve f
docker run --rm --gpus all -e A=1 --env-file x.env -v /a:/b lmsysorg/sglang:v0.5.18 sglang serve g
docker run --gpus all lmsysorg/sglang:v0.5.19 --model-path h --tp 8
docker exec -it box bash -lc "cd /x && sglang serve i"
kubectl exec pod -- sglang serve j
tmux new-session -d -s one 'sglang serve k'
tmux send-keys -t two "sglang serve l" C-m
sbatch --wrap="sglang serve m --tp 8"
ssh -p 22 host "cd /x; nohup sglang serve n > log 2>&1 &"
sudo -E env C=1 python3 -m sglang.launch_server --model-path o
timeout 3600 stdbuf -oL sglang serve p 2>&1 | ts | tee log
(cd /x && sglang serve q) || true
{ sglang serve r; } > log
PID=$(sglang serve s > log & echo $!)
nsys profile -o r --force-overwrite true -- sglang serve t
python3 /sgl-workspace/sglang/python/sglang/launch_server.py --model-path u
xvfb-run -a sglang serve w; sglang serve x && echo done
apptainer exec --nv image.sif python3 -m sglang.launch_server --model-path y
srun --container-image=lmsysorg/sglang:v0.5.18 --mpi=pmix sglang serve z
