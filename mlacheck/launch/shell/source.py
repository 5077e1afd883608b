"""`source FILE`: what a script takes from a file beside it, followed without running anything."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mlacheck.launch.envfile import variables
from mlacheck.launch.piece import Field, Piece, Pieces
from mlacheck.launch.shell.state import POSITIONAL, UNSET
from mlacheck.launch.shell.syntax import Syntax
from mlacheck.launch.shell.world import Option, Value, open_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

    from mlacheck.launch.reader import Reader
    from mlacheck.launch.shell.script import Script

_DEEPEST: Final = 8
# The script's own folder, as scripts find it out: `$(dirname "$0")`, `${BASH_SOURCE%/*}`, `$(cd ... && pwd)`.
_OWN_FOLDER: Final = re.compile(r"dirname|BASH_SOURCE|\$\{?0\b|\$\(pwd\)|\$\{?PWD\b")
_UP: Final = re.compile(r"/\.\.(?=[/\"'`)}\s]|$)")
_SETTINGS: Final = re.compile(r"(?:^|[./_-])(?:env|envrc)$|\.(?:sh|bash|env|conf|cfg|rc|inc)$")
# It changes where programs are found, and no variable that a launch line reads.
_ACTIVATES: Final = re.compile(r"/activate$|/conda\.sh$|\.bashrc$|/setvars\.sh$")
# `export $(grep -v '^#' .env | xargs)`
_EXPORTED: Final = re.compile(
    r"\$\(\s*(?:(?:grep|sed|cat)\b[^|()]*?\s)[\"']?([^\s|\"'()]+)[\"']?\s*(?:\|[^()]*)?\|\s*xargs\b[^()]*\)"
    r"|\$\(\s*(?:cat\s+|<\s*)[\"']?([^\s|\"'()]+)[\"']?\s*\)"
)


def path_of(pieces: Sequence[Piece]) -> str | None:
    """Give the name of a file from the script's own folder, None when the text leaves it open."""
    if not any(piece.names for piece in pieces):
        return "".join(piece.text for piece in pieces)
    first, rest = pieces[0], pieces[1:]
    if any(piece.names for piece in rest) or not _OWN_FOLDER.search(first.text):
        return None
    return "../" * len(_UP.findall(first.text)) + "".join(piece.text for piece in rest).lstrip("/")


def is_there(reader: Reader, pieces: Sequence[Piece]) -> bool | None:
    """Tell that a settings file is there; one that is not may be made later."""
    name = path_of(pieces)
    if reader.beside is None or not name or not _SETTINGS.search(name):
        return None
    return True if reader.beside.text(name)[0] is not None else None


def source(script: Script, node: Node, fields: Sequence[Field]) -> None:
    """Follow the statements of a file in the shell that reads it."""
    reader = script.reader
    script.keep(node, always=True)
    if len(fields) < 2:
        return
    name = path_of(fields[1].pieces)
    told = fields[1].raw.strip("\"'") or fields[1].text
    why = "its name is not settled" if name is None else "there is nothing beside the text"
    if name is not None and reader.beside is not None:
        text, why = reader.beside.text(name)
        path = reader.beside.find(name) if text is not None else None
        if text is not None and not _run(script, path or name, text, fields):
            why = "it cannot be read as shell"
        elif text is not None:
            return
    if not _ACTIVATES.search(told):
        reader.problem(
            "sourced-file",
            f"{told} is not read ({why}): it may set variables",
            "give the variables that matter with --env NAME=VALUE",
            fields[0].place,
            "info",
        )


def _run(script: Script, path: str, text: str, fields: Sequence[Field]) -> bool:
    """Run nothing: follow what the text says; tell whether it could be read."""
    reader, state = script.reader, script.state
    if path in reader.sourcing or len(reader.sourcing) >= _DEEPEST:
        return path in reader.sourcing  # a file that reads itself sets nothing more
    # What it sets is found where it is read.
    syntax = reader.kept(path, lambda: Syntax(Pieces([Piece(text, fields[0].place)])), fields[0].place)
    if syntax.problem() is not None:
        return False
    reader.sourcing.append(path)
    words, ended = state.variables.get(POSITIONAL, UNSET), state.ended
    if len(fields) > 2:
        state.pass_words(fields[2:])
    inner = type(script)(reader, syntax, state, script.frame, nested=True, sourced=True)
    inner.run()
    if len(fields) > 2:
        state.variables[POSITIONAL] = words
    if state.ended and re.search(r"\breturn\b", text):
        state.ended = ended
    reader.sourcing.pop()
    return True


def exported_file(script: Script, text: str) -> bool:
    """Follow `export $(cat .env | xargs)`; tell whether it was one."""
    match = _EXPORTED.fullmatch(text.strip().strip('"'))
    if match is None or script.reader.beside is None:
        return False
    held, _ = script.reader.beside.text(match[1] or match[2])
    if held is None:
        return False
    for name, value in variables(held).items():
        told = open_value(name) if value is None else Value((Piece(value),) if value else ())
        script.state.write(name, (Option(frozenset(), told),))
        script.state.exported.add(name)
    return True
