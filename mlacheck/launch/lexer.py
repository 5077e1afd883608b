"""Split shell text into words and operators with their places; nothing is expanded or run."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final

from mlacheck.frozen import frozen

OPERATORS: Final = (
    "&>>", "<<<", "<<-", ";;&", "&&", "||", ";;", ";&", "|&", "<<", ">>", ">&", "<&", "<>", ">|", "&>",
    "|", "&", ";", "<", ">", "(", ")", "\n",
)  # fmt: skip
REDIRECTIONS: Final = frozenset(
    {"&>>", "<<<", "<<-", "<<", ">>", ">&", "<&", "<>", ">|", "&>", "<", ">"},
)

_PLAIN = re.compile(r"[^ \t\n'\"\\$`|&;<>()]+")
_IN_DOUBLE = re.compile(r"[^\"\\$`]+")
_BLANK = re.compile(r"(?:[ \t]|\\\n)+")
_COMMENT = re.compile(r"#[^\n]*")
# A continued line may cut through a name.
_NAME = re.compile(r"[A-Za-z_](?:(?:\\\n)*[A-Za-z0-9_])*|[0-9@*#?$!-]")
_BRACED = re.compile(r"[#!]?([A-Za-z_][A-Za-z0-9_]*(?:\[[^\]]*\])?|[0-9]+|[@*#?$!-])")
_ASSIGNED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_OPERATOR = re.compile("|".join(re.escape(operator) for operator in OPERATORS))
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "e": "\x1b"}


class LexError(Exception):
    """The text ends inside a quote or an expansion that starts at `offset`."""

    def __init__(self, kind: str, opened: str, offset: int) -> None:
        super().__init__(kind)
        self.kind, self.opened, self.offset = kind, opened, offset


class Origin:
    """Places in a text by offset; the text may stand inside another one (the string of `bash -c`)."""

    __slots__ = ("_column", "_line", "_parent", "_segments", "_starts", "_text")

    def __init__(self, text: str, line: int = 1, column: int = 1) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._line, self._column, self._text = line, column, text
        self._parent: Origin | None = None
        self._segments: tuple[tuple[int, int, bool], ...] = ()

    def inner(self, segments: tuple[tuple[int, int, bool], ...]) -> Origin:
        """Places of a string made of pieces of this text: (offset in it, offset here, moves along)."""
        origin = Origin("")
        origin._parent, origin._segments = self, segments
        return origin

    def spelled(self, start: int, end: int) -> str:
        """Give the characters of the outermost text between two offsets in it."""
        return self._parent.spelled(start, end) if self._parent is not None else self._text[start:end]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Give two offsets as offsets in the outermost text, -1 when what is between is in pieces there."""
        if self._parent is None:
            return start, end
        at = bisect_right([segment[0] for segment in self._segments], start) - 1
        if at < 0 or not self._segments[at][2]:
            return -1, -1
        if at + 1 < len(self._segments) and self._segments[at + 1][0] < end:
            return -1, -1
        inner, outer, _ = self._segments[at]
        return self._parent.span(outer + start - inner, outer + end - inner)

    def place(self, offset: int) -> tuple[int, int]:
        """Give line and column, both from 1."""
        if self._parent is not None:
            if not self._segments:
                return self._parent.place(0)
            at = bisect_right([segment[0] for segment in self._segments], offset) - 1
            inner, outer, moves = self._segments[max(at, 0)]
            return self._parent.place(outer + (offset - inner if moves else 0))
        row = bisect_right(self._starts, offset) - 1
        column = offset - self._starts[row]
        return self._line + row, column + (self._column if row == 0 else 1)


@frozen
class Part:
    """A piece of a word: settled text (`name` is empty), or an expansion with `text` as written."""

    text: str
    start: int
    quoted: bool = False
    name: str = ""
    operator: str = ""  # what follows the name in ${NAME...}


@frozen
class Token:
    """A word with its parts, or an operator (`parts` is None)."""

    raw: str
    start: int
    end: int
    parts: tuple[Part, ...] | None = None


