"""Dockerfiles: CMD, ENTRYPOINT and RUN in both forms, with the variables and images of their stages."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from mlacheck.frozen import replace
from mlacheck.launch.file.interpolate import compose
from mlacheck.launch.file.json_ import value
from mlacheck.launch.file.node import Scalar, Sequence, TreeError, placed
from mlacheck.launch.file.split import split_words
from mlacheck.launch.finder import Environment
from mlacheck.launch.frame import Frame, Surroundings
from mlacheck.launch.piece import Field, Piece, Pieces, elision

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mlacheck.launch.reader import Reader

_ESCAPE: Final = re.compile(r"#\s*escape\s*=\s*(.)\s*$", re.IGNORECASE)
_INSTRUCTION: Final = re.compile(r"[ \t]*([A-Za-z]+)(?=[ \t\\\n]|$)[ \t]*")
_HEREDOC: Final = re.compile(r"<<-?\s*([\"']?)([A-Za-z_][A-Za-z0-9_]*)\1")
# A test of a shell has a blank after its bracket.
_LIST: Final = re.compile(r"\s*\[(?:[\"'\w]|.*,.*\]\s*$)", re.DOTALL)
_OPTION: Final = re.compile(r"--[a-z-]+(?:=\S+)?[ \t]+")


@dataclass(slots=True)
class _Stage:
    image: str | None = None
    env: Environment = field(default_factory=Environment)
    entrypoint: tuple[str, list[Field], Pieces] | None = None
    command: tuple[str, list[Field], Pieces] | None = None
    inherits: bool = False  # the command is that of the stage before


def read_dockerfile(reader: Reader, pieces: Pieces, frame: Frame) -> None:
    """Read a Dockerfile."""
    stages: dict[str, _Stage] = {}
    stage = _Stage()
    known: dict[str, str] = {}
    for name, body, heredocs in _instructions(pieces):
        if name == "FROM":
            _finish(reader, stage, frame)
            words = [word.text for word in split_words(compose(body.pieces, known))]
            words = [word for word in words if not word.startswith("--")]
            image = words[0] if words else ""
            base = stages.get(image)
            stage = _Stage(image if "$" not in image else None)
            if base is not None:
                stage = _Stage(base.image, base.env.copy(), base.entrypoint, base.command, inherits=True)
            if len(words) > 2 and words[1].upper() == "AS":
                stages[words[2]] = stage
        elif name == "ARG":
            for word in split_words(body.pieces):
                key, equals, told = word.text.partition("=")
                if equals:
                    known[key] = told
        elif name == "ENV":
            _environment(stage, body, known)
        elif name in ("ENTRYPOINT", "CMD"):
            given = _command(reader, stage, body)
            if name == "ENTRYPOINT":
                stage.entrypoint = given
                if stage.inherits:  # an entry point takes the command of its base image away
                    stage.command = None
            else:
                stage.command, stage.inherits = given, False
        elif name in ("RUN", "HEALTHCHECK") and reader.mentions(
            body.text + "".join(one.text for one in heredocs)
        ):
            _run(reader, body, heredocs, stage, frame)
        elif name in ("COPY", "ADD"):
            _copied(reader, body, heredocs, stage, frame)
    _finish(reader, stage, frame)


def _instructions(pieces: Pieces) -> Iterator[tuple[str, Pieces, list[Pieces]]]:
    """Give each instruction with its text, continued lines joined, and its here-documents."""
    text = pieces.text
    escape = "\\"
    if match := _ESCAPE.match(text.split("\n", 1)[0]):
        escape = match[1]
    at = 0
    while at < len(text):
        stop = _line_end(text, at)
        match = _INSTRUCTION.match(text, at, stop)
        if match is None or text[at:stop].lstrip().startswith("#"):
            at = stop + 1
            continue
        parts: list[Piece] = []
        begin = match.end()
        while True:
            line = text[begin:stop].rstrip(" \t")
            if not line.endswith(escape):
                parts.extend(pieces.cut(begin, stop))
                break
            parts.extend(pieces.cut(begin, begin + len(line) - 1))
            parts.append(Piece(" "))
            begin = stop + 1
            stop = _line_end(text, begin)
            # Comments and empty lines do not end a continued instruction.
            while begin < len(text) and text[begin:stop].strip()[:1] in ("", "#"):
                begin = stop + 1
                stop = _line_end(text, begin)
            if begin >= len(text):
                break
        body = Pieces(parts)
        at = stop + 1
        heredocs = []
        if match[1].upper() in ("RUN", "COPY", "ADD"):
            for marker in _HEREDOC.finditer(body.text):
                start = at
                while at < len(text) and text[at : _line_end(text, at)].strip() != marker[2]:
                    at = _line_end(text, at) + 1
                heredocs.append(Pieces(pieces.cut(start, min(at, len(text)))))
                at = _line_end(text, at) + 1
        yield match[1].upper(), body, heredocs


def _line_end(text: str, at: int) -> int:
    stop = text.find("\n", at)
    return len(text) if stop < 0 else stop


def _environment(stage: _Stage, body: Pieces, known: dict[str, str]) -> None:
    values = {**known, **stage.env.values}
    words = split_words(compose(body.pieces, values))
    if words and "=" not in words[0].text:
        name, rest = words[0].text, words[1:]
        unknown = tuple(each for word in rest for each in word.unknown)
        stage.env.put(name, " ".join(word.text for word in rest), unknown)
        return
    for word in words:
        name, _, told = word.text.partition("=")
        stage.env.put(name, told, word.unknown)


def _command(reader: Reader, stage: _Stage, body: Pieces) -> tuple[str, list[Field], Pieces]:
    """Read CMD or ENTRYPOINT: a JSON list, else text for a shell."""
    if body.text.lstrip().startswith("["):
        try:
            node, _ = value(body.text)
        except TreeError:
            node = None
        if isinstance(node, Sequence) and all(isinstance(item, Scalar) for item in node.items):
            placed(node, body)
            return "exec", [item.field() for item in node.items if isinstance(item, Scalar)], body
        if _LIST.match(body.text) and reader.mentions(f"{body.text} {stage.image}"):
            reader.problem(
                "not-json",
                "this is no JSON, so a shell gets it, brackets and all",
                "write the list as JSON: double quotes around each word, and a comma between them",
                body.offset(0),
            )
            return "exec", [], body
    return "shell", [], body


def _finish(reader: Reader, stage: _Stage, frame: Frame) -> None:
    """Read what a stage's image runs."""
    inner = replace(frame, around=replace(frame.around, image=stage.image or frame.around.image))
    entry, command = stage.entrypoint, stage.command
    env = stage.env.copy()
    if entry is not None and entry[0] == "shell":
        if reader.mentions(entry[2].text):
            reader.script(entry[2].pieces, inner, env)
        return
    fields = [*(entry[1] if entry else []), *(command[1] if command and command[0] == "exec" else [])]
    if command is not None and command[0] == "shell":
        if not (entry and entry[1]) and reader.mentions(command[2].text):
            if entry is None:
                reader.misread("/bin/sh", command[2].offset(0), inner)
            reader.script(command[2].pieces, inner, env)
        return
    if not fields or (entry is None and reader.arguments(fields, inner, env)):
        return
    reader.program(fields[0])
    if any(reader.mentions(field.text) for field in fields):
        if command is None and not any(field.text.startswith("-") and field.text != "-m" for field in fields):
            # An entry point without arguments waits for those of `docker run`.
            fields = [*fields, elision("what the container is given", fields[-1].place)]
        reader.words(list(fields), inner, env)


