"""Turns a corrected command into changes of the text that it stands in, touching nothing else."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, Final

from mlacheck.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mlacheck.launch.command import Word

# Words that need no quotes anywhere.
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./:=,@%+~^-]+")
_BETWEEN: Final = re.compile(r"(?:[\s,]|(?:\\{1,2}|[`^])\r?\n)*")
# Between the words of a list, which a Dockerfile continues as a shell does.
_GAP: Final = r"(?:\s|\\\r?\n)*"
# Before a word of shell text: blanks and continued line ends; after it: the line ends, continued or for good.
# The backslash is written twice where the text stands in a string of Python or TOML; Windows has other signs.
_LEAD: Final = re.compile(r"(?:[ \t]|(?:\\{1,2}|[`^])\r?\n)*$")
_TAIL: Final = re.compile(r"[ \t]*(?:((?:\\{1,2}|[`^])\r?\n)|(\r?\n|$))?")
_ITEM: Final = re.compile(r"[ \t]*-[ \t]+")
_KEY: Final = re.compile(r"[ \t]*(?:[\w\"'-]+[ \t]*:[ \t]*)?")
_AFTER: Final = re.compile(r"[#:]")
# What YAML reads as something other than text.
_NOT_TEXT: Final = re.compile(
    r"[-+]?[0-9._]+(?:e[-+]?\d+)?|0[xob][0-9a-f_]+|true|false|yes|no|on|off|null|~|", re.IGNORECASE
)
_ESCAPES: Final[dict[str, Callable[[str], str]]] = {
    "single": lambda text: text.replace("'", "'\\''"),
    "double": lambda text: re.sub(r'([\\"$`])', r"\\\1", text),
    "yaml-single": lambda text: text.replace("'", "''"),
    "yaml-double": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "json": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "toml": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "python": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
}


class NotEditableError(Exception):
    """A word that cannot be changed where it stands, and why."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


@frozen
class Change:
    """Other text in place of `[start, end)`."""

    start: int
    end: int
    text: str


def changes(text: str, old: Sequence[Word], new: Sequence[Word]) -> list[Change]:
    """Give what to change in the text so that a command's words become others. Raises `NotEditableError`."""
    return list(_Patch(text, old, new).changes())


def patched(text: str, made: Sequence[Change]) -> str:
    """Apply changes."""
    for change in sorted(made, key=lambda one: (one.start, one.end), reverse=True):
        text = text[: change.start] + change.text + text[change.end :]
    return text


