"""Variables that a file's own reader puts in: `$(NAME)` in Kubernetes, `${NAME:-x}` in compose and Docker."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mlacheck.launch.piece import Piece, Pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mlacheck.launch.finder import Environment

_KUBERNETES: Final = re.compile(r"\$\$(?=\()|\$\(([A-Za-z_.-][A-Za-z0-9_.-]*)\)")
_COMPOSE: Final = re.compile(
    r"\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)(?:(:?[-?+])([^{}]*))?\}|\$([A-Za-z_][A-Za-z0-9_]*)"
)


def kubernetes(pieces: Iterable[Piece], env: Environment) -> tuple[Piece, ...]:
    """Put in `$(NAME)` from a container's environment; what that does not say stays open."""

    def value(match: re.Match[str], at: Piece) -> Piece:
        name = match[1]
        if name is None:
            return at._replace(text="$", exact=False)
        if name in env.values:
            return at._replace(text=env.values[name], exact=False, via=(name,))
        return at._replace(names=env.unknown.get(name, (name,)))

    return _replaced(pieces, _KUBERNETES, value)


def compose(pieces: Iterable[Piece], known: dict[str, str] | None = None) -> tuple[Piece, ...]:
    """Put in `$NAME` and `${NAME:-default}`; a default counts, everything else is open."""

    def value(match: re.Match[str], at: Piece) -> Piece:
        name, operator, word = match[1] or match[4], match[2] or "", match[3] or ""
        if name is None:
            return at._replace(text="$", exact=False)
        if known is not None and name in known and operator[-1:] != "+":
            return at._replace(text=known[name], exact=False, via=(name,))
        if operator[-1:] == "-" and word:
            return at._replace(text=word, exact=False, assumed=(f"{name}={word}",))
        return at._replace(names=(name,))

    return _replaced(pieces, _COMPOSE, value)


def _replaced(
    pieces: Iterable[Piece], pattern: re.Pattern[str], value: Callable[[re.Match[str], Piece], Piece]
) -> tuple[Piece, ...]:
    whole = Pieces(pieces)
    if "$" not in whole.text:
        return tuple(whole.pieces)

    def put_in(match: re.Match[str], _: int) -> Piece:
        start, _ = whole.span(*match.span())
        at = start if start >= 0 else whole.cut(*match.span())[0].at
        return value(match, Piece(match.group(), at, exact=start >= 0))

    return tuple(whole.replaced(pattern, put_in))
