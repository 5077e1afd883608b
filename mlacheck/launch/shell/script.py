"""Follow the statements of a shell text: what they set, where they branch, which may be launches."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Final, TypeAlias

from mlacheck.launch.frame import DASHES, Frame, Line, is_flag
from mlacheck.launch.piece import Field, Piece, Pieces
from mlacheck.launch.shell import builtin
from mlacheck.launch.shell.condition import decide, decide_words, matches
from mlacheck.launch.shell.expand import Expander
from mlacheck.launch.shell.heredoc import Heredoc, printed, read_heredocs
from mlacheck.launch.shell.world import Guard, Option, Value, World, worlds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tree_sitter import Node

    from mlacheck.launch.reader import Reader
    from mlacheck.launch.shell.state import State
    from mlacheck.launch.shell.syntax import Syntax

# How a statement can end: the worlds in which it succeeds, and those in which it does not.
Status: TypeAlias = list[tuple[Guard, bool]]

_DEEPEST_CALL: Final = 8
_MOST_ROUNDS: Final = 8  # of a loop whose items are known
_LONGEST_PIPELINE: Final = 400  # characters that are kept of it
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
_KEPT: Final = frozenset({"cd", "source", "."})  # statements that the launch after them depends on
_MOST_SETUP: Final = 100  # of these statements, the last ones
_BROKEN: Final = re.compile(r"(?:[ \t]|\\\n)*\\[ \t]+(?=\n|$)")
_ASSIGNED: Final = re.compile(r"([A-Za-z_]\w*)\+?=")
_OPTIONS: Final = re.compile(r"\$\{?#|\$\{?1|getopts|\$@")


class Variables:
    """Reads variables in one world, for expansions."""

    __slots__ = ("script", "world")

    def __init__(self, script: Script, world: World) -> None:
        self.script, self.world = script, world

    def read(self, name: str) -> Value | None:
        """Give a variable's value, None when the text does not set it."""
        state = self.script.state
        value = state.read(name, self.world)
        if value is None and name not in state.variables:
            told = self.script.reader.env.get(name)
            return None if told is None else Value((Piece(told),) if told else ())
        return value

    def positional(self) -> tuple[Field, ...] | None:
        """Give the words of "$@"."""
        return self.script.state.words

    def substituted(self, node: Node) -> tuple[Piece, ...] | None:
        """Give what a command substitution prints, as far as it is plain."""
        return self.script.substituted(node, self.world)


