"""`--config FILE` on a line: the engine puts what the file says before the line's own flags."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from mlacheck.data import find_json
from mlacheck.frozen import field, frozen, replace
from mlacheck.launch.command import CONFIG, LaunchProblem, LaunchResult, Word
from mlacheck.launch.file.decode import MOST_BYTES, decode
from mlacheck.launch.piece import Lines
from mlacheck.launch.programs import names_model

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mlacheck.launch.command import LaunchCommand
    from mlacheck.launch.file.node import Mapping as Tree


class _UnreadError(Exception):
    """The file cannot be read from here; the message says why."""


class _RefusedError(Exception):
    """The engine cannot read the file either; `said` is how it says so."""

    def __init__(self, message: str, said: str) -> None:
        super().__init__(message)
        self.said = said


@frozen
class _Reading:
    """How an engine reads its config file: `config.json` among its rules."""

    any_case: bool  # the file's ending may be written in capitals
    # What it says of a file with another ending, of one that holds no mapping, and of a second file.
    ending: str
    mapping: str
    several: str
    # What it says of a file that holds nothing; "" where that is no mistake.
    empty: str = ""
    # Entry points that refuse a file without a model when the line names none either.
    needs_model: tuple[str, ...] = ()
    # Entry points that turn `false` into the flag that switches off, and the version from which they do.
    switches_off: Mapping[str, str] = field(default_factory=dict)
    # Options that it takes on the line only: `mlacheck.engines.merging`.
    refuses: Mapping[str, object] = field(default_factory=dict)


@functools.cache
def _reading(engine: str) -> _Reading | None:
    data = find_json(engine, "config.json")
    return None if data is None else _Reading(**data)


def with_configs(result: LaunchResult, folder: Path) -> LaunchResult:
    """Put the config files that commands name, looked up from `folder`, into their words."""
    if not any(one.names_config for one in result.commands):
        return result
    problems: list[LaunchProblem] = []
    commands = tuple(_with_config(command, folder, problems) for command in result.commands)
    return replace(result, commands=commands, problems=(*result.problems, *problems))


def _with_config(command: LaunchCommand, folder: Path, problems: list[LaunchProblem]) -> LaunchCommand:
    words = command.words
    reading = _reading(command.engine)
    if reading is None:
        return command
    glued = next((word for word in words if word.text.startswith(f"{CONFIG}=")), None)
    if glued is not None:
        # The engine looks for the word `--config` alone; the glued form is parsed and never read.
        problems.append(
            LaunchProblem(
                "config-not-read",
                f"{glued.text} is accepted and never read: the engine looks for `{CONFIG}` as its own word",
                f"write {CONFIG} {glued.text.partition('=')[2]}",
                glued.line,
                glued.column,
                "warning",
            )
        )
    at = next((index for index, word in enumerate(words) if word.text == CONFIG), None)
    if at is None or at + 1 >= len(words):
        return command
    name = words[at + 1]
    rest = (*words[:at], *words[at + 2 :])
    again = next((index for index, word in enumerate(rest) if word.text == CONFIG), None)
    if again is not None:
        second = rest[again]
        problems.append(
            _refused(second, f"{CONFIG} is given twice", "put both files into one", reading.several)
        )
        return replace(command, words=(*rest[:again], *rest[again + 2 :]))
    # What the file says is not known: as if `$FILE` stood in the place of its words.
    if name.unknown:
        return replace(command, words=(replace(name, splits=True), *rest))
    raw = f"{CONFIG} {name.raw or name.text}"
    open_ = replace(name, unknown=(name.text,), splits=True, raw=raw, start=-1, end=-1)
    try:
        read, keys = _read(folder / name.text, name, command, reading)
    except _UnreadError as error:
        problems.append(
            LaunchProblem(
                "config-unread",
                f"{CONFIG} {name.text}: {error}; what it says is not known",
                "give a path that can be read from here",
                name.line,
                name.column,
            )
        )
        return replace(command, words=(open_, *rest))
    except _RefusedError as error:
        problems.append(_refused(name, f"{CONFIG} {name.text}: {error}", "correct the file", error.said))
        return replace(command, words=(open_, *rest))
    if command.entry in reading.needs_model and not any(names_model(word.text) for word in (*read, *rest)):
        message = f"neither {name.text} nor the line names a model"
        hint = "name it before the flags, or as `model:` in the file"
        problems.append(_refused(name, message, hint, "No model specified!"))
        return replace(command, words=(*read, open_, *rest))
    # A positional model stays in front: behind a list of values it would be one more of them. Where the file
    # names another, the line's comes later and counts.
    named = any(names_model(word.text) for word in read)
    first = 2 if rest and rest[0].implied and not named else 0
    return replace(command, words=(*rest[:first], *read, *rest[first:]), config_keys=keys)


def _refused(name: Word, message: str, hint: str, said: str) -> LaunchProblem:
    return LaunchProblem("config-refused", message, hint, name.line, name.column, said=said)


def _read(
    path: Path, name: Word, command: LaunchCommand, reading: _Reading
) -> tuple[tuple[Word, ...], tuple[Word, ...]]:
    """Give the words that a config file stands for, and its keys."""
    from mlacheck.launch.file.flags import config_fields  # only for commands that have one

    found = _mapping(path, reading)
    if found is None:
        return (), ()
    root, lines = found
    via = (f"{CONFIG} {name.text}",)
    words = [
        Word(field.text, *lines.place(field.place), field.unknown, via=via, file=str(path))
        for field in config_fields(root, command.engine)
    ]
    if command.entry in reading.switches_off:
        from mlacheck.launch.file.flags import switched_off  # same

        words += [
            Word(
                flag,
                name.line,
                name.column,
                ("the engine's version",),
                splits=True,
                via=via,
                since=reading.switches_off[command.entry],
            )
            for flag in switched_off(root, command.engine)
        ]
    keys = (key.field() for key, _ in root.all().values()) if reading.refuses else ()
    return tuple(words), tuple(
        Word(key.text, *lines.place(key.place), key.unknown, via=via, file=str(path)) for key in keys
    )


def _mapping(path: Path, reading: _Reading) -> tuple[Tree, Lines] | None:
    """Read the mapping that a file holds, with the places of its lines; None for an empty file."""
    from mlacheck.launch.file.node import Mapping, Scalar, TreeError  # only for commands that have one
    from mlacheck.launch.file.yaml_ import documents  # same

    ending = path.suffix.lower() if reading.any_case else path.suffix
    if ending not in (".yaml", ".yml"):
        raise _RefusedError("the engine reads .yaml and .yml only", reading.ending)
    try:
        if not path.is_file():
            raise _UnreadError("there is no such file")
        with path.open("rb") as stream:
            text, problems = decode(stream.read(MOST_BYTES + 1), str(path))
    except OSError as error:
        raise _UnreadError(error.strerror or "it cannot be read") from None
    try:
        roots = list(documents(text.text))
    except (TreeError, ValueError):
        roots = []
        said = _yaml_error(text.text)
        if not said:
            raise _UnreadError("it is not YAML") from None
    else:
        said = _yaml_error(text.text) if len(roots) > 1 else ""
    if said:
        raise _RefusedError("it is not YAML of one document", said)
    if any(problem.level == "error" for problem in problems):
        raise _UnreadError("it is not text")
    if not roots or (isinstance(roots[0], Scalar) and not roots[0].text):
        if reading.empty:
            raise _RefusedError("it is empty", reading.empty)
        return None
    if not isinstance(roots[0], Mapping):
        raise _RefusedError("it holds no mapping of flags", reading.mapping)
    return roots[0], Lines(text.text)


def _yaml_error(text: str) -> str:
    """Give the first line of what PyYAML says of a text that it does not take."""
    import yaml  # only for a file that our own reader does not take

    try:
        yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        return str(error).partition("\n")[0]
    return ""
