"""Follow branches and loops of a shell text."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Final

from mlacheck.launch.shell import builtin
from mlacheck.launch.shell.condition import matches
from mlacheck.launch.shell.heredoc import piped_into
from mlacheck.launch.shell.world import (
    Guard,
    Option,
    Status,
    Value,
    World,
    always,
    grow,
    nothing,
    open_value,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tree_sitter import Node

    from mlacheck.launch.piece import Field
    from mlacheck.launch.shell.script import Script

_LONGEST_PIPELINE: Final = 400  # characters that are kept of it
_MOST_ROUNDS: Final = 8  # of a loop whose items are known
_OPTIONS: Final = re.compile(r"\$\{?#|\$\{?1|getopts|\$@")


def chain(script: Script, node: Node, redirects: Sequence[Node], suffix: tuple[str, ...]) -> Status:
    """Follow `a && b` and `a || b`."""
    operator = next((child.type for child in node.children if child.type in ("&&", "||")), "&&")
    left, right = node.named_children[0], node.named_children[-1]
    wanted = operator == "&&"
    status = script.statement(left) if wanted else script.asked(left)
    if script.state.ended:
        return status
    result: Status = [(guard, done) for guard, done in status if done != wanted]
    going = [guard for guard, done in status if done == wanted]
    branches: list[tuple[Guard, Callable[[], None]]] = []

    def follow() -> None:
        nested, script.nested = script.nested, script.nested or len(status) > 1
        result.extend(script.statement(right, redirects, suffix))
        script.nested = nested

    branches.extend((guard, follow) for guard in going)
    branches.extend((guard, nothing) for guard, done in status if done != wanted)
    if going:
        script.state.branch(branches)
    else:
        script.dead([right])
    return result or [(script.state.guard, True)]


def pipeline(script: Script, node: Node, redirects: Sequence[Node], suffix: tuple[str, ...]) -> Status:
    """Follow the commands of a pipeline; each runs in a shell of its own."""
    parts = node.named_children
    end = script.syntax.span(node)[1]
    status: Status = []
    for at, part in enumerate(parts):
        stop = script.syntax.span(part)[1]
        rest = script.syntax.pieces.spelled(stop, end) if at + 1 < len(parts) else ""
        tail = tuple(rest.split()) if len(rest) < _LONGEST_PIPELINE else ()
        given = redirects if at + 1 == len(parts) else ()
        told = script.told(redirects) if at + 1 < len(parts) else ()
        if at + 1 < len(parts) and in_background(node):
            told = (*told, "&")

        def follow(
            part: Node = part, given: Sequence[Node] = given, tail: tuple[str, ...] = (*tail, *told)
        ) -> None:
            nonlocal status
            status = script.statement(part, given, (*tail, *suffix))

        nested, script.nested = script.nested, script.nested or at > 0
        into = script.into
        if part.type in ("compound_statement", "subshell"):
            script.into = piped_into(script, part)
        script.subshell(follow)
        script.nested, script.into = nested, into
    return [(guard, done) for guard, done in status if script.state.guard <= guard] or [
        (script.state.guard, True)
    ]


def choose(script: Script, node: Node) -> None:
    """Follow `if`, `elif`, `else`."""
    clauses: list[tuple[list[Node], list[Node]]] = []
    conditions: list[Node] = []
    body: list[Node] = []
    begun = False
    rest: list[Node] = []
    for child in node.children:
        if child.type in ("elif_clause", "else_clause"):
            rest.append(child)
        elif child.type == "then":
            begun = True
        elif child.is_named and child.type != "comment":
            (body if begun else conditions).append(child)
    clauses.append((conditions, body))
    for clause in rest:
        conditions, body, begun = [], [], clause.type == "else_clause"
        for child in clause.children:
            if child.type == "then":
                begun = True
            elif child.is_named and child.type != "comment":
                (body if begun else conditions).append(child)
        clauses.append((conditions, body))
    nested, script.nested = script.nested, True
    _clauses(script, clauses)
    script.nested = nested


def _clauses(script: Script, clauses: Sequence[tuple[list[Node], list[Node]]]) -> None:
    if not clauses:
        return
    conditions, body = clauses[0]
    if not conditions:
        _all(script, body)
        return
    for one in conditions[:-1]:
        script.statement(one)
    status = script.asked(conditions[-1])
    outcomes = {done for _, done in status}
    if outcomes == {True}:
        script.dead([one for both in clauses[1:] for nodes in both for one in nodes])
    elif outcomes == {False}:
        script.dead(body)
    script.state.branch(
        [
            (guard, (lambda: _all(script, body)) if done else (lambda: _clauses(script, clauses[1:])))
            for guard, done in status
        ]
    )


def _all(script: Script, nodes: Iterable[Node]) -> None:
    script.all(list(nodes))


def case(script: Script, node: Node) -> None:
    """Follow the arms of `case`."""
    subject = node.child_by_field_name("value")
    items = [child for child in node.named_children if child.type == "case_item"]
    if subject is None:
        return
    nested, script.nested = script.nested, True

    def value(world: World) -> Field | None:
        fields = script.expander(world).word([subject], splits=False)
        return fields[0] if len(fields) == 1 else None

    shown = script.syntax.source(subject)
    branches: list[tuple[Guard, Callable[[], None]]] = []
    for guard, field in script.worlds(value):
        settled = field is not None and not field.unknown and not field.assumed
        if settled and field is not None:
            arm = next((one for one in items if _matches(script, one, field.text)), None)
            branches.append((guard, nothing if arm is None else _arm(script, arm)))
            script.dead([one for item in items if item != arm for one in item.named_children])
            continue
        point = script.point(node, f"case {shown}")
        catches = False
        for at, one in enumerate(items):
            patterns = _patterns(script, one)
            script.reader.label(point, at, f"{shown} is {'|'.join(patterns)}", script.line_of(node))
            catches |= "*" in patterns
            branches.append((guard | {(point, at)}, _arm(script, one)))
        if not catches:
            script.reader.label(point, len(items), f"{shown} is none of these", script.line_of(node))
            branches.append((guard | {(point, len(items))}, nothing))
    if branches:
        script.state.branch(branches)
    script.nested = nested


def _patterns(script: Script, item: Node) -> list[str]:
    return [script.syntax.source(child) for child in item.children_by_field_name("value")]


def _matches(script: Script, item: Node, text: str) -> bool:
    return any(matches(pattern.strip("\"'"), text) for pattern in _patterns(script, item))


def _arm(script: Script, item: Node) -> Callable[[], None]:
    values = {child.id for child in item.children_by_field_name("value")}
    body = [child for child in item.named_children if child.id not in values]
    return lambda: _all(script, body)


def loop_over(script: Script, node: Node) -> None:
    """Follow `for x in ...`; a few items that are known are followed one by one."""
    variable = node.child_by_field_name("variable")
    body = node.child_by_field_name("body")
    if variable is None or body is None:
        return
    name = script.syntax.source(variable)
    items = node.children_by_field_name("value")
    options = not items
    fields = script.expander(World(script.state.guard)).words(items)
    options |= any(field.text in ("$@", "$*") for field in fields)
    known = 0 < len(fields) <= _MOST_ROUNDS and not any(field.unknown for field in fields)
    if known and node.children[0].type != "select" and not any("*" in field.text for field in fields):
        for field in fields:
            script.state.write(name, (Option(frozenset(), Value(field.pieces)),))
            script.inside(body)
            if script.state.ended:
                break
        script.state.ended = False
        return
    script.state.open(name)
    _rounds(script, body, options=options)


def loop(script: Script, node: Node) -> None:
    """Follow `while`, `until` and `for ((...))`."""
    body = node.child_by_field_name("body")
    if body is None:
        return
    head = script.syntax.text[script.syntax.span(node)[0] : script.syntax.span(body)[0]]
    for child in node.named_children:
        if child.id != body.id:
            if child.type == "variable_assignment":
                builtin.assign(script, child)
                name = script.syntax.source(child.named_children[0])
                script.state.open(name)
            elif child.type in ("command", "pipeline", "redirected_statement", "list"):
                script.subshell(functools.partial(script.statement, child))
    _rounds(script, body, options=bool(_OPTIONS.search(head)))


def _rounds(script: Script, body: Node, *, options: bool) -> None:
    """Follow a loop's body once, for any round: what it sets is open before, in and after it."""
    names = builtin.assigned(script.syntax, body)
    before = {name: script.state.variables.get(name) for name in names}
    grown = {
        name: grow(held, name, between)
        for name, held in before.items()
        if held is not None and (between := builtin.growth(script.syntax, body, name)) is not None
    }
    for name in names:
        script.state.write(name, grown.get(name) or always(open_value(name)))
    guard = script.state.guard
    script.inside(body)
    script.state.guard, script.state.ended = guard, False
    for name, held in before.items():
        # The loop reads the script's own options: without them the variable keeps its value.
        if options and held is not None:
            script.state.write(name, tuple(_taken(option, name) for option in held))
        else:
            script.state.write(name, grown.get(name) or always(open_value(name)))


def _taken(option: Option, name: str) -> Option:
    """Mark a value as what holds when the caller gives no option."""
    value = option.value
    if value is None or value.items is not None:
        return option
    told = f"{name}={''.join(piece.text for piece in value.pieces)}"
    pieces = tuple(
        piece if piece.names else piece._replace(assumed=tuple(dict.fromkeys((*piece.assumed, told))))
        for piece in value.pieces
    )
    return Option(option.guard, Value(pieces))


def in_background(node: Node) -> bool:
    """Tell whether `&` ends the statement that a node is in."""
    at = node
    while (parent := at.parent) is not None and (
        parent.type == "redirected_statement"
        or (parent.type in ("pipeline", "list") and at.next_sibling is None)
    ):
        at = parent
    after = at.next_sibling
    return after is not None and after.type == "&"
