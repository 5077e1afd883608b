"""Write a launch command again with other arguments or environment variables."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from mlacheck.frozen import frozen, replace
from mlacheck.launch.command import LaunchCommand, Word
from mlacheck.launch.quoting import quote
from mlacheck.pattern import lazy
from mlacheck.ruleset.program import UNSET

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mlacheck.engines import Option

_ENV: Final = "env."
_NUMBER: Final = lazy(r"-\d+(\.\d*)?|-\.\d+")  # what argparse takes for a value though it starts with `-`


@frozen
class Edited:
    """A command after an edit, and the shell line that gives it."""

    command: LaunchCommand
    text: str

    @property
    def words(self) -> tuple[str, ...]:
        """The new argv, for the engine's parser."""
        return self.command.argv


def edit_command(
    command: LaunchCommand,
    edits: Mapping[str, object],
    *,
    spans: Mapping[str, Sequence[tuple[int, int]]],
    options: Mapping[str, Option],
) -> Edited:
    """Apply `{dest: value}` and `{env.NAME: value}`; `spans` has [start, end) of every occurrence by dest.

    A value is replaced where it stands, under the user's spelling of the flag; new flags go to the end.
    """
    slots: list[list[Word]] = [
        [word] for word in command.words
    ]  # one a word, so that all spans keep their indexes
    added: list[Word] = []
    for dest, value in edits.items():
        if dest.startswith(_ENV):
            continue
        option = options[dest]
        fresh = [] if value == UNSET or value is None else option_words(option, value)
        found = sorted(spans.get(dest, ()))
        for start, end in found:
            slots[start:end] = [[] for _ in range(start, end)]
        if found and fresh:
            start, end = found[-1]  # the last one counts for the engine
            slots[start] = _in_place(command.words[start:end], option, fresh)
        else:
            added.extend(Word(text) for text in fresh)
    flat = [word for slot in slots for word in slot]
    edited = replace(command, words=(*flat, *added))
    for name, value in edits.items():
        if name.startswith(_ENV):
            edited = _edit_env(edited, name.removeprefix(_ENV), value)
    return Edited(edited, render(edited))


def render(command: LaunchCommand) -> str:
    """Write a command as one shell line, in the user's spelling where that is known."""
    words = [word.raw or quote(word.text) for word in command.words if not word.implied]
    line = _joined(command.setup, command.prefix, words, command.suffix)
    for wrapper in reversed(command.wrappers):
        line = _joined(wrapper.setup, wrapper.prefix, [_string(line, wrapper.live)], wrapper.suffix)
    return line


def _joined(setup: Sequence[Sequence[str]], *groups: Sequence[str]) -> str:
    before = [" ".join(words) if words[-1] != ";" else " ".join(words[:-1]) + ";" for words in setup]
    return " ".join([*before, *(word for words in groups for word in words)])


def _string(line: str, live: Sequence[str]) -> str:
    """Quote the string of `bash -c`, in which the outer shell still has to make the `live` expansions."""
    if not live:
        return quote(line)
    pieces = re.split(
        "(" + "|".join(re.escape(text) for text in sorted(live, key=len, reverse=True)) + ")", line
    )
    escaped = (piece if at % 2 else re.sub(r'([\\"$`])', r"\\\1", piece) for at, piece in enumerate(pieces))
    return f'"{"".join(escaped)}"'


def option_words(option: Option, value: object) -> list[str]:
    """Give the words that set an argument, none when leaving it out does."""
    if option.switch is not None or isinstance(value, bool):
        if value == (True if option.switch is None else option.switch):
            return [option.flag]
        return [option.off] if option.off else []
    if isinstance(value, (list, tuple)):
        return [option.flag, *map(str, value)]
    text = json.dumps(value) if isinstance(value, dict) else str(value)
    if text.startswith("-") and not _NUMBER.fullmatch(text):
        return [f"{option.flag}={text}"]
    return [option.flag, text]


