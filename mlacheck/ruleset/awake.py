"""Which rules can do anything over some facts: the others are stepped over without a look at them."""

from __future__ import annotations

from itertools import compress
from operator import is_not
from typing import TYPE_CHECKING, TypeAlias

from mlacheck.ruleset.expression import UNDECIDABLE
from mlacheck.ruleset.memory import reader

if TYPE_CHECKING:
    from collections.abc import Mapping

# By fact: what wakes for a value, what for any other value, and what where the value is not known.
Row: TypeAlias = "tuple[Mapping[object, tuple[int, ...]], tuple[int, ...], tuple[int, ...]]"
Wakes: TypeAlias = "dict[str, Row]"


class Awake:
    """Flags of which generated code asks one before the rules that it stands for."""

    def __init__(self, wakes: Wakes, flags: list[bool]) -> None:
        self.wakes, self.flags = wakes, flags

    def copy(self) -> Awake:
        """Give the same, to be told more."""
        return Awake(self.wakes, self.flags.copy())

    def tell(self, fact: str, value: object) -> None:
        """Wake what may act with a value of a fact."""
        row = self.wakes.get(fact)
        if row is None:
            return
        by_value, other, every = row
        try:
            numbers = by_value.get(value, other)
        except UNDECIDABLE:  # not known, or a list
            numbers = every
        for number in numbers:
            self.flags[number] = True


class Sleepers:
    """The rules of a program that sleep while nothing is said."""

    def __init__(self, wakes: Wakes, count: int, defaults: Mapping[str, object]) -> None:
        self.wakes, self._asleep = wakes, [False] * count
        self._values = reader(list(wakes))
        self._quiet = self._values(defaults)

    def awake(self, facts: Mapping[str, object]) -> Awake:
        """Find those that can do something over facts."""
        awake = Awake(self.wakes, self._asleep.copy())
        for name in compress(self.wakes, map(is_not, self._values(facts), self._quiet)):
            awake.tell(name, facts[name])
        return awake