class _Patch:
    def __init__(self, text: str, old: Sequence[Word], new: Sequence[Word]) -> None:
        self.text, self.old, self.new = text, old, new

    def changes(self) -> Iterator[Change]:
        placed: dict[tuple[int, int], list[Word]] = {}
        added: list[Word] = []
        for word in self.new:
            if word.start >= 0:
                placed.setdefault((word.start, word.end), []).append(word)
            elif word not in self.old:
                added.append(word)
        kept: list[Word] = []
        gone: list[Word] = []
        for word in self.old:
            if word.start < 0:
                if word not in self.new and word.file is not None:
                    raise NotEditableError(f"{word.text} stands in {word.file}", word.line)
                if word not in self.new:
                    raise NotEditableError(f"{word.text} is not written out in this file", word.line)
                continue
            now = placed.get((word.start, word.end), [])
            if now == [word]:
                kept.append(word)
                continue
            self._check(word)
            if now:
                kept.append(word)
                yield self._replace(word, [one.text for one in now])
            else:
                gone.append(word)
        yield from dict.fromkeys(self._remove(run) for run in self._runs(gone))
        if added:
            yield self._append(kept, [word.text for word in added])

    @staticmethod
    def _check(word: Word) -> None:
        if word.unknown:
            raise NotEditableError(f"{word.text} depends on {', '.join(word.unknown)}", word.line)
        if word.via:
            raise NotEditableError(f"{word.text} comes through {', '.join(word.via)}", word.line)

    def _replace(self, word: Word, texts: Sequence[str]) -> Change:
        spelled = [self._spelled(word, one) for one in texts]
        if len(spelled) > 1 and word.style == "map":
            raise NotEditableError(f"{word.text} stands in a mapping", word.line)
        lead = self.text[self._line_start(word) : word.start]
        between = {"shell": " ", "flow": ", ", "item": f"\n{lead}"}.get(word.style, "")
        return Change(word.start, word.end, between.join(spelled))

    def _runs(self, gone: Sequence[Word]) -> Iterator[list[Word]]:
        """Group words that go together: nothing but what sets words apart stands between them."""
        run: list[Word] = []
        for word in gone:
            if run and word.style == run[-1].style in {"shell", "flow"}:
                between = self.text[run[-1].end : word.start]
                if word.start >= run[-1].end and _BETWEEN.fullmatch(between):
                    run.append(word)
                    continue
            if run:
                yield run
            run = [word]
        if run:
            yield run

    def _remove(self, run: Sequence[Word]) -> Change:
        start, end, style = run[0].start, run[-1].end, run[0].style
        if style == "shell":
            return self._remove_from_shell(start, end)
        if style == "flow":
            return self._remove_from_flow(start, end)
        # A line of its own: a list item, or a key with its value.
        word = run[0]
        begin, stop = self._line_start(word), self._line_end(end)
        alone = _ITEM if style == "item" else _KEY
        rest = self.text[end:stop].strip()
        if not alone.fullmatch(self.text[begin:start]) or (rest and not _AFTER.match(rest)):
            raise NotEditableError(f"{word.text} shares its line with others", word.line)
        comment = re.search(r"(?:^|\s)(#[^\n]*\n?)$", self.text[end:stop])
        indent = self.text[begin : len(self.text[begin:start]) - len(self.text[begin:start].lstrip()) + begin]
        return Change(begin, stop, f"{indent}{comment.group(1)}" if comment else "")

    def _remove_from_shell(self, start: int, end: int) -> Change:
        lead = _LEAD.search(self.text[:start])
        after = _TAIL.match(self.text[end:])
        before = lead.group() if lead else ""
        if "\n" in before and after is not None:
            # First on its line: a line that held nothing else goes, elsewhere the rest takes its place.
            line = start - len(before) + before.rindex("\n") + 1
            if after.group(1):
                return Change(line, end + after.end(), "")
            if not after.group(2):
                return Change(start, end + after.end(), "")
        begin = start - len(before)
        if after is not None and after.group(2) and self.text[begin - 1 : begin] == "\n":
            # Alone on a line that nothing continues, in a folded text: an empty line would break it.
            return Change(begin, end + after.end(), "")
        return Change(begin, end, "")

    def _remove_from_flow(self, start: int, end: int) -> Change:
        before = re.search(rf",{_GAP}$", self.text[:start])
        if before:
            return Change(before.start(), end, "")
        after = re.match(rf"{_GAP},{_GAP}", self.text[end:])
        return Change(start, end + (after.end() if after else 0), "")

    def _append(self, kept: Sequence[Word], texts: Sequence[str]) -> Change:
        words = [word for word in kept if word.editable and not word.implied]
        if not words:
            raise NotEditableError("no word of this command is written out where words could follow", 1)
        last = words[-1]
        if last.style == "map":
            return self._append_keys(last, texts)
        spelled = [self._spelled(last, one, own=False) for one in texts]
        if last.style == "shell":
            return Change(last.end, last.end, "".join(f" {one}" for one in spelled))
        if last.style == "flow":
            gap = re.search(rf",({_GAP})$", self.text[: last.start])
            blank = gap.group(1) if gap else " "
            return Change(last.end, last.end, "".join(f",{blank}{one}" for one in spelled))
        lead = self.text[self._line_start(last) : last.start]
        if not _ITEM.fullmatch(lead):
            raise NotEditableError(f"{last.text} shares its line with others", last.line)
        end = self._line_end(last.end, newline=False)
        return Change(end, end, "".join(f"\n{lead}{one}" for one in spelled))

    def _append_keys(self, last: Word, texts: Sequence[str]) -> Change:
        """Add flags to a mapping as keys, spelled with dashes or underscores as the last key is."""
        flags: list[tuple[str, list[str]]] = []
        for text in texts:
            if text.startswith("--"):
                flags.append((text[2:], []))
            elif flags:
                flags[-1][1].append(text)
        line = self.text[self._line_start(last) : self._line_end(last.end, newline=False)]
        key = re.match(r"([ \t]*)([\w-]+)\s*:", line)
        if key is None or any(len(values) > 1 for _, values in flags):
            raise NotEditableError("flags cannot be added to this mapping in place", last.line)
        lines = ""
        for name, values in flags:
            spelled = name.replace("-", "_") if "_" in key.group(2) else name
            lines += f"\n{key.group(1)}{spelled}: {values[0] if values else 'true'}"
        end = self._line_end(last.end, newline=False)
        return Change(end, end, lines)

    def _spelled(self, word: Word, text: str, *, own: bool = True) -> str:
        """Write a word as one stands where `word` does; `own`: in its very quotes."""
        raw = self.text[word.start : word.end]
        if word.style == "map":
            text = text.removeprefix("--")
        mark = raw[:1] if raw[:1] in {'"', "'"} else ""
        within = word.within[:-1] if mark and word.within else word.within
        if word.style == "shell":
            spelled = mark + text + mark if own and mark and _PLAIN.fullmatch(text) else shlex.quote(text)
        else:
            within = ()
            spelled = self._scalar(word, text, mark)
        for outer in reversed(within):
            escape = _ESCAPES.get(outer)
            spelled = escape(spelled) if escape else spelled
        return spelled

    @staticmethod
    def _scalar(word: Word, text: str, mark: str) -> str:
        if mark == "'":
            return "'" + text.replace("'", "''") + "'"
        if mark or word.style == "flow" or not _PLAIN.fullmatch(text):
            return json.dumps(text, ensure_ascii=False)
        if word.style == "item" and _NOT_TEXT.fullmatch(text):
            return f'"{text}"'
        return text

    def _line_start(self, word: Word) -> int:
        return self.text.rfind("\n", 0, word.start) + 1

    def _line_end(self, at: int, *, newline: bool = True) -> int:
        end = self.text.find("\n", at)
        return len(self.text) if end < 0 else end + newline
