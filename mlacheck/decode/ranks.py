"""Which of several processes this is, as torchrun tells; nothing here imports torch."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from mlacheck.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK")


@frozen
class Ranks:
    """The place of this process among those that one torchrun started."""

    rank: int
    world: int
    local: int

    @property
    def leads(self) -> bool:
        """Tell whether this process speaks for all."""
        return self.rank == 0


def ranks_here(environment: Mapping[str, str] = os.environ) -> Ranks | None:
    """Read torchrun's variables; None for a process on its own."""
    if "MASTER_ADDR" not in environment or "MASTER_PORT" not in environment:
        return None
    try:
        rank, world, local = (int(environment[name]) for name in _NAMES)
    except (KeyError, ValueError):
        return None
    return Ranks(rank, world, local) if world > 1 and 0 <= rank < world else None


class Terminated(Exception):  # noqa: N818 - an event, not an error of the program
    """The process was told to end."""


@contextmanager
def terminable() -> Iterator[None]:
    """Turn SIGTERM, which torchrun sends when a rank ends early, into an exception: rows are still told."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> NoReturn:
        raise Terminated("ended by SIGTERM, which torchrun sends to every rank when one ends early")

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
