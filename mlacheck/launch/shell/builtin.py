"""What the shell's own commands do to its state."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Final

from mlacheck.frozen import replace
from mlacheck.launch.command import Wrapper
from mlacheck.launch.finder import ASSIGNMENT
from mlacheck.launch.piece import Field, Piece, Pieces, again, joined
from mlacheck.launch.shell.heredoc import heredoc_body, heredocs_here
from mlacheck.launch.shell.source import exported_file, source
from mlacheck.launch.shell.state import POSITIONAL, UNSET
from mlacheck.launch.shell.world import Option, Value, World, open_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

    from mlacheck.launch.shell.expand import Expander
    from mlacheck.launch.shell.script import Script
    from mlacheck.launch.shell.syntax import Syntax

_ENDS: Final = frozenset({"exit", "return", "break", "continue"})
_LONGEST_VALUE: Final = 100_000
_NAMED: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_READS: Final = frozenset({"read", "mapfile", "readarray", "getopts"})


def scalar(script: Script, node: Node, expander: Expander) -> tuple[str, tuple[Piece, ...]]:
    """Give name and value of an assignment that holds a text."""
    name, operator, values = parts_of(script.syntax, node)
    pieces = expander.scalar(values)
    if operator == "+=":
        held = expander.variables.read(name)
        pieces = (*(held.pieces if held is not None else open_value(name).pieces), *pieces)
    return name, pieces


def assign(script: Script, node: Node) -> None:
    """Set a variable to what it has in every world."""
    name, operator, values = parts_of(script.syntax, node)
    state = script.state
    target = node.child_by_field_name("name")
    if not name:
        return
    if target is not None and target.type == "subscript":
        state.open(name)
        return
    array = values[0] if len(values) == 1 and values[0].type == "array" else None

    def value(world: World) -> Value:
        expander = script.expander(world)
        if array is None:
            held = expander.variables.read(name) if operator == "+=" else None
            if held is not None and held.items is not None:
                first = (
                    Field((*held.items[0].pieces, *expander.scalar(values)))
                    if held.items
                    else Field(expander.scalar(values))
                )
                return Value(items=(first, *held.items[1:]))
            return Value(scalar(script, node, expander)[1])
        items = expander.words([child for child in array.named_children if child.type != "comment"])
        if any(item.raw.startswith("[") for item in items):
            return open_value(name)
        if operator == "+=":
            held = expander.variables.read(name)
            if held is None:
                return Value(
                    items=(Field((Piece("${" + name + "[@]}", names=(name,), splits=True),)), *items)
                )
            before = held.items if held.items is not None else (Field(held.pieces),)
            return Value(items=(*before, *items))
        return Value(items=tuple(items))

    found = [(guard, _bounded(name, held)) for guard, held in script.worlds(value)]
    if state.exports_all:
        state.exported.add(name)
    state.write(name, tuple(Option(guard - state.guard, held) for guard, held in found))


def _shifted(value: Value | None, count: str) -> Value | None:
    """Take words off the front; of one that may be several nobody knows what is left."""
    if value is None or value.items is None or not count.isdecimal():
        return None
    several = next((at for at, item in enumerate(value.items) if item.splits), len(value.items))
    return Value(items=value.items[min(int(count), several) :])


def _bounded(name: str, value: Value) -> Value:
    """Open a value that grows beyond what a command line holds."""
    if value.items is not None:
        size = sum(len(piece.text) for item in value.items for piece in item.pieces) + len(value.items)
    else:
        size = sum(len(piece.text) for piece in value.pieces) + len(value.pieces)
    return value if size <= _LONGEST_VALUE else open_value(name)


def declare(script: Script, node: Node) -> None:
    """Follow `export`, `declare`, `local`, `readonly` and `typeset`."""
    program = node.children[0].type
    flags = {script.syntax.source(child) for child in node.named_children if child.type == "word"}
    exports = program == "export" or any(flag.startswith("-") and "x" in flag for flag in flags)
    for child in node.named_children:
        if child.type == "variable_assignment":
            assign(script, child)
            name = parts_of(script.syntax, child)[0]
        elif child.type == "variable_name":
            name = script.syntax.source(child)
            if program == "local":
                script.state.variables[name] = (Option(frozenset(), None),)
        elif exports and exported_file(script, script.syntax.source(child)):
            continue
        else:
            fields = script.expander(World(script.state.guard)).word([child])
            match = ASSIGNMENT.match(fields[0].text) if fields else None
            if match is None or fields[0].unknown:
                continue
            name = match.group(1)
            script.state.write(name, (Option(frozenset(), Value((Piece(fields[0].text[match.end() :]),))),))
        if exports:
            script.state.exported.add(name)


def run(
    script: Script,
    node: Node,
    name: str,
    assignments: Sequence[tuple[str, Field]],
    fields: Sequence[Field],
    tail: tuple[str, ...],
    redirects: Sequence[Node],
) -> bool:
    """Follow a command of the shell itself; tell whether it was one that cannot launch anything."""
    state = script.state
    if name in _ENDS:
        state.ended = True
        return True
    if name == "eval" and len(fields) > 1:
        _eval(script, node, assignments, again(joined(fields[1:])), tail)
        return True
    if name == "set":
        for one, after in itertools.pairwise([*fields[1:], fields[0]]):
            if one.text == "--":
                break
            if re.fullmatch(r"[-+][A-Za-z]*a[A-Za-z]*", one.text) or (
                one.text in ("-o", "+o") and after.text == "allexport"
            ):
                state.exports_all = one.text.startswith("-")
        at = next((index for index, field in enumerate(fields) if field.text == "--"), None)
        if at is not None:
            state.pass_words(fields[at + 1 :])
        return True
    if name == "shift":
        count = fields[1].text if len(fields) > 1 else "1"
        state.variables[POSITIONAL] = tuple(
            Option(option.guard, _shifted(option.value, count))
            for option in state.variables.get(POSITIONAL, UNSET)
        )
        return True
    if name in _READS:
        whole = name == "read" and any(f.text.startswith("-d") or f.text == "-rd" for f in fields)
        here = heredocs_here(script, redirects) if whole else []
        bodies = tuple(
            Option(guard if len(here) > 1 else frozenset(), Value(found[0].pieces))
            for guard, found in here
            if found
        )
        names = [field.text for field in fields[1:] if _NAMED.fullmatch(field.text)]
        for variable in names:
            state.open(variable)
            if bodies:
                state.write(variable, bodies)
        if name == "read" and not whole:
            _read_line(script, node, assignments, fields, names)
        return True
    if name == "printf" and len(fields) > 2 and fields[1].text == "-v":
        state.open(fields[2].text)
        return True
    if name in ("source", "."):
        source(script, node, fields)
        return True
    return False


def _read_line(
    script: Script,
    node: Node,
    assignments: Sequence[tuple[str, Field]],
    fields: Sequence[Field],
    names: Sequence[str],
) -> None:
    """Follow `read A B <<< TEXT`, also into an array, where the text is settled."""
    given = next((child for child in node.children if child.type == "herestring_redirect"), None)
    set_before = "IFS" in script.state.variables and not assignments
    if given is None or not names or not given.named_children or set_before:
        return
    separators = next((value.text for name, value in assignments if name == "IFS"), " \t\n")
    array = any(re.fullmatch(r"-\w*a", field.text) for field in fields)

    def words(world: World) -> list[Field] | None:
        expander = script.expander(world)
        text = Pieces(expander.scalar([given.named_children[-1]]))
        if not separators or any(piece.names for piece in text.pieces):
            return None
        several = "+" if separators.isspace() else "*"  # each of others ends a word, also an empty one
        pattern = rf"[^{re.escape(separators)}]{several}"
        spans = [match.span() for match in re.finditer(pattern, text.text)]
        spans = [one for at, one in enumerate(spans) if at == 0 or one[0] != spans[at - 1][1]]
        if not array and len(spans) > len(names):
            spans[len(names) - 1 :] = [(spans[len(names) - 1][0], len(text.text.rstrip()))]
        return [Field(tuple(text.cut(*span)), place=text.offset(span[0])) for span in spans]

    found = script.worlds(words)
    if any(read is None for _, read in found):
        return
    for at, variable in enumerate([names[0]] if array else names):
        script.state.write(
            variable,
            tuple(
                Option(
                    guard - script.state.guard,
                    Value(items=tuple(read or ()))
                    if array
                    else Value(read[at].pieces if read and at < len(read) else ()),
                )
                for guard, read in found
            ),
        )


def _eval(
    script: Script,
    node: Node,
    assignments: Sequence[tuple[str, Field]],
    pieces: list[Piece],
    tail: tuple[str, ...],
) -> None:
    frame = script.frame
    start, end = script.syntax.span(node)
    for variable, value in assignments:
        script.state.write(variable, (Option(frozenset(), Value(value.pieces)),))
    source = frame.source or script.reader.source(script.syntax.pieces.offset(start))
    text = script.syntax.pieces.spelled(start, end)
    live = tuple(dict.fromkeys(piece.text for piece in pieces if piece.names))
    wrapper = Wrapper(("eval",), tail, (), live)
    inner = replace(frame, wrappers=(*frame.wrappers, wrapper), source=source, text=frame.text or text)
    script.read(pieces, inner)


def assigned(syntax: Syntax, node: Node) -> set[str]:
    """Name the variables that a piece of script sets, functions left out."""
    names = set()
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one.type == "variable_assignment":
            name = parts_of(syntax, one)[0]
            parent = one.parent
            if parent is None or parent.type != "command":
                names.add(name)
        elif one.type == "for_statement":
            variable = one.child_by_field_name("variable")
            if variable is not None:
                names.add(syntax.source(variable))
        if one.type != "function_definition":
            waiting.extend(one.named_children)
    return names - {""}


def growth(syntax: Syntax, node: Node, name: str) -> str | None:
    """Give what stands between a variable and what a piece of script adds to its end: a blank or nothing.

    None: the script does something else to it.
    """
    between = " "
    own = re.compile(rf"\(?\s*\"?\$(?:{name}\b|\{{{name}(?:\[@\])?\}})")
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one.type == "variable_assignment" and parts_of(syntax, one)[0] == name:
            _, operator, values = parts_of(syntax, one)
            text = "".join(syntax.source(value) for value in values)
            match = own.match(text)
            if operator != "+=" and match is None:
                return None
            added = text[match.end() if match is not None and operator != "+=" else 0 :].lstrip("\"'")
            between = between if added[:1].isspace() else ""
        elif one.type == "for_statement":
            variable = one.child_by_field_name("variable")
            if variable is not None and syntax.source(variable) == name:
                return None
        waiting.extend(one.named_children)
    return between


def prints(script: Script, node: Node, world: World) -> tuple[Piece, ...] | None:
    """Give what `cat <<EOF`, `echo` or `printf` inside `$(...)` prints, None for everything else."""
    body = node.child_by_field_name("body") if node.type == "redirected_statement" else node
    if body is None or body.type != "command":
        return None
    words = [child for child in body.children if not child.type.endswith("redirect")]
    name = script.syntax.source(words[0]) if words else ""
    if name == "cat" and len(words) == 1 and node is not body:
        found = [child for child in node.children if child.type == "heredoc_redirect"]
        if len(found) != 1:
            return None
        pieces = heredoc_body(script, found[0], world)
        return _without_last_newlines(pieces) if pieces is not None else None
    if name == "echo" and node is body and len(words) > 1:
        fields = script.expander(world).words(words[1:])
        if fields and fields[0].text in ("-n", "-e", "-ne"):
            fields = fields[1:]
        pieces = []
        for index, field in enumerate(fields):
            pieces.extend([Piece(" ")] if index else [])
            pieces.extend(field.pieces)
        if fields and fields[0].splits:  # it may be an option of echo's own
            return None
        # What open words become is printed, and split where the text is used.
        return tuple(piece._replace(splits=False) for piece in pieces)
    return None


def _without_last_newlines(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    kept = list(pieces)
    while kept and not kept[-1].names:
        text = kept[-1].text.rstrip("\n")
        if text:
            kept[-1] = kept[-1].cut(0, len(text))
            break
        kept.pop()
    return tuple(kept)


def parts_of(syntax: Syntax, node: Node) -> tuple[str, str, list[Node]]:
    """Give name, operator and the nodes of the value of an assignment."""
    name, operator = "", "="
    values = []
    for child in node.children:
        if child.type in ("variable_name", "subscript") and not name:
            name = syntax.source(child).split("[")[0]
        elif child.type in ("=", "+="):
            operator = child.type
        else:
            values.append(child)
    return name, operator, values
