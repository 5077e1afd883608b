"""Follows the statements of Python code: lists that grow, branches that add to them, and what is started."""

from __future__ import annotations

import ast
import functools
from collections import Counter
from typing import TYPE_CHECKING, Final

from mlacheck.frozen import replace
from mlacheck.launch.finder import Environment
from mlacheck.launch.piece import Field, Piece, elision
from mlacheck.launch.python.tree import (
    ADDS,
    FUNCTIONS,
    SCOPES,
    TAKES,
    called,
    changed,
    changes,
    dotted,
    equals,
    expressions,
    given_once,
    is_text,
    lists,
    rounds,
    shown,
)
from mlacheck.launch.python.value import Values
from mlacheck.launch.shell.state import State
from mlacheck.launch.shell.world import Option, Value, World, fits, worlds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mlacheck.launch.frame import Frame
    from mlacheck.launch.python.text import Text
    from mlacheck.launch.reader import Reader
    from mlacheck.launch.shell.world import Guard, Options

# What runs, or splits, a string that it is given.
_RUNS: Final = frozenset(
    {"run", "Popen", "call", "check_call", "check_output", "system", "popen", "getoutput", "getstatusoutput"}
    | {"create_subprocess_exec", "create_subprocess_shell", "execvp", "execv", "execvpe", "spawn", "split"}
    | {"run_cmd", "run_command", "exec_command", "execute", "sh", "shell", "start_server", "launch", "submit"}
)
# Keys and keywords whose string is a command.
_COMMANDS: Final = frozenset({"run", "command", "cmd", "entrypoint"})
_JOINS: Final = frozenset({"join", "list2cmdline"})
_VARIABLE: Final = "$"  # before the name of an environment variable
_YES, _NO = Value(), Value(items=())
# Their arguments are the words of a command; with a path, from the second on.
_WORDS: Final = {"create_subprocess_exec": 0, "execl": 1, "execlp": 1, "execle": 1, "spawnl": 2, "spawnlp": 2}


