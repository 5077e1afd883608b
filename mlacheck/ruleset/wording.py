"""Recognises the text that a rule quotes in the template of an engine's message."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

# How much of a rule's text must stand in a guard's message itself, not in the values filled in.
_SHARED: Final = 0.4
_HINT: Final = 6
# A message this long was cut; so many characters of it are enough then.
_CUT: Final = 138
_ENOUGH: Final = 24


def says(text: str, template: str) -> bool:
    """Tell whether a text can stand in a message made from a template, which may have been cut short.

    No text is the message of a guard without one; a template that is nothing but a value may say anything.
    """
    text, template = _flat(text), _flat(template)
    if not template or not text:
        return not template and not text
    if text in template or template == "{}":
        return True
    pieces = [piece.strip() for piece in template.split("{}")]
    cut = was_cut(template)
    begins, ends = text[:_HINT], text[-_HINT:]
    if not any(
        (len(piece) >= _HINT and piece in text) or begins in piece or ends in piece for piece in pieces
    ) and not (cut and text.startswith(pieces[-1][-_HINT:])):
        return False  # nothing in common: spare the search
    shared = _shared(text, [*template.split("{}"), *[""] * cut])
    return shared >= _SHARED * len(text) or (cut and shared >= _ENOUGH)


def was_cut(template: str) -> bool:
    """Tell whether a recorded template is the beginning of a longer one."""
    return len(template) >= _CUT


def _shared(text: str, pieces: Sequence[str]) -> int:
    """Give the most characters that a text has in common with pieces of a template in one run through it.

    Between two pieces anything may stand; the text may begin and end anywhere. -1: it cannot stand there.
    """

    @cache
    def behind(number: int, at: int) -> int:
        """Give the most from `at` on, which stands between the piece before `number` and that piece."""
        best = 0  # the value goes on to the end of the text
        piece = pieces[number]
        for start in range(at, len(text)):
            if text.startswith(piece, start):
                best = max(best, ended(number, start + len(piece), len(piece)))
            elif piece.startswith(text[start:]):
                best = max(best, len(text) - start)
        return best

    def ended(number: int, at: int, shared: int) -> int:
        """Give the most where a piece that shares so many characters has ended at `at`."""
        if at == len(text):
            return shared
        rest = behind(number + 1, at) if number + 1 < len(pieces) else -1
        return -1 if rest < 0 else shared + rest

    best = -1
    for number, piece in enumerate(pieces):
        for begin in range(len(piece) + 1):
            tail = piece[begin:]
            if text.startswith(tail):
                best = max(best, ended(number, len(tail), len(tail)))
            elif tail.startswith(text):
                best = len(text)
    return best


def _flat(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
