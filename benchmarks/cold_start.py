"""Compare one whole static run with `python -c "import click"`: the child's least CPU time, and memory.

python benchmarks/cold_start.py [PYTHON]      # PYTHON must have mlacheck installed
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from typing import Final

RUNS: Final = 15
LIMIT_RATIO: Final = 2.5
LIMIT_MB: Final = 150
LINE: Final = (
    "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp-size 8 --dcp-size 8 "
    "--attention-backend trtllm_mla --speculative-algorithm EAGLE"
)


def cpu_seconds(command: list[str]) -> float:
    """Give the least CPU time that the command took."""
    best = float("inf")
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        # Outside the checkout, so that an installed mlacheck is what runs.
        subprocess.run(command, stdout=subprocess.DEVNULL, check=False, cwd=tempfile.gettempdir())
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def main() -> int:
    """Print the ratio and the memory; fail above the limits."""
    python = sys.argv[1] if len(sys.argv) > 1 else sys.executable
    click = cpu_seconds([python, "-c", "import click"])
    target = ["--gpu", "b200", "--engine-version", "0.5.18"]
    run = cpu_seconds([python, "-m", "mlacheck", "validate", "--args", LINE, *target])
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    ratio = run / click
    print(f"click {click * 1e3:.0f} ms, mlacheck {run * 1e3:.0f} ms: {ratio:.2f} times (limit {LIMIT_RATIO})")
    print(f"peak memory {memory:.0f} MB (limit {LIMIT_MB})")
    return int(ratio > LIMIT_RATIO or memory > LIMIT_MB)


if __name__ == "__main__":
    sys.exit(main())
