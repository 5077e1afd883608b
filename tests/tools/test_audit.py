from __future__ import annotations

import audit
import pytest
from engine_source import Source

from mlacheck.ruleset.guards import Guard
from mlacheck.ruleset.program import Step

ENGINE = """
def check(args):
    if args.dcp_size > 1:
        raise ValueError(f"dcp_size {args.dcp_size} is refused")
    refuse("told by a helper")

class Args:
    def page(self):
        return 1 // self.page_size
"""


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "sglang" / "srt"
    folder.mkdir(parents=True)
    (folder / "args.py").write_text(ENGINE)
    return Source(tmp_path)


def step(place, *says, kind="find", crash=False):
    return Step(kind, "slug", "title", id="MLA001", source=place, engine_says=says, crash=crash)


@pytest.mark.parametrize(
    "rule",
    [
        step("srt/args.py::check", "dcp_size 8 is refused"),
        step("srt/args.py::check", "words of an older version", "is refused"),
        step("srt/args.py::check", "told by a helper"),
        step("srt/args.py::check, Args.page", "is refused"),
        step("srt/args.py::Args.page", "division by zero", crash=True),
        step("srt/args.py::page"),
        step("srt/args.py", "is refused"),
        step("srt/args.py::Args", kind="set"),
        step("", kind="set"),
    ],
)
def test_a_rule_whose_guard_stands_is_silent(source, rule):
    assert not list(audit.gone([rule], source))


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        (step("srt/moved.py::check", "is refused"), "no file srt/moved.py"),
        (step("srt/args.py::renamed", "is refused"), "has no renamed"),
        (step("srt/args.py::check, renamed", "is refused"), "has no renamed"),
        (step("srt/args.py::check", "is allowed"), "does not say 'is allowed'"),
        (step("srt/args.py::Args.page", "division by zero"), "does not say 'division by zero'"),
        (step("srt/args.py::Args.page", "is refused"), "does not say"),
        (step("srt/moved.py::check", kind="set"), "no file"),
        (step("", "is refused"), "no source"),
    ],
)
def test_a_rule_whose_guard_is_gone_is_told(source, rule, told):
    (drift,) = audit.gone([rule], source)
    assert (drift.kind, drift.place, drift.wrong) == ("gone", "MLA001", True)
    assert told in drift.detail


def guard(says, digest="aaaa", *, file="srt/args.py", reads=("dcp_size",)):
    return Guard(file, "check", "ValueError", says, 0, digest, reads, (), "arguments", "resolve")


def test_new_and_changed_guards_are_told_for_people_to_read():
    before = [guard("same"), guard("is refused"), guard("moves"), guard("goes")]
    now = [
        guard("same"),
        guard("is refused", "bbbb"),
        guard("moves", file="srt/other.py"),
        guard("comes"),
        guard("reads nothing", reads=()),
    ]
    found = list(audit.drifted([step("srt/args.py::check", "is refused")], now, before))
    assert [(one.kind, one.place.rpartition("::")[2], one.wrong) for one in found] == [
        ("changed", "is-refused", False),
        ("new", "comes", False),
    ]


def option(flag, **changes):
    return {
        "flags": [flag],
        "dest": flag,
        "action": "store",
        "choices": ["a", "b"],
        "default": "a",
        **changes,
    }


def test_options_that_differ_are_told():
    recorded = {"options": [option("--same"), option("--kept"), option("--gone")]}
    now = {"options": [option("--same"), option("--kept", choices=["b", "c"], default="b"), option("--new")]}
    found = [(one.place, one.detail) for one in audit.flags(now, recorded, wrong=True)]
    assert found == [
        ("--gone", "gone"),
        ("--kept", "choices: without ['a'], with ['c']"),
        ("--kept", "default: 'a' became 'b'"),
        ("--new", "new"),
    ]


def test_pins_that_differ_are_told():
    recorded = {"pins": {"flashinfer-python": "0.7.1", "same": "1"}, "minimums": {}}
    now = {"pins": {"flashinfer-python": "0.7.2", "same": "1"}, "minimums": {"flashinfer-python": "0.7.2"}}
    found = [(one.place, one.detail) for one in audit.pins(now, recorded, wrong=False)]
    assert found == [
        ("flashinfer-python", "pin 0.7.1 became 0.7.2"),
        ("flashinfer-python", "minimum None became 0.7.2"),
    ]


WHEEL = {
    "sglang-9.9.9.dist-info/METADATA": "Version: 9.9.9\nRequires-Dist: flashinfer_python==9.9\n\nwords",
    "sglang/srt/entrypoints/engine.py": 'assert_pkg_version("flashinfer_python", "9.9", "words")\n',
    "sglang/srt/server_args.py": """
class ServerArgs:
    def check_server_args(self):
        if self.dcp_size > 7:
            raise ValueError("a guard that no version had")
        assert self.tp_size % self.nnodes == 0, "tp_size must be divisible by number of nodes"
""",
}


def test_a_small_wheel_of_a_new_version_is_compared_with_the_rules(tmp_path):
    for name, text in WHEEL.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = audit.audit(tmp_path, "9.9.9", "sglang")
    told = {kind: [one for one in found if one.kind == kind] for kind in ("gone", "pins", "new")}
    assert any("no file srt/arg_groups" in one.detail for one in told["gone"])
    assert all(one.wrong for one in told["gone"])
    assert {"flashinfer-python"} < {one.place for one in told["pins"]}
    # What a version that is not recorded needs is no mistake yet.
    assert not any(one.wrong for one in told["pins"])
    (new,) = told["new"]
    assert new.place == "srt/server_args.py::ServerArgs.check_server_args::a-guard-that-no-version-had"
    assert "reads dcp_size" in new.detail
    assert not [one for one in audit.audit(tmp_path, "9.9.9", "sglang", kinds=["pins"]) if one.kind != "pins"]


VLLM = {
    "vllm-9.9.9.dist-info/METADATA": "Version: 9.9.9\nRequires-Dist: flashinfer-python==9.9\n\nwords",
    "vllm/config/parallel.py": """
class ParallelConfig:
    tensor_parallel_size: int = Field(default=1, ge=1)

    def _validate_parallel_config(self):
        if self.tensor_parallel_size % self.decode_context_parallel_size:
            raise ValueError("a guard that no version had")
""",
}


def test_a_wheel_of_another_engine_is_compared_with_its_rules(tmp_path):
    for name, text in VLLM.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = audit.audit(tmp_path, "9.9.9", "vllm")
    gone = {one.place: one.detail for one in found if one.kind == "gone"}
    assert "no file vllm/config/model.py" in gone.values()
    assert "does not say" in gone["MLV006"]  # its function stands, its words do not
    assert "MLV004" not in gone  # pydantic says it of the declared bound
    assert "flashinfer-python" in {one.place for one in found if one.kind == "pins"}
    (new,) = (one for one in found if one.kind == "new")
    assert new.place.endswith("::ParallelConfig._validate_parallel_config::a-guard-that-no-version-had")
