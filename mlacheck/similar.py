"""Finds the texts most like a given one, as `difflib` does, but compares only those that can be like it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def closest(text: str, known: Iterable[str], most: int, like: float) -> list[str]:
    """Give what `difflib.get_close_matches` gives."""
    if text.isascii():
        mine, length = _letters(text), len(text)
        # No more letters can match than both have.
        known = [
            one
            for one in known
            if not one.isascii()
            or 2.0 * (mine & _letters(one)).bit_count() >= like * (length + len(one)) - 1e-6
        ]
        if not known:
            return []
    import difflib  # only where something may be close

    return difflib.get_close_matches(text, known, most, like)


@lru_cache(maxsize=8192)
def _letters(text: str) -> int:
    """Set a bit for each letter of an ASCII text, another one for each time that it comes again."""
    letters = 0
    for letter in text:
        bit = 1 << ord(letter)
        while letters & bit:
            bit <<= 128
        letters |= bit
    return letters
