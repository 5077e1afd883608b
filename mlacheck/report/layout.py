"""Fits text to a width: sentences between words, shell commands between arguments."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator

NOT_A_TERMINAL: Final = 80
_NARROWEST: Final = 40


def width_of(stream: TextIO) -> int:
    """Give the columns of a terminal; 80 where there is none; COLUMNS decides where it is set."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return max(_NARROWEST, int(columns))
    try:
        return max(_NARROWEST, os.get_terminal_size(stream.fileno()).columns)
    except (OSError, ValueError):  # not a terminal, or nothing that has a number
        return NOT_A_TERMINAL


def wants_colour(stream: TextIO) -> bool:
    """Tell whether styles are shown: on a terminal, unless NO_COLOR or FORCE_COLOR say otherwise."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def wrap(text: str, width: int, first: str = "", rest: str | None = None) -> list[str]:
    """Break a sentence between words; `first` starts the first line and `rest` the others."""
    indent = " " * len(first) if rest is None else rest
    lines, line = [], first
    empty = True  # nothing but the indent stands in the line
    for word in text.split(" "):
        if not empty and len(line) + 1 + len(word) > width:
            lines.append(line.rstrip())
            line, empty = indent, True
        if word or not empty:
            line += word if empty else f" {word}"
            empty = False
    return [*lines, line.rstrip()]


def wrap_command(command: str, width: int, indent: str) -> list[str]:
    """Break a shell command before its flags, so that it can still be pasted."""
    words = list(_words(command))
    if not words or "\n" in command or len(indent) + len(command) <= width:
        return [indent + command]
    lines, line = [], words[0]
    for group in _groups(words[1:]):
        # A blank and a backslash follow every line but the last.
        if len(indent) + len(line) + 1 + len(group) + 2 > width:
            lines.append(f"{indent}{line} \\")
            line = f"  {group}"
        else:
            line = f"{line} {group}"
    return [*lines, indent + line]


def _groups(words: list[str]) -> Iterator[str]:
    """Keep a flag and the values after it together."""
    group: list[str] = []
    for word in words:
        if word.startswith("-") and group:
            yield " ".join(group)
            group = []
        group.append(word)
    if group:
        yield " ".join(group)


def _words(command: str) -> Iterator[str]:
    """Split a command at blanks outside quotes, spelling kept; nothing where that is not certain."""
    word, quote, at = "", "", 0
    words: list[str] = []
    while at < len(command):
        char = command[at]
        if quote != "'" and char == "\\":
            word += command[at : at + 2]
            at += 2
            continue
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "#`(" or command.startswith("<<", at):  # comments, substitutions, here-documents
            return
        elif char in " \t":
            if word:
                words.append(word)
            word = ""
            at += 1
            continue
        word += char
        at += 1
    if not quote:
        yield from words
        if word:
            yield word


def figure(value: object) -> str:
    """Write a measured value or its limit as a row of the decode check shows it."""
    return f"{value:.2g}" if isinstance(value, float) else str(value)
