"""Find the launch commands of a file, whatever kind of file it is."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mlacheck.frozen import replace
from mlacheck.launch.command import Document, LaunchProblem, LaunchResult
from mlacheck.launch.file.beside import Beside
from mlacheck.launch.file.decode import MOST_BYTES, bytes_name_entry, decode, names_entry
from mlacheck.launch.file.kind import is_template, kind_of, may_be_template
from mlacheck.launch.frame import Frame
from mlacheck.launch.piece import Lines, Pieces, document
from mlacheck.launch.programs import MENTIONS, image_server
from mlacheck.launch.reader import Reader
from mlacheck.probes.engine import ENGINES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mlacheck.launch.command import LaunchCommand
    from mlacheck.launch.file.node import Node

# Level `error`: the text may hold a launch command that nobody could read.
_CONFLICT: Final = re.compile(r"^(?:<{7}|>{7}|\|{7}) ?[^\n]*$", re.MULTILINE)
_SETTINGS: Final = re.compile(
    r"^[ \t]*[\"']?(?:model|tp|tensor)[-_](?:path|size|parallel[-_]size)[\"']?\s*[:=]", re.MULTILINE
)
_IMAGE: Final = re.compile(r"^[ \t-]*image:[ \t]*[\"']?([\w./:@-]+)\{\{", re.MULTILINE)
_FLAGS: Final = re.compile(r"^[ \t-]*args:", re.MULTILINE)
# A line that a shell runs, or that says which shell does, up to a CR that it takes for a letter.
_RETURN: Final = re.compile(r"^(?:#!|[ \t]*[^#\s])[^\r\n]*(?=\r\n)", re.MULTILINE)
# Kinds that template engines make; in prose and code their marks mean nothing.
_RENDERED: Final = frozenset({"shell", "yaml", "json", "toml", "dockerfile"})
_TREES: Final = frozenset({"yaml", "json", "toml"})


def read_path(path: str, *, engine: str = ENGINES[0], env: Mapping[str, str] | None = None) -> LaunchResult:
    """Read a file of the disk."""
    try:
        status = os.stat(path)  # noqa: PTH116 - paths as they were given
        if not stat.S_ISREG(status.st_mode) and not path.startswith("/dev/fd/"):
            return _unread(
                path, "not-a-file", "it is not a regular file", "give a file, or `-` for standard input"
            )
        with open(path, "rb") as stream:  # noqa: PTH123 - same
            data = stream.read(MOST_BYTES + 1)
    except OSError as error:
        return _unread(
            path, "cannot-read", f"it cannot be read: {error.strerror or error}", "check path and permissions"
        )
    return read_bytes(data, path, engine=engine, env=env, folder=os.path.dirname(path) or ".")  # noqa: PTH120 - same


def read_bytes(
    data: bytes,
    file: str,
    *,
    engine: str = ENGINES[0],
    env: Mapping[str, str] | None = None,
    folder: str | None = None,
) -> LaunchResult:
    """Read the bytes of a file; with `folder`, files that it names are read from there."""
    text, problems = decode(data, file)
    if any(problem.level == "error" for problem in problems):
        level = "error" if bytes_name_entry(data) else "info"
        return LaunchResult((), tuple(replace(problem, level=level) for problem in problems), text)
    result = read_document(text, engine=engine, env=env, folder=folder)
    return LaunchResult(result.commands, (*problems, *result.problems), text)


def read_document(
    text: Document,
    *,
    engine: str = ENGINES[0],
    env: Mapping[str, str] | None = None,
    folder: str | None = None,
) -> LaunchResult:
    """Read a decoded file; with `folder`, files that it names are read from there."""
    result = _read(text, engine, env, None if folder is None else Beside(folder))
    if folder is None or not any(command.words for command in result.commands):
        return result
    from mlacheck.launch.file.config import with_configs  # few commands have one

    return with_configs(result, Path(folder))


def _read(text: Document, engine: str, env: Mapping[str, str] | None, beside: Beside | None) -> LaunchResult:
    told = any(mark in text.text for mark in MENTIONS)
    kind = kind_of(text.file or "", text.text)
    if not told and not (kind in _TREES and _SETTINGS.search(text.text)):
        return LaunchResult((), (), text)
    lines = Lines(text.text)
    conflict = _CONFLICT.search(text.text)
    if conflict is not None:
        problem = LaunchProblem(
            "merge-conflict",
            f"the file has an unsolved merge conflict: {conflict.group()[:40]!r}",
            "solve the conflict",
            *lines.place(conflict.start()),
            "error" if names_entry(text.text) else "info",
        )
        return LaunchResult((), (problem,), text)
    if kind in _RENDERED and is_template(text.text):
        problem = _template(text.text, lines)
        level = "error" if names_entry(text.text) or _serves(text.text) else "info"
        return LaunchResult((), (replace(problem, level=level),), text)
    reader = Reader(
        engine,
        text.file,
        lines,
        whole=False,
        env=env,
        readers={one: _READERS[one] for one in ("yaml", "python", "unit")},
        beside=beside,
    )
    frame = Frame(file_kind=kind)
    before = len(reader.problems)
    try:
        # Two braces are Python's own in its templates.
        _READERS[kind](reader, document(text.text, templates=kind != "python"), frame)
    except RecursionError:
        reader.problem(
            "nested-too-deep", "expressions stand inside each other too deep", "write the command plainly", 0
        )
    problems = reader.problems[before:]
    broken = any(problem.level == "error" for problem in problems)
    if broken and kind in _RENDERED and may_be_template(text.file or "", text.text):
        problems = [one for one in problems if not one.kind.startswith(("not-", "shell-", "unbalanced"))]
        if all(one.kind != "template" for one in problems):
            problems.append(_template(text.text, lines))
    if not reader.commands and not names_entry(text.text):
        served = _serves(text.text)
        problems = [
            one if one.kind == "template" and served else replace(one, level="info") for one in problems
        ]
    returned = _RETURN.search(text.text) if kind == "shell" and reader.commands else None
    if returned is not None:
        problems.append(
            LaunchProblem(
                "carriage-returns",
                "lines end in CR LF: a shell takes the CR for a letter of the last word, and a backslash "
                "before it continues nothing",
                "save the file with LF: `sed -i 's/\\r$//' FILE`",
                *lines.place(returned.end()),
            )
        )
    return LaunchResult(_ordered(reader.finish()), tuple(problems), text)


def _serves(text: str) -> bool:
    """Tell whether a template gives flags to an engine's image, whose own entry point is the server."""
    images = _IMAGE.findall(text) if _FLAGS.search(text) else ()
    return any(image_server(one.rstrip(":"), "--") for one in images)


