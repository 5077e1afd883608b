"""One simple command ready to be searched, and the surroundings it stands in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from mlacheck.frozen import frozen
from mlacheck.launch.finder import Environment

if TYPE_CHECKING:
    from mlacheck.launch.command import Source, Wrapper
    from mlacheck.launch.expansion import Field
    from mlacheck.launch.lexer import Origin

DASHES: Final = ("\u2010", "\u2011", "\u2012", "\u2013", "\u2014", "\u2212")


@frozen
class Frame:
    """Where a text stands: its places, and the shells around it."""

    origin: Origin
    wrappers: tuple[Wrapper, ...] = ()
    env: Environment = field(default_factory=Environment)
    image: str | None = None
    source: Source | None = None  # of the outermost statement
    text: str | None = None
    live: tuple[tuple[int, int, str], ...] = ()  # what an outer shell has put in: start, end, its name


@dataclass(slots=True)
class Line:
    """One simple command after expansion."""

    assignments: list[tuple[str, Field]]
    fields: list[Field]
    suffix: tuple[str, ...] = ()
    setup: tuple[tuple[str, ...], ...] = ()
    text: str = ""


def is_flag(text: str) -> bool:
    """Tell whether a word looks like a flag, typed dashes that are no hyphens included."""
    return len(text) > 1 and text.startswith(("-", *DASHES))
