"""What expressions over open facts come to, worked out once for the same facts.

Most lines of a run leave the same facts open, and so do the GPUs that one line is tried for. What a rule or a
derived fact comes to depends on nothing but the facts that it names, so nothing here can grow stale.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

# Enough for thousands of lines of one kind; some 10 MB.
_MOST: Final = 20_000
K = TypeVar("K")
T = TypeVar("T")


class Memory(Generic[K]):
    """Remembers what things of one kind came to; `reads` names the facts that one depends on."""

    def __init__(self, reads: Callable[[K], Collection[str]]) -> None:
        self.reads = reads
        self._readers: dict[K, Callable[[Mapping[str, object]], tuple[object, ...]]] = {}
        self._known: dict[tuple[object, ...], tuple[tuple[object, ...], object]] = {}

    def recall(self, one: K, facts: Mapping[str, object], work: Callable[[], T]) -> T:
        """Give what one comes to; `work` finds it out."""
        read = self._readers.get(one)
        if read is None:
            read = self._readers[one] = reader(sorted(self.reads(one)))
        values = read(facts)
        # By identity, as open values cannot be compared; the entry keeps the objects, so ids stay theirs.
        key = (one, *map(id, values))
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _MOST:
                self._known.clear()
            found = self._known[key] = values, work()
        return found[1]  # type: ignore[return-value]  # one kind of work for one thing


def reader(names: list[str]) -> Callable[[Mapping[str, object]], tuple[object, ...]]:
    """Make a function that gives some facts' values."""
    if len(names) > 1:
        return itemgetter(*names)
    return lambda facts: tuple([facts[name] for name in names])
