"""`xargs` and `parallel`: one command line run for many inputs, which the text does not hold."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mlacheck.launch.piece import Field, Piece, Pieces
from mlacheck.launch.programs import basename
from mlacheck.pattern import lazy

if TYPE_CHECKING:
    from collections.abc import Sequence

_FANS: Final = frozenset({"xargs", "parallel"})
_BEFORE: Final = frozenset({"sudo", "env", "nohup", "time", "exec"})
_INPUTS: Final = lazy(r"::::?\+?")
_PLACE: Final = lazy(r"\{(?:[0-9]*(?:/|//|/\.|\.)?|[#%])\}")


def fanned(fields: Sequence[Field]) -> tuple[list[Field], str]:
    """Give the words without the inputs, places for inputs open; also what adds words at the end, or ""."""
    at = next((at for at, one in enumerate(fields) if basename(one.text) not in _BEFORE), 0)
    name = basename(fields[at].text) if fields else ""
    if name not in _FANS:
        return list(fields), ""
    words = [one.text for one in fields]
    stop = next((index for index, word in enumerate(words) if _INPUTS.fullmatch(word)), len(words))
    place = _place(words[at:stop])
    kept = [_opened(one, name, place) for one in fields[:stop]]
    placed = any(one.unknown for one in kept) or any(re.match(r"-[IiJ]", word) for word in words[at:stop])
    return kept, "" if placed else name


def _place(words: Sequence[str]) -> re.Pattern[str]:
    """Give what stands for an input: `{}`, or what `-I` names."""
    for at, word in enumerate(words):
        named = re.fullmatch(r"-[IJ](.*)|--replace=(.+)", word, re.DOTALL)
        place = named and (named[1] or named[2] or (words[at + 1] if at + 1 < len(words) else ""))
        if place and place != "{}":
            return re.compile(re.escape(place))
    return _PLACE


def _opened(field: Field, name: str, place: re.Pattern[str]) -> Field:
    if field.text.startswith("-I") or not place.search(field.text):
        return field
    what = (f"what {name} puts in",)
    pieces = Pieces(field.pieces).replaced(place, lambda match, at: Piece(match.group(), at, names=what))
    return field._replace(pieces=tuple(pieces), start=-1, end=-1)
