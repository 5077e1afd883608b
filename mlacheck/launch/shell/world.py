"""Variables with several possible values, and the one choice of branches under which a command is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypeVar

from mlacheck.launch.piece import Field, Piece

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")
MOST_WORLDS: Final = 16

# Branches taken: (branching, arm).
Guard: TypeAlias = frozenset[tuple[int, int]]
ANYWHERE: Final[Guard] = frozenset()
# How a statement can end: the worlds in which it succeeds, and those in which it does not.
Status: TypeAlias = list[tuple[Guard, bool]]


class Value(NamedTuple):
    """What a variable holds: a text, or the words of an array."""

    pieces: tuple[Piece, ...] = ()
    items: tuple[Field, ...] | None = None


class Option(NamedTuple):
    """A value that a variable has when these branches were taken; None: it is not set there."""

    guard: Guard
    value: Value | None


Options: TypeAlias = tuple[Option, ...]


def open_value(name: str) -> Value:
    """Make the value of a variable that the text does not settle."""
    return Value((Piece("${" + name + "}", names=(name,)),))


def nothing() -> None:
    """Follow no statement: the branch that is not written."""


def always(value: Value | None) -> Options:
    """Make the only value of a variable."""
    return (Option(ANYWHERE, value),)


def fits(one: Guard, other: Guard) -> bool:
    """Tell whether both can be true."""
    if not one or not other:
        return True
    taken = dict(one)
    return all(taken.get(point, arm) == arm for point, arm in other)


class World:
    """One choice among the values that are read, made as they are read."""

    __slots__ = ("_forced", "_opens", "counts", "guard", "taken")

    def __init__(self, guard: Guard, forced: tuple[int, ...] = (), *, opens: bool = False) -> None:
        self.guard, self._forced, self._opens = guard, forced, opens
        self.taken: list[int] = []
        self.counts: list[int] = []

    def pick(self, options: Options, name: str) -> Value | None:
        """Take the value that this world has."""
        fit = [option for option in options if fits(option.guard, self.guard)]
        if not fit:
            return None
        if len(fit) > 1 and self._opens:
            return open_value(name)
        index = 0
        if len(fit) > 1:
            at = len(self.taken)
            index = self._forced[at] if at < len(self._forced) else 0
            self.taken.append(index)
            self.counts.append(len(fit))
        self.guard |= fit[index].guard
        return fit[index].value


def worlds(guard: Guard, run: Callable[[World], T]) -> list[tuple[Guard, T]]:
    """Run in every world there is; when they are too many, in one in which what differs is open."""
    results: list[tuple[Guard, T]] = []
    waiting: list[tuple[int, ...]] = [()]
    while waiting and len(results) < MOST_WORLDS:
        forced = waiting.pop()
        world = World(guard, forced)
        outcome = run(world)
        results.append((world.guard, outcome))
        for at in range(len(world.taken) - 1, len(forced) - 1, -1):
            others = range(world.counts[at] - 1, 0, -1)
            waiting.extend((*world.taken[:at], other) for other in others)
    if waiting:
        world = World(guard, opens=True)
        return [(guard, run(world))]
    return results


def merge(options: Sequence[Option], name: str) -> Options:
    """Join the values that a variable has after a branching; too many become one open value."""
    first = options[0]
    if all(option.value == first.value for option in options):
        return (Option(frozenset.intersection(*(option.guard for option in options)), first.value),)
    if len(options) > MOST_WORLDS:
        return always(open_value(name))
    return tuple(options)
