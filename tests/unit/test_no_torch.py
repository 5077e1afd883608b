"""A validate run must not load what a decode check or a rule build needs."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

CHECK = """
import json, sys
from mlacheck.cli import cli
try:
    cli({arguments!r})
except SystemExit as stop:
    code = stop.code
print(json.dumps([code, sorted(name for name in sys.modules if "." not in name)]), file=sys.stderr)
"""
HEAVY = {"torch", "flashinfer", "sglang", "vllm", "pydantic", "numpy", "transformers"}
LLAMA = "--model-path meta-llama/Llama-3.1-8B-Instruct"


@pytest.mark.parametrize(
    "arguments",
    [
        [
            "validate",
            "--args",
            LLAMA,
            "--gpu",
            "h200",
            "--engine-version",
            "0.5.18",
            "--flashinfer",
            "0.6.17",
        ],
        ["validate", "--args", LLAMA, "--gpu", "h200", "--engine-version", "0.5.18", "--format", "json"],
        [
            "validate",
            "--args",
            f"{LLAMA} --attention-backend nope",
            "--gpu",
            "h200",
            "--engine-version",
            "0.5.18",
        ],
        ["validate", "--help"],
        ["--help"],
    ],
)
def test_the_static_path_stays_light(arguments):
    # Once before, so that what is compiled on first use is there.
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", CHECK.format(arguments=arguments)],
            capture_output=True,
            check=True,
            timeout=120,
            text=True,
        )
    code, modules = json.loads(done.stderr.splitlines()[-1])
    assert code in {0, 1}
    assert HEAVY.isdisjoint(modules), HEAVY.intersection(modules)
