"""Follow the statements of one text: the variables that they set, and the lines that may be launches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mlacheck.frozen import replace
from mlacheck.launch.expansion import Field, expand
from mlacheck.launch.finder import ASSIGNMENT, Environment, find
from mlacheck.launch.frame import Frame, Line, is_flag
from mlacheck.launch.lexer import Token, tokenize

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mlacheck.launch.reader import Reader
    from mlacheck.launch.statement import Statement

_EXPORTS: Final = frozenset({"export", "declare", "typeset", "readonly", "local"})
_KEPT: Final = frozenset({"cd", "source", "."})  # statements that the launch after them depends on
_MOST_SETUP: Final = 100  # of these statements, the last ones


class Script:
    """The statements of one text and the variables that they set."""

    def __init__(self, reader: Reader, text: str, frame: Frame) -> None:
        self.reader, self.source, self.frame = reader, text, frame
        self.variables = dict(frame.env.values)
        # Expanded by the outer shell already: what they are in here does not count.
        self.hidden = frozenset(name for _, _, name in frame.live)
        self.open: dict[str, tuple[str, ...]] = dict(frame.env.unknown)
        self.exported = {*frame.env.values, *frame.env.unknown}
        self.setup: list[tuple[tuple[str, ...], bool]] = []
        self.launched = False
        self.flags: Line | None = None
        self.flags_span = (0, 0)

    def run(self, statements: Sequence[Statement]) -> None:
        """Read the statements in order."""
        for statement in statements:
            if statement.words:
                self._statement(statement)
        self._flush()

    def _statement(self, statement: Statement) -> None:
        if statement.keyword in ("for", "select"):
            self._assign(statement.words[0].raw, "", (statement.words[0].raw,), statement)
            return
        assignments: list[tuple[str, Field]] = []
        rest = list(statement.words)
        while rest and (match := ASSIGNMENT.match(rest[0].raw)):
            token = rest.pop(0)
            whole = self._expand(token, split=False)[0]
            value = replace(whole, text=whole.text[match.end() :])
            if match.group(2):
                value = self._appended(match.group(1), value)
            assignments.append((match.group(1), value))
        if not rest:
            for name, value in assignments:
                self._assign(name, value.text, value.unknown, statement)
            self._keep(statement, always=True)
            return
        program = rest[0].raw
        if program in _EXPORTS:
            self._export(rest[1:], statement, exports=program == "export" or "-x" in (t.raw for t in rest))
            self._keep(statement, always=True)
            return
        if program == "unset":
            for token in rest[1:]:
                self.variables.pop(token.raw, None)
                self.open.pop(token.raw, None)
                self.exported.discard(token.raw)
            self._keep(statement, always=True)
            return
        if program == "read":
            for token in rest[1:]:
                self._assign(token.raw, "", (token.raw,), statement)
        if program in ("source", "."):
            self.reader.problem(
                "sourced-file",
                f"{' '.join(t.raw for t in rest[1:2]) or 'the file'} is not read: it may set variables",
                "give the variables that matter with --env NAME=VALUE",
                self.frame.origin.place(rest[0].start),
                "info",
            )
        fields = [f for token in rest for f in self._expand(token)]
        if fields:
            text = self.source[statement.words[0].start : statement.stop]
            setup = tuple(words for words, _ in self.setup)
            self._line(Line(assignments, fields, tuple(statement.suffix), setup, text), statement)

    def _expand(self, token: Token, *, split: bool = True) -> list[Field]:
        """Expand a word; what an outer shell has put into it stays open whatever its quotes here."""
        variables: Mapping[str, str] = self.variables
        if self.hidden:
            variables = {name: value for name, value in variables.items() if name not in self.hidden}
        fields = expand(token, variables, split=split)
        names = tuple(name for start, end, name in self.frame.live if start < token.end and token.start < end)
        return (
            [replace(f, unknown=tuple(dict.fromkeys((*f.unknown, *names)))) for f in fields]
            if names
            else fields
        )

    def _line(self, line: Line, statement: Statement) -> None:
        first = line.fields[0]
        flags_only = not self.frame.wrappers and (
            is_flag(first.text)
            or (first.text == "..." and len(line.fields) > 1 and is_flag(line.fields[1].text))
        )
        if flags_only and first.text == "...":
            line.fields.pop(0)
        if flags_only and self.flags is not None:
            self.flags.fields.extend(line.fields)
            self.flags_span = (self.flags_span[0], statement.stop)
            self.flags.suffix += line.suffix
            return
        if is_flag(first.text) and self.launched:
            self.reader.problem(
                "detached-flags",
                f"{first.text} and what follows is not part of the launch command before it",
                "end the line before it with a backslash, and put no comment between continued lines",
                self.frame.origin.place(first.start),
            )
            return
        self._flush()
        if flags_only and find(line.fields, Environment()) is None:
            self.flags = line
            self.flags_span = (statement.words[0].start, statement.stop)
            return
        if self.reader.line(line, self._environment(), self.frame):
            self.launched = True
            self.setup = [(words, keep) for words, keep in self.setup if keep]
        else:
            self._keep(statement, always=line.fields[0].text in _KEPT)

    def _flush(self) -> None:
        if self.flags is not None:
            flags, self.flags = self.flags, None
            flags.text = self.source[slice(*self.flags_span)]
            self.reader.line(flags, self._environment(), self.frame)

    def _environment(self) -> Environment:
        env = Environment()
        for name in self.exported:
            if name in self.variables:
                env.put(name, self.variables[name])
            else:
                env.put(name, "", self.open.get(name, (name,)))
        return env

    def _appended(self, name: str, value: Field) -> Field:
        if name in self.variables:
            return replace(value, text=self.variables[name] + value.text)
        return replace(value, unknown=(*value.unknown, name))

    def _assign(self, name: str, value: str, unknown: tuple[str, ...], statement: Statement) -> None:
        self.variables.pop(name, None)
        self.open.pop(name, None)
        if unknown or statement.conditional:
            self.open[name] = unknown or (name,)
        else:
            self.variables[name] = value

    def _export(self, tokens: Sequence[Token], statement: Statement, *, exports: bool) -> None:
        for token in tokens:
            match = ASSIGNMENT.match(token.raw)
            name = match.group(1) if match else token.raw
            if match:
                whole = self._expand(token, split=False)[0]
                value = replace(whole, text=whole.text[match.end() :])
                if match.group(2):
                    value = self._appended(name, value)
                self._assign(name, value.text, value.unknown, statement)
            if exports and not name.startswith("-"):
                self.exported.add(name)

    def _keep(self, statement: Statement, *, always: bool) -> None:
        """Keep a statement that the launch after it may need, to write both again."""
        if statement.nested or (not always and statement.end != "&&"):
            return
        end = "&&" if statement.end == "&&" else ";"
        words = (*(_one_line(t.raw) for t in statement.words), *statement.suffix, end)
        self.setup.append((words, always and end == ";"))
        del self.setup[:-_MOST_SETUP]


def _one_line(raw: str) -> str:
    """Write an array that stands on several lines on one."""
    match = ASSIGNMENT.match(raw)
    if "\n" not in raw or match is None or not raw.startswith("(", match.end()):
        return raw
    elements = [token.raw for token in tokenize(raw[match.end() + 1 : -1]) if token.raw != "\n"]
    return f"{match.group()}({' '.join(elements)})"
