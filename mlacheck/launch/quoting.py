"""Quoting for a POSIX shell."""

from __future__ import annotations

import re
from typing import Final

_SAFE: Final = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
# What a terminal obeys instead of showing; a line break or a tab within quotes does no harm.
_UNSEEN: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def quote(text: str) -> str:
    r"""Quote `text` only where a shell needs it; control characters are written out, as in $'\u001b'."""
    if _SAFE.fullmatch(text):
        return text
    if _UNSEEN.search(text) is None:
        import shlex  # few words need quotes

        return shlex.quote(text)
    plain = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"$'{shown_plainly(plain)}'"


def shown_plainly(text: str) -> str:
    """Write control characters as escapes, so that no terminal obeys them."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
