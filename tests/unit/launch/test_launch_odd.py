"""Texts that mutation of the test files came to, on which reading ended."""

from __future__ import annotations

import pytest

from mlacheck.launch.file.read import read_bytes
from mlacheck.launch.quoting import quote

LINE = "python -m sglang.launch_server --model-path a/b --tp 2\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.sh", "set\n" + LINE),
        ("a.sh", "set '-e\n'\n" + LINE),
        ("a.sh", "set -o allexport\nset -- a\n" + LINE),
        ("a.sh", 'set -- x\nf() { [[ "$-ai1" == "$0b"* ]]; }\nf "$-"\n' + LINE),
        ("a.sbatch", "#!/bin/bash\n#SBATCH --nodes=¹\n" + LINE),
        ("a.sh", "A=(x y)\necho ${A[²]} ${A:²} $²\nshift ²\n" + LINE),
    ],
)
def test_a_launch_after_what_is_odd_is_read(name, text):
    [command] = read_bytes(text.encode(), name).commands
    assert command.argv == ("--model-path", "a/b", "--tp", "2")


@pytest.mark.parametrize(
    ("spelled", "meant"),
    [
        (r"$'a\x41\u00e9\U0001F600\101'", "aAé😀A"),
        (r"$'it\'s \"\\\?\t'", "it's \"\\?\t"),
        (r"$'\e[0m\E[0m'", "\x1b[0m\x1b[0m"),
        (r"$'\q\x\0'", "\\q\\x\\0"),
    ],
)
def test_escapes_within_dollar_quotes_are_read_as_bash_does(spelled, meant):
    [command] = read_bytes(f"{LINE.strip()} --served-model-name {spelled}\n".encode(), "a.sh").commands
    assert command.argv[-1] == meant
    assert read_bytes(f"{LINE.strip()} {quote(meant)}\n".encode(), "a.sh").commands[0].argv[-1] == meant
