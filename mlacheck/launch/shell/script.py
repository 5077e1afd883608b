"""Follow the statements of a shell text: what they set, where they branch, which may be launches."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeVar

from mlacheck.launch.command import ELIDED
from mlacheck.launch.frame import Frame, Line, is_flag
from mlacheck.launch.piece import Field, Piece, Pieces
from mlacheck.launch.shell import builtin, control, simple
from mlacheck.launch.shell.expand import Expander
from mlacheck.launch.shell.heredoc import deliver
from mlacheck.launch.shell.state import State
from mlacheck.launch.shell.variables import Variables
from mlacheck.launch.shell.world import Guard, Option, Status, World, worlds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tree_sitter import Node

    from mlacheck.launch.reader import Reader
    from mlacheck.launch.shell.syntax import Syntax

T = TypeVar("T")
_KEPT: Final = frozenset({"cd", "source", "."})  # statements that the launch after them depends on
_MOST_SETUP: Final = 100  # of these statements, the last ones
_ASSIGNED: Final = re.compile(r"([A-Za-z_]\w*)\+?=")


class Script:
    """The statements of one text, followed in the state of one shell."""

    def __init__(
        self,
        reader: Reader,
        syntax: Syntax,
        state: State,
        frame: Frame,
        *,
        nested: bool = False,
        sourced: bool = False,
    ) -> None:
        self.reader, self.syntax, self.state, self.frame = reader, syntax, state, frame
        self.nested = nested  # in a branch, loop, function or subshell
        self.into = ""  # what the text makes of it that a compound statement prints into
        self.sourced = sourced  # a file that another one reads
        self.setup: list[tuple[tuple[str, ...], bool]] = []
        self.launched = False
        self.current = syntax.root  # the statement that is followed
        self.flags: Line | None = None
        self.flags_span = (0, 0)
        self.begins: dict[int, int] = {}  # of commands before which the grammar counts other lines

    def run(self) -> None:
        """Follow all statements."""
        self.block(self.syntax.root)
        self.flush()

    def worlds(self, run: Callable[[World], T]) -> list[tuple[Guard, T]]:
        """Run something in every world there is, as long as they were not too many so far."""
        found = worlds(self.state.guard, run, self.reader.most_worlds)
        if len(found) > 1:
            self.reader.branched(len(found), self.syntax.pieces.offset(self.syntax.span(self.current)[0]))
        return found

    def expander(self, world: World) -> Expander:
        """Give what expands words in a world."""
        return Expander(self.syntax, Variables(self, world))

    # Statements.

    def block(self, node: Node) -> None:
        """Follow the statements that are the children of a node."""
        self.all(node.named_children)

    def all(self, nodes: Sequence[Node]) -> None:
        """Follow statements one after the other."""
        for at, node in enumerate(nodes):
            if self.state.ended:
                self.dead(nodes[at:])
                return
            self.statement(node)

    def dead(self, nodes: Sequence[Node]) -> None:
        """Follow statements that the text itself never reaches: a launch in them is one all the same."""
        named = [node for node in nodes if self.reader.mentions(self.syntax.source(node))]
        if named and self.frame.file_kind:
            state, nested = self.state, self.nested
            self.state, self.nested = state.copy(), True
            for node in named:
                self.state.ended = False
                self.statement(node)
            self.state, self.nested = state, nested

    def inside(self, node: Node) -> None:
        """Follow the statements of a branch or loop."""
        nested, self.nested = self.nested, True
        self.block(node)
        self.nested = nested

    def statement(self, node: Node, redirects: Sequence[Node] = (), suffix: tuple[str, ...] = ()) -> Status:
        """Follow one statement."""
        kind, self.current = node.type, node
        state = self.state
        yes: Status = [(state.guard, True)]
        if self.reader.exhausted():
            return yes
        if kind in ("command", "test_command"):
            return (
                simple.command(self, node, redirects, suffix)
                if kind == "command"
                else simple.test(self, node)
            )
        if kind == "redirected_statement":
            body = node.child_by_field_name("body")
            given = [child for child in node.children if child.type.endswith("redirect")]
            if body is None:
                self.redirected(None, [*given, *redirects], [])
                return yes
            if body.type in ("command", "pipeline", "list"):
                return self.statement(body, [*given, *redirects], suffix)
            self.redirected(None, [*given, *redirects], [])
            return self.statement(body, (), (*suffix, *self.told(given)))
        if (kind == "variable_assignment" and not simple.assigns(self, node)) or (
            kind == "variable_assignments"
            and not all(simple.assigns(self, child) for child in node.named_children)
        ):
            return simple.command(self, node, redirects, suffix)
        if kind in ("variable_assignment", "variable_assignments"):
            for one in [node] if kind == "variable_assignment" else node.named_children:
                builtin.assign(self, one)
            self.keep(node, always=True)
        elif kind == "declaration_command":
            builtin.declare(self, node)
            self.keep(node, always=True)
        elif kind == "unset_command":
            for child in node.named_children:
                name = self.syntax.source(child)
                state.variables[name] = (Option(frozenset(), None),)
                state.exported.discard(name)
            self.keep(node, always=True)
        elif kind == "list":
            return control.chain(self, node, redirects, suffix)
        elif kind == "negated_command":
            return [
                (guard, not done)
                for guard, done in self.statement(node.named_children[-1], redirects, suffix)
            ]
        elif kind == "pipeline":
            return control.pipeline(self, node, redirects, suffix)
        elif kind == "if_statement":
            control.choose(self, node)
        elif kind == "case_statement":
            control.case(self, node)
        elif kind == "for_statement":
            control.loop_over(self, node)
        elif kind in ("while_statement", "c_style_for_statement"):
            control.loop(self, node)
        elif kind == "function_definition":
            called = node.child_by_field_name("name")
            if called is not None:
                state.functions[self.syntax.source(called)] = (self.syntax, node)
                if not self.sourced:
                    self.reader.defined(self, node)
        elif kind == "subshell":
            self.subshell(lambda: self.inside(node))
        elif kind in ("compound_statement", "do_group", "else_clause", "program"):
            if node.children and node.children[0].type == "((":
                point = self.point(node)
                return [(state.guard | {(point, 0)}, True), (state.guard | {(point, 1)}, False)]
            self.inside(node)
        elif kind == "ERROR":
            self.reader.broken(self, node)
        elif kind not in ("comment", "heredoc_body", "heredoc_end") and node.named_children and node.is_named:
            self.inside(node)
        return [(state.guard, True)]

    def subshell(self, run: Callable[[], object]) -> None:
        """Run something whose variables do not come back."""
        state = self.state
        self.state = state.copy()
        run()
        self.state = state

    def asked(self, node: Node) -> Status:
        """Follow a condition; a program in it may say yes or no."""
        status = self.statement(node)
        if node.type in ("command", "pipeline", "redirected_statement") and len(status) == 1:
            name = self.syntax.source(node).split(maxsplit=1)[:1]
            if name and name[0] not in ("true", ":", "test", "["):
                point = self.point(node)
                guard = self.state.guard
                return [(guard | {(point, 0)}, True), (guard | {(point, 1)}, False)]
        return status

    # Commands.

    def redirected(self, node: Node | None, redirects: Sequence[Node], fields: list[Field]) -> None:
        """Read here-documents of a compound statement."""
        del node
        deliver(self, redirects, fields)

    def substituted(self, node: Node, world: World) -> tuple[Piece, ...] | None:
        """Give what a command substitution prints where it is a plain `cat <<EOF` or `echo`."""
        inner = [child for child in node.named_children if child.type != "comment"]
        if len(inner) == 1:
            heredoc = builtin.prints(self, inner[0], world)
            if heredoc is not None:
                return heredoc
        if self.reader.mentions(self.syntax.source(node)) and self.reader.once(self.syntax, node):
            state = self.state
            self.state = state.copy()
            self.state.guard = world.guard
            nested, self.nested = self.nested, True
            self.block(node)
            self.nested = nested
            self.state = state
        return None

    # Lines.

    def line(self, node: Node, line: Line) -> None:
        """Hand a simple command to the reader, flags on their own joined with those of the lines before."""
        first = line.fields[0].text
        whole = self.reader.whole and not self.frame.wrappers
        flags_only = whole and (
            is_flag(first) or (first in ELIDED and len(line.fields) > 1 and is_flag(line.fields[1].text))
        )
        span = (self._begin(node), self._stop(node))
        if flags_only and first in ELIDED:
            line.fields.pop(0)
        if flags_only and self.flags is not None:
            self.flags.fields.extend(line.fields)
            self.flags_span = (self.flags_span[0], span[1])
            self.flags.suffix += line.suffix
            return
        if is_flag(first) and self.launched:
            self.reader.problem(
                "detached-flags",
                f"{first} and what follows is not part of the launch command before it",
                "end the line before it with a backslash, and put no comment between continued lines",
                line.fields[0].place,
            )
            return
        self.flush()
        line.span = self.syntax.pieces.span(*span)
        if flags_only and not self.reader.finds(line):
            self.flags = line
            self.flags_span = span
            return
        if self.reader.line(line, self.state.environment(), self.state, self.frame):
            self.launched = True
            self.setup = [(words, keep) for words, keep in self.setup if keep]
        else:
            self.launched = self.launched and not line.fields[0].text
            self.keep(node, always=first in _KEPT)

    def flush(self) -> None:
        """Hand on the flags that stand on their own."""
        if self.flags is not None:
            flags, self.flags = self.flags, None
            flags.text = self.syntax.pieces.spelled(*self.flags_span)
            flags.span = self.syntax.pieces.span(*self.flags_span)
            self.reader.line(flags, self.state.environment(), self.state, self.frame)

    def read(self, script: Field | Sequence[Piece], frame: Frame, state: State | None = None) -> None:
        """Follow a string as shell text, in this shell or in one of its own."""
        pieces = script.pieces if isinstance(script, Field) else script
        self.reader.text(Pieces(pieces), frame, self.state if state is None else state)

    def inner_state(self) -> State:
        """Give the state of a new shell that is run from here: only what is exported."""
        state = self.state.copy()
        state.variables = {name: held for name, held in state.variables.items() if name in state.exported}
        state.functions = {}
        return state

    def fresh_state(self) -> State | None:
        """Give the state of a shell that knows nothing but the branches that lead to its text."""
        return State(guard=self.state.guard) if self.state.guard else None

    def keep(self, node: Node, *, always: bool) -> None:
        """Keep a statement that the launch after it may need, to write both again."""
        after = node.next_sibling
        parent = node.parent
        while after is None and parent is not None and parent.type in ("list", "redirected_statement"):
            after, parent = parent.next_sibling, parent.parent
        chained = after is not None and after.type == "&&"
        if self.nested or self.frame.file_kind or (not always and not chained):
            return
        parts = node.children if node.type in ("declaration_command", "unset_command", "command") else [node]
        if node.type == "variable_assignments":
            parts = node.named_children
        spelled = (self.syntax.pieces.spelled(*self.syntax.span(part)) for part in parts)
        words = [
            " ".join(re.sub(r"(?m)#.*$", "", text).split()) if "\n" in text else text for text in spelled
        ]
        end = "&&" if chained else ";"
        self.setup.append(((*words, end), always and end == ";"))
        del self.setup[:-_MOST_SETUP]

    def point(self, node: Node, shown: str = "") -> int:
        """Give the number of a branching; the same question about the same values is the same branching."""
        text = shown or " ".join(self.syntax.pieces.spelled(*self.syntax.span(node)).split())
        held = tuple(
            (name, self.state.variables.get(name))
            for name in dict.fromkeys(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", text))
            if name in self.state.variables
        )
        return self.reader.point(text, held, self.line_of(node))

    def line_of(self, node: Node) -> int:
        """Give the line that a node starts on."""
        return self.reader.lines.place(self.syntax.pieces.offset(self.syntax.span(node)[0]))[0]

    def _begin(self, node: Node) -> int:
        return self.begins.get(node.id, self.syntax.span(node)[0])

    def _stop(self, node: Node) -> int:
        parent = node.parent
        if parent is None or parent.type != "redirected_statement" or parent.children[0] != node:
            return self.syntax.span(node)[1]
        last = [child for child in parent.children if child.type != "heredoc_redirect"][-1]
        return self.syntax.span(last)[1]

    def source(self, node: Node) -> str:
        """Give a statement as it is written, its redirections too."""
        return self.syntax.pieces.spelled(self._begin(node), self._stop(node))

    def preceding(self) -> tuple[tuple[str, ...], ...]:
        """Give the statements to write before the command; its words have their values already."""
        kept = []
        for words, _ in self.setup:
            names = [match[1] if (match := _ASSIGNED.match(word)) else "" for word in words[:-1]]
            if not all(name and name not in self.state.exported for name in names):
                kept.append(words)
        return tuple(kept)

    def told(self, redirects: Sequence[Node]) -> tuple[str, ...]:
        """Give redirections as they are written."""
        told = []
        for one in redirects:
            if one.type == "file_redirect":
                start, end = self.syntax.span(one)
                target = one.child_by_field_name("destination")
                told.append(
                    self.syntax.pieces.spelled(start, end if target is None else self.syntax.span(target)[1])
                )
        return tuple(told)
