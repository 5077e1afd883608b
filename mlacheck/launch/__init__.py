"""Find engine launch commands in text; nothing is ever run or evaluated."""

from __future__ import annotations

from mlacheck.launch.command import (
    Document,
    LaunchCommand,
    LaunchProblem,
    LaunchResult,
    Source,
    Word,
    Wrapper,
)
from mlacheck.launch.parse import parse_argv, parse_bytes, parse_text

__all__ = [
    "Document",
    "LaunchCommand",
    "LaunchProblem",
    "LaunchResult",
    "Source",
    "Word",
    "Wrapper",
    "parse_argv",
    "parse_bytes",
    "parse_text",
]