def _copied(reader: Reader, body: Pieces, heredocs: list[Pieces], stage: _Stage, frame: Frame) -> None:
    """Read the files that are written into the image."""
    inner = replace(frame, around=Surroundings(image=stage.image))
    name = body.text.split()[-1] if body.text.split() else ""
    for one in heredocs:
        if reader.mentions(one.text):
            kind = reader.kind(name, one.text)
            if kind == "shell":
                reader.script(one.pieces, inner, stage.env.copy())
            elif kind in reader.readers:
                reader.readers[kind](reader, one, replace(inner, file_kind=kind))


def _run(reader: Reader, body: Pieces, heredocs: list[Pieces], stage: _Stage, frame: Frame) -> None:
    inner = replace(frame, around=Surroundings(image=stage.image))
    text = Pieces(body.pieces)
    start = 0
    while match := _OPTION.match(text.text, start):
        start = match.end()
    if heredocs and _HEREDOC.match(text.text, start):
        for one in heredocs:
            reader.script(one.pieces, inner, stage.env.copy())
        return
    whole = text.cut(start, len(text.text))
    for one in heredocs:
        whole = [*whole, Piece("\n"), *one.pieces]
        for marker in [_HEREDOC.search(text.text, start)]:
            whole = [*whole, Piece(marker[2] + "\n" if marker else "")]
    reader.script(whole, inner, stage.env.copy())
