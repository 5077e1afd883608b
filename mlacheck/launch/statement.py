"""Group tokens into simple commands with their redirections, pipes and place in the control flow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from mlacheck.launch.lexer import REDIRECTIONS

if TYPE_CHECKING:
    from mlacheck.launch.lexer import Token

_OPENING: Final = frozenset({"if", "while", "until", "for", "case", "select", "{"})
_CLOSING: Final = frozenset({"fi", "done", "esac", "}"})
_LEADING: Final = _OPENING | _CLOSING | {"then", "else", "elif", "do", "!", "time"}
_LONGEST_PIPELINE: Final = 200  # words that are kept of it
_TESTS: Final = ("[", "test", "((")
_ENDS: Final = frozenset({"&&", "||", ";", "&", "\n", ";;", ";&", ";;&", "|", "|&", "(", ")"})


@dataclass(slots=True)
class Statement:
    """A simple command: its words, what follows them, and how it hangs on the ones before."""

    words: list[Token] = field(default_factory=list)
    suffix: list[str] = field(default_factory=list)
    end: str = ""  # the operator that ends it
    stop: int = 0  # offset after its last word or redirection
    nested: bool = False  # inside if, loop, function or subshell
    conditional: bool = False  # nested, piped, or after a test and `&&`, or after `||`
    keyword: str = ""  # the reserved word just before it


class _Grouper:
    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.statements: list[Statement] = []
        self.depth = 0
        self.subshells = 0
        self.testing = False  # an earlier part of this && / || list may say no

    def run(self) -> list[Statement]:
        current, at, before = Statement(), 0, ""
        while at < len(self.tokens):
            token = self.tokens[at]
            if token.parts is None and token.raw in REDIRECTIONS:
                at = self._redirection(current, at)
            elif token.parts is None:
                before = self._finish(current, token.raw, before, at)
                current = Statement()
                at += 1
            elif not current.words and token.raw in _LEADING:
                self.depth += (token.raw in _OPENING) - (token.raw in _CLOSING)
                current.keyword = token.raw
                at += 1
            else:
                current.words.append(token)
                current.stop = token.end
                at += 1
        self._finish(current, "", before, at)
        return self.statements

    def _redirection(self, current: Statement, at: int) -> int:
        operator = self.tokens[at]
        raw = operator.raw
        if current.words:
            last = current.words[-1]
            if last.raw.isdigit() and last.start + len(last.raw) == operator.start:
                raw = current.words.pop().raw + raw
        after = self.tokens[at + 1] if at + 1 < len(self.tokens) else None
        if after is None or after.parts is None:
            current.suffix.append(raw)
            current.stop = max(current.stop, operator.end)
            return at + 1
        current.stop = after.end
        current.suffix.append(raw + after.raw if "&" in raw else f"{raw} {after.raw}")
        return at + 2

    def _finish(self, current: Statement, end: str, before: str, at: int) -> str:
        """Close a statement and give the operator that stands before the next one."""
        current.end = end
        if before not in ("&&", "||"):
            self.testing = False
        piped = before in ("|", "|&")
        current.nested = self.depth + self.subshells > 0
        current.conditional = current.nested or piped or before == "||" or self.testing
        if before == "||" or (current.words and current.words[0].raw.startswith(_TESTS)):
            self.testing = True
        if end == "(":
            self.subshells += 1
        elif end == ")" and self.subshells:  # a lone one ends a `case` pattern
            self.subshells -= 1
        if end in ("|", "|&"):
            current.suffix.extend(self._pipeline(at))
        elif end == "&":
            current.suffix.append("&")
        if current.words or current.suffix:
            self.statements.append(current)
        elif end == "\n" and before in ("&&", "||", "|", "|&"):
            return before  # the list goes on after the newline
        return end

    def _pipeline(self, at: int) -> list[str]:
        """Give the rest of a pipeline verbatim, up to what ends it."""
        rest: list[str] = []
        for token in self.tokens[at : at + _LONGEST_PIPELINE]:
            if token.parts is None and token.raw in _ENDS and token.raw not in ("|", "|&"):
                if token.raw == "&":
                    rest.append("&")
                break
            rest.append(token.raw)
        return rest


def group(tokens: list[Token]) -> list[Statement]:
    """Give the simple commands of `tokens` in their order."""
    return _Grouper(tokens).run()
