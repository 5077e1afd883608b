"""The ways in: launch commands from text, bytes or an argv."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from mlacheck.frozen import replace
from mlacheck.launch.command import Document, LaunchProblem, LaunchResult
from mlacheck.launch.finder import ASSIGNMENT, Environment
from mlacheck.launch.frame import Frame, Line
from mlacheck.launch.piece import Field, Lines, Piece, Pieces, document
from mlacheck.launch.programs import MODULES, POSITIONAL_MODEL, SERVERS, basename
from mlacheck.launch.quoting import quote
from mlacheck.launch.reader import Reader
from mlacheck.probes.engine import ENGINES
from mlacheck.similar import closest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOST_CHARACTERS: Final = 1_000_000
# The words of a text that may misspell an entry point, and how like one such a word is.
_LEADING: Final = 4
_LIKE: Final = 0.8
_FORMS: Final = ", ".join(
    [
        f"`python -m {next(iter(MODULES))} ...`",
        *(f"`{entry} ...`" for entry in POSITIONAL_MODEL),
        "or only the flags",
    ]
)


def parse_text(
    text: str,
    *,
    default_engine: str = ENGINES[0],
    file: str | None = None,
    line: int = 1,
    column: int = 1,
    env: Mapping[str, str] | None = None,
) -> LaunchResult:
    """Find the launch commands in shell text; `line` and `column` say where the text starts in its file."""
    lines = Lines(text, line, column)
    problem = unreadable(text, lines)
    if problem is not None:
        return LaunchResult(problems=(problem,), document=Document(text, file))
    reader = Reader(default_engine, file, lines, env=env)
    try:
        reader.text(document(text), Frame())
    except RecursionError:
        reader.problem(
            "nested-too-deep", "expansions stand inside each other too deep", "write the command plainly", 0
        )
    return replace(_result(reader), document=Document(text, file))


def parse_bytes(data: bytes, *, default_engine: str = ENGINES[0], file: str | None = None) -> LaunchResult:
    """Find the launch commands in UTF-8 shell text."""
    if len(data) > MOST_CHARACTERS:
        return LaunchResult(problems=(_too_large(len(data)),))
    if b"\0" in data:
        return parse_text(data[: data.index(b"\0") + 1].decode("utf-8", "replace"), file=file)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8", "replace")
        place = Lines(before).place(len(before))
        message = f"byte 0x{data[error.start]:02x} is not UTF-8"
        return LaunchResult(
            problems=(LaunchProblem("not-text", message, "convert the text to UTF-8", *place),)
        )
    return parse_text(text, default_engine=default_engine, file=file)


def parse_argv(
    argv: Sequence[str], *, default_engine: str = ENGINES[0], file: str | None = None
) -> LaunchResult:
    """Read an argv that a shell has split already; places are those in the argv quoted on one line."""
    if len(argv) == 1 and any(char.isspace() for char in argv[0]):  # a whole command in one word
        return parse_text(argv[0], default_engine=default_engine, file=file)
    text = " ".join(map(quote, argv))
    lines = Lines(text)
    problem = unreadable(text, lines)
    if problem is not None:
        return LaunchResult(problems=(problem,))
    fields: list[Field] = []
    at = 0
    for word in argv:
        raw = quote(word)
        exact = raw == word
        pieces = (Piece(word, at + (not exact), exact="'" not in word),) if word else ()
        fields.append(Field(pieces, at, at + len(raw), at, raw))
        at += len(raw) + 1
    assignments: list[tuple[str, Field]] = []
    while fields and (match := ASSIGNMENT.match(fields[0].text)):
        whole = fields.pop(0)
        value = whole.text[match.end() :]
        given = tuple(Pieces(whole.pieces).cut(match.end(), len(whole.text)))
        assignments.append(
            (match.group(1), Field(given, place=whole.place, raw=match.group() + quote(value)))
        )
    reader = Reader(default_engine, file, lines)
    if fields:
        line = Line(assignments, fields, text=text, span=(0, len(text)))
        reader.line(line, Environment(), None, Frame())
    return replace(_result(reader), document=Document(text, file))


def unreadable(text: str, lines: Lines) -> LaunchProblem | None:
    """Say why a text cannot be read at all, None when it can."""
    if len(text) > MOST_CHARACTERS:
        return _too_large(len(text))
    if "\0" in text:
        place = lines.place(text.index("\0"))
        return LaunchProblem(
            "not-text", "the input holds a NUL byte: it is not text", "give a text file", *place
        )
    surrogate = next((at for at, char in enumerate(text) if "\ud800" <= char <= "\udfff"), None)
    if surrogate is not None:
        place = lines.place(surrogate)
        return LaunchProblem("not-text", "the input is not UTF-8", "convert the text to UTF-8", *place)
    if not text.strip():
        return LaunchProblem("empty", "the input is empty", f"give {_FORMS}", *lines.place(0))
    return None


def _too_large(size: int) -> LaunchProblem:
    return LaunchProblem(
        "too-large",
        f"the input holds {size:,} characters, more than the {MOST_CHARACTERS:,} that are read",
        "give the launch command alone",
    )


def _result(reader: Reader) -> LaunchResult:
    if not reader.commands and not any(problem.level == "error" for problem in reader.problems):
        seen = reader.seen
        at = 0 if seen is None else seen.place
        level, hint = "error", f"give {_FORMS}"
        meant = next(filter(None, map(_meant, reader.seen_words[:_LEADING])), None)
        if meant is not None:
            hint = f"did you mean {meant}? {hint}"
        if seen is None:
            what = "the input holds no launch command"
        elif seen.unknown:
            what = f"the command is in {seen.text}, whose value the text does not settle"
        elif basename(seen.text) in SERVERS and len(reader.seen_words) > 1:
            # A client or a tool of the engine: not a mistake.
            told = itertools.takewhile(lambda word: not word.startswith("-"), reader.seen_words[1:])
            what = f"`{' '.join((basename(seen.text), *told))}` starts no server: there is nothing to check"
            level = "error" if meant else "info"
        else:
            what = f"the input holds no launch command: `{seen.text}` starts no engine that is known here"
        reader.problem("no-launch-command", what, hint, at, level)
    return LaunchResult(reader.finish(), tuple(reader.problems))


def _meant(word: str) -> str | None:
    """Give the word of a launch that a word misspells."""
    known = (*MODULES, *SERVERS, *(entry.rpartition(" ")[2] for entry in POSITIONAL_MODEL))
    return None if word in known else next(iter(closest(word, known, 1, _LIKE)), None)
