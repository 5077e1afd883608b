"""Values of facts that are not known, or known only to be one of several."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterable


class Undecided(Exception):  # noqa: N818 - not an error: the answer is not known
    """A value was needed that nobody supplied."""


class _Undecided:
    """Any use that would need the value raises `Undecided`: compiled rules need no check of their own."""

    __slots__ = ()

    def _undecided(self, *_: object) -> NoReturn:
        raise Undecided

    __bool__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = _undecided
    __contains__ = __iter__ = __len__ = _undecided
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _undecided
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __and__ = __rand__ = __neg__ = _undecided


class Unknown(_Undecided):
    """The type of `UNKNOWN`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNKNOWN"


class Possible(_Undecided):
    """A value known to be one of several."""

    __slots__ = ("options",)

    def __init__(self, options: tuple[object, ...]) -> None:
        self.options: Final = options

    def __repr__(self) -> str:
        return "one of " + ", ".join(map(str, self.options))


UNKNOWN: Final = Unknown()

# Beyond this many possible values a fact is simply unknown: reports would not name more anyway.
MOST_OPTIONS: Final = 8
_MOST_KEPT: Final = 4096


def one_of(values: Iterable[object]) -> object:
    """Give the value itself, `Possible` values, or UNKNOWN, from all values something may have."""
    seen: list[object] = []
    for value in values:
        options = value.options if isinstance(value, Possible) else (value,)
        for option in options:
            if isinstance(option, Unknown):
                return UNKNOWN
            if not any(type(option) is type(other) and option == other for other in seen):
                seen.append(option)
    if len(seen) == 1:
        return seen[0]
    if len(seen) > MOST_OPTIONS:
        return UNKNOWN
    try:
        return _possible(tuple(seen), tuple(map(type, seen)))
    except TypeError:  # a list or an object among them
        return Possible(tuple(seen))


@lru_cache(maxsize=_MOST_KEPT)
def _possible(options: tuple[object, ...], _types: tuple[type, ...]) -> Possible:
    return Possible(options)


def the_same(value: object) -> object:
    """Give one object for all equal values of a type: what rules came to is remembered by identity."""
    try:
        return _kept(value) if is_known(value) else value
    except TypeError:  # a list or an object
        return value


@lru_cache(maxsize=_MOST_KEPT, typed=True)
def _kept(value: object) -> object:
    return value


def is_known(value: object) -> bool:
    """Tell whether a fact has one known value (None counts: the engine's own 'unset')."""
    return not isinstance(value, _Undecided)
