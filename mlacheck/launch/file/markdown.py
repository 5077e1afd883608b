"""Shell text in Markdown fences."""

from __future__ import annotations

import re
from typing import Final

_FENCE: Final = re.compile(
    r"^([ \t>]*)(`{3,}|~{3,})[ \t]*(?:\{(?:code|code-block|sourcecode|prompt)\}[ \t]*)?"
    r"([A-Za-z0-9_+-]*)[^\n]*\n(.*?)^\1\2[`~]*[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
# A block of one line, and one of reStructuredText: everything that is indented deeper.
_ONE_LINE: Final = re.compile(r"^[ \t>]*```([^`\n]+)```[ \t]*$", re.MULTILINE)
_DIRECTIVE: Final = re.compile(
    r"^([ \t]*)\.\. (?:code|code-block|sourcecode|prompt)::[ \t]*([A-Za-z0-9_+-]*)[^\n]*\n"
    r"((?:\1[ \t]+:[^\n]*\n)*)((?:[ \t]*\n|\1[ \t]+[^\n]*(?:\n|\Z))*)",
    re.MULTILINE,
)
_SHELL: Final = frozenset(
    {"", "bash", "sh", "shell", "console", "zsh", "shell-session", "text", "command", "cmd"}
)


def fences(text: str) -> list[tuple[int, int]]:
    """Give the spans of the fenced blocks that may hold shell text."""
    found = [match.span(4) for match in _FENCE.finditer(text) if match[3].lower() in _SHELL]
    found += [match.span(1) for match in _ONE_LINE.finditer(text)]
    if ".. " in text:
        found += [match.span(4) for match in _DIRECTIVE.finditer(text) if match[2].lower() in _SHELL]
    return sorted(found)


def prompts(text: str) -> list[tuple[int, int]]:
    """Give the spans of a block without the prompts in front of its lines."""
    spans = []
    at = 0
    for match in re.finditer(r"^[ \t]*[$#>%] (?=\S)", text, re.MULTILINE):
        spans.append((at, match.start()))
        at = match.end()
    return [*spans, (at, len(text))]
