"""`--config FILE` on a line: the engine reads the file and puts what it says before the line's own words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mlacheck.frozen import replace
from mlacheck.launch.command import LaunchProblem, Word
from mlacheck.launch.file.decode import MOST_BYTES, decode

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from mlacheck.launch.command import LaunchCommand

_FLAG: Final = "--config"


def with_configs(
    commands: Iterable[LaunchCommand], folder: Path
) -> tuple[tuple[LaunchCommand, ...], tuple[LaunchProblem, ...]]:
    """Put the config files that commands name, looked up from `folder`, into their words."""
    done: list[LaunchCommand] = []
    problems: list[LaunchProblem] = []
    for command in commands:
        if command.engine == "sglang" and any(word.text.startswith(_FLAG) for word in command.words):
            done.append(_with_config(command, folder, problems))
        else:
            done.append(command)
    return tuple(done), tuple(problems)


def _with_config(command: LaunchCommand, folder: Path, problems: list[LaunchProblem]) -> LaunchCommand:
    words = command.words
    glued = next((word for word in words if word.text.startswith(f"{_FLAG}=")), None)
    if glued is not None:
        # The engine looks for the word `--config` alone; the glued form is parsed and never read.
        problems.append(
            LaunchProblem(
                "config-not-read",
                f"{glued.text} is accepted and never read: the engine looks for `{_FLAG}` as its own word",
                f"write {_FLAG} {glued.text.partition('=')[2]}",
                glued.line,
                glued.column,
                "warning",
            )
        )
    at = next((index for index, word in enumerate(words) if word.text == _FLAG), None)
    if at is None or at + 1 >= len(words):
        return command
    name = words[at + 1]
    read = None if name.unknown else _read(folder / name.text, name)
    if read is None:
        # What the file says is not known: as if `$FILE` stood in the line.
        open_ = replace(name, unknown=name.unknown or (name.text,), splits=True)
        return replace(command, words=(*words[: at + 1], open_, *words[at + 2 :]))
    return replace(command, words=(*read, *words[:at], *words[at + 2 :]))


def _read(path: Path, name: Word) -> tuple[Word, ...] | None:
    """Give the words that a config file stands for, None when it cannot be read from here."""
    from mlacheck.launch.file.flags import config_fields  # only for commands that have one
    from mlacheck.launch.file.node import Mapping, TreeError  # same
    from mlacheck.launch.file.yaml_ import documents  # same

    if path.suffix.lower() not in (".yaml", ".yml"):
        return None
    try:
        if not path.is_file():
            return None
        with path.open("rb") as stream:
            text, problems = decode(stream.read(MOST_BYTES + 1), str(path))
        roots = list(documents(text.text))
    except (OSError, TreeError, ValueError):
        return None
    if any(problem.level == "error" for problem in problems) or (roots and not isinstance(roots[0], Mapping)):
        return None
    fields = config_fields(roots[0], "sglang") if roots and isinstance(roots[0], Mapping) else []
    return tuple(
        Word(field.text, name.line, name.column, field.unknown, via=(f"{_FLAG} {name.text}",))
        for field in fields
    )
