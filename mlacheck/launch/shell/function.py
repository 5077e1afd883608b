"""Calls of functions that the text defines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mlacheck.launch.shell.builtin import parts_of
from mlacheck.launch.shell.state import POSITIONAL, UNSET
from mlacheck.launch.shell.world import Option, Value

if TYPE_CHECKING:
    from tree_sitter import Node

    from mlacheck.launch.piece import Field
    from mlacheck.launch.shell.script import Script
    from mlacheck.launch.shell.syntax import Syntax

_LOCAL: Final = ("local", "declare", "typeset")


def call(script: Script, name: str, assignments: list[tuple[str, Field]], words: list[Field]) -> None:
    """Follow the body of a function with the words of a call."""
    syntax, definition = script.state.functions[name]
    body = definition.child_by_field_name("body")
    state = script.state
    script.reader.called.add((id(syntax), definition.id))
    if body is None:
        return
    held = state.variables.get(POSITIONAL, UNSET)
    state.pass_words(words)
    state.calls = (*state.calls, name)
    for variable, value in assignments:
        state.write(variable, (Option(frozenset(), Value(value.pieces)),))
    local = {one: state.variables.get(one) for one in _locals(syntax, body)}
    ended = state.ended
    inner = type(script)(script.reader, syntax, state, script.frame, nested=True)
    inner.statement(body)
    # `return` ends the function, `exit` the script: the last word tells.
    state.ended = ended or (state.ended and not _returns(syntax, body))
    for one, options in local.items():
        if options is None:
            state.variables.pop(one, None)
        else:
            state.variables[one] = options
    state.variables[POSITIONAL] = held
    state.calls = state.calls[:-1]


def _locals(syntax: Syntax, node: Node) -> set[str]:
    """Name the variables that a function keeps to itself."""
    names = set()
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one.type == "declaration_command" and one.children[0].type in _LOCAL:
            for child in one.named_children:
                if child.type == "variable_assignment":
                    names.add(parts_of(syntax, child)[0])
                elif child.type == "variable_name":
                    names.add(syntax.source(child))
        waiting.extend(one.named_children)
    return names - {""}


def _returns(syntax: Syntax, node: Node) -> bool:
    """Tell whether a function that ended early went back to its caller."""
    return re.search(r"\b(exit|exec)\b", syntax.source(node)) is None
