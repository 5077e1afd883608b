"""Texts that mutation of the test files came to, on which reading ended."""

from __future__ import annotations

import pytest

from mlacheck.launch.file.read import read_bytes

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
