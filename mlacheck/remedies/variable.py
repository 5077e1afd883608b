"""Places of a text that may set an environment variable; reading the changed text again proves which does."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from mlacheck.remedies.patch import Change

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mlacheck.launch.command import LaunchCommand

_MOST: Final = 20  # places that are tried
# What may follow a value: the end of a word, an item or an entry.
_END: Final = r"(?=[\s,;\"'\]}&)]|$)"
_EXPORT: Final = re.compile(r"(?:export[ \t]+|declare[ \t]+-x[ \t]+|ENV[ \t]+|Environment=[\"']?)$")
_OPTION: Final = re.compile(r"(?:-e|--env)(?:[ \t]+|=)[\"']?$")
_ITEM: Final = re.compile(r"[ \t]*-[ \t]+[\"']?$")


def variable_changes(
    text: str, command: LaunchCommand, name: str, old: str | None, new: str | None
) -> Iterator[Change]:
    """Give the places where a text may set a variable, each with its change; `new` is None to unset it."""
    found = 0
    for change in _known(text, name, old, new) if old is not None else ():
        found += 1
        if found > _MOST:
            return
        yield change
    if new is not None and not found and _bare_shell(command):
        yield Change(command.start, command.start, f"{name}={_quoted(new)} ")


def _bare_shell(command: LaunchCommand) -> bool:
    """Tell whether a variable can be set in front of the command where it stands."""
    words = [word for word in command.words if word.editable]
    plain = bool(words) and all(word.style == "shell" and not word.within for word in words)
    return plain and command.start >= 0 and command.image_at is None and "sudo" not in command.prefix


def _known(text: str, name: str, old: str, new: str | None) -> Iterator[Change]:
    value = re.escape(old)
    assigned = re.compile(rf"(?<![\w$]){re.escape(name)}=([\"']?){value}\1{_END}", re.MULTILINE)
    for match in assigned.finditer(text):
        if new is not None:
            start = match.start() + len(name) + 1 + len(match[1])
            yield Change(start, start + len(old), new)
        else:
            yield _without(text, match.start(), match.end())
    # `- name: NAME` and `value: VALUE` under it, on lines of their own or in braces.
    listed = re.compile(
        rf"name[\"']?\s*:\s*[\"']?{re.escape(name)}[\"']?\s*,?\s*[\"']?value[\"']?\s*:\s*"
        rf"(\"{value}\"|'{value}'|{value}){_END}"
    )
    keyed = re.compile(
        rf"(?<![\w$.-])[\"']?{re.escape(name)}[\"']?\s*:[ \t]*(\"{value}\"|'{value}'|{value}){_END}"
    )
    for pattern in (listed, keyed):
        for match in pattern.finditer(text):
            if new is not None:
                mark = match[1][:1] if match[1][:1] in ("'", '"') else ""
                told = f"{mark}{new}{mark}" if mark or re.fullmatch(r"[A-Za-z_]\w*", new) else json.dumps(new)
                yield Change(match.start(1), match.end(1), told)
            else:
                yield _lines_of(text, match.start(), match.end())


def _without(text: str, start: int, end: int) -> Change:
    """Take out an assignment with what belongs to it: `export`, `-e`, `ENV`, a list item."""
    line = text.rfind("\n", 0, start) + 1
    before = text[line:start]
    stop = text.find("\n", end)
    rest = text[end : len(text) if stop < 0 else stop]
    match = _EXPORT.search(before) or _ITEM.fullmatch(before)
    if match is not None and rest.strip("\"' \t;") == "" and not before[: match.start()].strip():
        return Change(line, len(text) if stop < 0 else stop + 1, "")
    option = _OPTION.search(before)
    begin = line + option.start() if option is not None else start
    after = re.match(r"[\"']?(?:[ \t]*;[ \t]*|[ \t]+(?:\\\n[ \t]*)?)", text[end:])
    end += after.end() if after else 0
    if not text[end:stop].strip():  # it was the last one of its line
        begin = line + len(text[line:begin].rstrip(" \t"))
    return Change(begin, end, "")


def _lines_of(text: str, start: int, end: int) -> Change:
    """Take out the lines of an entry, or what stands between commas and braces."""
    line = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", end)
    stop = len(text) if stop < 0 else stop
    alone = not text[line:start].strip("- \t\"'") and not re.sub(r"#.*", "", text[end:stop]).strip(", \t\"'")
    if alone:
        return Change(line, min(stop + 1, len(text)), "")
    opening = text.rfind("{", line, start)
    closing = text.find("}", end, stop)
    if opening >= 0 and closing >= 0 and not text[opening + 1 : start].strip("\"' "):
        after = re.match(r"[ \t]*,[ \t]*", text[closing + 1 :])
        return Change(opening, closing + 1 + (after.end() if after else 0), "")
    after = re.match(r"[ \t]*,[ \t]*", text[end:])
    return Change(start, end + (after.end() if after else 0), "")


def _quoted(value: str) -> str:
    return value if re.fullmatch(r"[\w./:,@%+-]+", value) else "'" + value.replace("'", "'\\''") + "'"
