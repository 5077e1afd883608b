"""Lines of a text, those that a backslash continues joined."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def logical_lines(text: str, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
    """Give the span of each line without its line end; an odd number of backslashes continues a line."""
    stop = len(text) if end is None else end
    at = begin = start
    while at < stop:
        found = text.find("\n", at, stop)
        line_end = stop if found < 0 else found
        line = text[at:line_end]
        if (len(line) - len(line.rstrip("\\"))) % 2 == 0 or found < 0:
            yield begin, line_end
            begin = line_end + 1
        at = line_end + 1
    if begin < at and begin < stop:
        yield begin, stop