def _in_place(old: Sequence[Word], option: Option, fresh: Sequence[str]) -> list[Word]:
    """Keep the spelling of the flag that is replaced: alias, abbreviation, and `=` or a blank."""
    head = old[0]
    place = replace(head, unknown=(), splits=False, raw="", implied=False)
    spelled, equals, _ = head.text.partition("=")
    long = head.text.startswith("--")
    # A bare switch, or a glued short flag such as -dcp8: written anew.
    if len(fresh) == 1 or (len(old) == 1 and not (long and equals)):
        text = fresh[0]
        if long and "=" in text and option.switch is None:
            text = f"{spelled}={text.partition('=')[2]}"
        return [replace(place, text=text), *(replace(place, text=text) for text in fresh[1:])]
    if long and equals and len(fresh) == 2:
        return [replace(place, text=f"{spelled}={fresh[1]}")]
    flag = replace(place, text=spelled) if equals else head
    rest = old[1:] or (place,)
    values = [
        replace(rest[min(at, len(rest) - 1)], text=text, unknown=(), splits=False, raw="", implied=False)
        for at, text in enumerate(fresh[1:])
    ]
    return [flag, *values]


def _edit_env(command: LaunchCommand, name: str, value: object) -> LaunchCommand:
    """Set or unset a variable where the command sets it already, else in front of it."""
    remove = value == UNSET or value is None
    text = "" if remove else str(value)
    editor = _Variable(name, None if remove else text)
    prefix = editor.words(command.prefix)
    setup = editor.statements(command.setup)
    wrappers = tuple(
        replace(wrapper, prefix=editor.words(wrapper.prefix), setup=editor.statements(wrapper.setup))
        for wrapper in command.wrappers
    )
    image_at = command.image_at
    if image_at is not None:
        image_at += len(prefix) - len(command.prefix)
    env = {key: item for key, item in command.env.items() if key != name}
    unknown_env = {key: item for key, item in command.unknown_env.items() if key != name}
    if not remove:
        env[name] = text
    if not editor.found and not (remove and name not in command.env and name not in command.unknown_env):
        if image_at is not None:
            if not remove:
                prefix = (*prefix[:image_at], "-e", f"{name}={quote(text)}", *prefix[image_at:])
                image_at += 2
        else:
            # sudo drops the caller's environment, so a variable has to come after it.
            at = prefix.index("sudo") + 1 if "sudo" in prefix else 0
            assigned = ("env", "-u", name) if remove else (f"{name}={quote(text)}",)
            prefix = (*prefix[:at], *assigned, *prefix[at:])
    return replace(
        command,
        prefix=prefix,
        setup=setup,
        wrappers=wrappers,
        image_at=image_at,
        env=env,
        unknown_env=unknown_env,
    )


class _Variable:
    """Replaces or removes the assignments to one variable among verbatim words."""

    def __init__(self, name: str, value: str | None) -> None:
        self.name, self.value, self.found = name, value, False
        self._assigned = re.compile(rf"(-e|--env=)?[\"']?{re.escape(name)}=")

    def words(self, words: Sequence[str]) -> tuple[str, ...]:
        kept: list[str] = []
        for word in words:
            if word.startswith("--export="):  # srun
                kept.append(self._listed(word))
                continue
            match = self._assigned.match(word)
            passed = word == self.name and kept[-1:] in (["-e"], ["--env"])
            if self.value is None and word == self.name and kept[:1] == ["export"]:
                continue
            if not match and not passed:
                kept.append(word)
                continue
            self.found = True
            if self.value is not None:
                kept.append(f"{(match.group(1) if match else None) or ''}{self.name}={quote(self.value)}")
            elif kept[-1:] in (["-e"], ["--env"]):
                kept.pop()
        return tuple(kept)

    def _listed(self, word: str) -> str:
        flag, _, text = word.partition("=")
        items = text.split(",")
        at = next((at for at, item in enumerate(items) if item.startswith(f"{self.name}=")), None)
        if at is None:
            return word
        self.found = True
        items[at : at + 1] = [] if self.value is None else [f"{self.name}={quote(self.value)}"]
        return f"{flag}={','.join(items)}"

    def statements(self, statements: Sequence[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
        changed = (self.words(words) for words in statements)
        return tuple(words for words in changed if words[:-1] not in ((), ("export",)))
