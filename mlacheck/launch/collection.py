"""The commands and problems of one document as they are found, and the branches that lead to variants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mlacheck.frozen import replace
from mlacheck.launch.command import LaunchCommand, LaunchProblem, Source, Word
from mlacheck.launch.frame import DASHES

if TYPE_CHECKING:
    from mlacheck.launch.piece import Lines
    from mlacheck.launch.shell.world import Guard

_LOOK_ALIKES: Final = "\u00a0\u200b\u2028\ufeff\u201c\u201d\u2018\u2019"
_MOST_AT_ONE_PLACE: Final = 40


class Collection:
    """Collects what a reader finds."""

    def __init__(self, file: str | None, lines: Lines) -> None:
        self.file, self.lines = file, lines
        self.commands: list[LaunchCommand] = []
        self.problems: list[LaunchProblem] = []
        self._guards: list[Guard] = []  # of the commands, in their order
        self._places: dict[tuple[int, int], list[int]] = {}
        self._points: dict[object, int] = {}
        self._labels: dict[tuple[int, int], str] = {}
        self._keep: list[object] = []  # what questions read, so that its identity stays its own

    def problem(self, kind: str, message: str, hint: str, at: int, level: str = "error") -> None:
        """Record a problem, once."""
        self.at(kind, message, hint, self.lines.place(at), level)

    def source(self, at: int) -> Source:
        """Give the place of an offset."""
        return Source(self.file, *self.lines.place(at))

    def point(self, text: str, held: object, line: int) -> int:
        """Give the number of a branching."""
        key = (text, _identity(held))
        if key in self._points:
            return self._points[key]
        number = self._points[key] = len(self._points)
        self._keep.append(held)
        shown = text if len(text) <= 80 else text[:77] + "..."
        self._labels[number, 0] = f"line {line}: {shown}"
        self._labels[number, 1] = f"line {line}: not {shown}"
        return number

    def label(self, point: int, arm: int, text: str, line: int) -> None:
        """Name an arm of a branching."""
        self._labels[point, arm] = f"line {line}: {text}"

    def add(self, command: LaunchCommand, guard: Guard) -> None:
        """Add a command, unless it is the same one met on another way."""
        same_place = self._places.setdefault((command.source.line, command.source.column), [])
        for at in same_place:
            if self.commands[at] == command:
                self._guards[at] &= guard
                return
        if len(same_place) >= _MOST_AT_ONE_PLACE:
            self.at(
                "too-many-variants",
                f"more than {_MOST_AT_ONE_PLACE} variants of this command; the rest is not checked",
                "give the ones that matter with --env NAME=VALUE",
                (command.source.line, command.source.column),
            )
            return
        same_place.append(len(self.commands))
        self.commands.append(command)
        self._guards.append(guard)

    def finish(self) -> tuple[LaunchCommand, ...]:
        """Give the commands, each that stands for others of the same place with the branches it takes."""
        places: dict[tuple[object, int], list[int]] = {}
        starts: dict[object, set[int]] = {}
        for command in self.commands:
            starts.setdefault(command.source, set()).add(command.start)
        for at, command in enumerate(self.commands):
            # Of text that is put together some variants have a start and some have none.
            alone = len(starts[command.source] - {-1}) < 2
            places.setdefault((command.source, -1 if alone else command.start), []).append(at)
        named = list(self.commands)
        for group in places.values():
            if len(group) < 2:
                continue
            common = frozenset.intersection(*(self._guards[at] for at in group))
            for at in group:
                told = sorted(self._guards[at] - common)
                variant = tuple(self._labels.get(each, f"branch {each[1] + 1}") for each in told)
                named[at] = replace(self.commands[at], variant=variant)
        return tuple(named)

    def server_type(
        self, words: list[Word], prefix: list[str], flag: str, llm: list[str]
    ) -> list[Word] | None:
        """Take out the flag that belongs to the launcher and not to the engine's arguments."""
        kept: list[Word] = []
        at = 0
        while at < len(words):
            word = words[at]
            kind = None
            if word.text == flag and at + 1 < len(words):
                kind = words[at + 1]
                prefix.extend((word.text, kind.raw))
                at += 1
            elif word.text.startswith(f"{flag}="):
                kind = replace(word, text=word.text.partition("=")[2])
                prefix.append(word.raw)
            else:
                kept.append(word)
            if kind is not None and not kind.unknown and kind.text not in llm:
                self.at(
                    "other-server-type",
                    f"{flag} {kind.text} starts another server than the LLM engine",
                    f"nothing to check here; leave {flag} out for an LLM",
                    (kind.line, kind.column),
                    "info",
                )
                return None
            at += 1
        return kept

    def pasted(self, word: Word) -> None:
        """Name what a copy through a web page or editor does to a command."""
        place = (word.line, word.column)
        if word.raw.startswith(("\\ ", "\\\t")):
            self.at(
                "broken-continuation",
                "a blank follows the backslash: the command ends on this line and gets a blank as argument",
                "remove everything after the backslash",
                place,
            )
        elif word.text.startswith(DASHES):
            self.at(
                "look-alike",
                f"{word.text} starts with U+{ord(word.text[0]):04X}, which is no hyphen",
                "type the flag with `--`",
                place,
            )
        elif odd := next((char for char in word.raw if char in _LOOK_ALIKES), None):
            self.at(
                "look-alike",
                f"{word.text!r} contains U+{ord(odd):04X}, which a shell takes as a letter",
                "type a plain blank or quote instead",
                place,
                "warning",
            )

    def at(self, kind: str, message: str, hint: str, place: tuple[int, int], level: str = "error") -> None:
        """Record a problem at a line and column, once."""
        found = LaunchProblem(kind, message, hint, *place, level=level)
        if found not in self.problems:
            self.problems.append(found)


def _identity(held: object) -> object:
    """Tell the variables that a question reads apart by what they are, not by what they equal."""
    pairs = held if isinstance(held, tuple) else ()
    return tuple((name, id(options)) for name, options in pairs)
