from __future__ import annotations

import json

import extract_guards

from mlacheck.ruleset.guards import guards_in


def alone(version, digest="aaaa", *, says="no", number=1):
    row = ["ValueError", says, ["dcp_size!", "tp_size"], f"{version} {digest}"]
    files = {"srt/args.py": {"area": "arguments", "guards": {"check": [row] * number}}}
    return {"versions": [version], "files": files, "left_out": {version: {"reason": 2}}}


def folded(*each):
    data = {}
    for one in each:
        data = extract_guards.fold(data, one)
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
