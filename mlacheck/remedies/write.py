"""Puts a set of edits into words and into a corrected command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlacheck.remedies.edit import Option, edit_command
from mlacheck.ruleset.program import UNSET

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mlacheck.engines import Arguments, Grammar
    from mlacheck.launch.command import LaunchCommand
    from mlacheck.remedies.edit import Edited


def write_edit(
    command: LaunchCommand, arguments: Arguments, grammar: Grammar, edits: Mapping[str, object]
) -> tuple[str, Edited]:
    """Give the edits as a sentence, and the command with them applied."""
    spans = {name: given.spans for name, given in arguments.given.items()}
    options = {name: _option(grammar, name) for name in edits if not name.startswith("env.")}
    edited = edit_command(command, edits, spans=spans, options=options)
    return "; ".join(_words(name, value, options) for name, value in edits.items()), edited


def _option(grammar: Grammar, dest: str) -> Option:
    option = grammar.option(dest)
    return Option(option.flag, option.switch, option.off)


def _words(name: str, value: object, options: Mapping[str, Option]) -> str:
    flag = options[name].flag if name in options else name.removeprefix("env.")
    if value == UNSET or value is False:
        return f"drop {flag}"
    if value is True:
        return f"add {flag}"
    return f"set {flag} {value}"
