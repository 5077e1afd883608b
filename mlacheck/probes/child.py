"""Runs Python in a child process with a time limit, so that a crash or a hang is an answer."""

from __future__ import annotations

import json
import sys

from mlacheck.frozen import frozen

# Packages print while they are imported; the answer is what follows this mark.
MARK = "\x02mlacheck:"


@frozen
class Answer:
    """What the child reported, or why it did not."""

    value: object = None
    failure: str | None = None


def ask(code: str, *, python: str | None = None, timeout_s: float = 60.0) -> Answer:
    """Run code that calls `answer(value)` once, and give the value."""
    import os
    import signal
    import subprocess
    import tempfile

    # An empty working folder: it stands first on the path, and must not shadow an installed package.
    prologue = f"import json\ndef answer(value): print({MARK!r} + json.dumps(value), flush=True)\n"
    with tempfile.TemporaryDirectory() as folder:
        try:
            child = subprocess.Popen(  # noqa: S603 - our own code, in the interpreter that was named
                [python or sys.executable, "-c", prologue + code],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            return Answer(failure=f"{python or sys.executable} cannot be started: {error.strerror}")
        try:
            stdout, stderr = child.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)  # its own children too: a hung compiler would hold the pipes
            child.communicate()
            return Answer(failure=f"no answer within {timeout_s:g} s")
    for line in stdout.split("\n"):
        _, mark, text = line.partition(MARK)
        if mark:
            return Answer(json.loads(text))
    return Answer(failure=_reason(child.returncode, stderr))


def _reason(returncode: int, stderr: str) -> str:
    import signal

    if returncode < 0:
        try:
            name = signal.Signals(-returncode).name
        except ValueError:
            name = str(-returncode)
        return f"killed by {name}"
    lines = [line for line in stderr.splitlines() if line.strip()]
    return lines[-1].strip() if lines else f"exit status {returncode} without a message"
