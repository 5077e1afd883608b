"""One simple command ready to be searched, and the surroundings it stands in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mlacheck.frozen import frozen, record

if TYPE_CHECKING:
    from mlacheck.launch.command import Source, Wrapper
    from mlacheck.launch.piece import Field

DASHES: Final = ("\u2010", "\u2011", "\u2012", "\u2013", "\u2014", "\u2212")


@frozen
class Surroundings:
    """What the file around a command says of it."""

    image: str | None = None
    gpu: str | None = None
    gpu_count: int | None = None
    nodes: int | None = None
    label: str = ""


@frozen
class Frame:
    """Where a text stands: the shells around it, and what the file says of it."""

    wrappers: tuple[Wrapper, ...] = ()
    image: str | None = None
    source: Source | None = None  # of the outermost statement
    text: str | None = None
    around: Surroundings = Surroundings()
    # The text may be no command at all: only what plainly is one counts, and nothing is said of the rest.
    guess: bool = False
    # The commands stand in a file, as opposed to a text that is a command.
    file_kind: str = ""


@record
class Line:
    """One simple command after expansion."""

    assignments: list[tuple[str, Field]]
    fields: list[Field]
    suffix: tuple[str, ...] = ()
    setup: tuple[tuple[str, ...], ...] = ()
    text: str = ""
    span: tuple[int, int] = (-1, -1)


def is_flag(text: str) -> bool:
    """Tell whether a word looks like a flag, typed dashes that are no hyphens included."""
    return len(text) > 1 and text.startswith(("-", *DASHES))
