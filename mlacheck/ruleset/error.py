"""What is wrong with a rule file."""

from __future__ import annotations


class RuleError(Exception):
    """A rule file that cannot be used; the message names file and line."""

    def __init__(self, message: str, *, file: str, line: int | None = None) -> None:
        self.message, self.file, self.line = message, file, line
        place = file if line is None else f"{file}:{line}"
        super().__init__(f"{place}: {message}")
