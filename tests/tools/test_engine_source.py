from __future__ import annotations

import re

import pytest
from engine_guards import guards_of
from engine_source import Source

CHECK = '''
from sglang.srt.helper import check_pages, Base

class Args(Base):
    def check(self):
        """Words."""
        if self.dcp_size > 1 and self.enable_lora:
            raise ValueError(f"no LoRA with --dcp-size {self.dcp_size}")
        if self.backend is None:
            return
        assert self.page_size % 2 == 0, "odd page"
        name = self.algorithm
        if name == "EAGLE":
            message = "EAGLE "
            raise RuntimeError(message + "is out")
        check_pages(self)
        self.inherited()
        run_hook(hook, self)

    def nothing(self):
        assert self.ready

    def forward(self):
        assert self.ready

    def abstract(self):
        raise NotImplementedError

def hook(args):
    try:
        import absent
    except ImportError:
        raise ImportError("absent is missing") from None

def unreached():
    raise ValueError("never")
'''
HELPER = """
class Base:
    def inherited(self):
        if not self.model:
            parser.error("no model")

def check_pages(args):
    for page in args.pages:
        if page < 1:
            raise ValueError("page of %s" % page)
"""


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "sglang" / "srt"
    folder.mkdir(parents=True)
    (folder / "args.py").write_text(CHECK)
    (folder / "helper.py").write_text(HELPER)
    return Source(tmp_path)


def guards(source, file="srt/args.py"):
    return {one.says: one for unit in source.module(file).units.values() for one in guards_of(unit)}


def test_a_guard_has_its_words_and_the_names_on_the_way_to_it(source):
    found = guards(source)
    assert set(found) == {
        "no LoRA with --dcp-size {}",
        "odd page",
        "EAGLE is out",
        "",
        "absent is missing",
        "never",
    }
    first = found["no LoRA with --dcp-size {}"]
    assert (first.symbol, first.kind) == ("Args.check", "ValueError")
    assert {"dcp_size", "enable_lora"} <= set(first.reads)
    assert set(first.needs) == {"dcp_size", "enable_lora"}
    assert found["odd page"].kind == "AssertionError"
    assert "backend" in found["odd page"].reads
    assert "page_size" not in found["odd page"].needs
    assert "algorithm" in found["EAGLE is out"].reads
    assert "page of {}" in guards(source, "srt/helper.py")


def test_the_digest_follows_the_condition_and_not_the_place(source, tmp_path):
    before = guards(source)
    path = tmp_path / "sglang" / "srt" / "args.py"
    path.write_text("\n\n" + CHECK.replace("self.", "server_args.").replace("% 2", "% 4"))
    after = guards(Source(tmp_path))
    assert before["never"].digest == after["never"].digest
    assert before["EAGLE is out"].digest == after["EAGLE is out"].digest
    assert before["odd page"].digest != after["odd page"].digest


def test_start_up_reaches_what_its_roots_call_by_name(source):
    root = source.module("srt/args.py").units["Args.check"]
    reached = {symbol for _, symbol in source.reach([root], re.compile("forward"))}
    assert reached == {"Args.check", "check_pages", "Base.inherited", "hook"}
    assert not source.reach([root], re.compile("check$"))