class Flow:
    """The statements of one text."""

    def __init__(self, reader: Reader, text: Text, frame: Frame, tree: ast.Module) -> None:
        self.reader, self.text, self.frame, self.tree = reader, text, frame, tree
        self.once, self.settled = given_once(tree)
        # By list, how many functions of the text change it, the text itself counted as one.
        self.changed = Counter(
            name for one in ast.walk(tree) if isinstance(one, SCOPES) for name in changes(one.body)
        )
        self.followed: set[str] = set()  # whose changes the statements of this scope are
        self.state = State()
        self.held: set[str] = set()  # values of this scope that nothing was seen to take
        self.own: set[str] = set()  # names that this scope gives values to
        self.outer: set[str] = set()  # the same of the text, while a function of it is followed
        self.functions: list[tuple[ast.FunctionDef | ast.AsyncFunctionDef, dict[str, Options]]] = []
        self.inside: ast.AST | None = None  # which function
        self.compared: dict[str, list[ast.Compare]] = {}
        for one in ast.walk(tree):
            if isinstance(one, ast.Compare) and (subject := equals(one)):
                self.compared.setdefault(subject[0], []).append(one)
        self.values = self._values()

    def run(self) -> None:
        """Follow the text, then its functions, which somebody calls."""
        self.followed = changes(self.tree.body)
        self._body(self.tree.body)
        module, self.outer, followed = self.state, self.held, self.followed
        outside = {
            name: options
            for name, options in self.state.variables.items()
            if name in self.once or name.startswith(_VARIABLE)
        }
        while self.functions:
            node, around = self.functions.pop(0)
            self.inside = node
            taken = {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
            self.state = State(
                {name: one for name, one in {**outside, **around}.items() if name not in taken}
            )
            self.values = self._values()
            self.held, self.own, self.followed = set(), set(), changes(node.body)
            self._body(node.body)
            if not self.state.ended:
                self._tell(*self.held)
        self.state, self.held, self.followed = module, self.outer, followed
        self._tell(*self.held)

    def _values(self) -> Values:
        return Values(self.text, self.state, self.settled, self.reader.env, self._asked)

    def _body(self, statements: Sequence[ast.stmt]) -> None:
        for one in statements:
            if self.state.ended or self.reader.exhausted():
                return
            self._statement(one)

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, FUNCTIONS):
            for one in node.decorator_list:
                self._visit(one)
            self.functions.append((node, dict(self.state.variables) if self.inside is not None else {}))
        elif isinstance(node, ast.ClassDef):
            self._body(node.body)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self._assign(target, node.value)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self._assign(node.target, node.value)
        elif isinstance(node, ast.AugAssign):
            self._grow(dotted(node.target), node.value, node.op)
        elif isinstance(node, ast.If):
            self._choose(node)
        elif isinstance(node, ast.For | ast.AsyncFor | ast.While):
            self._loop(node)
        elif isinstance(node, ast.Try):
            self._try(node)
        elif isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                self._visit(item.context_expr)
            self._body(node.body)
        elif isinstance(node, ast.Match):
            self._visit(node.subject)
            self._match(node)
        elif isinstance(node, ast.Return | ast.Raise):
            self._return(node)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            self._call(node.value)
        else:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    self._visit(child)

    # Variables.

    def _assign(self, target: ast.expr, node: ast.expr) -> None:
        name = dotted(target)
        if isinstance(target, ast.Subscript):
            holder = dotted(target.value)
            put = holder.lower().endswith(("env", "environ")) and self._put(target.slice, node)
            if not put and holder in self.held:
                self._forget(holder, f"what {shown(target)} becomes", self.text.place(target))
            self._visit(node)
            return
        if not name:
            for one in ast.walk(target):
                self.state.variables.pop(dotted(one), None)
            self._visit(node)
            return
        options = None if self._joins(node) else self._options(node)
        if name in self.held and not any(dotted(one) == name for one in ast.walk(node)):
            self._tell(name)
        if options is None:
            self._visit(node)
            self.state.variables.pop(name, None)
            return
        self._strings(node)
        self._consume(node, options)
        self.state.variables[name] = options
        self.held.add(name)
        self.own.add(name)

    def _options(self, node: ast.expr) -> Options | None:
        """Give the values of an expression in every world; None where it has none in one of them."""
        found = self._worlds(lambda world: self.values.of(node, world))
        if any(value is None for _, value in found):
            return None
        return tuple(Option(guard, value) for guard, value in found)

    def _worlds(self, read: Callable[[World], Value | None]) -> list[tuple[Guard, Value | None]]:
        found = worlds(self.state.guard, read, self.reader.most_worlds)
        if len(found) > 1:
            self.reader.branched(len(found), 0)
        return found

    def _grow(self, name: str, node: ast.expr, operator: ast.operator) -> None:
        """Follow `+=`."""
        if name not in self.state.variables or not isinstance(operator, ast.Add):
            self.state.variables.pop(name, None)
            self._visit(node)
            return
        self._add(name, node, lambda world: self.values.words(node, world))

    def _add(
        self,
        name: str,
        node: ast.expr,
        words: Callable[[World], list[Field] | None],
        at: int | None = None,
    ) -> None:
        """Add words to a list, or text to a string; what is added may be open."""

        def grown(world: World) -> Value | None:
            value = self.state.read(name, world)
            if value is None:
                return None
            if value.items is None and not is_text(node):
                return None  # a number, perhaps
            if value.items is None:
                return Value((*value.pieces, *self.values.parts(node, world)))
            more = words(world)
            if more is None:
                more = self._open(shown(node), self.text.place(node))
            place = len(value.items) if at is None else at
            return Value(items=(*value.items[:place], *more, *value.items[place:]))

        options = self._worlds(grown)
        self._consume(node, ())
        if isinstance(node, ast.Call):
            self._visit(node)
        self.state.variables[name] = tuple(Option(guard, value) for guard, value in options)
        if name in self.own:
            self.held.add(name)

    @staticmethod
    def _open(what: str, at: int) -> list[Field]:
        return [elision(what, at, "flow")]

    def _forget(self, name: str, what: str, at: int) -> None:
        """Leave open what becomes of a variable from here on."""
        more = self._open(what, at)
        kept = []
        for option in self.state.variables.get(name, ()):
            value = option.value
            if value is not None and value.items is not None:
                value = Value(items=(*value.items, *more))
            elif value is not None:
                value = Value((*value.pieces, Piece(" "), *more[0].pieces))
            kept.append(Option(option.guard, value))
        if kept:
            self.state.variables[name] = tuple(kept)

    def _put(self, key: ast.expr, node: ast.expr) -> bool:
        """Give an environment variable its value; tell whether the key names one."""
        name = key.value if isinstance(key, ast.Constant) else None
        if not isinstance(name, str):
            return False
        options = self._options(node)
        self.state.variables[_VARIABLE + name] = options or (Option(frozenset(), None),)
        return True

    def _environment(self, guard: Guard) -> Environment:
        env = Environment()
        for name, options in self.state.variables.items():
            if name.startswith(_VARIABLE):
                values = [one.value for one in options if fits(one.guard, guard)]
                known = values[0] if len(values) == 1 else None
                pieces = known.pieces if known is not None else ()
                settled = known is not None and not any(piece.names for piece in pieces)
                plain = name.removeprefix(_VARIABLE)
                env.put(plain, "".join(piece.text for piece in pieces), () if settled else (plain,))
        return env

    def _consume(self, node: ast.expr, options: Sequence[Option]) -> None:
        """Note that lists go on in another one, which is a launch, or are what is added to one."""
        launches = not options or any(
            one.value is not None and one.value.items is not None and self.reader.argv(list(one.value.items))
            for one in options
        )
        if launches:
            names = set(lists(node))
            self.held -= names
            self.outer -= names

    # Statements.

    def _point(self, test: ast.expr) -> int:
        """Give the branching of a condition: the same one where its names hold the same in one function."""
        names = sorted({name for node in ast.walk(test) if (name := dotted(node))})
        held = (*((name, self.state.variables.get(name)) for name in names), ("", self.inside))
        text = f"({shown(test)})" if isinstance(test, ast.BoolOp) else shown(test)
        return self.reader.point(text, held, self._line(test))

    def _line(self, node: ast.expr) -> int:
        return self.reader.lines.place(self.text.place(node))[0]

    def _guard(self, test: ast.expr, *, holds: bool) -> Guard:
        """Give the branches taken where a condition holds or not, with those that follow from it."""
        while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            holds, test = not holds, test.operand
        guard = {(self._point(test), 0 if holds else 1)}
        if isinstance(test, ast.BoolOp) and holds == isinstance(test.op, ast.And):
            guard.update(*(self._guard(one, holds=holds) for one in test.values))
        if holds and (subject := equals(test)):
            others = (one for one in self.compared[subject[0]] if equals(one) != subject)
            guard.update((self._point(one), 1) for one in others)
        return frozenset(guard)

    def _asked(self, test: ast.expr, world: World) -> bool | None:
        options = (Option(self._guard(test, holds=True), _YES), Option(self._guard(test, holds=False), _NO))
        picked = world.pick(options, shown(test))
        return True if picked is _YES else False if picked is _NO else None

    def _choose(self, node: ast.If) -> None:
        self._visit(node.test)
        if dotted(getattr(node.test, "left", node.test)) == "__name__":
            self._body(node.body)
            return
        arms = ((True, node.body), (False, node.orelse))
        self._branch([(self.state.guard | self._guard(node.test, holds=arm), body) for arm, body in arms])

    def _branch(self, arms: Sequence[tuple[Guard, Sequence[ast.stmt]]]) -> None:
        """Follow alternatives; a list that only some of them make is held after them too."""
        self.state.branch([(guard, self._arm(body)) for guard, body in arms])

    def _arm(self, body: Sequence[ast.stmt]) -> Callable[[], None]:
        return lambda: self._body(body)

    def _match(self, node: ast.Match) -> None:
        line = self._line(node.subject)
        point = self.reader.point(shown(node.subject), ((str(line), node),), line)
        arms: list[tuple[Guard, Sequence[ast.stmt]]] = []
        for number, case in enumerate(node.cases):
            self.reader.label(point, number, shown(case.pattern), line)
            arms.append((self.state.guard | {(point, number)}, case.body))
        self.reader.label(point, len(arms), "another value", line)
        self._branch([*arms, (self.state.guard | {(point, len(arms))}, ())])

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While) -> None:
        if isinstance(node, ast.While):
            self._visit(node.test)
        else:
            bound = rounds(node)
            if bound is not None:
                for binding in bound:
                    for name, value in binding:
                        self.state.variables.pop(name, None)
                        if (options := self._options(value)) is not None:
                            self.state.variables[name] = options
                    self._body(node.body)
                self._body(node.orelse)
                return
            self._visit(node.iter)
            for one in ast.walk(node.target):
                self.state.variables.pop(dotted(one), None)
        grown = {name for one in ast.walk(node) if (name := changed(one))}
        head = node.test if isinstance(node, ast.While) else node.iter
        what, place = f"what the loop of line {self._line(head)} adds", self.text.place(head)
        for name in grown & self.state.variables.keys():
            self._forget(name, what, place)
        before = dict(self.state.variables)
        self._body(node.body)
        self.state.ended = False
        for name in grown & before.keys():
            self.state.variables[name] = before[name]
        self._body(node.orelse)

    def _try(self, node: ast.Try) -> None:
        before = self.state.copy()
        self._body(node.body)
        self._body(node.orelse)
        after = self.state
        for handler in node.handlers:
            self.state = before.copy()
            self.values = self._values()
            self._body(handler.body)
        self.state = after
        self.values = self._values()
        self._body(node.finalbody)

    def _return(self, node: ast.Return | ast.Raise) -> None:
        value = node.value if isinstance(node, ast.Return) else None
        if value is not None:
            self._visit(value)
            if isinstance(value, ast.JoinedStr | ast.BinOp | ast.Constant | ast.Call):
                self._string(value)
        held = set(self.held)
        if isinstance(node, ast.Return):
            self._tell(*held)
        self.held |= held
        self.state.ended = True

    # What is started.

    def _call(self, node: ast.Call) -> None:
        """Follow a call that stands alone: it may change a list."""
        name = dotted(node.func.value) if isinstance(node.func, ast.Attribute) else ""
        method = called(node)
        if name in self.state.variables and method in ADDS and node.args and not node.keywords:
            given = node.args[-1]
            at = node.args[0].value if method == "insert" and isinstance(node.args[0], ast.Constant) else None
            if method == "extend":
                self._add(name, given, lambda world: self.values.words(given, world))
            elif len(node.args) == 1 + (method == "insert"):
                self._add(
                    name,
                    given,
                    lambda world: [_through(self.values.field(given, world), name)],
                    at if isinstance(at, int) else None,
                )
            return
        if name in self.held and method in TAKES:
            self._forget(name, f"what {name}.{method} leaves", self.text.place(node))
        self._visit(node)

    def _visit(self, node: ast.expr) -> None:
        """Look for launches in an expression, the outermost first."""
        if isinstance(node, ast.List | ast.Tuple | ast.BinOp | ast.IfExp) and self._launches(node):
            return
        if isinstance(node, ast.Call):
            first = _WORDS.get(called(node))
            words = ast.Tuple(node.args[first:], ast.Load()) if first is not None else None
            if words is not None and self._launches(words, spelled=False):
                return
            self._strings(node)
            for word in node.keywords:
                if word.arg == "env" and isinstance(word.value, ast.Dict):
                    for key, value in zip(word.value.keys, word.value.values, strict=True):
                        if key is not None:
                            self._put(key, value)
            for taken in self._changed_by(node):
                self._forget(taken, f"what {called(node)} adds", self.text.place(node))
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value in _COMMANDS:
                    self._string(value)
        for child in ast.iter_child_nodes(node):
            for inner in expressions(child):
                self._visit(inner)

    def _strings(self, node: ast.expr) -> None:
        """Read the strings that a call runs, splits or gets as a command."""
        if not isinstance(node, ast.Call):
            return
        runs = called(node) in _RUNS
        given = [*node.args, *(word.value for word in node.keywords)] if runs else []
        given += [word.value for word in node.keywords if not runs and word.arg in _COMMANDS]
        if called(node) == "split" and isinstance(node.func, ast.Attribute):
            given.append(node.func.value)
        for one in given:
            if runs:
                self._tell(dotted(one))
            self._string(one)

    def _string(self, node: ast.expr) -> None:
        """Read a string that a shell or a splitter gets."""
        name = dotted(node)
        if name and name not in self.state.variables and name in self.once:
            node = self.once[name]
        if isinstance(node, ast.List | ast.Tuple | ast.Starred) or self._joins(node):
            return

        def text(world: World) -> Value | None:
            value = self.values.of(node, world)
            return value if value is not None and value.items is None else None

        for guard, value in self._worlds(text):
            if value is not None and self.reader.mentions("".join(piece.text for piece in value.pieces)):
                frame = replace(self.frame, guess=True)
                self.reader.script(value.pieces, frame, self._environment(guard), guard=guard)

    def _joins(self, node: ast.expr) -> bool:
        """Tell whether a string is made of a list that is a launch, and is read as that."""
        joined = [
            one.args[0]
            for one in ast.walk(node)
            if isinstance(one, ast.Call) and called(one) in _JOINS and len(one.args) == 1
        ]
        return any(
            value is not None and value.items is not None and self.reader.argv(list(value.items))
            for one in joined
            for _, value in self._worlds(functools.partial(self.values.of, one))
        )

    def _launches(self, node: ast.expr, *, spelled: bool = True) -> bool:
        """Read an expression that is the words of a launch, perhaps in some worlds only."""

        def words(world: World) -> Value | None:
            found = self.values.words(node, world)
            return None if found is None else Value(items=tuple(found))

        told = False
        for guard, value in self._worlds(words):
            told |= self._words(value, guard, node if spelled else None)
        if told:
            self._consume(node, ())
        return told

    def _words(self, value: Value | None, guard: Guard, node: ast.expr | None = None) -> bool:
        fields = list(value.items or ()) if value is not None else []
        if len(fields) < 2 or not self.reader.argv(fields):
            return False
        text = ""
        if isinstance(node, ast.List | ast.Tuple):
            start, end = self.text.span(node)
            first, last = self.text.pieces.offset(start), self.text.pieces.offset(end)
            if all(first <= field.place <= last for field in fields):
                text = self.text.pieces.spelled(start, end)
        self.reader.words(fields, self.frame, self._environment(guard), text, guard=guard)
        return True

    def _tell(self, *names: str) -> None:
        """Read the lists that hold launches, as they are now."""
        for name in sorted(names):
            for option in self.state.variables.get(name, ()):
                if fits(option.guard, self.state.guard):
                    value = option.value
                    if value is not None and value.items and self.changed[name] > (name in self.followed):
                        more = self._open(f"what other code adds to {name}", value.items[-1].place)
                        value = Value(items=(*value.items, *more))
                    self._words(value, option.guard | self.state.guard)
            self.held.discard(name)

    def _changed_by(self, node: ast.Call) -> Iterator[str]:
        """Name the lists that a function of this text gets and changes."""
        given = [dotted(one) for one in node.args]
        if not self.held & set(given):
            return
        for one in ast.walk(self.tree):
            if isinstance(one, FUNCTIONS) and one.name == called(node):
                parameters = [each.arg for each in one.args.args if each.arg not in ("self", "cls")]
                grown = {changed(inner) for inner in ast.walk(one)}
                for name, parameter in zip(given, parameters, strict=False):
                    if name in self.held and parameter in grown:
                        yield name


def _through(field: Field, name: str) -> Field:
    """Give a word that a call adds: it stands alone there, and nothing can be written beside it."""
    return field._replace(pieces=tuple(piece._replace(via=(*piece.via, name)) for piece in field.pieces))
