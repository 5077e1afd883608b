"""Variables with several possible values, and the one choice of branches under which a command is read."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypeVar

from mlacheck.launch.piece import Field, Piece, Pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

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


def common(options: Sequence[Option], name: str) -> Value:
    """Give what many values of a variable begin with alike, and leave the rest open."""
    held = [option.value for option in options if option.value is not None]
    rest = Piece("${" + name + "}", names=(name,), splits=True)
    if len(held) < len(options):
        return open_value(name)
    if all(value.items is not None for value in held):
        columns = _alike([[(item.text, item) for item in value.items or ()] for value in held])
        items = [column[0][1] for column in columns]
        return Value(items=(*items, Field((rest._replace(text="${" + name + "[@]}"),))))
    if any(value.items is not None for value in held):
        return open_value(name)
    alike = _alike([[((piece.text, piece.at), piece) for piece in value.pieces] for value in held])
    # Each of them may rest on defaults of its own.
    pieces = [
        column[0][1]._replace(
            assumed=tuple(dict.fromkeys(one for _, piece in column for one in piece.assumed))
        )
        for column in alike
    ]
    start = len("".join(piece.text for piece in pieces))
    rests = ["".join(piece.text for piece in value.pieces)[start : start + 1] for value in held]
    if all(not one or one.isspace() for one in rests):
        pieces.append(Piece(" "))
    # What was open at its end before is part of what is open now.
    while pieces and (pieces[-1].names == (name,) or not (pieces[-1].names or pieces[-1].text.strip())):
        blank = pieces.pop()
        if not blank.names and (not pieces or pieces[-1].names != (name,)):
            pieces.append(blank)
            break
    kept = _whole_words(pieces)
    return Value((*kept, rest)) if kept else open_value(name)


def _whole_words(pieces: Sequence[Piece]) -> list[Piece]:
    """Cut a text after its last blank that stands in no quotes: what is open may close the ones after it."""
    whole = Pieces(pieces)
    quote, end = "", 0
    for at, char in enumerate(whole.text):
        if char in "'\"" and quote in ("", char):
            quote = "" if quote else char
        elif char in " \t\n" and not quote:
            end = at + 1
    return whole.cut(0, end)


def _alike(rows: Sequence[Sequence[tuple[object, T]]]) -> list[Sequence[tuple[object, T]]]:
    """Give the columns that rows begin with alike."""
    columns: Iterable[Sequence[tuple[object, T]]] = zip(*rows, strict=False)
    return list(itertools.takewhile(lambda column: len({key for key, _ in column}) == 1, columns))


def grow(options: Options, name: str, between: str) -> Options:
    """Give the values of a variable to which something is added that the text does not settle."""
    blank = (Piece(between),) if between else ()
    rest = Piece("${" + name + "}", names=(name,), splits=True)
    grown = []
    for option in options:
        value = option.value or Value()
        if value.items is not None:
            value = Value(items=(*value.items, Field((rest._replace(text="${" + name + "[@]}"),))))
        else:
            value = Value((*value.pieces, *blank, rest))
        grown.append(Option(option.guard, value))
    return tuple(grown)


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
            return common(fit, name)
        index = 0
        if len(fit) > 1:
            at = len(self.taken)
            index = self._forced[at] if at < len(self._forced) else 0
            self.taken.append(index)
            self.counts.append(len(fit))
        self.guard |= fit[index].guard
        return fit[index].value


def worlds(guard: Guard, run: Callable[[World], T], most: int = MOST_WORLDS) -> list[tuple[Guard, T]]:
    """Run in every world there is; when they are too many, in one in which what differs is open."""
    results: list[tuple[Guard, T]] = []
    waiting: list[tuple[int, ...]] = [()]
    while waiting and len(results) < most:
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
        return always(common(options, name))
    return tuple(options)
