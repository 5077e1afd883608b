from __future__ import annotations

import pytest

from mlacheck.probes.engine import recorded_versions
from mlacheck.ruleset.coverage import Coverage
from mlacheck.ruleset.guards import Guard, concerning, digest_at, guards, guards_in, models, unmodelled
from mlacheck.ruleset.program import Step


def guard(**changes):
    fields = {
        "file": "srt/a.py",
        "symbol": "Args.check",
        "kind": "ValueError",
        "says": "--dcp-size {} needs",
        "number": 0,
        "digest": "aaaa",
        "reads": ("dcp_size",),
        "needs": (),
        "area": "arguments",
        "phase": "resolve",
    }
    return Guard(**(fields | changes))


def step(source="srt/a.py::check", engine_says=("--dcp-size 3 needs",), id_="MLA001"):
    return Step("find", "slug", "title", id=id_, source=source, engine_says=engine_says)


@pytest.mark.parametrize(
    ("source", "words", "expected"),
    [
        ("srt/a.py::check", ("--dcp-size 3 needs",), True),
        ("srt/a.py::Args.check", ("--dcp-size 3 needs",), True),
        ("srt/a.py::Args", ("--dcp-size 3 needs",), True),
        ("srt/a.py", ("--dcp-size 3 needs",), True),
        ("srt/a.py::check", ("other words", "--dcp-size 3 needs"), True),
        ("srt/a.py::check", ("other words",), False),
        ("srt/a.py::other, check", ("--dcp-size 3 needs",), True),
        ("srt/a.py::heck", ("--dcp-size 3 needs",), False),
        ("srt/b.py::check", ("--dcp-size 3 needs",), False),
    ],
)
def test_a_rule_names_a_guard_by_file_function_and_words(source, words, expected):
    one = guard()
    assert models(step(source, words), one.file, one.symbol, one.says) is expected


def test_ranges_end_or_stay_open():
    versions = ["1", "2", "3", "4"]
    spans = ["1-2 aa", "4 bb"]
    assert [digest_at(spans, one, versions) for one in versions] == ["aa", "aa", None, "bb"]


def test_what_no_rule_names_concerns_lines_that_set_what_it_needs():
    other = guard(says="other", reads=("dcp_size", "enable_lora"), needs=("enable_lora",))
    backend = guard(says="backend", reads=(), backends=("fa3",))
    rows = unmodelled([step()], [guard(), other, other, backend])
    assert concerning(rows, ["dcp_size"], []) == (0, {})
    assert concerning(rows, ["enable_lora"], []) == (2, {"enable_lora": 2})
    assert concerning(rows, ["dcp_size", "enable_lora"], ["fa3"]) == (3, {"enable_lora": 2})
    assert concerning(rows, ["dcp_size"], ["fa3", "triton"]) == (1, {})


def test_a_guard_about_one_model_class_concerns_no_other():
    rows = unmodelled([], [guard(about=("V4",)), guard(says="", reads=(), about=("V4", "EAGLE"))])
    assert concerning(rows, ["dcp_size"], [], {"V3", "NONE"}) == (0, {})
    assert concerning(rows, ["dcp_size"], [], {"V4", "NONE"}) == (2, {"dcp_size": 1})
    assert concerning(rows, ["dcp_size"], [], {"V3", "EAGLE"}) == (1, {})
    assert concerning(rows, ["dcp_size"], [], None) == (2, {"dcp_size": 1})


# The least number of guards of a version, and of those that rules name.
LEAST = {"sglang": (300, 150), "vllm": (300, 30)}


@pytest.mark.parametrize(
    ("engine", "version"), [(engine, one) for engine in LEAST for one in recorded_versions(engine)]
)
def test_every_recorded_version_has_an_inventory_with_keys_of_its_own(engine, version):
    found = guards(engine, version)
    assert len(found) > LEAST[engine][0]
    assert len({one.key for one in found}) == len(found)
    coverage = Coverage.of(engine, version)
    total = sum(row[2] for row in coverage.table())
    named = sum(row[3] for row in coverage.table())
    # What no line meets is told by its reason, unless a rule is about it.
    reachable = [one for one in found if not one.why or coverage.rules[one.key]]
    assert total == len(reachable)
    aside = {one.why for one in found} - {""}
    assert aside <= set(coverage.left_out)
    assert named >= LEAST[engine][1]
    assert set(coverage.left_out)


def test_a_guard_that_no_line_meets_concerns_none():
    data = {
        "versions": ["1"],
        "areas": {"a": "resolve"},
        "files": {"f": {"area": "a", "guards": {"s": [["E", "x", ["dcp_size", "#other hardware"], "1 0"]]}}},
    }
    [found] = guards_in(data, "1")
    assert (found.why, found.reads) == ("other hardware", ("dcp_size",))
    assert unmodelled([], [found]) == {}


def test_an_engine_without_an_inventory_has_no_guards():
    assert guards("nobody", "1") == []
