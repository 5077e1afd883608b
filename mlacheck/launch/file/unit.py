"""Files of sections that start programs: systemd units, Podman's quadlets, supervisord; and Procfiles."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from mlacheck.frozen import replace
from mlacheck.launch.file.split import split_words
from mlacheck.launch.finder import Environment
from mlacheck.launch.piece import Field, Piece, Pieces

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mlacheck.launch.frame import Frame
    from mlacheck.launch.reader import Reader

_SECTION: Final = re.compile(r"[ \t]*\[([^\]\n]*)\][ \t]*$")
_KEY: Final = re.compile(r"([A-Za-z][\w-]*)[ \t]*=[ \t]*")
_STARTS: Final = re.compile(r"ExecStart(?:Pre|Post)?|command|cmd", re.IGNORECASE)
_PREFIX: Final = re.compile(r"[@:+!|-]*")
# `$NAME`, `${NAME}` and `%i` of systemd, `%(ENV_NAME)s` of supervisord.
_REFERENCE: Final = re.compile(
    r"%\((?:ENV_)?(\w+)\)[sd]|%%|\$\$|%([A-Za-z])|\$\{([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*)"
)
_ALONE: Final = re.compile(r"\$([A-Za-z_]\w*)")
_PROCESS: Final = re.compile(r"^([A-Za-z][\w-]*):[ \t]+(?=\S)", re.MULTILINE)


@dataclass(slots=True)
class _Section:
    name: str
    values: list[tuple[str, list[Piece]]] = field(default_factory=list)

    def get(self, name: str) -> list[Piece] | None:
        return next((value for key, value in reversed(self.values) if key == name), None)


def read_unit(reader: Reader, pieces: Pieces, frame: Frame) -> None:
    """Read a unit or a supervisor's configuration."""
    for section in _sections(pieces):
        env = _environment(reader, section)
        around = replace(frame.around, label=section.name.partition(":")[2])
        inner = replace(frame, around=around)
        if section.name == "Container":
            _container(reader, section, env, inner)
            continue
        for key, value in section.values:
            if not _STARTS.fullmatch(key):
                continue
            whole = Pieces(value)
            start = _PREFIX.match(whole.text)
            fields = _words(whole.cut(start.end() if start else 0, len(whole.text)), env)
            if any(reader.mentions(one.text) for one in fields):
                reader.words(fields, inner, env.copy())


def read_procfile(reader: Reader, pieces: Pieces, frame: Frame) -> None:
    """Read a Procfile: a name and a shell line each."""
    for match in _PROCESS.finditer(pieces.text):
        stop = pieces.text.find("\n", match.end())
        cut = pieces.cut(match.end(), len(pieces.text) if stop < 0 else stop)
        if reader.mentions("".join(one.text for one in cut)):
            reader.script(cut, replace(frame, around=replace(frame.around, label=match[1])))


def _sections(pieces: Pieces) -> Iterator[_Section]:
    """Give each section; a backslash or deeper indentation continues a value."""
    section = _Section("")
    text = pieces.text
    at = 0
    continues = False
    while at < len(text):
        found = text.find("\n", at)
        stop = len(text) if found < 0 else found
        line = text[at:stop]
        stripped = line.strip()
        if not continues and (not stripped or stripped[0] in "#;"):
            pass
        elif continues and stripped[:1] in ("#", ";"):
            pass  # a comment does not end a continued value
        elif not continues and (match := _SECTION.match(line)):
            yield section
            section = _Section(match[1].strip())
        elif (continues or line[0] in " \t") and section.values:
            section.values[-1][1].extend([Piece(" "), *_line(pieces, at, stop)])
            continues = stripped.endswith("\\")
        elif match := _KEY.match(line):
            section.values.append((match[1], _line(pieces, at + match.end(), stop)))
            continues = stripped.endswith("\\")
        at = stop + 1
    yield section


def _line(pieces: Pieces, start: int, end: int) -> list[Piece]:
    text = pieces.text[start:end].rstrip()
    return pieces.cut(start, start + len(text.removesuffix("\\")))


def _environment(reader: Reader, section: _Section) -> Environment:
    env = Environment()
    for key, value in section.values:
        whole = Pieces(value)
        if key == "EnvironmentFile":
            start = 1 if whole.text.startswith("-") else 0
            cut = tuple(whole.cut(start, len(whole.text)))
            named = reader.env_file(Field(cut, place=whole.offset(start)), quotes=True)
            for name, told in (named or {}).items():
                env.put(name, told or "", () if told is not None else (name,))
        elif key in ("Environment", "environment"):
            parts = [value] if key == "Environment" else _between_commas(whole)
            for one in (word for part in parts for word in split_words(part)):
                name, equals, told = one.text.partition("=")
                if equals:
                    unknown = tuple(re.findall(r"%\((\w+)\)s|%([a-z])", told) and (name,))
                    env.put(name, told, unknown)
    return env


def _between_commas(whole: Pieces) -> list[list[Piece]]:
    """Split supervisord's `A="b",C="d"`."""
    spans = [match.span() for match in re.finditer(r"(?:\"[^\"]*\"|'[^']*'|[^,\"'])+", whole.text)]
    return [whole.cut(*span) for span in spans]


def _container(reader: Reader, section: _Section, env: Environment, frame: Frame) -> None:
    """Read a quadlet: an image, and what runs in it."""
    image = "".join(one.text for one in section.get("Image") or ())
    inner = replace(frame, around=replace(frame.around, image=image or frame.around.image))
    words = [*_words(section.get("Entrypoint") or (), env), *_words(section.get("Exec") or (), env)]
    if not words:
        return
    if not section.get("Entrypoint") and reader.arguments(words, inner, env):
        return
    if any(reader.mentions(one.text) for one in words):
        reader.words(words, inner, env)


def _words(pieces: Sequence[Piece], env: Environment) -> list[Field]:
    """Split a command line and put in what the section settles."""
    words = []
    for word in split_words(pieces):
        alone = _ALONE.fullmatch(word.text)
        if alone and alone[1] in env.values and word.raw == word.text:
            # `$NAME` as a word of its own is split, `${NAME}` is not.
            value = (Piece(env.values[alone[1]], word.place, via=(alone[1],)),)
            words += [one._replace(start=-1, end=-1) for one in split_words(value)]
        else:
            words.append(_put_in(word, env))
    return words


def _put_in(word: Field, env: Environment) -> Field:
    if "$" not in word.text and "%" not in word.text:
        return word
    whole = Pieces(word.pieces)

    def value(match: re.Match[str], place: int) -> Piece:
        name = match[1] or match[3] or match[4]
        if match.group() in ("%%", "$$"):
            return Piece(match.group()[0], place)
        if name is not None and name in env.values:
            return Piece(env.values[name], place, via=(name,))
        splits = match[4] is not None and match.group() == whole.text
        return Piece(match.group(), place, names=(name or match.group(),), splits=splits)

    return word._replace(pieces=tuple(whole.replaced(_REFERENCE, value)), start=-1, end=-1)
