"""Signs of life between processes, so that a lost one is named and nobody waits for it in a collective."""

from __future__ import annotations

import os
import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from torch.distributed import TCPStore  # type: ignore[attr-defined]  # torch exports it without saying so

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_EVERY_S: Final = 0.5
# A compiler can keep a process from beating for some seconds.
_LIMIT_S: Final = 20.0
_SUSPECT_S: Final = 3.0


class Pulse:
    """Beats for this process and watches others, over a connection of its own to torchrun's store."""

    def __init__(
        self,
        rank: int,
        watched: Iterable[int],
        on_lost: Callable[[str], None],
        meeting: int,
        limit: float = _LIMIT_S,
    ) -> None:
        self._store = TCPStore(
            os.environ["MASTER_ADDR"],
            int(os.environ["MASTER_PORT"]),
            is_master=False,
            timeout=timedelta(seconds=limit),
        )
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        self._prefix = f"mlacheck/{attempt}/{meeting}/"
        self._rank = rank
        self._on_lost = on_lost
        self._limit = limit
        self._heard: dict[int, tuple[bytes, float]] = {other: (b"", time.monotonic()) for other in watched}
        self._parent = os.getppid()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop watching."""
        self._ended.set()
        self._thread.join(timeout=2 * _EVERY_S)

    def say(self, word: str) -> None:
        """Leave a word for processes that only wait."""
        self._store.set(f"{self._prefix}word", word)

    def hear(self) -> str:
        """Wait for that word."""
        while not self._store.check([f"{self._prefix}word"]):
            time.sleep(_EVERY_S)
        word: bytes = self._store.get(f"{self._prefix}word")
        return word.decode()

    def silent(self, wait: float = _SUSPECT_S) -> tuple[int, ...]:
        """Name the watched ranks that give no sign of life while one waits; each beats several times then."""
        time.sleep(2 * _EVERY_S)  # a last beat may still be on its way
        before = {rank: beat for rank, (beat, _) in self._heard.items()}
        time.sleep(wait)
        return tuple(rank for rank, (beat, _) in self._heard.items() if beat == before[rank])

    def _beat(self) -> None:
        count = 0
        while not self._ended.wait(_EVERY_S):
            count += 1
            try:
                self._store.set(f"{self._prefix}{self._rank}", str(count))
                lost = self._listen()
            except RuntimeError:  # it went with the process that kept it
                lost = "the store through which ranks meet"
            if os.getppid() != self._parent:
                os._exit(1)  # nobody is left who would read the rows
            if lost is not None and not self._ended.is_set():
                self._on_lost(lost)
                return

    def _listen(self) -> str | None:
        now = time.monotonic()
        for rank, (beat, since) in self._heard.items():
            key = f"{self._prefix}{rank}"
            latest = self._store.get(key) if self._store.check([key]) else b""
            if latest != beat:
                self._heard[rank] = (latest, now)
            elif now - since > self._limit:
                return f"rank {rank}"
        return None
