from __future__ import annotations

import pytest

from mlacheck.ruleset.source import LARGEST_FILE, RuleError, parse, read


def test_every_value_has_its_line():
    source = parse("a: 1\nb:\n  - x\n  - c: 2\n", "f.yaml")
    assert source.data == {"a": 1, "b": ["x", {"c": 2}]}
    assert source.line(("a",)) == 1
    assert source.line(("b", 1, "c")) == 4
    assert source.line(("b", 1, "gone", "deeper")) == 4
    error = source.error("odd", ("b", 0))
    assert (str(error), error.line) == ("f.yaml:3: odd", 3)


def test_an_empty_text_has_no_data():
    source = parse("# nothing\n", "f.yaml")
    assert source.data is None
    assert source.line(("a",)) is None
    assert str(source.error("is empty")) == "f.yaml: is empty"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [1", "f.yaml:"),
        ("a: 1\na: 2\n", "f.yaml:2: 'a' is given twice"),
        ("a: &x 1\n", "anchors and aliases"),
        ("a: *x\n", "f.yaml:1"),
        ("a: !!python/name:os.system x\n", "tag"),
        ("a: !mine 1\n", "f.yaml:1: tag '!mine' is not allowed"),
        ("? [1]\n: 2\n", "f.yaml"),
        ("a: \x07\n", "f.yaml"),
        ("a: 1\n---\nb: 2\n", "f.yaml"),
    ],
)
def test_what_rule_files_need_not_hold_is_refused(text, said):
    with pytest.raises(RuleError) as caught:
        parse(text, "f.yaml")
    assert said in str(caught.value)


def test_files_are_read_within_limits(tmp_path):
    path = tmp_path / "f.yaml"
    with pytest.raises(RuleError, match="cannot be read"):
        read(path)
    path.write_bytes(b"a: \xff\n")
    with pytest.raises(RuleError, match="not UTF-8 text \\(byte 3\\)"):
        read(path)
    with path.open("wb") as file:
        file.truncate(LARGEST_FILE + 1)
    with pytest.raises(RuleError, match="bytes"):
        read(path)
    path.write_text("a: 1\n")
    assert read(path).name == str(path)
    assert read(path, "shown").name == "shown"
