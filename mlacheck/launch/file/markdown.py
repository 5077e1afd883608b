"""Blocks of Markdown and reStructuredText that hold shell text or a manifest."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from mlacheck.frozen import replace
from mlacheck.launch.piece import Piece, Pieces

if TYPE_CHECKING:
    from mlacheck.launch.frame import Frame
    from mlacheck.launch.reader import Reader

_FENCE: Final = re.compile(
    r"^([ \t>]*)(`{3,}|~{3,})[ \t]*(?:\{(?:code|code-block|sourcecode|prompt)\}[ \t]*)?"
    r"([A-Za-z0-9_+-]*)[^\n`]*\n(.*?)^\1\2[`~]*[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
# A block of one line, and one of reStructuredText: everything that is indented deeper.
_ONE_LINE: Final = re.compile(r"^[ \t>]*```([^`\n]+)```[ \t]*$", re.MULTILINE)
_DIRECTIVE: Final = re.compile(
    r"^([ \t]*)\.\. (?:code|code-block|sourcecode|prompt)::[ \t]*([A-Za-z0-9_+-]*)[^\n]*\n"
    r"((?:\1[ \t]+:[^\n]*\n)*)((?:[ \t]*\n|\1[ \t]+[^\n]*(?:\n|\Z))*)",
    re.MULTILINE,
)
# In these `# ` is the prompt of root; elsewhere it begins a comment.
_SESSIONS: Final = frozenset({"console", "shell-session", "terminal"})
_SHELL: Final = frozenset({"", "bash", "sh", "shell", "zsh", "text", "command", "cmd"}) | _SESSIONS
_MANIFEST: Final = frozenset({"yaml", "yml"})
PROMPT: Final = r"[ \t]*[$>] +(?=\S)"
_DOLLAR: Final = r"[ \t]*\$ +(?=\S)"
SESSION_PROMPT: Final = r"[ \t]*[$#>%] +(?=\S)"
# Indented by four, after an empty line: a block without marks.
_INDENTED: Final = re.compile(r"(?:\A|\n[ \t]*\n)((?:(?: {4}|\t)[^\n]*(?:\n|\Z)|[ \t]*\n)+)")
# `<MODEL>`, `<0|1>` or `{path of the model}`, which the reader is to put in.
_PLACE: Final = re.compile(
    r"(?<![<\w])<[A-Za-z0-9][\w./|,-]*(?: [\w./-]+){0,5}>(?![>&])|(?<![$\w{]){[A-Za-z][\w-]*(?: [\w-]+){1,5}}"
)


class Block(NamedTuple):
    """A block, in which language it says it is."""

    kind: str  # `shell` or `yaml`
    start: int
    end: int
    session: bool = False
    quoted: bool = False


def blocks(text: str) -> list[Block]:
    """Give the blocks of a text that may hold a launch command."""
    found = [_block(match[3], *match.span(4), quoted=">" in match[1]) for match in _FENCE.finditer(text)]
    found += [_block("", *match.span(1)) for match in _ONE_LINE.finditer(text)]
    if ".. " in text:
        found += [_block(match[2], *match.span(4)) for match in _DIRECTIVE.finditer(text)]
    marked = sorted([match.span() for one in (_FENCE, _DIRECTIVE) for match in one.finditer(text)])
    found += [
        Block("shell", *match.span(1))
        for match in _INDENTED.finditer(text)
        if not any(start < match.end(1) and match.start(1) < end for start, end in marked)
    ]
    return sorted((one for one in found if one is not None), key=lambda one: one.start)


def _block(language: str, start: int, end: int, *, quoted: bool = False) -> Block | None:
    name = language.lower()
    if name in _MANIFEST:
        return Block("yaml", start, end, quoted=quoted)
    return Block("shell", start, end, name in _SESSIONS, quoted) if name in _SHELL else None


def shown(pieces: Pieces, block: Block) -> list[Piece]:
    """Give what a block shows, without its indentation and prompts; what the reader is to put in is open."""
    text = pieces.text[block.start : block.end]
    indents = [len(line) - len(line.lstrip(" \t")) for line in text.split("\n") if line.strip()]
    indent = min(indents, default=0)
    prompt = SESSION_PROMPT if block.session else PROMPT
    quote = r"[ \t]*>[ \t]?" if block.quoted else ""
    if not block.session and not re.search(rf"\A\s*{quote}{PROMPT}|^{quote}{_DOLLAR}", text, re.MULTILINE):
        prompt = _DOLLAR  # where no prompt is shown, a `>` sends output elsewhere
    found: list[Piece] = []
    at = block.start
    for match in re.finditer(rf"^(?:[ \t]{{{indent}}})?(?:{quote})?(?:{prompt})?", text, re.MULTILINE):
        found.extend(pieces.cut(at, block.start + match.start()))
        at = block.start + match.end()
    whole = Pieces([*found, *pieces.cut(at, block.end)])
    return whole.replaced(_PLACE, lambda match, place: Piece(match.group(), place, names=(match.group(),)))


def read_blocks(reader: Reader, pieces: Pieces, frame: Frame) -> None:
    """Read what the blocks of a text show; prose that is no command is no mistake."""
    for block in blocks(pieces.text):
        if not reader.mentions(pieces.text[block.start : block.end]):
            continue
        cut = shown(pieces, block)
        if block.kind == "shell":
            reader.script(cut, replace(frame, guess=True))
        elif "yaml" in reader.readers:
            before = len(reader.problems)
            reader.readers["yaml"](reader, Pieces(cut), replace(frame, file_kind="yaml"))
            reader.problems[before:] = [replace(one, level="info") for one in reader.problems[before:]]
