"""Measures the errors of decode kernels here: the values that stand in mlacheck/decode/limits.py."""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import torch

from mlacheck.decode import decode_check
from mlacheck.decode.backend import Backend, Gpu, installed_version, load_backend, missing
from mlacheck.decode.check import Contract
from mlacheck.decode.problem import DecodeProblem
from mlacheck.decode.row import FAILS, UNSUPPORTED
from mlacheck.decode.trial import Convention

# The sizes of DeepSeek-V3.
CONFIG = {
    "num_attention_heads": 128,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "torch_dtype": "bfloat16",
    "rope_scaling": {"type": "yarn", "factor": 40, "mscale": 1.0, "mscale_all_dim": 1.0},
}


def problems(kv_dtype: str, count: int) -> list[DecodeProblem]:
    """Give the matrix of DCP and page sizes, then random problems."""
    found = [
        DecodeProblem.from_config(CONFIG, tp_size=dcp, dcp_size=dcp, page_size=page, kv_cache_dtype=kv_dtype)
        for dcp in (1, 2, 8)
        for page in (1, 32, 64)
    ]
    draw = random.Random(17)  # noqa: S311 - sizes of test problems
    for index in range(count):
        dcp = draw.choice((1, 2, 3, 4, 8))
        lengths = tuple(draw.randint(1, 2048) for _ in range(draw.randint(1, 6)))
        found.append(
            found[0].with_(
                heads=draw.choice((16, 32, 64, 128)),
                softmax_scale=draw.choice((192**-0.5, 0.135234)),
                dcp_size=dcp,
                page_size=draw.choice((1, 32, 64)),
                context_lengths=lengths,
                seed=index + 1,
            )
        )
    return found


class Tally:
    """Gathers errors by backend, KV dtype and quantity."""

    def __init__(self, out: Path) -> None:
        self._out = out.open("w", encoding="utf-8")
        self._right: dict[tuple[str, str, str], list[float]] = defaultdict(list)
        self._wrong_base: dict[tuple[str, str], list[float]] = defaultdict(list)
        self._bad = 0

    def check(self, name: str, problem: DecodeProblem, backend: Backend, gpu: Gpu | None) -> None:
        """Run the contract once as the kernel documents itself, and once merged in the other base."""
        device = torch.device("cuda" if gpu else "cpu")
        for row in Contract(problem, backend, gpu, device, Convention()).rows():
            self._out.write(
                json.dumps({"backend": name, "problem": problem.to_dict(), **row.to_dict()}) + "\n"
            )
            if row.state != "passes":
                self._bad += 1
                print("  ", name, problem.describe(), row.to_dict(), flush=True)
            if row.state in {FAILS, UNSUPPORTED}:
                continue
            for quantity, value in row.values.items():
                self._right[name, problem.kv_dtype, quantity].append(value)
        if problem.dcp_size > 1:
            other = "2" if name == "reference" else "e"
            rows = Contract(problem, backend, gpu, device, Convention(lse_base=other)).rows()
            values = [row.values["merged"] for row in rows if row.name == "merged" and row.values]
            self._wrong_base[name, problem.kv_dtype].extend(values)

    def report(self) -> None:
        """Print the worst and the median of every error."""
        print(f"rows that do not pass: {self._bad}")
        for key, values in self._right.items():
            print(*key, f"n {len(values)} median {statistics.median(values):.3g} max {max(values):.3g}")
        for kind, values in self._wrong_base.items():
            if values:
                print(
                    *kind,
                    f"merged in the wrong base: n {len(values)} min {min(values):.3g} max {max(values):.3g}",
                )
        self._out.close()


def whole(backend: str, **sizes: Any) -> None:
    """Run one check through its child process, as users do."""
    report = decode_check(
        CONFIG, backend=backend, on_progress=lambda text: print("    ", text, flush=True), **sizes
    )
    print(backend, report.backend_version, report.device, f"{report.seconds:.1f} s", report.description)
    for row in report.rows:
        print("  ", row.name, "|", row.state, "|", row.measured, "|", row.limit, "|", row.detail)
    sys.stdout.flush()


def main() -> None:
    """Measure every backend that can run here."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--random", type=int, default=12)
    parser.add_argument("--backends", default="reference,flashinfer-fa2,flashinfer-fa3")
    options = parser.parse_args()
    gpu = None
    if torch.cuda.is_available():
        major, minor = torch.cuda.get_device_capability()
        gpu = Gpu(torch.cuda.get_device_name(), major * 10 + minor)
    print(gpu, "torch", torch.__version__, flush=True)
    tally = Tally(options.out)
    for name in options.backends.split(","):
        backend = load_backend(name)
        if reason := missing(backend.requirements, gpu):
            print(name, reason)
            continue
        print(name, installed_version(backend.requirements))
        for kv_dtype in ("bf16", "fp8_e4m3"):
            began = time.monotonic()
            for problem in problems(kv_dtype, options.random):
                if reason := backend.unsupported(problem, gpu):
                    print("  ", kv_dtype, reason)
                    break
                tally.check(name, problem, backend, gpu)
            print(f"  {kv_dtype} {time.monotonic() - began:.1f} s", flush=True)
    tally.report()
    if gpu:
        whole("flashinfer", tp_size=8, dcp_size=8, page_size=1, context_len=131072)
        whole("flashinfer", tp_size=8, dcp_size=2, page_size=64, q_len=4, lse_base="e", empty_ranks="as-is")
        whole("flashinfer-fa2", tp_size=8, dcp_size=8, page_size=32, kv_cache_dtype="fp8_e4m3", target_sm=100)


if __name__ == "__main__":
    main()
