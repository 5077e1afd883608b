"""Puts a set of edits into words and into a corrected command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlacheck.remedies.edit import edit_command
from mlacheck.ruleset.program import UNSET

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mlacheck.engines import Arguments, Grammar, Option
    from mlacheck.launch.command import LaunchCommand
    from mlacheck.remedies.edit import Edited


def write_edit(
    command: LaunchCommand, arguments: Arguments, grammar: Grammar, edits: Mapping[str, object]
) -> tuple[str, Edited]:
    """Give the edits as a sentence, and the command with them applied."""
    spans = {name: given.spans for name, given in arguments.given.items()}
    options = {name: grammar.option(name) for name in edits if not name.startswith("env.")}
    edited = edit_command(command, edits, spans=spans, options=options)
    given = {name: one.flag for name, one in arguments.given.items()}
    return "; ".join(_words(name, value, options, given.get(name)) for name, value in edits.items()), edited


def _words(name: str, value: object, options: Mapping[str, Option], given: str | None) -> str:
    option = options.get(name)
    flag = name.removeprefix("env.") if option is None else option.flag
    if value == UNSET:
        # What the line says may be the flag's opposite.
        return f"drop {given if option is not None and given in option.negative else flag}"
    if isinstance(value, bool):
        if option is not None and value != option.switch:
            return f"set {option.off}" if option.off else f"drop {flag}"
        return f"add {flag}"
    return set_words(flag, value)


def set_words(flag: str, value: object) -> str:
    """Say that a flag gets a value; a list is told as its words."""
    return f"set {flag} {' '.join(map(str, value)) if isinstance(value, (list, tuple)) else value}"
