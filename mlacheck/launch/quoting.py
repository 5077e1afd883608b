"""Quoting for a POSIX shell."""

from __future__ import annotations

import re
import shlex
from typing import Final

_SAFE: Final = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")


def quote(text: str) -> str:
    """Quote `text` only where a shell needs it."""
    return text if _SAFE.fullmatch(text) else shlex.quote(text)
