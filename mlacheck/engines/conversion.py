"""The error of a value that a converter refuses."""

from __future__ import annotations


class ConversionError(Exception):
    """A value that is refused in the type's own words, in place of `invalid TYPE value`.

    `reason` names the engine's text among the recorded ones, `parts` what is filled into it. `late`
    are those that the parser itself lets through.
    """

    def __init__(self, text: str, reason: str, **parts: object) -> None:
        super().__init__(text)
        self.reason = reason
        self.parts = parts
        self.late = False
        self.value: object = None  # what was read of one that is refused late
