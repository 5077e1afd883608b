from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlacheck.report.layout import wrap, wrap_command

WORD = st.text(alphabet="ab-=$\"' \\{}:,é", min_size=1, max_size=12)


@given(st.lists(WORD, min_size=1, max_size=12), st.integers(20, 100))
def test_a_wrapped_command_is_the_same_command(words, width):
    command = shlex.join(words)
    lines = wrap_command(command, width, "    ")
    assert shlex.split("\n".join(lines).replace("\\\n", "")) == words
    assert all(line.endswith(" \\") for line in lines[:-1])


def test_a_flag_stays_with_its_value():
    lines = wrap_command("python -m sglang.launch_server --model-path x/y --tp-size 8", 44, "  ")
    assert lines == ["  python -m sglang.launch_server \\", "    --model-path x/y --tp-size 8"]


@pytest.mark.parametrize(
    "command",
    [
        "a --b 'it is\nlong' --c",
        "a --bbbbbbbbbbbb $(cat file name) --ccccccccc",
        "a --bbbbbbbbbbbb # --ccccccccccc comment --d",
        "a --bbbbbbbbbb 'never closed --cccccccccccccc",
    ],
)
def test_what_cannot_be_split_with_certainty_stays_whole(command):
    assert wrap_command(command, 20, "") == [command]


def test_sentences_are_broken_between_words_only():
    lines = wrap("the word --speculative-draft-model-path is longer than the line", 20, "  ", "    ")
    assert lines[0] == "  the word"
    assert lines[1] == "    --speculative-draft-model-path"
    assert all(len(line) <= 20 for line in lines if "--" not in line)
    assert wrap("", 20, "  x: ") == ["  x:"]
