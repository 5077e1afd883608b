cat > run.sh <<EOF
#!/bin/bash
python3 -m sglang.launch_server --model-path $MODEL --node-rank \$RANK
EOF
ssh node1 'bash -s' <<'EOF'
sglang serve one --tp 8
EOF
python3 - <<'EOF'
import subprocess
subprocess.run(["sglang", "serve", "two", "--tp", "4"])
EOF
kubectl apply -f - <<EOF
kind: Pod
spec:
  containers:
    - name: c
      command: [sglang, serve, three, --tp, "2"]
EOF
CMD=$(cat <<EOF
python3 -m sglang.launch_server --model-path four
EOF
)
$CMD
echo "sglang serve five --tp 1" > later.sh
tee job.slurm <<'EOF' > /dev/null
#!/bin/bash
#SBATCH -N 1
srun sglang serve six --tp 1
EOF
