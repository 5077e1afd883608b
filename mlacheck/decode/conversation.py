"""One child process: sends it a request and gathers its events until it ends or its time is up."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from collections import deque
from pathlib import Path
from queue import Empty, Queue
from typing import TYPE_CHECKING, Any, Final

from mlacheck.decode.ranks import Terminated, terminable
from mlacheck.decode.row import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import IO

# The child resolves `-m` from here, never from the user's working directory.
_HOME: Final = Path(__file__).resolve().parents[2]
_TAIL_LINES: Final = 20
_GRACE_S: Final = 2.0
_HEARTBEAT_S: Final = 10.0


class Conversation:
    """What a child said: its rows, what it ran on, the row it was in when it ended, and how it ended."""

    def __init__(self, command: Sequence[str], on_progress: Callable[[str], None]) -> None:
        self.rows: list[Row] = []
        self.about: dict[str, Any] = {}
        self.current: str | None = None
        self.boundary: tuple[str, ...] | None = None
        self.alone: str | None = None
        self.lost = False
        self._gone: str | None = None
        self.failure: str | None = None
        self._command = command
        self._on_progress = on_progress
        self._done = False
        self._deadline = 0.0
        self._row_limit = 0.0
        self._lines: Queue[str | None] = Queue()
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)

    def hold(self, request: Mapping[str, Any], limit: float, row_limit: float) -> None:
        """Run the child for at most `limit` seconds, and each row after the first for `row_limit` of them."""
        try:
            child = subprocess.Popen(  # noqa: S603 - our own module, run by this interpreter
                list(self._command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=_HOME,
                text=True,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            self.failure = f"the child process did not start: {error}"
            return
        readers = [
            threading.Thread(target=self._read_events, args=(child.stdout,), daemon=True),
            threading.Thread(target=self._read_errors, args=(child.stderr,), daemon=True),
        ]
        for reader in readers:
            reader.start()
        self._deadline, self._row_limit = time.monotonic() + limit, row_limit
        late = None
        try:
            with terminable():
                _ask(child, request)
                late = self._gather(limit)
        except Terminated as error:
            self._gone = str(error)
        finally:
            code = _end(child, readers)
        if self._gone is not None:
            self.failure = self._gone
        elif late is not None:
            self.failure = f"no end after the time limit of {late:.3g} s"
        elif code != 0 and not self._done:
            self.failure = _death(code, self._tail)
        elif not self.rows and not self._done and not self.lost:
            self.failure = "the child process said nothing"

    def _read_events(self, stream: IO[str]) -> None:
        for line in stream:
            self._lines.put(line)
        self._lines.put(None)

    def _read_errors(self, stream: IO[str]) -> None:
        for line in stream:
            if line.strip() and not line.startswith("mlacheck: "):
                self._tail.append(line.strip())

    def _gather(self, limit: float) -> float | None:
        """Take events until the child closes its end; give the limit that ran out first, if one did."""
        began, allowed = time.monotonic(), limit
        while True:
            now = time.monotonic()
            left = min(began + allowed, self._deadline) - now
            if left <= 0:
                return min(allowed, limit)
            try:
                line = self._lines.get(timeout=min(left, _HEARTBEAT_S))
            except Empty:
                if left > _HEARTBEAT_S:
                    self._on_progress(f"still in {self.current or 'start-up'} after {now - began:.0f} s")
                continue
            if line is None:
                return None
            try:
                event = json.loads(line)
            except ValueError:
                continue
            self._take(event)
            if "started" in event:
                # The first row builds kernels; it may take all the time there is.
                began, allowed = time.monotonic(), limit if self.current == "runs" else self._row_limit

    def _take(self, event: dict[str, Any]) -> None:
        if "row" in event:
            self.rows.append(Row.from_dict(event["row"]))
            self.current = None
        elif "started" in event:
            self.current = event["started"]
        elif "progress" in event:
            self._on_progress(event["progress"])
        elif "done" in event:
            self._done = True
        elif "gone" in event:
            self._gone = event["gone"]
        elif "alone" in event:
            self.alone = event["alone"]
        elif "boundary" in event:
            self.boundary = tuple(event["boundary"])
        elif "lost" in event:
            self.lost = True
        elif "device" in event:
            self.about = event


def _ask(child: subprocess.Popen[str], request: Mapping[str, Any]) -> None:
    if child.stdin is None:
        return
    # A child that died at once has closed its end: the exit status tells.
    with contextlib.suppress(BrokenPipeError):
        child.stdin.write(json.dumps(request))
        child.stdin.close()


def _end(child: subprocess.Popen[str], readers: Sequence[threading.Thread]) -> int:
    """End the child and what it started, such as compilers, and give its exit status."""
    try:
        code = child.wait(timeout=_GRACE_S)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        code = child.wait()
    for reader in readers:
        reader.join(timeout=_GRACE_S)
    if any(reader.is_alive() for reader in readers):
        # Something that the child started still holds its pipes.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
    for stream, reader in zip((child.stdout, child.stderr), readers, strict=True):
        reader.join(timeout=_GRACE_S)
        if stream is not None and not reader.is_alive():
            stream.close()
    return code


def _death(code: int, tail: deque[str]) -> str:
    """Say how the child died; the last line of its stderr is mostly the reason."""
    last = f"; its last words: {tail[-1]}" if tail else ""
    if code >= 0:
        return f"the child process exited with status {code}{last}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"the child process was ended by {name}{last}"
