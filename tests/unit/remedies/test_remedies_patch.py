from __future__ import annotations

import pytest

from mlacheck.frozen import replace
from mlacheck.launch import parse_text
from mlacheck.launch.command import Word
from mlacheck.remedies.patch import NotEditableError, changes, patched


def edit(text, remove=(), swap=None, add=()):
    """Edit the words of a command as a corrected one has them, and give the text after that."""
    result = parse_text(text)
    [command] = result.commands
    words = []
    for word in command.words:
        if word.text in remove:
            continue
        new = (swap or {}).get(word.text)
        words.append(word if new is None else replace(word, text=new, raw=""))
    words += [Word(one) for one in add]
    source = result.document.text
    after = patched(source, changes(source, command.words, words))
    again = parse_text(after).commands
    assert [one.text for one in again[0].words] == [one.text for one in words]
    return after


@pytest.mark.parametrize(
    ("text", "edits", "expected"),
    [
        ("sglang serve m --tp 8 --x 1", {"remove": ["--x", "1"]}, "sglang serve m --tp 8"),
        ("sglang serve m --x 1 --tp 8", {"remove": ["--x", "1"]}, "sglang serve m --tp 8"),
        ("sglang serve m --x 1 | tee l", {"remove": ["--x", "1"]}, "sglang serve m | tee l"),
        ("sglang serve m --tp 8  --x '1'", {"swap": {"1": "2"}}, "sglang serve m --tp 8  --x '2'"),
        ("sglang serve m --x 1 > log", {"add": ["--y", "a b"]}, "sglang serve m --x 1 --y 'a b' > log"),
        (
            "sglang serve m \\\n  --x 1 \\\n  --tp 8\n",
            {"remove": ["--x", "1"]},
            "sglang serve m \\\n  --tp 8\n",
        ),
        (
            "sglang serve m \\\n  --tp 8 \\\n  --x 1\n",
            {"remove": ["--x", "1"]},
            "sglang serve m \\\n  --tp 8\n",
        ),
        (
            "sglang serve m \\\n  --x 1 --tp 8\n",
            {"remove": ["--x", "1"]},
            "sglang serve m \\\n  --tp 8\n",
        ),
        (
            "sglang serve m \\\n  --x 1 --tp 8 \\\n  --y 2\n",
            {"remove": ["--x", "1", "--y", "2"]},
            "sglang serve m \\\n  --tp 8\n",
        ),
        (
            "bash -c 'sglang serve m --x 1'",
            {"swap": {"1": "a"}, "add": ["--z"]},
            "bash -c 'sglang serve m --x a --z'",
        ),
        (
            'bash -c "sglang serve m --x 1"',
            {"remove": ["--x", "1"]},
            'bash -c "sglang serve m"',
        ),
        ("sglang serve m --x=1 # why", {"swap": {"--x=1": "--x=2"}}, "sglang serve m --x=2 # why"),
    ],
)
def test_shell_text_is_edited_in_place(text, edits, expected):
    assert edit(text, **edits) == expected


def test_nothing_changes_when_nothing_has_to():
    text = "A=1 sglang serve  m \\\n --tp 8 # x\n"
    assert edit(text) == text


@pytest.mark.parametrize(
    ("text", "word", "why"),
    [
        ("B=1\nsglang serve m --x $B", "1", "comes through B"),
        ("sglang serve m --x $B", "$B", "depends on B"),
    ],
)
def test_words_from_elsewhere_are_not_edited(text, word, why):
    with pytest.raises(NotEditableError, match=why):
        edit(text, remove=[word])