class _Lexer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.tokens: list[Token] = []
        self.heredocs: list[tuple[str, bool]] = []

    def run(self) -> list[Token]:
        text, end = self.text, len(self.text)
        while self.at < end:
            if (match := _BLANK.match(text, self.at)) or (text[self.at] == "\\" and self.at + 1 == end):
                self.at = match.end() if match else end  # a text cut off after its last continuation
            elif match := _COMMENT.match(text, self.at):
                self.at = match.end()
            elif text.startswith("((", self.at) and self._command_position():
                self._arithmetic_command()
            elif text[self.at] in "<>" and text.startswith("(", self.at + 1):
                self._word()
            elif match := _OPERATOR.match(text, self.at):
                self.tokens.append(Token(match.group(), self.at, match.end()))
                self.at = match.end()
                if match.group() == "\n":
                    self._skip_heredocs()
            else:
                self._word()
                self._note_heredoc()
        return self.tokens

    def _command_position(self) -> bool:
        return not self.tokens or (self.tokens[-1].parts is None and self.tokens[-1].raw not in REDIRECTIONS)

    def _arithmetic_command(self) -> None:
        start = self.at
        close = self.text.find("))", start)
        if close < 0:
            raise LexError("unbalanced-expansion", "((", start)
        self.at = close + 2
        verbatim = self.text[start : self.at]
        self.tokens.append(
            Token(verbatim, start, self.at, (Part(verbatim, start, quoted=True, name=verbatim),))
        )

    def _note_heredoc(self) -> None:
        if len(self.tokens) > 1 and self.tokens[-2].parts is None and self.tokens[-2].raw in ("<<", "<<-"):
            delimiter = "".join(part.text for part in self.tokens[-1].parts or ())
            self.heredocs.append((delimiter, self.tokens[-2].raw == "<<-"))

    def _skip_heredocs(self) -> None:
        for delimiter, tabs in self.heredocs:
            while self.at < len(self.text):
                stop = self.text.find("\n", self.at)
                stop = len(self.text) if stop < 0 else stop
                line = self.text[self.at : stop]
                self.at = min(stop + 1, len(self.text))
                if (line.lstrip("\t") if tabs else line) == delimiter:
                    break
        self.heredocs.clear()

    def _word(self) -> None:
        text, end, start = self.text, len(self.text), self.at
        parts: list[Part] = []
        joined: list[tuple[int, int]] = []  # line continuations inside the word
        while self.at < end:
            char = text[self.at]
            if match := _PLAIN.match(text, self.at):
                parts.append(Part(match.group(), self.at))
                self.at = match.end()
            elif char == "'":
                self._single(parts)
            elif char == '"':
                self._double(parts, joined)
            elif char == "\\":
                if text.startswith("\\\n", self.at):
                    joined.append((self.at, self.at + 2))
                    self.at += 2
                else:
                    parts.append(Part(text[self.at + 1 : self.at + 2] or "\\", self.at + 1, quoted=True))
                    self.at = min(self.at + 2, end)
            elif char in "$`":
                self._expansion(parts, quoted=False, joined=joined)
            elif char == "(" and parts and not parts[-1].quoted and _ASSIGNED.fullmatch(text, start, self.at):
                opened = self.at
                self.at = self._matching(self.at, "(", ")")
                parts.append(
                    Part(text[opened : self.at], opened, quoted=True, name=text[start:opened].rstrip("+="))
                )
            elif char in "<>" and not parts and text.startswith("(", self.at + 1):
                opened = self.at
                self.at = self._matching(self.at + 1, "(", ")")
                verbatim = text[opened : self.at]
                parts.append(Part(verbatim, opened, quoted=True, name=verbatim))
            else:
                break
        pieces, cut = [], start
        for left, right in joined:
            pieces.append(text[cut:left])
            cut = right
        pieces.append(text[cut : self.at])
        self.tokens.append(Token("".join(pieces), start, self.at, tuple(parts)))

    def _single(self, parts: list[Part]) -> None:
        close = self.text.find("'", self.at + 1)
        if close < 0:
            raise LexError("unbalanced-quote", "'", self.at)
        parts.append(Part(self.text[self.at + 1 : close], self.at + 1, quoted=True))
        self.at = close + 1

    def _double(self, parts: list[Part], joined: list[tuple[int, int]]) -> None:
        text, opened = self.text, self.at
        self.at += 1
        parts.append(Part("", self.at, quoted=True))
        while True:
            if self.at >= len(text):
                raise LexError("unbalanced-quote", '"', opened)
            char = text[self.at]
            if match := _IN_DOUBLE.match(text, self.at):
                parts.append(Part(match.group(), self.at, quoted=True))
                self.at = match.end()
            elif char == '"':
                self.at += 1
                return
            elif char == "\\":
                after = text[self.at + 1 : self.at + 2]
                if after == "\n":
                    joined.append((self.at, self.at + 2))
                elif after and after in '"\\$`':
                    parts.append(Part(after, self.at + 1, quoted=True))
                else:
                    parts.append(Part("\\" + after, self.at, quoted=True))
                self.at += 2
            else:
                self._expansion(parts, quoted=True, joined=joined)

    def _expansion(self, parts: list[Part], *, quoted: bool, joined: list[tuple[int, int]]) -> None:
        text, start = self.text, self.at
        name = operator = ""
        if text[start] == "`":
            self.at = self._backtick(start)
        elif text.startswith("$(", start):
            self.at = self._matching(start + 1, "(", ")")
        elif text.startswith("$[", start):
            self.at = self._matching(start + 1, "[", "]")
        elif text.startswith("${", start):
            self.at = self._matching(start + 1, "{", "}", single=not quoted)
            if match := _BRACED.match(text, start + 2):
                name = match.group(1)
                operator = text[match.end() : self.at - 1]
                if text[start + 2] in "#!" and match.end() > start + 3:
                    operator = text[start + 2]
        elif not quoted and text.startswith("$'", start):
            self._ansi(parts)
            return
        elif not quoted and text.startswith('$"', start):
            self.at += 1
            self._double(parts, joined)
            return
        elif match := _NAME.match(text, start + 1):
            self.at = match.end()
            name = match.group().replace("\\\n", "")
        else:
            self.at += 1
            parts.append(Part("$", start, quoted=quoted))
            return
        verbatim = text[start : self.at].replace("\\\n", "")
        parts.append(Part(verbatim, start, quoted=quoted, name=name or verbatim, operator=operator))

    def _ansi(self, parts: list[Part]) -> None:
        start = self.at
        self.at += 2
        out: list[str] = []
        while True:
            if self.at >= len(self.text):
                raise LexError("unbalanced-quote", "$'", start)
            char = self.text[self.at]
            self.at += 1
            if char == "'":
                break
            if char == "\\" and self.at < len(self.text):
                char = self.text[self.at]
                self.at += 1
                out.append(_ANSI.get(char, "\\" + char))
            else:
                out.append(char)
        parts.append(Part("".join(out), start + 2, quoted=True))

    def _backtick(self, start: int) -> int:
        at = start + 1
        while at < len(self.text):
            if self.text[at] == "\\":
                at += 1
            elif self.text[at] == "`":
                return at + 1
            at += 1
        raise LexError("unbalanced-expansion", "`", start)

    def _matching(self, start: int, opening: str, closing: str, *, single: bool = True) -> int:
        """Give the offset after the bracket that closes the one at `start`, quotes and comments respected."""
        text, at, depth = self.text, start, 0
        while at < len(text):
            char = text[at]
            if char == "\\":
                at += 1
            elif char == "'" and single:
                close = text.find("'", at + 1)
                if close < 0:
                    break
                at = close
            elif char == '"':
                at = self._closing_quote(at)
            elif char == "#" and opening == "(" and text[at - 1] in " \t\n":
                stop = text.find("\n", at)
                at = len(text) if stop < 0 else stop
            elif char == opening:
                depth += 1
            elif char == closing:
                depth -= 1
                if depth == 0:
                    return at + 1
            at += 1
        raise LexError("unbalanced-expansion", text[max(start - 1, 0) : start + 1].strip(), start)

    def _closing_quote(self, start: int) -> int:
        at = start + 1
        while at < len(self.text):
            if self.text[at] == "\\":
                at += 1
            elif self.text[at] == '"':
                return at
            elif self.text.startswith("$(", at):
                at = self._matching(at + 1, "(", ")") - 1
            at += 1
        raise LexError("unbalanced-quote", '"', start)


def tokenize(text: str) -> list[Token]:
    """Split `text` (Unix newlines) into tokens, comments and here-documents left out."""
    return _Lexer(text).run()