def _template(text: str, lines: Lines) -> LaunchProblem:
    at = re.search(r"\{\{|\{%", text)
    return LaunchProblem(
        "template",
        "the file is a template that is not rendered yet",
        "pipe the rendered text: `helm template ... | mlacheck validate -`",
        *lines.place(at.start() if at else 0),
    )


def _ordered(commands: tuple[LaunchCommand, ...]) -> tuple[LaunchCommand, ...]:
    return tuple(sorted(commands, key=lambda one: (one.source.line, one.source.column)))


def _unread(path: str, kind: str, what: str, hint: str) -> LaunchResult:
    return LaunchResult((), (LaunchProblem(kind, what, hint, level="info"),), Document("", path))


def _shell(reader: Reader, pieces: Pieces, frame: Frame) -> None:
    reader.batch(pieces, frame)


def _tree(reader: Reader, pieces: Pieces, frame: Frame) -> None:
    from mlacheck.launch.file.manifest import Manifest  # for structured files
    from mlacheck.launch.file.node import TreeError, placed  # same

    kind = frame.file_kind if frame.file_kind in _TREES else "yaml"
    manifest = Manifest(reader, frame)
    roots: list[Node] = []
    broken = None
    try:
        roots.extend(placed(root, pieces) for root in _documents(kind, pieces.text))
    except TreeError as error:
        broken = error
    manifest.given.prepare(roots)
    for root in roots:
        manifest.read(root)
    if broken is not None:
        reader.problem(
            broken.kind,
            f"the file cannot be read as {kind.upper()}: {broken.message}",
            "correct the file; what stands before this place was read",
            pieces.offset(min(broken.offset, len(pieces.text))),
        )


def _documents(kind: str, text: str) -> Iterable[Node]:
    import importlib  # one format's parser only

    module = importlib.import_module(f"mlacheck.launch.file.{kind}_")
    found: Iterable[Node] = module.documents(text)
    return found


def _listed(module: str, name: str) -> Callable[[Reader, Pieces, Frame], None]:
    """Give a reader that is imported when it is needed."""

    def read(reader: Reader, pieces: Pieces, frame: Frame) -> None:
        import importlib  # one format's reader only

        importlib.import_module(f"mlacheck.launch.file.{module}").__dict__[name](reader, pieces, frame)

    return read


def _notebook(reader: Reader, pieces: Pieces, frame: Frame) -> None:
    from mlacheck.launch.file.node import TreeError  # only for these
    from mlacheck.launch.file.notebook import read_notebook  # same

    try:
        read_notebook(reader, pieces, frame)
    except TreeError as error:
        reader.problem(
            error.kind,
            f"the file cannot be read as a notebook: {error.message}",
            "correct the file",
            pieces.offset(min(error.offset, len(pieces.text))),
        )


_READERS: Final[dict[str, Callable[[Reader, Pieces, Frame], None]]] = {
    "shell": _shell,
    **dict.fromkeys(_TREES, _tree),
    "dockerfile": _listed("dockerfile", "read_dockerfile"),
    "python": _listed("python", "read_python"),
    "markdown": _listed("markdown", "read_blocks"),
    "make": _listed("make", "read_makefile"),
    "just": _listed("just", "read_justfile"),
    "unit": _listed("unit", "read_unit"),
    "brace": _listed("brace", "read_brace"),
    "procfile": _listed("unit", "read_procfile"),
    "notebook": _notebook,
    "text": _listed("text", "read_text"),
    "windows": _listed("text", "read_windows"),
    "groovy": _listed("groovy", "read_groovy"),
}
