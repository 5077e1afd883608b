"""Regular expressions that are compiled when they are first used: a run uses few of all that it imports."""

from __future__ import annotations

import re
from typing import Any, cast


class _Lazy:
    def __init__(self, text: str, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(self._text, self._flags), name)
        setattr(self, name, found)
        return found


def lazy(text: str, flags: int = 0) -> re.Pattern[str]:
    """Give what `re.compile` gives, later."""
    return cast("re.Pattern[str]", _Lazy(text, flags))
