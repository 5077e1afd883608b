from __future__ import annotations

import textwrap

import pytest

from mlacheck.facts import UNKNOWN
from mlacheck.finding import Finding, Report
from mlacheck.ruleset.build import build
from mlacheck.ruleset.expression import Declaration
from mlacheck.ruleset.files import read_ruleset
from mlacheck.ruleset.generate import module_text
from mlacheck.ruleset.load import Compiled, _execute, from_module

ARGUMENTS = {
    "dcp_size": Declaration("int"),
    "page_size": Declaration("int"),
    "backend": Declaration("str", ("fa3", "triton", "trtllm_mla", "flashinfer")),
    "decode": Declaration("str", ("fa3", "triton", "trtllm_mla", "flashinfer")),
    "algorithm": Declaration("str"),
}
DEFAULTS = {"dcp_size": 1, "page_size": None, "backend": None, "decode": None, "algorithm": None}
HEAD = "engine: toy\nmodel: backend\ndraft: decode\n"
FACTS = """
facts:
  gpu.sm: {type: int}
  is_mla: {type: bool}
  version.flashinfer: {type: version}
  parameters: {type: set}
"""


class Rules:
    """Writes rule files and builds programs from them."""

    def __init__(self, root):
        self.root = root
        (root / "toy").mkdir()

    def read(self, text: str, order: str = ""):
        (self.root / "toy" / "program.yaml").write_text(f"{HEAD}files: [a.yaml]\n{order}")
        (self.root / "toy" / "a.yaml").write_text("subject: toy\n" + textwrap.dedent(text))
        return read_ruleset(self.root, "toy")

    def compile(self, text: str, version: str = "1.0", order: str = "") -> Compiled:
        if "facts:" not in text:
            text = FACTS + textwrap.dedent(text)
        program = build(self.read(text, order), version, ARGUMENTS, DEFAULTS)
        return from_module(_execute("toy", module_text(program, "none")))

    def run(self, text: str, version: str = "1.0", **facts):
        compiled = self.compile(text, version)
        values = {
            **compiled.program.defaults,
            **{name.replace("__", "."): value for name, value in facts.items()},
        }
        compiled.settle(values)
        return values, compiled.apply(values, compiled.sleepers.awake(values))


@pytest.fixture
def rules(tmp_path):
    return Rules(tmp_path)


@pytest.fixture
def unknown():
    return UNKNOWN


def make_report(**more):
    fields = {
        "id": None,
        "command": "sglang serve x",
        "file": None,
        "location": None,
        "engine": "sglang",
        "engine_version": "0.5.18",
        "target": {},
        "assumptions": (),
        "verdict": "ok",
        "findings": (),
        "resolved": {},
        "undecided": (),
        "not_checked": (),
    }
    return Report(**{**fields, **more})


def make_finding(level="error", **more):
    return Finding(
        **({"id": "TOY001", "slug": "toy-rule", "level": level, "phase": "silent", "message": "m"} | more)
    )


@pytest.fixture
def made():
    return make_report


@pytest.fixture
def finding():
    return make_finding
