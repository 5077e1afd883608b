"""Compares the calls of the decode adapters with the signatures in real wheels or unzipped trees.

Usage: python tools/check_adapters.py [--record FILE] WHEEL_OR_TREE...
Nothing of a wheel is imported. --record adds the signatures to rules/decode/signatures.json, from which the
tests read them; those of FlashInfer stand in rules/flashinfer and come from tools/extract_flashinfer.py.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from mlacheck.data import rules_root
from mlacheck.decode.backend import BACKENDS, load_backend
from mlacheck.decode.binding import unbound
from mlacheck.decode.problem import DecodeProblem
from mlacheck.decode.trial import Setting, draw_inputs, draw_shard
from mlacheck.probes.signature import Signature, SourceTree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mlacheck.decode.backend import Call

# Kernels that decode one query token a request.
SINGLE = ("triton", "vllm-cutlass")


def main() -> int:
    """Check every given release; 1 where a call does not fit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("releases", nargs="+", type=Path, metavar="WHEEL_OR_TREE")
    parser.add_argument("--record", type=Path, nargs="?", const=rules_root() / "decode" / "signatures.json")
    options = parser.parse_args()
    misfits = 0
    recorded: dict[str, dict[str, dict[str, list[str]]]] = {}
    for release in options.releases:
        with tempfile.TemporaryDirectory() as scratch:
            folder = release if release.is_dir() else unpacked(release, Path(scratch))
            version = version_of(folder)
            for name, call in every_call():
                package, _, path = call.function.partition(":")
                if not (folder / package).is_dir():
                    continue
                found = SourceTree(folder / package).signature(path)
                if not isinstance(found, Signature):
                    print(f"{package} {version}: {name}: {found.message}")
                    continue
                reason = unbound(found.parameters, call.arguments)
                print(f"{package} {version}: {name}: {path} {reason or 'binds'}")
                misfits += reason is not None
                kept = recorded.setdefault(package, {}).setdefault(version, {})
                kept[path] = list(found.parameters)
    if options.record:
        write(options.record, recorded)
    return 1 if misfits else 0


# The options that engine versions call a kernel with.
OPTIONS: dict[str, tuple[dict[str, Any], ...]] = {
    "trtllm_mla": ({}, {"lse": False}),
    "cutedsl_mla": ({}, {"dcp": False}),
    "tokenspeed_mla": ({}, {"pdl": False}, {"pdl": False, "runs": True}, {"pdl": False, "lse": False}),
    "vllm-triton": ({}, {"splits": 4, "mla": False}),
}


def every_call(dcp_size: int = 4, q_len: int = 4) -> Iterator[tuple[str, Call]]:
    """Give each adapter's calls for one shard, made on the CPU."""
    for name in BACKENDS:
        for options in OPTIONS.get(name, ({},)):
            backend = load_backend(name, options)
            called = name + "".join(f" {key}={value}" for key, value in options.items())
            for kv_dtype in ("fp8_e4m3", "bf16"):
                problem = DecodeProblem(
                    128, 512, 64, 0.1, page_size=64, dcp_size=dcp_size, interleave=16, kv_dtype=kv_dtype
                )
                setting = Setting((65,), dcp_size, q_len=1 if name in SINGLE else q_len)
                inputs = draw_inputs(problem, setting, torch.device("cpu"))
                for call in backend.calls(draw_shard(problem, setting, inputs, 0)):
                    yield f"{called} {kv_dtype}", call


def unpacked(wheel: Path, folder: Path) -> Path:
    """Unpack the Python files and the metadata of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(
            folder, [name for name in archive.namelist() if name.endswith((".py", "/METADATA"))]
        )
    return folder


def version_of(folder: Path) -> str:
    """Read the version of an unzipped wheel."""
    lines = next(folder.glob("*.dist-info/METADATA")).read_text(encoding="utf-8").splitlines()
    return next(line for line in lines if line.startswith("Version: ")).removeprefix("Version: ")


def write(path: Path, recorded: dict[str, dict[str, dict[str, list[str]]]]) -> None:
    """Add what was read to the table."""
    table = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for package, versions in recorded.items():
        if package != "flashinfer":
            table.setdefault(package, {}).update(versions)
    path.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
