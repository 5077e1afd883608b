"""What a shell knows at a point of its script: variables, functions, words, and the branches taken."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mlacheck.launch.finder import Environment
from mlacheck.launch.shell.world import (
    ANYWHERE,
    Guard,
    Option,
    Options,
    Value,
    World,
    always,
    fits,
    merge,
    open_value,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tree_sitter import Node

    from mlacheck.launch.piece import Field
    from mlacheck.launch.shell.syntax import Syntax

UNSET = always(None)
POSITIONAL = "@"  # the name of "$@" among the variables


@dataclass(slots=True)
class State:
    """The state of one shell; a subshell works on a copy."""

    variables: dict[str, Options] = field(default_factory=dict)
    exported: set[str] = field(default_factory=set)
    functions: dict[str, tuple[Syntax, Node]] = field(default_factory=dict)
    guard: Guard = ANYWHERE
    ended: bool = False  # by exit, return or exec
    exports_all: bool = False  # `set -a`
    calls: tuple[str, ...] = ()  # of functions that are being followed

    def copy(self) -> State:
        """Give the state of a subshell."""
        return State(
            dict(self.variables),
            set(self.exported),
            dict(self.functions),
            self.guard,
            self.ended,
            self.exports_all,
            self.calls,
        )

    def read(self, name: str, world: World) -> Value | None:
        """Give a variable's value in a world, None when the text does not set it."""
        options = self.variables.get(name)
        if options is None:
            return None
        return world.pick(options, name)

    def write(self, name: str, options: Options) -> None:
        """Set a variable."""
        self.variables[name] = options

    def positional(self, world: World) -> tuple[Field, ...] | None:
        """Give the words of "$@" in a world, None where they are not known."""
        value = self.read(POSITIONAL, world)
        return None if value is None else value.items

    def pass_words(self, words: Sequence[Field] | None) -> None:
        """Set "$@", or leave it open."""
        self.variables[POSITIONAL] = UNSET if words is None else always(Value(items=tuple(words)))

    def open(self, name: str) -> None:
        """Set a variable to something the text does not settle."""
        self.variables[name] = always(open_value(name))

    def environment(self) -> Environment:
        """Give the exported variables; one with several values is open."""
        env = Environment()
        for name in self.exported:
            options = [one for one in self.variables.get(name, UNSET) if fits(one.guard, self.guard)]
            value = options[0].value if len(options) == 1 else None
            if len(options) == 1 and value is None and name in self.variables:
                continue  # unset
            if value is None or value.items is not None:
                env.put(name, "", (name,))
            else:
                unknown = tuple(dict.fromkeys(each for piece in value.pieces for each in piece.names))
                env.put(name, "".join(piece.text for piece in value.pieces), unknown)
        return env

    def branch(self, branches: Sequence[tuple[Guard, Callable[[], None]]]) -> None:
        """Run alternatives, each from here, and go on with what is true after any of them."""
        before = self.guard
        branches = [branch for branch in branches if len(dict(branch[0])) == len(branch[0])]
        if len(branches) == 1 and branches[0][0] == before:
            branches[0][1]()
            return
        start = (self.variables, self.exported)
        kept: list[tuple[Guard, dict[str, Options], set[str]]] = []
        for guard, run in branches:
            self.variables, self.exported = dict(start[0]), set(start[1])
            self.guard, self.ended = guard, False
            run()
            if not self.ended:
                kept.append((guard, self.variables, self.exported))
        self.guard, self.ended = before, not kept
        self.variables, self.exported = start
        if not kept:
            return
        self.exported = set().union(*(exported for _, _, exported in kept))
        if len(kept) == 1:
            self.guard, self.variables, _ = kept[0]
            return
        names = {
            name
            for _, variables, _ in kept
            for name, options in variables.items()
            if start[0].get(name) is not options
        }
        variables = dict(start[0])
        for name in sorted(names):
            options = [
                Option(guard | option.guard, option.value)
                for guard, held, _ in kept
                for option in held.get(name, UNSET)
                if fits(option.guard, guard)
            ]
            if options:
                variables[name] = merge(options, name)
        self.variables = variables
