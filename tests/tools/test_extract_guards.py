from __future__ import annotations

import json
import re

import extract_guards
import pytest
from engine_guards import Guard
from engine_source import Source

from mlacheck.finding import START_UP_PHASES
from mlacheck.ruleset.guards import guards_in
from mlacheck.ruleset.program import Step


def alone(version, digest="aaaa", *, says="no", number=1):
    row = ["ValueError", says, ["dcp_size!", "tp_size"], f"{version} {digest}"]
    files = {"srt/args.py": {"area": "arguments", "guards": {"check": [row] * number}}}
    return {"versions": [version], "files": files, "left_out": {version: {"reason": 2}}}


def folded(*each):
    data = {}
    for one in each:
        data = extract_guards.fold("sglang", data, one)
    return data


def rows(data):
    return data["files"]["srt/args.py"]["guards"]["check"]


def test_versions_of_one_condition_make_one_range_and_the_newest_stays_open():
    data = folded(alone("0.5.15"), alone("0.5.16"), alone("0.5.17", "bbbb"), alone("0.5.18", says="other"))
    assert [row[3:] for row in rows(data)] == [["0.5.15-0.5.16 aaaa", "0.5.17-0.5.17 bbbb"], ["0.5.18 aaaa"]]
    assert data["versions"] == ["0.5.15", "0.5.16", "0.5.17", "0.5.18"]
    found = {
        version: [(one.says, one.digest) for one in guards_in(data, version)] for version in data["versions"]
    }
    assert found["0.5.16"] == [("no", "aaaa")]
    assert found["0.5.17"] == [("no", "bbbb")]
    assert found["0.5.18"] == [("other", "aaaa")]


def test_a_version_that_is_recorded_again_replaces_itself():
    once = folded(alone("0.5.15"), alone("0.5.16"))
    assert folded(alone("0.5.15"), alone("0.5.16", "bbbb"), alone("0.5.16")) == once
    assert [row[3:] for row in rows(once)] == [["0.5.15 aaaa"]]


def test_guards_of_the_same_words_are_told_apart():
    data = folded(alone("0.5.15", number=2), alone("0.5.16"))
    assert [row[3:] for row in rows(data)] == [["0.5.15 aaaa"], ["0.5.15-0.5.15 aaaa"]]
    assert [one.number for one in guards_in(data, "0.5.15")] == [0, 1]
    first = next(guards_in(data, "0.5.16"))
    assert (first.reads, first.needs) == (("dcp_size", "tp_size"), ("dcp_size",))


def test_the_file_holds_one_guard_a_line():
    data = folded(alone("0.5.15", number=2))
    text = extract_guards.write(data)
    assert json.loads(text) == data
    assert sum('"ValueError"' in line for line in text.splitlines()) == 2


WHEEL = {
    "vllm/config/parallel.py": """
from pydantic import Field

class ParallelConfig:
    tensor_parallel_size: int = Field(default=1, ge=1)
    world_size: int = 1

    def __post_init__(self):
        if self.decode_context_parallel_size > 1 and self.cache_config.cache_dtype == "fp8":
            raise ValueError("no FP8 under DCP")
""",
    "vllm/config/speculative.py": """
class SpeculativeConfig:
    def __post_init__(self):
        if self.method == "medusa":
            raise ValueError("medusa is out")
""",
    "vllm/v1/attention/backends/registry.py": """
class AttentionBackendEnum:
    FLASHMLA = "vllm.v1.attention.backends.mla.flashmla.FlashMLABackend"
    TRITON_MLA = "vllm.v1.attention.backends.mla.triton_mla.TritonMLABackend"
    CUSTOM = None
""",
    "vllm/v1/attention/backends/mla/flashmla.py": """
from ..common import shared

class FlashMLAImpl:
    def __init__(self, num_heads):
        shared(num_heads)
        check_cache(cache_config.kv_cache_dtype, rows=3)
        assert num_heads % 64 == 0, "heads in pairs"

def check_cache(form, rows):
    if form == "fp8":
        raise ValueError("no FP8 here")
    if rows > 4:
        raise ValueError("too many rows")
""",
    "vllm/v1/attention/backends/mla/triton_mla.py": (
        "from ..common import shared\n\ndef f():\n    shared(1)\n"
    ),
    "vllm/v1/attention/backends/common.py": "def shared(num_heads):\n    assert num_heads, 'heads at all'\n",
}


