"""Environment variables that an engine does not read."""

from __future__ import annotations

import json

import pytest
from extract_environment import merged, merged_forms, read, readings

from mlacheck.cases import Cases
from mlacheck.data import rules_root
from mlacheck.environment import misread, unread
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


SOURCE = """
def cache():
    return bool(int(os.getenv("E_CACHE", "0")))

environment_variables: dict[str, Callable[[], Any]] = {
    "E_TEXT": lambda: os.getenv("E_TEXT", ""),
    "E_COUNT": lambda: int(os.environ["E_COUNT"]) if "E_COUNT" in os.environ else None,
    "E_SHARE": lambda: float(os.getenv("E_SHARE", "0.5")),
    "E_CACHE": cache,
    "E_KIND": env_with_choices("E_KIND", "a", ["a", "b"], case_sensitive=False),
    "E_KINDS": env_set_with_choices("E_KINDS", default=[], choices=["a"]),
    "E_LENGTH": lambda: int(len(os.getenv("E_LENGTH", ""))),
}
"""


def test_forms_are_read_from_a_table_of_readers():
    assert readings(SOURCE) == {
        "E_COUNT": "int",
        "E_SHARE": "float",
        "E_CACHE": "int",
        "E_KIND": {"words": ["a", "b"], "cased": False},
        "E_KINDS": {"words": ["a"], "many": True},
    }


def test_forms_alike_in_neighbouring_versions_are_one_span():
    old = {"values": {"E_A": [["1", "2", "int"]]}}
    assert merged_forms(old, {"3": {"E_A": "float", "E_B": "int"}}, VERSIONS) == {
        "E_A": [["1", "2", "int"], ["3", "3", "float"]],
        "E_B": [["3", "3", "int"]],
    }


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("VLLM_USE_DEEP_GEMM", "true", "VLLM_USE_DEEP_GEMM=true is no whole number"),
        ("VLLM_USE_DEEP_GEMM", " 1 ", None),
        ("VLLM_LOG_STATS_INTERVAL", "10s", "VLLM_LOG_STATS_INTERVAL=10s is no number"),
        (
            "VLLM_WORKER_MULTIPROC_METHOD",
            "spwan",
            "VLLM_WORKER_MULTIPROC_METHOD=spwan is none of spawn, fork",
        ),
        ("VLLM_FLOAT32_MATMUL_PRECISION", "HIGH", None),
        ("VLLM_GPT_OSS_SYSTEM_TOOL_MCP_LABELS", "container,", None),
        ("VLLM_ENGINE_ITERATION_TIMEOUT_S", "10m", None),
        ("VLLM_HOST_IP", "here", None),
    ],
)
def test_what_is_told_of_a_value(name, value, said):
    assert misread({name: value}, "vllm", "0.33.0") == said