class Script:
    """The statements of one text, followed in the state of one shell."""

    def __init__(
        self, reader: Reader, syntax: Syntax, state: State, frame: Frame, *, nested: bool = False
    ) -> None:
        self.reader, self.syntax, self.state, self.frame = reader, syntax, state, frame
        self.nested = nested  # in a branch, loop, function or subshell
        self.setup: list[tuple[tuple[str, ...], bool]] = []
        self.launched = False
        self.flags: Line | None = None
        self.flags_span = (0, 0)

    def run(self) -> None:
        """Follow all statements."""
        self.block(self.syntax.root)
        self.flush()

    def expander(self, world: World) -> Expander:
        """Give what expands words in a world."""
        return Expander(self.syntax, Variables(self, world))

    # Statements.

    def block(self, node: Node) -> None:
        """Follow the statements that are the children of a node."""
        for child in node.named_children:
            if self.state.ended or self.reader.exhausted():
                return
            self.statement(child)

    def inside(self, node: Node) -> None:
        """Follow the statements of a branch or loop."""
        nested, self.nested = self.nested, True
        self.block(node)
        self.nested = nested

    def statement(self, node: Node, redirects: Sequence[Node] = (), suffix: tuple[str, ...] = ()) -> Status:
        """Follow one statement."""
        kind = node.type
        state = self.state
        yes: Status = [(state.guard, True)]
        if kind in ("command", "test_command"):
            return self.command(node, redirects, suffix) if kind == "command" else self.test(node)
        if kind == "redirected_statement":
            body = node.child_by_field_name("body")
            given = [child for child in node.children if child.type.endswith("redirect")]
            if body is None:
                self.redirected(None, [*given, *redirects], [])
                return yes
            if body.type in ("command", "pipeline", "list"):
                return self.statement(body, [*given, *redirects], suffix)
            self.redirected(None, [*given, *redirects], [])
            return self.statement(body, (), (*suffix, *self._told(given)))
        if (kind == "variable_assignment" and not self._assigns(node)) or (
            kind == "variable_assignments" and not all(self._assigns(child) for child in node.named_children)
        ):
            return self.command(node, redirects, suffix)
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
            return self.chain(node, redirects, suffix)
        elif kind == "negated_command":
            return [
                (guard, not done)
                for guard, done in self.statement(node.named_children[-1], redirects, suffix)
            ]
        elif kind == "pipeline":
            return self.pipeline(node, redirects, suffix)
        elif kind == "if_statement":
            self.choose(node)
        elif kind == "case_statement":
            self.case(node)
        elif kind == "for_statement":
            self.loop_over(node)
        elif kind in ("while_statement", "c_style_for_statement"):
            self.loop(node)
        elif kind == "function_definition":
            called = node.child_by_field_name("name")
            if called is not None:
                state.functions[self.syntax.source(called)] = (self.syntax, node)
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

    def chain(self, node: Node, redirects: Sequence[Node], suffix: tuple[str, ...]) -> Status:
        """Follow `a && b` and `a || b`."""
        operator = next((child.type for child in node.children if child.type in ("&&", "||")), "&&")
        left, right = node.named_children[0], node.named_children[-1]
        wanted = operator == "&&"
        status = self.statement(left) if wanted else self._asked(left)
        if self.state.ended:
            return status
        result: Status = [(guard, done) for guard, done in status if done != wanted]
        going = [guard for guard, done in status if done == wanted]
        branches: list[tuple[Guard, Callable[[], None]]] = []

        def follow() -> None:
            nested, self.nested = self.nested, self.nested or len(status) > 1
            result.extend(self.statement(right, redirects, suffix))
            self.nested = nested

        branches.extend((guard, follow) for guard in going)
        branches.extend((guard, _nothing) for guard, done in status if done != wanted)
        if going:
            self.state.branch(branches)
        return result or [(self.state.guard, True)]

    def pipeline(self, node: Node, redirects: Sequence[Node], suffix: tuple[str, ...]) -> Status:
        """Follow the commands of a pipeline; each runs in a shell of its own."""
        parts = node.named_children
        end = self.syntax.span(node)[1]
        status: Status = []
        for at, part in enumerate(parts):
            stop = self.syntax.span(part)[1]
            rest = self.syntax.pieces.spelled(stop, end) if at + 1 < len(parts) else ""
            tail = tuple(rest.split()) if len(rest) < _LONGEST_PIPELINE else ()
            given = redirects if at + 1 == len(parts) else ()
            told = self._told(redirects) if at + 1 < len(parts) else ()
            if at + 1 < len(parts) and _in_background(node):
                told = (*told, "&")

            def follow(
                part: Node = part, given: Sequence[Node] = given, tail: tuple[str, ...] = (*tail, *told)
            ) -> None:
                nonlocal status
                status = self.statement(part, given, (*tail, *suffix))

            nested, self.nested = self.nested, self.nested or at > 0
            self.subshell(follow)
            self.nested = nested
        return [(guard, done) for guard, done in status if self.state.guard <= guard] or [
            (self.state.guard, True)
        ]

    def choose(self, node: Node) -> None:
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
        nested, self.nested = self.nested, True
        self._clauses(clauses)
        self.nested = nested

    def _clauses(self, clauses: Sequence[tuple[list[Node], list[Node]]]) -> None:
        if not clauses:
            return
        conditions, body = clauses[0]
        if not conditions:
            self._all(body)
            return
        for one in conditions[:-1]:
            self.statement(one)
        status = self._asked(conditions[-1])
        self.state.branch(
            [
                (guard, (lambda: self._all(body)) if done else (lambda: self._clauses(clauses[1:])))
                for guard, done in status
            ]
        )

    def _all(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            if self.state.ended:
                return
            self.statement(node)

    def _asked(self, node: Node) -> Status:
        """Follow a condition; a program in it may say yes or no."""
        status = self.statement(node)
        if node.type in ("command", "pipeline", "redirected_statement") and len(status) == 1:
            name = self.syntax.source(node).split(maxsplit=1)[:1]
            if name and name[0] not in ("true", ":", "test", "["):
                point = self.point(node)
                guard = self.state.guard
                return [(guard | {(point, 0)}, True), (guard | {(point, 1)}, False)]
        return status

    def case(self, node: Node) -> None:
        """Follow the arms of `case`."""
        subject = node.child_by_field_name("value")
        items = [child for child in node.named_children if child.type == "case_item"]
        if subject is None:
            return
        nested, self.nested = self.nested, True

        def value(world: World) -> Field | None:
            fields = self.expander(world).word([subject], splits=False)
            return fields[0] if len(fields) == 1 else None

        shown = self.syntax.source(subject)
        branches: list[tuple[Guard, Callable[[], None]]] = []
        for guard, field in worlds(self.state.guard, value):
            settled = field is not None and not field.unknown and not field.assumed
            if settled and field is not None:
                arm = next((one for one in items if self._matches(one, field.text)), None)
                branches.append((guard, _nothing if arm is None else self._arm(arm)))
                continue
            point = self.point(node, f"case {shown}")
            catches = False
            for at, one in enumerate(items):
                patterns = self._patterns(one)
                self.reader.label(point, at, f"{shown} is {'|'.join(patterns)}", self._line(node))
                catches |= "*" in patterns
                branches.append((guard | {(point, at)}, self._arm(one)))
            if not catches:
                self.reader.label(point, len(items), f"{shown} is none of these", self._line(node))
                branches.append((guard | {(point, len(items))}, _nothing))
        if branches:
            self.state.branch(branches)
        self.nested = nested

    def _patterns(self, item: Node) -> list[str]:
        return [self.syntax.source(child) for child in item.children_by_field_name("value")]

    def _matches(self, item: Node, text: str) -> bool:
        return any(matches(pattern.strip("\"'"), text) for pattern in self._patterns(item))

    def _arm(self, item: Node) -> Callable[[], None]:
        values = {child.id for child in item.children_by_field_name("value")}
        body = [child for child in item.named_children if child.id not in values]
        return lambda: self._all(body)

    def loop_over(self, node: Node) -> None:
        """Follow `for x in ...`; a few items that are known are followed one by one."""
        variable = node.child_by_field_name("variable")
        body = node.child_by_field_name("body")
        if variable is None or body is None:
            return
        name = self.syntax.source(variable)
        items = node.children_by_field_name("value")
        options = not items
        fields = self.expander(World(self.state.guard)).words(items)
        options |= any(field.text in ("$@", "$*") for field in fields)
        known = 0 < len(fields) <= _MOST_ROUNDS and not any(field.unknown for field in fields)
        if known and node.children[0].type != "select" and not any("*" in field.text for field in fields):
            for field in fields:
                self.state.write(name, (Option(frozenset(), Value(field.pieces)),))
                self.inside(body)
                if self.state.ended:
                    break
            self.state.ended = False
            return
        self.state.open(name)
        self._rounds(body, options=options)

    def loop(self, node: Node) -> None:
        """Follow `while`, `until` and `for ((...))`."""
        body = node.child_by_field_name("body")
        if body is None:
            return
        head = self.syntax.text[self.syntax.span(node)[0] : self.syntax.span(body)[0]]
        for child in node.named_children:
            if child.id != body.id:
                if child.type == "variable_assignment":
                    builtin.assign(self, child)
                    name = self.syntax.source(child.named_children[0])
                    self.state.open(name)
                elif child.type in ("command", "pipeline", "redirected_statement", "list"):
                    self.subshell(functools.partial(self.statement, child))
        self._rounds(body, options=bool(_OPTIONS.search(head)))

    def _rounds(self, body: Node, *, options: bool) -> None:
        """Follow a loop's body once, for any round: what it sets is open before, in and after it."""
        names = builtin.assigned(self.syntax, body)
        before = {name: self.state.variables.get(name) for name in names}
        for name in names:
            self.state.open(name)
        guard = self.state.guard
        self.inside(body)
        self.state.guard, self.state.ended = guard, False
        for name, held in before.items():
            # The loop reads the script's own options: without them the variable keeps its value.
            if options and held is not None:
                self.state.write(name, tuple(_taken(option, name) for option in held))
            else:
                self.state.open(name)

    # Commands.

    def test(self, node: Node) -> Status:
        """Decide `[ ... ]` and `[[ ... ]]` in every world."""
        status: Status = []
        for guard, done in worlds(self.state.guard, lambda world: decide(node, self.expander(world))):
            if done is None:
                point = self.point(node)
                status += [(guard | {(point, 0)}, True), (guard | {(point, 1)}, False)]
            else:
                status.append((guard, done))
        return [(guard, done) for guard, done in status if len(dict(guard)) == len(guard)]

    def command(self, node: Node, redirects: Sequence[Node], suffix: tuple[str, ...]) -> Status:
        """Follow one simple command in every world that it has."""
        single = node.type == "variable_assignment"
        parts = [node] if single else node.children
        assigned = [child for child in parts if self._assigns(child)]
        words = [
            child
            for child in parts
            if child.type != "comment" and not child.type.endswith("redirect") and not self._assigns(child)
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
            return [(self.state.guard, True)]

        def expand(world: World) -> tuple[list[tuple[str, Field]], list[Field]]:
            expander = self.expander(world)
            assignments = []
            for one in assigned:
                name, pieces = builtin.scalar(self, one, expander)
                start, end = self.syntax.span(one)
                place = self.syntax.pieces.offset(start)
                raw = self.syntax.pieces.spelled(start, end).replace("\\\n", "")
                assignments.append((name, Field(pieces, place=place, raw=raw)))
            return assignments, expander.words(words)

        found = worlds(self.state.guard, expand)
        heredocs = read_heredocs(self, redirects)
        tail = (*self._told(redirects), *suffix, *(["&"] if _in_background(node) else []))
        statuses: Status = []
        branches: list[tuple[Guard, Callable[[], None]]] = []
        for guard, (assignments, fields) in found:

            def follow(
                assignments: list[tuple[str, Field]] = assignments, fields: list[Field] = fields
            ) -> None:
                statuses.extend(self.simple(node, assignments, fields, tail, heredocs))

            branches.append((guard, follow))
        self.state.branch(branches)
        return statuses or [(self.state.guard, True)]

    def _assigns(self, node: Node) -> bool:
        """Tell an assignment from a flag with a value, which the grammar does not before a command."""
        return node.type == "variable_assignment" and self.syntax.text[self.syntax.span(node)[0]] != "-"

    def simple(
        self,
        node: Node,
        assignments: list[tuple[str, Field]],
        fields: list[Field],
        tail: tuple[str, ...],
        heredocs: Sequence[Heredoc],
    ) -> Status:
        """Follow a simple command whose words are expanded."""
        guard = self.state.guard
        if not fields:
            for name, value in assignments:
                self.state.write(name, (Option(frozenset(), Value(value.pieces)),))
            return [(guard, True)]
        end = self.syntax.span(node)[1]
        if match := _BROKEN.match(self.syntax.text, end):
            at = self.syntax.text.index(
                "\\", self.syntax.text.find("\\\n", end, match.end()) + 1 if "\\\n" in match.group() else end
            )
            place = self.syntax.pieces.offset(at)
            fields = [*fields, Field((Piece(" "),), place=place, raw="\\ ")]
        name = fields[0].text
        if name in self.state.functions and self.state.depth < _DEEPEST_CALL:
            self.call(name, assignments, fields[1:])
            point = self.point(node)
            return [(guard | {(point, 0)}, True), (guard | {(point, 1)}, False)]
        if name in ("test", "["):
            done = decide_words([field for field in fields[1:] if field.text != "]"])
            if done is not None:
                return [(guard, done)]
            point = self.point(node)
            return [(guard | {(point, 0)}, True), (guard | {(point, 1)}, False)]
        if name in ("true", ":", "false") and not heredocs:
            return [(guard, name != "false")]
        if not builtin.run(self, node, name, assignments, fields, tail, heredocs):
            self.line(node, Line(assignments, fields, tail, self._setup(), self._source(node, assignments)))
            for one in heredocs:
                one.deliver(self, fields)
            printed(self, node, fields)
            if name == "exec" and len(fields) > 1:
                self.state.ended = True
        if name in _ASKS:
            point = self.point(node)
            return [(guard | {(point, 0)}, True), (guard | {(point, 1)}, False)]
        return [(guard, True)]

    def call(self, name: str, assignments: list[tuple[str, Field]], words: list[Field]) -> None:
        """Follow the body of a function with the words of a call."""
        syntax, definition = self.state.functions[name]
        body = definition.child_by_field_name("body")
        state = self.state
        self.reader.called.add((id(syntax), definition.id))
        if body is None:
            return
        held, state.words = state.words, tuple(words)
        state.depth += 1
        for variable, value in assignments:
            state.write(variable, (Option(frozenset(), Value(value.pieces)),))
        local = {one: state.variables.get(one) for one in builtin.locals_of(syntax, body)}
        ended = state.ended
        inner = Script(self.reader, syntax, state, self.frame, nested=True)
        inner.statement(body)
        # `return` ends the function, `exit` the script: the last word tells.
        state.ended = ended or (state.ended and not builtin.returns(syntax, body))
        for one, options in local.items():
            if options is None:
                state.variables.pop(one, None)
            else:
                state.variables[one] = options
        state.words = held
        state.depth -= 1

    def redirected(self, node: Node | None, redirects: Sequence[Node], fields: list[Field]) -> None:
        """Read here-documents of a compound statement."""
        del node
        for one in read_heredocs(self, redirects):
            one.deliver(self, fields)

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
            is_flag(first) or (first == "..." and len(line.fields) > 1 and is_flag(line.fields[1].text))
        )
        span = (self._begin(node), self._stop(node))
        if flags_only and first == "...":
            line.fields.pop(0)
        if flags_only and self.flags is not None:
            self.flags.fields.extend(line.fields)
            self.flags_span = (self.flags_span[0], span[1])
            self.flags.suffix += line.suffix
            return
        if first.startswith(("--", *DASHES)) and self.launched:
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
        state.words = None
        return state

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
        text = shown or " ".join(self.syntax.source(node).split())
        held = tuple(
            (name, self.state.variables.get(name))
            for name in dict.fromkeys(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", text))
            if name in self.state.variables
        )
        return self.reader.point(text, held, self._line(node))

    def _line(self, node: Node) -> int:
        return self.reader.lines.place(self.syntax.pieces.offset(self.syntax.span(node)[0]))[0]

    def _begin(self, node: Node) -> int:
        return self.syntax.span(node)[0]

    def _stop(self, node: Node) -> int:
        parent = node.parent
        if parent is None or parent.type != "redirected_statement" or parent.children[0] != node:
            return self.syntax.span(node)[1]
        last = [child for child in parent.children if child.type != "heredoc_redirect"][-1]
        return self.syntax.span(last)[1]

    def _source(self, node: Node, assignments: Sequence[tuple[str, Field]]) -> str:
        del assignments
        return self.syntax.pieces.spelled(self._begin(node), self._stop(node))

    def _setup(self) -> tuple[tuple[str, ...], ...]:
        """Give the statements to write before the command; its words have their values already."""
        kept = []
        for words, _ in self.setup:
            names = [match[1] if (match := _ASSIGNED.match(word)) else "" for word in words[:-1]]
            if not all(name and name not in self.state.exported for name in names):
                kept.append(words)
        return tuple(kept)

    def _told(self, redirects: Sequence[Node]) -> tuple[str, ...]:
        told = []
        for one in redirects:
            if one.type == "file_redirect":
                start, end = self.syntax.span(one)
                target = one.child_by_field_name("destination")
                told.append(
                    self.syntax.pieces.spelled(start, end if target is None else self.syntax.span(target)[1])
                )
        return tuple(told)


def _nothing() -> None:
    return


def _in_background(node: Node) -> bool:
    at = node
    while (parent := at.parent) is not None and (
        parent.type == "redirected_statement"
        or (parent.type in ("pipeline", "list") and at.next_sibling is None)
    ):
        at = parent
    after = at.next_sibling
    return after is not None and after.type == "&"


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
