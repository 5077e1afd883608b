"""Puts a set of edits into words and into a corrected command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlacheck.remedies.edit import UNSET, Option, edit_command
from mlacheck.ruleset.program import UNSET as UNSET_TEXT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mlacheck.engines import Arguments, Grammar
    from mlacheck.launch.command import LaunchCommand
    from mlacheck.remedies.edit import Edited


def write_edit(
    command: LaunchCommand, arguments: Arguments, grammar: Grammar, edits: Mapping[str, object]
) -> tuple[str, Edited]:
    """Give the edits as a sentence, and the command with them applied."""
    values = {name: UNSET if value == UNSET_TEXT else value for name, value in edits.items()}
    spans = {name: given.spans for name, given in arguments.given.items()}
    options = {name: _option(grammar, name) for name in values if not name.startswith("env.")}
    edited = edit_command(command, values, spans=spans, options=options)
    return "; ".join(_words(name, value, options) for name, value in values.items()), edited


def _option(grammar: Grammar, dest: str) -> Option:
    option = grammar.option(dest)
    return Option(option.flag, option.switch, option.off)


def _words(name: str, value: object, options: Mapping[str, Option]) -> str:
    flag = options[name].flag if name in options else name.removeprefix("env.")
    if value is UNSET:
        return f"drop {flag}"
    if value is True:
        return f"add {flag}"
    if value is False:
        return f"drop {flag}"
    return f"set {flag} {value}"
