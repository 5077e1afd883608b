import re

import pytest

from mlacheck.pattern import lazy


def test_a_lazy_pattern_does_what_a_compiled_one_does():
    pattern = lazy(r"(a+)(\d)?", re.IGNORECASE)
    assert pattern.fullmatch("AA1").groups() == ("AA", "1")
    assert pattern.sub("x", "baab") == "bxb"
    assert [match[0] for match in pattern.finditer("a-aa2")] == ["a", "aa2"]


def test_nothing_is_compiled_before_it_is_used(monkeypatch):
    compiled = []
    made = re.compile
    monkeypatch.setattr(re, "compile", lambda *given: compiled.append(given[0]) or made(*given))
    pattern = lazy("[0-9]+")
    assert not compiled
    assert pattern.match("12")
    assert pattern.match("3")
    assert compiled == ["[0-9]+"]


def test_a_wrong_name_is_told():
    with pytest.raises(AttributeError):
        lazy("a").nothing  # noqa: B018 - asked for on purpose
