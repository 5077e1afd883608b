"""Recognises the text that a rule quotes in the template of an engine's message."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

# How much of a rule's text must stand in a guard's message itself, not in the values filled in.
_SHARED: Final = 0.4
_HINT: Final = 6
# A message this long was cut; so many characters of it are enough then.
_CUT: Final = 138
_ENOUGH: Final = 24
# Stands for a value that the engine fills in.
_ANY: Final = "\0"


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
    shared = _shared(text, [*template.replace("{}", _ANY), *(_ANY * cut)])
    return shared >= _SHARED * len(text) or (cut and shared >= _ENOUGH)


def was_cut(template: str) -> bool:
    """Tell whether a recorded template is the beginning of a longer one."""
    return len(template) >= _CUT


def _shared(text: str, template: Sequence[str]) -> int:
    """Give the most characters that a text takes from a template in one run through it."""
    best = [0] * (len(template) + 1)
    for char in text:
        after = [-1] * (len(template) + 1)
        for at, wanted in enumerate(template):
            count = best[at]
            if count < 0:
                continue
            if wanted == _ANY:
                best[at + 1] = max(best[at + 1], count)
                after[at] = max(after[at], count)
            elif wanted == char:
                after[at + 1] = max(after[at + 1], count + 1)
        best = after
    return max(best)


def _flat(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
