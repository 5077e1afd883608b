"""Variables as they are in one world, for expansions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlacheck.launch.piece import Field, Piece
from mlacheck.launch.shell.source import is_there
from mlacheck.launch.shell.world import Value, World

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

    from mlacheck.launch.shell.script import Script


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

    def there(self, pieces: Sequence[Piece]) -> bool | None:
        """Tell that a file is there, None when nobody knows."""
        return is_there(self.script.reader, pieces)

    def positional(self) -> tuple[Field, ...] | None:
        """Give the words of "$@"."""
        return self.script.state.positional(self.world)

    def substituted(self, node: Node) -> tuple[Piece, ...] | None:
        """Give what a command substitution prints, as far as it is plain."""
        return self.script.substituted(node, self.world)
