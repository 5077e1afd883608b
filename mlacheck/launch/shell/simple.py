"""Simple commands and tests: what they do to the shell, and which may be launches."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Final

from mlacheck.launch.frame import Line
from mlacheck.launch.piece import Field, Piece
from mlacheck.launch.shell import builtin, control, function
from mlacheck.launch.shell.condition import decide, decide_words
from mlacheck.launch.shell.heredoc import deliver, printed
from mlacheck.launch.shell.source import is_there
from mlacheck.launch.shell.world import Guard, Option, Status, Value, World

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tree_sitter import Node

    from mlacheck.launch.shell.script import Script

_DEEPEST_CALL: Final = 8
# Their failure is what `||` and `&&` after them ask for; other programs are taken to succeed.
_ASKS: Final = frozenset(
    {
        "grep",
        "egrep",
        "rg",
        "command",
        "which",
        "type",
        "hash",
        "pgrep",
        "nvidia-smi",
        "curl",
        "cmp",
        "diff",
        "false",
    }
)
_BROKEN: Final = re.compile(r"(?:[ \t]|\\\n)*\\[ \t]+(?=\n|$)")


def test(script: Script, node: Node) -> Status:
    """Decide `[ ... ]` and `[[ ... ]]` in every world."""
    status: Status = []
    for guard, done in script.worlds(lambda world: decide(node, script.expander(world))):
        if done is None:
            point = script.point(node)
            status += [(guard | {(point, 0)}, True), (guard | {(point, 1)}, False)]
        else:
            status.append((guard, done))
    return [(guard, done) for guard, done in status if len(dict(guard)) == len(guard)]


def command(script: Script, node: Node, redirects: Sequence[Node], suffix: tuple[str, ...]) -> Status:
    """Follow one simple command in every world that it has."""
    single = node.type == "variable_assignment"
    parts = [node] if single else node.children
    assigned = [child for child in parts if assigns(script, child)]
    words = [
        child
        for child in parts
        if child.type != "comment" and not child.type.endswith("redirect") and not assigns(script, child)
    ]
    redirects = [*(child for child in parts if child.type.endswith("redirect")), *redirects]
    # The grammar counts words after a redirection as more of its target.
    words += [
        more
        for one in redirects
        if one.type == "file_redirect"
        for more in one.children_by_field_name("destination")[1:]
    ]
    words.sort(key=lambda child: child.start_byte)
    if not words:
        return [(script.state.guard, True)]
    ended = _ended(script, assigned, words[0])
    for one in assigned[:ended]:
        builtin.assign(script, one)
        script.keep(one, always=True)
    if ended:
        assigned = assigned[ended:]
        script.begins[node.id] = script.syntax.span((*assigned, words[0])[0])[0]

    def expand(world: World) -> tuple[list[tuple[str, Field]], list[Field]]:
        expander = script.expander(world)
        assignments = []
        for one in assigned:
            name, pieces = builtin.scalar(script, one, expander)
            start, end = script.syntax.span(one)
            place = script.syntax.pieces.offset(start)
            raw = script.syntax.pieces.spelled(start, end).replace("\\\n", "")
            assignments.append((name, Field(pieces, place=place, raw=raw)))
        return assignments, expander.words(words)

    found = script.worlds(expand)
    tail = (*script.told(redirects), *suffix, *(["&"] if control.in_background(node) else []))
    statuses: Status = []
    branches: list[tuple[Guard, Callable[[], None]]] = []
    for guard, (assignments, fields) in found:

        def follow(assignments: list[tuple[str, Field]] = assignments, fields: list[Field] = fields) -> None:
            statuses.extend(simple(script, node, assignments, fields, tail, redirects))

        branches.append((guard, follow))
    script.state.branch(branches)
    return statuses or [(script.state.guard, True)]


def _ended(script: Script, assigned: Sequence[Node], word: Node) -> int:
    """Count the assignments whose line ends before the command: the grammar takes them for its own."""
    for at in range(len(assigned), 0, -1):
        following = assigned[at] if at < len(assigned) else word
        between = script.syntax.text[
            script.syntax.span(assigned[at - 1])[1] : script.syntax.span(following)[0]
        ]
        if "\n" in between.replace("\\\n", ""):
            return at
    return 0


def simple(
    script: Script,
    node: Node,
    assignments: list[tuple[str, Field]],
    fields: list[Field],
    tail: tuple[str, ...],
    redirects: Sequence[Node],
) -> Status:
    """Follow a simple command whose words are expanded."""
    guard = script.state.guard
    if not fields:
        for name, value in assignments:
            script.state.write(name, (Option(frozenset(), Value(value.pieces)),))
        return [(guard, True)]
    end = script.syntax.span(node)[1]
    if match := _BROKEN.match(script.syntax.text, end):
        at = script.syntax.text.index(
            "\\", script.syntax.text.find("\\\n", end, match.end()) + 1 if "\\\n" in match.group() else end
        )
        place = script.syntax.pieces.offset(at)
        fields = [*fields, Field((Piece(" "),), place=place, raw="\\ ")]
    name = fields[0].text
    calls = script.state.calls
    if name in script.state.functions and name not in calls and len(calls) < _DEEPEST_CALL:
        function.call(script, name, assignments, fields[1:])
        point = script.point(node)
        return [(guard | {(point, 0)}, True), (guard | {(point, 1)}, False)]
    if name in ("test", "["):
        asked = [field for field in fields[1:] if field.text != "]"]
        done = decide_words(asked, functools.partial(is_there, script.reader))
        if done is not None:
            return [(guard, done)]
        point = script.point(node)
        return [(guard | {(point, 0)}, True), (guard | {(point, 1)}, False)]
    if name in ("true", ":", "false") and not redirects:
        return [(guard, name != "false")]
    if not builtin.run(script, node, name, assignments, fields, tail, redirects):
        script.line(node, Line(assignments, fields, tail, script.preceding(), script.source(node)))
        deliver(script, redirects, fields)
        printed(script, node, fields)
        if name == "exec" and len(fields) > 1:
            script.state.ended = True
    if name in _ASKS:
        point = script.point(node)
        return [(guard | {(point, 0)}, True), (guard | {(point, 1)}, False)]
    return [(guard, True)]


def assigns(script: Script, node: Node) -> bool:
    """Tell an assignment from a flag with a value, which the grammar does not before a command."""
    return node.type == "variable_assignment" and script.syntax.text[script.syntax.span(node)[0]] != "-"
