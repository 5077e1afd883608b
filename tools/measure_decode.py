"""Measures decode kernels here, for mlacheck/decode/limits.py and the table of docs/decode-check.md.

Usage: python tools/measure_decode.py OUT.jsonl [--backends NAMES] [--random N]
       python tools/measure_decode.py OUT.jsonl --engine NAME --versions V,... --backends NAMES
Writes every row of every contract as JSON, and prints the worst values. With --engine the backends are the
engine's own, called and merged as each of the versions does, with one token and with 16 going to a rank.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from mlacheck.decode.backend import load_backend
from mlacheck.decode.check import Contract
from mlacheck.decode.contract import row_names
from mlacheck.decode.convention import Convention
from mlacheck.decode.launch import Overrides, Posed, pose_kernel
from mlacheck.decode.problem import DecodeProblem
from mlacheck.decode.requirements import Gpu, installed, missing, wrong_gpu

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mlacheck.decode.backend import Backend

# The sizes of DeepSeek-V3.
CONFIG = {
    "num_attention_heads": 128,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "torch_dtype": "bfloat16",
    "rope_scaling": {"type": "yarn", "factor": 40, "mscale": 1.0, "mscale_all_dim": 1.0},
}
BACKENDS = "flashinfer-fa2,flashinfer-fa3,flashmla"


def matrix() -> Iterator[DecodeProblem]:
    """Give every DCP size, page size, KV dtype and query length that is measured."""
    for kv_dtype in ("bf16", "fp8_e4m3"):
        for page in (1, 32, 64):
            for dcp in (1, 2, 4, 8):
                for q_len in (1, 4):
                    yield DecodeProblem.from_config(
                        CONFIG,
                        tp_size=dcp,
                        dcp_size=dcp,
                        page_size=page,
                        kv_cache_dtype=kv_dtype,
                        q_len=q_len,
                    )


def random_problems(count: int) -> Iterator[DecodeProblem]:
    """Give problems of other sizes, the same ones each time."""
    draw = random.Random(17)  # noqa: S311 - sizes of test problems
    base = next(matrix())
    for index in range(count):
        yield base.with_(
            heads=draw.choice((16, 32, 64, 128)),
            softmax_scale=draw.choice((192**-0.5, 0.135234)),
            dcp_size=draw.choice((1, 2, 3, 4, 8)),
            page_size=draw.choice((1, 32, 64)),
            kv_dtype=draw.choice(("bf16", "fp8_e4m3")),
            context_lengths=tuple(draw.randint(1, 2048) for _ in range(draw.randint(1, 6))),
            seed=index + 1,
        )


def engine_matrix(engine: str, versions: Sequence[str], backend: str) -> Iterator[Posed]:
    """Give what a backend of an engine is posed in each version."""
    for version in versions:
        for kv_dtype in ("bfloat16", "fp8_e4m3"):
            for dcp, interleave, comm in (
                (1, 1, "ag_rs"),
                *((dcp, runs, comm) for dcp in (2, 8) for runs in (1, 16) for comm in ("ag_rs", "a2a")),
            ):
                for q_len in (1, 4):
                    sizes = {
                        "tp_size": dcp,
                        "dcp_size": dcp,
                        "interleave": interleave,
                        "page_size": 64,
                        "kv_cache_dtype": kv_dtype,
                        "comm": comm,
                        "q_len": q_len,
                    }
                    posed = pose_kernel(engine, version, backend, sizes, CONFIG, Overrides())
                    if isinstance(posed, Posed) and (posed.problem.q_len > 1) == (q_len > 1):
                        yield posed


class Tally:
    """Gathers rows, and the worst errors by backend, KV dtype and quantity."""

    def __init__(self, out: Path, gpu: Gpu | None, dtypes: set[str], skip: set[str]) -> None:
        self._out = out.open("w", encoding="utf-8")
        self._dtypes, self._skip = dtypes, skip
        self._gpu = gpu
        self._device = torch.device("cuda" if gpu else "cpu")
        self._worst: dict[tuple[str, ...], float] = defaultdict(float)
        self._least: dict[tuple[str, ...], float] = {}
        self._states: Counter[tuple[str, str]] = Counter()

    def check(
        self,
        backend: Backend,
        problem: DecodeProblem,
        part: str,
        convention: Convention = Convention(),  # noqa: B008 - frozen
    ) -> None:
        """Run the contract as an engine does; of a matrix, merge in the other base too."""
        if problem.kv_dtype not in self._dtypes or backend.unsupported(problem, self._gpu):
            return
        about = {
            "part": part,
            "backend": backend.name,
            "engine": convention.who,
            "comm": convention.comm,
            "problem": problem.to_dict(),
        }
        for row in Contract(problem, backend, self._gpu, self._device, convention).rows(skip=self._skip):
            self._write({**about, **row.to_dict()})
            self._states[backend.name, row.state] += 1
            expected = row.name == "causal mask" and problem.dcp_size > 1
            if row.state != "passes" and not expected:
                said = {name: value for name, value in row.to_dict().items() if value}
                print(" ", convention.who, convention.comm, problem.describe(), said, flush=True)
            for quantity, value in row.values.items():
                kind = "scaled" if row.name == "kv scales" else ""
                key: tuple[str, ...] = (backend.name, problem.kv_dtype, kind, quantity)
                if convention.engine and quantity == "merged":
                    key = (*key, convention.engine, convention.comm)
                self._worst[key] = max(self._worst[key], value)
            if expected and isinstance(row.measured, float):
                self._keep_least((backend.name, problem.kv_dtype, "plain causal mask"), row.measured)
        if problem.dcp_size > 1 and part == "matrix":
            self._other_base(backend, problem, about)

    def _other_base(self, backend: Backend, problem: DecodeProblem, about: dict[str, Any]) -> None:
        other = Convention(lse_base="2" if backend.traits.lse_base == "e" else "e")
        skip = set(row_names(problem)) - {"merged"}
        for row in Contract(problem, backend, self._gpu, self._device, other).rows(skip=skip):
            self._write({**about, **row.to_dict(), "name": "merged in the wrong base"})
            if isinstance(row.measured, float):
                self._keep_least((backend.name, problem.kv_dtype, "merged in the wrong base"), row.measured)

    def _keep_least(self, key: tuple[str, ...], value: float) -> None:
        self._least[key] = min(self._least.get(key, value), value)

    def _write(self, values: dict[str, Any]) -> None:
        self._out.write(json.dumps(values) + "\n")

    def report(self) -> None:
        """Print the states, the worst right values and the least wrong ones."""
        for state, count in sorted(self._states.items()):
            print(*state, count)
        for key, value in self._worst.items():
            print(*key, f"worst {value:.3g}")
        for key, value in self._least.items():
            print(*key, f"least {value:.3g}")
        self._out.close()


def main() -> int:
    """Measure every backend that can run here."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--random", type=int, default=200, help="random problems for each backend")
    parser.add_argument("--no-matrix", action="store_true", help="random problems only")
    parser.add_argument("--backends", default=BACKENDS)
    parser.add_argument("--kv", default="bf16,fp8_e4m3", help="KV dtypes")
    parser.add_argument("--skip", default="", help="rows to leave out, where one would end the process")
    parser.add_argument("--engine", help="an engine whose backends --backends names")
    parser.add_argument("--versions", default="", help="versions of that engine")
    options = parser.parse_args()
    gpu = None
    if torch.cuda.is_available():
        major, minor = torch.cuda.get_device_capability()
        gpu = Gpu(torch.cuda.get_device_name(), major * 10 + minor)
    print(gpu, "torch", torch.__version__, flush=True)
    skip = set(filter(None, options.skip.split(",")))
    tally = Tally(options.out, gpu, set(options.kv.split(",")), skip)
    for name in options.backends.split(","):
        if options.engine:
            for posed in engine_matrix(options.engine, options.versions.split(","), name):
                backend = load_backend(posed.adapter, posed.convention.options)
                if reason := missing(backend.requirements, gpu) or wrong_gpu(backend.requirements, gpu):
                    print(name, reason)
                    break
                tally.check(backend, posed.problem, "engine", posed.convention)
            continue
        backend = load_backend(name)
        if reason := missing(backend.requirements, gpu) or wrong_gpu(backend.requirements, gpu):
            print(name, reason)
            continue
        began = time.monotonic()
        for problem in () if options.no_matrix else matrix():
            tally.check(backend, problem, "matrix")
        matrix_s, began = time.monotonic() - began, time.monotonic()
        for problem in random_problems(options.random):
            tally.check(backend, problem, "random")
        print(
            name,
            installed(backend.requirements),
            f"matrix {matrix_s:.1f} s, random {time.monotonic() - began:.1f} s",
            flush=True,
        )
    tally.report()
    return 0


if __name__ == "__main__":
    sys.exit(main())
