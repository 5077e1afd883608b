"""Check 1,000 launch files in one process, as a repository may hold them: with a target named, and with none.

python benchmarks/files.py [PYTHON] [--keep FOLDER]      # PYTHON must have mlacheck installed
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

COUNT: Final = 1000
LIMIT_SECONDS: Final = 5.0
TARGET: Final = """
[profiles.sglang]
files = ["sglang/**"]
engine-version = "0.5.23"
gpu = "b200"
gpu-count = 8
[profiles.vllm]
files = ["vllm/**"]
engine-version = "0.33.0"
gpu = "b200"
gpu-count = 8
"""
MODELS: Final = (
    "deepseek-ai/DeepSeek-V3", "deepseek-ai/DeepSeek-V3.1", "deepseek-ai/DeepSeek-V3.2",
    "deepseek-ai/DeepSeek-R1-Distill-Llama-70B", "moonshotai/Kimi-K2-Instruct", "zai-org/GLM-4.6",
    "zai-org/GLM-4.5-Air-FP8", "Qwen/Qwen3-8B", "Qwen/Qwen3-32B", "Qwen/Qwen3-235B-A22B",
    "Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen3-Coder-480B-A35B-Instruct", "meta-llama/Llama-3.1-8B-Instruct",
    "meta-llama/Llama-3.1-70B-Instruct", "openai/gpt-oss-120b", "mistralai/Mistral-7B-Instruct-v0.3",
    "google/gemma-3-27b-it", "MiniMaxAI/MiniMax-M2",
)  # fmt: skip
# Nobody knows these: somebody's own weights, a folder of another machine.
STRANGE: Final = ("/models/{}", "/mnt/weights/{}", "acme/{}", "s3-cache/{}", "./checkpoints/{}")
NAMES: Final = ("chat", "coder", "support-bot", "reranker", "summaries", "legal", "router", "draft")
IMAGES: Final = {
    "sglang": ("lmsysorg/sglang:latest", "lmsysorg/sglang:v0.5.18-cu130", "lmsysorg/sglang:v0.5.22",
               "lmsysorg/sglang:v0.5.23-cu130", "registry.local/serving/sglang:prod"),
    "vllm": ("vllm/vllm-openai:latest", "vllm/vllm-openai:v0.33.0", "registry.local/serving/vllm:prod"),
}  # fmt: skip
# What real lines carry beside model and parallelism: a flag with its values; None is a switch.
FLAGS: Final[dict[str, dict[str, tuple[str | None, ...]]]] = {
    "sglang": {
        "--mem-fraction-static": ("0.8", "0.85", "0.9"), "--context-length": ("8192", "32768", "131072"),
        "--trust-remote-code": (None,), "--served-model-name": NAMES, "--enable-metrics": (None,),
        "--max-running-requests": ("64", "128", "256"), "--chunked-prefill-size": ("4096", "8192", "16384"),
        "--max-prefill-tokens": ("8192", "16384"), "--kv-cache-dtype": ("auto", "fp8_e4m3"),
        "--attention-backend": ("flashinfer", "triton", "fa3"),
        "--schedule-conservativeness": ("0.3", "1.0"), "--disable-radix-cache": (None,),
        "--tool-call-parser": ("qwen25", "deepseekv3"), "--log-level": ("info", "warning"),
        "--page-size": ("1", "64"), "--enable-mixed-chunk": (None,), "--sleep-on-idle": (None,),
        "--speculative-algorithm": ("NGRAM",), "--decode-log-interval": ("10", "40"),
    },
    "vllm": {
        "--gpu-memory-utilization": ("0.85", "0.9", "0.95"), "--max-model-len": ("8192", "32768", "131072"),
        "--trust-remote-code": (None,), "--served-model-name": NAMES, "--max-num-seqs": ("64", "128", "256"),
        "--max-num-batched-tokens": ("4096", "8192", "16384"), "--enable-prefix-caching": (None,),
        "--kv-cache-dtype": ("auto", "fp8"), "--enforce-eager": (None,), "--dtype": ("bfloat16", "auto"),
        "--tool-call-parser": ("hermes",), "--disable-log-requests": (None,), "--seed": ("0", "42"),
        "--uvicorn-log-level": ("info", "warning"), "--download-dir": ("/data/hf",),
    },
}  # fmt: skip
WRONG: Final = {
    "sglang": ("--tp-sizes 8", "--attention-backend flash", "--dp-size 3 --enable-dp-attention",
               "--page-size 0",
               "--dcp-size 8 --speculative-algorithm EAGLE --attention-backend trtllm_mla"),
    "vllm": ("--tensor-parallel 3 --tp 8", "--kv-cache-dtype fp9", "--decode-context-parallel-size 3",
             "--block-size 7"),
}  # fmt: skip
OTHER: Final = (
    ("notes.sh", "#!/bin/bash\nset -e\nfor i in 1 2; do\n  curl -s localhost:30000/health && break\ndone\n"),
    ("service.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {ports: [{port: 80}]}\n"),
    ("Dockerfile", 'FROM python:3.11-slim\nRUN pip install httpx\nCMD ["python", "client.py"]\n'),
    ("client.py", "import httpx\n\nprint(httpx.get('http://localhost:30000/v1/models').json())\n"),
    ("values.json", '{"replicas": 2, "resources": {"cpu": "4"}}\n'),
)  # fmt: skip


class Corpus:
    """Makes files, the same ones every time."""

    def __init__(self, seed: int = 20) -> None:
        self.random = random.Random(seed)  # noqa: S311 - not for secrets

    def write(self, folder: Path, count: int = COUNT) -> None:
        """Write them."""
        for number in range(count):
            engine = "sglang" if self.random.random() < 0.7 else "vllm"
            name, text = self.random.choice(OTHER) if self.random.random() < 0.1 else self._launch(engine)
            path = folder / engine / f"team{number % 40}" / f"{number}" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def _words(self, engine: str) -> list[str]:
        """Give flags and values of one line: a third of the models unknown, a tenth of the lines wrong."""
        choose = self.random.choice
        model = choose(MODELS)
        if self.random.random() < 0.33:
            model = choose(STRANGE).format(f"{choose(NAMES)}-{self.random.randint(1, 40)}b")
        words = ["--model-path", model] if engine == "sglang" else [model]
        words += ["--tp" if engine == "sglang" else "--tensor-parallel-size", choose("12488")]
        for flag in self.random.sample(sorted(FLAGS[engine]), self.random.randint(1, 7)):
            value = choose(FLAGS[engine][flag])
            words += [flag] if value is None else [flag, value]
        if self.random.random() < 0.1:
            words += choose(WRONG[engine]).split()
        return [*words, "--port", str(self.random.randint(8000, 9000))]

    def _launch(self, engine: str) -> tuple[str, str]:
        entry = ["python3", "-m", "sglang.launch_server"] if engine == "sglang" else ["vllm", "serve"]
        words = self._words(engine)
        make = self.random.choice((self._script, self._script, self._slurm, self._dockerfile, self._compose,
                                   self._manifest, self._manifest, self._json, self._python))  # fmt: skip
        return make(engine, entry, words)

    def _script(self, _engine: str, entry: list[str], words: list[str]) -> tuple[str, str]:
        at = next(at for at, word in enumerate(words) if "/" in word)
        body = [*words[:at], '"$MODEL"', *words[at + 1 :]]
        lines = " \\\n    ".join([" ".join(entry), *_grouped(body)])
        tail = " 2>&1 | tee server.log" if self.random.random() < 0.3 else ""
        return "serve.sh", (
            f"#!/usr/bin/env bash\nset -euo pipefail\nMODEL=${{MODEL:-{words[at]}}}\n"
            f"export HF_HOME=/data/hf\n\n# start the server\n{lines}{tail}\n"
        )

    def _slurm(self, _engine: str, entry: list[str], words: list[str]) -> tuple[str, str]:
        gpu = self.random.choice(("gpu:8", "gpu:h200:8", "gpu:b200:4"))
        line = " ".join((*entry, *words))
        return "job.sbatch", (
            f"#!/bin/bash\n#SBATCH --job-name=serve\n#SBATCH --nodes=1\n#SBATCH --gres={gpu}\n"
            f"module load cuda\nsource .venv/bin/activate\nsrun bash -c '{line}' &\nwait\n"
        )

    def _dockerfile(self, engine: str, entry: list[str], words: list[str]) -> tuple[str, str]:
        image = self.random.choice(IMAGES[engine])
        return "Dockerfile", (
            f"FROM {image}\nENV HF_HOME=/data\nRUN pip install boto3\n"
            f"ENTRYPOINT {json.dumps(entry)}\nCMD {json.dumps(words)}\n"
        )

    def _compose(self, engine: str, entry: list[str], words: list[str]) -> tuple[str, str]:
        image = self.random.choice(IMAGES[engine])
        return "compose.yaml", (
            f"services:\n  llm:\n    image: {image}\n    command: >\n      {' '.join((*entry, *words))}\n"
            "    ports: ['8000:8000']\n    environment: {HF_HOME: /data}\n    deploy:\n      resources:\n"
            "        reservations:\n          devices: [{driver: nvidia, count: 8, capabilities: [gpu]}]\n"
        )

    def _manifest(self, engine: str, entry: list[str], words: list[str]) -> tuple[str, str]:
        image = self.random.choice(IMAGES[engine])
        select = self.random.choice(("", "", "      nodeSelector: {nvidia.com/gpu.product: NVIDIA-H200}\n"))
        args = "".join(f"            - {json.dumps(word)}\n" for word in words)
        return "deployment.yaml", (
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: llm, labels: {app: llm}}\nspec:\n"
            "  replicas: 1\n  selector: {matchLabels: {app: llm}}\n  template:\n    metadata:\n"
            f"      labels: {{app: llm}}\n    spec:\n{select}      containers:\n        - name: server\n"
            f"          image: {image}\n          command: {json.dumps(entry)}\n          args:\n{args}"
            "          ports: [{containerPort: 8000}]\n          resources: {limits: {nvidia.com/gpu: 8}}\n"
            "          readinessProbe: {httpGet: {path: /health, port: 8000}}\n"
        )

    def _json(self, _engine: str, entry: list[str], words: list[str]) -> tuple[str, str]:
        return "server.json", json.dumps({"name": "llm", "command": [*entry, *words], "env": {}}, indent=2)

    def _python(self, _engine: str, entry: list[str], words: list[str]) -> tuple[str, str]:
        listed = ",\n    ".join(json.dumps(word) for word in (*entry, *words))
        return "start.py", f"import subprocess\n\nsubprocess.run([\n    {listed},\n], check=True)\n"


def _grouped(words: list[str]) -> list[str]:
    """Put a flag and its values on one line."""
    lines: list[str] = []
    for word in words:
        if word.startswith("--") or not lines:
            lines.append(word)
        else:
            lines[-1] += f" {word}"
    return lines


def cpu_seconds(command: list[str], folder: Path) -> float:
    """Give the CPU time that a command takes, and stop where it does not run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Print the seconds of both runs; fail above the limit."""
    python = next((word for word in sys.argv[1:2] if not word.startswith("-")), sys.executable)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(sys.argv[-1] if "--keep" in sys.argv else name)
        Corpus().write(folder)
        config = folder / "target.toml"
        config.write_text(TARGET, encoding="utf-8")
        click = min(cpu_seconds([python, "-c", "import click"], folder) for _ in range(5))
        print(f"import click {click * 1e3:.0f} ms")
        worst = 0.0
        for title, flags in (("nothing named", ["--no-config"]), ("named", ["--config-file", str(config)])):
            command = [python, "-m", "mlacheck", "validate", *flags, "--format", "json", "sglang", "vllm"]
            cpu_seconds(command, folder)  # in a checkout the first run compiles the rules
            seconds = cpu_seconds(command, folder)
            worst = max(worst, seconds)
            times = f"{seconds / click:.0f} times import click"
            print(f"{COUNT} files, {title}: {seconds:.2f} s (limit {LIMIT_SECONDS}), {times}")
    return int(worst > LIMIT_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
