"""Runs a decode check in a child process with a time limit; never imports torch."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from pathlib import Path
from queue import Empty, Queue
from typing import TYPE_CHECKING, Any, Final

from mlacheck.decode.backend import BACKENDS
from mlacheck.decode.contract import row_names
from mlacheck.decode.problem import DecodeProblem, ProblemError
from mlacheck.decode.ranks import Terminated, ranks_here, terminable
from mlacheck.decode.row import FAILS, NOT_RUN, DecodeReport, Row
from mlacheck.frozen import as_dict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import IO

SIMULATED: Final = "ranks are simulated one after another on one device: no collective is run"
BOUNDARY: Final = (
    "CUDA graph capture and replay are not run",
    "the engine's own code around the kernel is not run",
)
_COMMAND: Final = (sys.executable, "-m", "mlacheck.decode.child")
# The child resolves `-m` from here, never from the user's working directory.
_HOME: Final = Path(__file__).resolve().parents[2]
_TAIL_LINES: Final = 20
_GRACE_S: Final = 2.0


def run(
    problem_spec: Mapping[str, Any],
    backend: str,
    time_limit_s: float = 300.0,
    *,
    lse_base: str | None = None,
    empty_ranks: str = "lse",
    target_sm: int | None = None,
    on_progress: Callable[[str], None] | None = None,
    command: Sequence[str] = _COMMAND,
) -> DecodeReport:
    """Check one backend on one problem; every way to fail ends in a row with its cause."""
    try:
        problem = DecodeProblem.from_dict(problem_spec)
    except ProblemError as error:
        return DecodeReport((Row("runs", NOT_RUN, detail=str(error)),), backend)
    if backend not in BACKENDS:
        detail = f"no adapter decodes with {backend!r}; adapters exist for {', '.join(BACKENDS)}"
        return DecodeReport((Row("runs", NOT_RUN, detail=detail),), backend, problem=problem.to_dict())
    ranks = ranks_here()
    request = {
        "problem": problem.to_dict(),
        "backend": backend,
        "convention": {"lse_base": lse_base, "empty_ranks": empty_ranks},
        "target_sm": target_sm,
        "time_limit": time_limit_s,
        "ranks": as_dict(ranks) if ranks else None,
    }
    began = time.monotonic()
    talk = _Conversation(command, request, time_limit_s, on_progress or (lambda _: None))
    talk.hold()
    return DecodeReport(
        rows=tuple(talk.rows),
        backend=backend,
        backend_version=talk.about.get("version"),
        device=talk.about.get("device"),
        sm=talk.about.get("sm"),
        problem=problem.to_dict(),
        description=problem.describe(),
        seconds=time.monotonic() - began,
        boundary=(*talk.boundary, *problem.notes),
    )


class _Conversation:
    """One child process: sends the request and gathers events until it ends or its time is up."""

    def __init__(
        self,
        command: Sequence[str],
        request: Mapping[str, Any],
        time_limit: float,
        on_progress: Callable[[str], None],
    ) -> None:
        self.rows: list[Row] = []
        self.about: dict[str, Any] = {}
        self.boundary: tuple[str, ...] = (SIMULATED, *BOUNDARY)
        self._command = command
        self._request = request
        self._limit = time_limit
        self._on_progress = on_progress
        self._current: str | None = None
        self._lost = ""
        self._done = False
        self._lines: Queue[str | None] = Queue()
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)

    def hold(self) -> None:
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
            self._conclude(f"the child process did not start: {error}")
            return
        readers = [
            threading.Thread(target=self._read_events, args=(child.stdout,), daemon=True),
            threading.Thread(target=self._read_errors, args=(child.stderr,), daemon=True),
        ]
        for reader in readers:
            reader.start()
        hung, stopped = False, None
        try:
            with terminable():
                self._ask(child)
                hung = self._gather(time.monotonic() + self._limit)
        except Terminated as error:
            stopped = str(error)
        finally:
            code = _end(child, readers)
        if stopped or self._lost:
            self._conclude(stopped or self._lost)
        elif hung:
            self._conclude(f"no end after the time limit of {self._limit:g} s")
        elif code != 0 and not self._done:
            self._conclude(_death(code, self._tail))
        elif not self.rows and not self._done:
            self._conclude("the child process said nothing")

    def _ask(self, child: subprocess.Popen[str]) -> None:
        if child.stdin is None:
            return
        try:
            child.stdin.write(json.dumps(self._request))
            child.stdin.close()
        except BrokenPipeError:
            pass  # it died at once: the exit status tells

    def _read_events(self, stream: IO[str]) -> None:
        for line in stream:
            self._lines.put(line)
        self._lines.put(None)

    def _read_errors(self, stream: IO[str]) -> None:
        for line in stream:
            if line.strip() and not line.startswith("mlacheck: "):
                self._tail.append(line.strip())

    def _gather(self, deadline: float) -> bool:
        """Take events until the child closes its end; tell whether the time ran out first."""
        while True:
            try:
                line = self._lines.get(timeout=max(deadline - time.monotonic(), 0.001))
            except Empty:
                return True
            if line is None:
                return False
            try:
                event = json.loads(line)
            except ValueError:
                continue
            self._take(event)

    def _take(self, event: dict[str, Any]) -> None:
        if "row" in event:
            self.rows.append(Row.from_dict(event["row"]))
            self._current = None
        elif "started" in event:
            self._current = event["started"]
        elif "progress" in event:
            self._on_progress(event["progress"])
        elif "done" in event:
            self._done = True
        elif "gone" in event:
            self._lost = event["gone"]
        elif "boundary" in event:
            self.boundary = (*event["boundary"], *BOUNDARY)
        elif "device" in event:
            self.about = event

    def _conclude(self, cause: str) -> None:
        """Add the row that was running, and those that now never will."""
        name = self._current or ("runs" if not self.rows else "end")
        self.rows.append(Row(name, FAILS, detail=cause))
        problem = DecodeProblem.from_dict(self._request["problem"])
        seen = {row.name for row in self.rows}
        names = row_names(problem, processes=bool(self._request["ranks"]))
        rest = [other for other in names if other not in seen]
        self.rows.extend(Row(other, NOT_RUN, detail=f"the child process ended in {name!r}") for other in rest)


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
