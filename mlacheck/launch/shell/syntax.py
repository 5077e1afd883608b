"""The syntax tree of a shell text, with offsets in characters."""

from __future__ import annotations

import functools
import re
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from mlacheck.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node, Parser

    from mlacheck.launch.piece import Pieces


_TEST: Final = re.compile(r"(?<![^\s;&|(!])\[( [^\[\]\n]* )\](?![^\s;&|)])")
# A backslash before the end of a line and then an empty one, where a shell ends the command.
_ENDED: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\\n(?=[ \t]*\n)")
_BLOCKS: Final = frozenset({"program", "compound_statement", "do_group", "subshell", "case_item"})
_EXPANSIONS: Final = frozenset(
    {"expansion", "simple_expansion", "command_substitution", "arithmetic_expansion"}
)


@frozen
class SyntaxProblem:
    """Where the text stops being shell, and what was opened there and never closed."""

    kind: str
    opened: str
    offset: int


class Syntax:
    """A parsed text; nodes are tree-sitter's."""

    __slots__ = ("_starts", "pieces", "root", "text")

    def __init__(self, pieces: Pieces) -> None:
        self.pieces, self.text = pieces, pieces.text
        data = self.text.encode("utf-8", "replace")
        # Offsets of a tree are bytes.
        self._starts: list[int] | None = None
        if len(data) != len(self.text):
            sizes = (len(char.encode("utf-8", "replace")) for char in self.text)
            self._starts = [0, *accumulate(sizes)]
        # The grammar reads on after an empty line; with blanks of the same length it does not.
        plain = _ENDED.sub(r"\1  ", self.text)
        self.root = _parsed(plain)
        if self.root.has_error and "[ " in self.text:
            # A test such as `[ "$OP" "$X" ]` stops the grammar; as a command of the same length it does not.
            root = _parsed(_TEST.sub(r"_\1 ", plain))
            if not root.has_error:
                self.root = root

    def _at(self, byte: int) -> int:
        return byte if self._starts is None else bisect_right(self._starts, byte) - 1

    def span(self, node: Node) -> tuple[int, int]:
        """Give where a node stands in the text."""
        start, end = self._at(node.start_byte), self._at(node.end_byte)
        if node.type in _EXPANSIONS:
            # The grammar counts blanks before an expansion in a string as a part of it.
            while start < end and self.text[start] in " \t\n":
                start += 1
        return start, end

    def source(self, node: Node) -> str:
        """Give the text of a node."""
        start, end = self.span(node)
        return self.text[start:end]

    def broken(self) -> list[str]:
        """Give the parts of the text that are not shell, as far as the grammar can tell."""
        if self.root.type == "ERROR":
            return [self.text]
        parts = []
        for node in _wrong(self.root) if self.root.has_error else ():
            if not node.is_missing and node.type != "ERROR":
                continue
            while node.parent is not None and node.parent.type not in _BLOCKS:
                node = node.parent  # the whole statement  # noqa: PLW2901
            start, end = self.span(node)
            # What the same line began may go on in the broken part.
            start = self.text.rfind("\n", 0, start) + 1
            while start and self.text.endswith("\\\n", 0, start):
                start = self.text.rfind("\n", 0, start - 1) + 1
            parts.append(self.text[start:end])
        return parts

    def problem(self) -> SyntaxProblem | None:
        """Say what is wrong with the text, or None."""
        if not self.root.has_error:
            return None
        node = next(_wrong(self.root))
        start, end = self.span(node)
        text = self.text[start:end]
        if not node.is_missing:
            for child in _leaves(node):
                if child.type in ('"', "'", "`"):
                    at = self.span(child)[0]
                    if self.text.count(child.type, at, end) % 2:
                        return SyntaxProblem("unbalanced-quote", child.type, at)
                if child.type in ("$(", "${", "$((", "<(", ">("):
                    return SyntaxProblem("unbalanced-expansion", child.type, self.span(child)[0])
            if "'" in text and text.count("'") % 2:
                return SyntaxProblem("unbalanced-quote", "'", start + text.index("'"))
        parent = node.parent
        if node.is_missing and parent is not None:
            opened = self.span(parent)[0]
            if parent.type.endswith("string"):
                return SyntaxProblem("unbalanced-quote", self.text[opened], opened)
            if parent.type.endswith(("substitution", "expansion")):
                return SyntaxProblem("unbalanced-expansion", self.text[opened : opened + 2], opened)
            text, start = self.text[opened:], opened
        return SyntaxProblem("shell-syntax", text.split("\n")[0][:40].strip(), start)


def _parsed(text: str) -> Node:
    return _parser().parse(text.encode("utf-8", "replace")).root_node


def _wrong(node: Node) -> Iterator[Node]:
    if node.is_missing or node.type == "ERROR":
        yield node
    for child in node.children:
        if child.has_error or child.is_missing:
            yield from _wrong(child)
    yield node


def _leaves(node: Node) -> Iterator[Node]:
    if not node.children:
        yield node
    for child in node.children:
        yield from _leaves(child)


@functools.cache
def _parser() -> Parser:
    import tree_sitter  # a line without quotes or expansions needs no parser
    import tree_sitter_bash  # same

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
