"""Files of `NAME=VALUE` lines: compose's `.env` and `env_file`, `docker run --env-file`, systemd's."""

from __future__ import annotations

import re
from typing import Final

from mlacheck.pattern import lazy

_LINE: Final = lazy(r"(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_.-]*)[ \t]*(?:=[ \t]*(.*))?$")
_QUOTED: Final = lazy(r"\"((?:[^\"\\]|\\.)*)\"[ \t]*(?:#.*)?$|'([^']*)'[ \t]*(?:#.*)?$")
_ESCAPE: Final = lazy(r"\\([\"\\$`nrt])")
_LETTERS: Final = {"n": "\n", "r": "\r", "t": "\t"}


def variables(text: str, *, quotes: bool = True) -> dict[str, str | None]:
    """Give the variables of a file, None for one whose value it leaves to somebody else.

    `quotes` tells whether quotes and comments after a value count: to Docker they are letters.
    """
    found: dict[str, str | None] = {}
    for line in text.splitlines():
        match = _LINE.match(line.strip())
        if match is None:
            continue
        name, given = match[1], match[2]
        if given is None:
            found[name] = None
        elif not quotes:
            found[name] = given
        elif quoted := _QUOTED.match(given):
            found[name] = quoted[2] if quoted[1] is None else _plain(_ESCAPE.sub(_unescaped, quoted[1]))
        else:
            found[name] = _plain(re.sub(r"(?:^|[ \t]+)#.*$", "", given).rstrip())
    return found


def _plain(value: str) -> str | None:
    """Leave a value open that is put together from other variables."""
    return None if "$" in value else value


def _unescaped(match: re.Match[str]) -> str:
    return _LETTERS.get(match[1], match[1])
