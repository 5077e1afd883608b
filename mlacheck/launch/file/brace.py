"""HCL (Terraform, Nomad), Nix and Jsonnet: lists and strings, wherever they stand; nothing is evaluated."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from mlacheck.frozen import replace
from mlacheck.launch.file.split import split_words
from mlacheck.launch.finder import Environment
from mlacheck.launch.piece import Field, Piece, Pieces

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mlacheck.launch.frame import Frame
    from mlacheck.launch.reader import Reader

_TOKEN: Final = re.compile(
    r"(?P<comment>\#[^\n]*|//[^\n]*|/\*.*?\*/)"
    r"|<<[-~]?[ \t]*[\"']?(?P<mark>[A-Za-z_]\w*)[\"']?[ \t]*\n(?P<here>.*?)^[ \t]*(?P=mark)\b"
    r"|\|\|\|-?[ \t]*\n(?P<block>.*?)^[ \t]*\|\|\|"
    r"|''(?P<nix>(?:'''|''[$\\]|(?!'').)*)''"
    r"|\"(?P<double>(?:[^\"\\$]|\\.|\$(?!\{)|\$\{[^{}\"]*\}|\$\{[^{}]*\})*)\""
    r"|'(?P<single>(?:[^'\\\n]|\\.)*)'"
    r"|(?P<name>[A-Za-z_][\w.-]*|\d[\w.]*)"
    r"|(?P<sign>[\[\]{}(),;=:+])"
    r"|(?P<other>\S)",
    re.DOTALL | re.MULTILINE,
)
_KINDS: Final = ("here", "block", "nix", "double", "single")
_OPEN: Final = re.compile(r"\$\$\{|''\$|\$\{[^{}]*\}|%\([\w.]+\)[sd]|%[sd](?![\w%])")
_OPEN_OR_ESCAPED: Final = re.compile(rf"{_OPEN.pattern}|\\.", re.DOTALL)
_COMMANDS: Final = frozenset({"command", "entrypoint", "entry_point", "cmd"})
_SCRIPTS: Final = re.compile(
    r"ExecStart\w*|script|command|cmd|entrypoint|user_data|startup|run|args", re.IGNORECASE
)


class _Token(NamedTuple):
    kind: str
    start: int
    end: int
    text: str


def read_brace(reader: Reader, pieces: Pieces, frame: Frame) -> None:
    """Read the lists and strings of a text."""
    _Walk(reader, pieces, frame).run()


class _Walk:
    def __init__(self, reader: Reader, pieces: Pieces, frame: Frame) -> None:
        self.reader, self.pieces, self.frame = reader, pieces, frame
        self.tokens = list(_tokens(pieces.text))
        # By block: its image, and the list that is its command.
        self.blocks: list[dict[str, list[Field]]] = [{}]

    def run(self) -> None:
        at, key = 0, ""
        while at < len(self.tokens):
            token = self.tokens[at]
            following = self.tokens[at + 1].text if at + 1 < len(self.tokens) else ""
            if token.text == "{" and token.kind == "sign":
                self.blocks.append({})
            elif token.text == "}" and token.kind == "sign":
                self._finish(self.blocks.pop() if len(self.blocks) > 1 else {})
            elif token.kind in ("name", *_KINDS) and following in ("=", ":") and token.kind != "here":
                key = token.text
            elif token.text == "[" and token.kind == "sign":
                fields, end = self._list(at)
                if end:  # of words; a list of blocks is read like what stands around it
                    self._take(key, fields)
                    at = end
            elif token.kind in _KINDS:
                self._string(token, key)
            at += 1
        while self.blocks:
            self._finish(self.blocks.pop())

    def _list(self, at: int) -> tuple[list[Field], int]:
        """Read a list of words up to its end, 0 where it holds something else; what is no string is open."""
        items: list[list[_Token]] = [[]]
        depth, commas = 1, False
        for end in range(at + 1, len(self.tokens)):
            token = self.tokens[end]
            sign = token.text if token.kind == "sign" else ""
            if sign in ("[", "{"):
                return [], 0
            depth += (sign == "(") - (sign in ("]", "}", ")"))
            if depth == 0:
                parts = items if commas else [[one] for one in items[0]]
                return [self._item(one) for one in parts if one], end
            if sign == "," and depth == 1:
                commas = True
                items.append([])
            else:
                items[-1].append(token)
        return [], 0

    def _item(self, tokens: Sequence[_Token]) -> Field:
        """Give a word: a string, or what the language makes one of."""
        first = tokens[0]
        if len(tokens) == 1 and first.kind in _KINDS:
            return self._field(first)
        text = self.pieces.text[first.start : tokens[-1].end]
        place = self.pieces.offset(first.start)
        return Field((Piece(text, place, names=(text[:60],)),), place=place, style="flow")

    def _take(self, key: str, fields: list[Field]) -> None:
        name = key.rpartition(".")[2].lower()
        if name in _COMMANDS or name == "args":
            self.blocks[-1]["args" if name == "args" else "command"] = fields
        elif len(fields) > 1 and self.reader.argv(fields):
            self.reader.words(fields, self.frame)

    def _finish(self, block: dict[str, list[Field]]) -> None:
        words = [*block.get("command", ()), *block.get("args", ())]
        if not words:
            return
        image = block["image"][0] if block.get("image") else None
        settled = image.text if image is not None and not image.unknown else ""
        inner = replace(self.frame, around=replace(self.frame.around, image=settled or None))
        if self.reader.arguments(words, inner, Environment(), sure="command" not in block):
            return
        if any(self.reader.mentions(one.text) for one in words):
            if len(words) == 1:
                self.reader.script(words[0].pieces, inner)
            else:
                self.reader.words(words, inner)

    def _string(self, token: _Token, key: str) -> None:
        name = key.rpartition(".")[2]
        if name == "image" and token.text.strip():
            self.blocks[-1]["image"] = [self._field(token)]
        if name in _COMMANDS and token.text and not any(blank in token.text for blank in " \n"):
            self.blocks[-1]["command"] = [self._field(token)]
        if not self.reader.mentions(token.text) or not any(blank in token.text for blank in " \n"):
            return
        script = _SCRIPTS.fullmatch(name) is not None or token.text.lstrip().startswith("#!")
        cut = self._pieces(token)
        if script and token.kind in ("double", "single") and not _several(token.text):
            self.reader.words(split_words(cut), self.frame)
            return
        self.reader.script(cut, self.frame if script else replace(self.frame, guess=True))

    def _field(self, token: _Token) -> Field:
        cut = tuple(self._pieces(token))
        whole = not any(piece.names for piece in cut) and token.kind == "double"
        start, end = self.pieces.span(token.start, token.end) if whole else (-1, -1)
        return Field(cut, start, end, self.pieces.offset(token.start), "", (), "flow")

    def _pieces(self, token: _Token) -> list[Piece]:
        """Give the text of a string; what the language puts into it is open."""
        inner = self.pieces.text.find(token.text, token.start, token.end)
        found: list[Piece] = []
        at = 0
        escapes = token.kind in ("double", "single")
        for match in (_OPEN_OR_ESCAPED if escapes else _OPEN).finditer(token.text):
            found.extend(self._cut(inner + at, inner + match.start(), token))
            at = match.end()
            text, place = match.group(), self.pieces.offset(inner + match.start())
            if text in ("$${", "''$"):
                found.append(Piece("${" if text == "$${" else "$", place))
            elif text[0] == "\\":
                found.append(Piece({"n": "\n", "t": "\t"}.get(text[1], text[1:]), place, within=("json",)))
            else:
                name = text.strip("${}%()sd ") or text
                found.append(Piece(text, place, names=(name,), splits=token.kind not in ("double", "single")))
        found.extend(self._cut(inner + at, inner + len(token.text), token))
        return found

    def _cut(self, start: int, end: int, token: _Token) -> list[Piece]:
        cut: Sequence[Piece] = self.pieces.cut(start, end)
        quotes = ("json",) if token.kind == "double" else ()
        return [piece._replace(within=(*piece.within, *quotes)) for piece in cut]


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "other"
        if kind == "comment":
            continue
        if kind == "mark":
            kind = "here"
        yield _Token(kind, match.start(), match.end(), match[kind])


def _several(text: str) -> bool:
    """Tell whether a string needs a shell."""
    return re.search(r"[|&;<>\n$`]", text) is not None