@pytest.fixture
def vllm(tmp_path):
    for name, text in WHEEL.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return extract_guards.source_of(tmp_path, "vllm")


def test_what_an_engines_inventory_lists_is_told_by_its_areas(vllm):
    data = extract_guards.extract(vllm, "0.33.0")
    found = {one.says: one for one in guards_in(extract_guards.fold("vllm", {}, data), "0.33.0")}
    dcp = found["no FP8 under DCP"]
    assert (dcp.file, dcp.symbol) == ("vllm/config/parallel.py", "ParallelConfig.__post_init__")
    # An argument by another name of the engine's counts as that argument.
    assert {"decode_context_parallel_size", "kv_cache_dtype"} <= set(dcp.needs)
    assert found["medusa is out"].needs == ("speculative_config",)
    bound = found["Input should be greater than or equal to 1"]
    assert (bound.symbol, bound.reads) == ("ParallelConfig.tensor_parallel_size", ("tensor_parallel_size",))
    assert found["heads in pairs"].backends == ("FLASHMLA",)
    assert found["heads at all"].backends == ()  # every backend leads to it
    assert found["heads in pairs"].phase == "backend-init"
    # A function that is handed an argument is about it; what is handed a number is about no line.
    assert found["no FP8 here"].reads == ("kv_cache_dtype",)
    assert "too many rows" not in found


def test_a_guard_without_names_is_tied_to_lines_by_callers_rules_and_checkpoints():
    step = Step("find", "slug", "title", source="a.py::build", engine_says=("no kernel",))
    handed = {("a.py", "build"): {"kind": {"kv_cache_dtype"}}}
    ties = extract_guards.Ties(handed, {"a.py": [step]}, re.compile(r"Config\.from_config$"))

    def guard(symbol, says="other", reads=()):
        return Guard("a.py", symbol, "ValueError", says, reads, (), "", 1, "")

    assert ties.names(guard("build", reads=("kind", "rows"))) == {"kv_cache_dtype"}
    assert ties.names(guard("other", reads=("kind",))) == set()
    assert [ties.others(one) for one in (guard("build", "no kernel for {}"), guard("build"))] == [True, False]
    assert [ties.others(guard(f"FP8Config.{name}")) for name in ("from_config", "name")] == [True, False]


def test_every_area_of_both_engines_has_files_and_a_phase():
    for engine in ("sglang", "vllm"):
        for area in extract_guards.settings(engine)["areas"]:
            assert area["files"]
            assert area["phase"] in START_UP_PHASES


def test_imports_are_followed_from_the_package_and_from_beside(tmp_path):
    folder = tmp_path / "vllm" / "a"
    folder.mkdir(parents=True)
    (folder / "one.py").write_text(
        "from .two import check\nfrom vllm.a.three import deep\n\ndef f():\n    check()\n    deep()\n"
    )
    (folder / "two.py").write_text("def check(): ...\n")
    (folder / "three.py").write_text("from ..b import deep\n")
    (tmp_path / "vllm" / "b.py").write_text("def deep(): ...\n")
    for whole, prefix in ((True, "vllm/"), (False, "")):
        source = Source(tmp_path, "vllm", whole=whole)
        root = source.module(f"{prefix}a/one.py").units["f"]
        assert {file for file, _ in source.reach([root], re.compile("^$"))} == {
            f"{prefix}{name}.py" for name in ("a/one", "a/two", "b")
        }
