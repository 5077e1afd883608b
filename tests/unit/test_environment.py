"""Environment variables that an engine does not read."""

from __future__ import annotations

import json

import pytest
from extract_environment import merged, read

from mlacheck.cases import Cases
from mlacheck.data import rules_root
from mlacheck.environment import unread
from mlacheck.probes.engine import ENGINES, entry_points, recorded_versions

VERSIONS = ("1", "2", "3")


@pytest.mark.parametrize(
    ("name", "engine", "version", "said"),
    [
        ("SGLANG_ENABLE_JIT_DEEPGEM", "sglang", "0.5.23", "did you mean SGLANG_ENABLE_JIT_DEEPGEMM?"),
        ("SGLANG_ENABLE_JIT_DEEPGEMM", "sglang", "0.5.23", ""),
        ("SGL_ENABLE_JIT_DEEPGEMM", "sglang", "0.5.15", ""),
        ("SGLANG_CI_VALIDATE_VERBOSE", "sglang", "0.5.23", "which 0.5.15 to 0.5.17 read"),
        ("SGLANG_CI_VALIDATE_VERBOSE", "sglang", "0.5.16", ""),
        ("VLLM_USE_FLASHINFER_SAMPLERS", "vllm", "0.33.0", "did you mean VLLM_USE_FLASHINFER_SAMPLER?"),
        ("SGLANG_IMAGE", "sglang", "0.5.23", ""),
        ("VLLM_MODEL", "vllm", "0.33.0", ""),
        ("VLLM_USE_FLASHINFER_SAMPLERS", "sglang", "0.5.23", ""),
        ("CUDA_VISIBLE_DEVICE", "sglang", "0.5.23", ""),
    ],
)
def test_what_is_told_of_a_name(name, engine, version, said):
    told = [one.message for one in unread([name], engine, version)]
    assert [said in one for one in told] == ([True] if said else []), told


def test_a_line_is_told_of_its_variables_once_its_version_is_known():
    case = {
        "args": ["--model-path", "meta-llama/Llama-3.1-8B-Instruct"],
        "env": {"SGLANG_ENABLE_JIT_DEEPGEM": "0"},
        "gpu": "h200",
        "flashinfer": "pin",
    }
    for version, verdict in (("0.5.23", "warning"), ("0.5.23.post1", "unknown")):
        report = Cases().report({**case, "engine_version": version})
        ids = {one.id for one in report.findings}
        assert (report.verdict, "MLA096" in ids) == (verdict, verdict == "warning")


@pytest.mark.parametrize("engine", ENGINES)
def test_the_recorded_names_are_of_recorded_versions(engine):
    table = json.loads((rules_root() / engine / "environment.json").read_text(encoding="utf-8"))
    versions = recorded_versions(engine)
    assert len(table["names"]) > 300
    for name, (first, last) in table["names"].items():
        assert versions.index(first) <= versions.index(last)
        assert name.startswith(tuple(entry_points(engine)["variables"]))


def test_a_release_is_added_to_what_is_recorded():
    old = {"names": {"E_KEPT": ["1", "2"], "E_GONE": ["1", "1"]}}
    assert merged(old, {"3": {"E_KEPT", "E_NEW"}}, VERSIONS) == {
        "E_GONE": ["1", "1"],
        "E_KEPT": ["1", "3"],
        "E_NEW": ["3", "3"],
    }


def test_names_are_read_from_every_source(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.py").write_text('E_ONE = 1; getenv("E_TWO"); MORE_E_THREE = 0\n')
    (tmp_path / "two.cu").write_text("// E_FOUR\n")
    (tmp_path / "three.md").write_text("E_FIVE\n")
    assert read(tmp_path, ("E_",)) == {"E_ONE", "E_TWO", "E_FOUR"}
