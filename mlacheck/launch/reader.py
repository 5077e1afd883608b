"""Read launch commands out of shell text, statement by statement, keeping track of the variables it sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mlacheck.frozen import replace
from mlacheck.launch.command import LaunchCommand, LaunchProblem, Source, Word, Wrapper
from mlacheck.launch.finder import Environment, Hit, find
from mlacheck.launch.frame import DASHES, Frame, Line, is_flag
from mlacheck.launch.lexer import LexError, Origin, tokenize
from mlacheck.launch.programs import POSITIONAL_MODEL, Module
from mlacheck.launch.script import Script
from mlacheck.launch.statement import group

if TYPE_CHECKING:
    from mlacheck.launch.expansion import Field

_DEEPEST: Final = 4  # strings inside strings
_LOOK_ALIKES: Final = "\u00a0\u200b\u2028\ufeff\u201c\u201d\u2018\u2019"
_CHOOSE_LLM: Final = frozenset({"auto", "llm"})


class Reader:
    """Collects the commands and problems of one text."""

    def __init__(self, default_engine: str, file: str | None) -> None:
        self.default_engine, self.file = default_engine, file
        self.commands: list[LaunchCommand] = []
        self.problems: list[LaunchProblem] = []
        self.seen: Field | None = None  # the first word that is not a launch, for the message
        self.seen_at = (1, 1)

    def problem(self, kind: str, message: str, hint: str, at: tuple[int, int], level: str = "error") -> None:
        """Record a problem."""
        self.problems.append(LaunchProblem(kind, message, hint, *at, level=level))

    def text(self, text: str, frame: Frame) -> None:
        """Read all statements of a text."""
        try:
            statements = group(tokenize(text))
        except LexError as error:
            what = "quote" if error.kind == "unbalanced-quote" else "expansion"
            self.problem(
                error.kind,
                f"the {what} opened by {error.opened} is never closed",
                f"close the {what}, or put a backslash before the character if it is meant literally",
                frame.origin.place(error.offset),
            )
            return
        Script(self, text, frame).run(statements)

    def line(self, line: Line, env: Environment, frame: Frame) -> bool:
        """Look for a launch in one simple command; tell whether it was one (or nearly)."""
        before = len(self.problems)
        for name, assigned in line.assignments:
            env.put(name, assigned.text, assigned.unknown)
        start = line.assignments[0][1].start if line.assignments else line.fields[0].start
        place = frame.origin.place(start)
        source = frame.source or Source(self.file, *place)
        hit = find(line.fields, env)
        if hit is None:
            flags = line.fields
            if frame.wrappers or not is_flag(flags[0].text):
                if self.seen is None:
                    self.seen, self.seen_at = flags[0], frame.origin.place(flags[0].start)
                return False
            hit = Hit(module=Module(self.default_engine, "flags"))
        for index in hit.env_files:
            self.problem(
                "env-file-not-read",
                f"the variables in {line.fields[index].text} are not known",
                "give the ones that matter with --env NAME=VALUE",
                frame.origin.place(line.fields[index].start),
                "info",
            )
        if hit.not_runnable is not None:
            module = line.fields[hit.not_runnable]
            self.problem(
                "not-runnable-module",
                f"python -m {module.text} cannot be run: the package has no __main__",
                f"use `{module.text} serve ...`",
                frame.origin.place(module.start),
            )
            return True
        if hit.string_at is not None:
            found = len(self.commands)
            self._string(line, hit, env, replace(frame, source=source, text=frame.text or line.text))
            return len(self.commands) > found or len(self.problems) > before
        self._command(line, hit, env, frame, source)
        return True

    def _string(self, line: Line, hit: Hit, env: Environment, frame: Frame) -> None:
        script = line.fields[hit.string_at or 0]
        if len(frame.wrappers) >= _DEEPEST:
            self.problem(
                "nested-too-deep",
                f"the command stands in more than {_DEEPEST} strings inside each other",
                "give the innermost command on its own",
                frame.origin.place(script.start),
            )
            return
        raws = [*(f.raw for _, f in line.assignments), *(f.raw for f in line.fields)]
        cut = len(line.assignments) + (hit.string_at or 0)
        wrapper = Wrapper(tuple(raws[:cut]), (*raws[cut + 1 :], *line.suffix), line.setup, script.live)
        self.text(
            script.text,
            Frame(
                frame.origin.inner(script.segments),
                (*frame.wrappers, wrapper),
                env.copy(),
                hit.image or frame.image,
                frame.source,
                frame.text,
                script.live_spans,
            ),
        )

    def _command(self, line: Line, hit: Hit, env: Environment, frame: Frame, source: Source) -> None:
        module = hit.module
        if module is None:
            return
        prefix = [f.raw for _, f in line.assignments] + [f.raw for f in line.fields[: hit.argv_at]]
        given = [f for f in line.fields[hit.argv_at :] if not (f.text == "..." and module.entry == "flags")]
        words = [_word(f, frame.origin) for f in given]
        for word in words:
            self._pasted(word)
        if module.entry == "sglang serve":
            kept = self._server_type(words, prefix)
            if kept is None:
                return
            words = kept
        flag = POSITIONAL_MODEL.get(module.entry)
        # `$X` alone may be the model or more flags: it is the model when no flag names one.
        named = any(word.text.partition("=")[0] in ("--model-path", "--model") for word in words)
        if flag and words and not words[0].text.startswith("-") and not (words[0].splits and named):
            words.insert(0, Word(flag, words[0].line, words[0].column, implied=True))
        self.commands.append(
            LaunchCommand(
                engine=module.engine,
                entry=module.entry,
                words=tuple(words),
                prefix=tuple(prefix),
                env=env.values,
                unknown_env=env.unknown,
                image=hit.image or frame.image,
                text=frame.text or line.text,
                source=source,
                suffix=line.suffix,
                setup=line.setup,
                wrappers=frame.wrappers,
                image_at=None if hit.image_at is None else hit.image_at + len(line.assignments),
            ),
        )

    def _server_type(self, words: list[Word], prefix: list[str]) -> list[Word] | None:
        """Take out `--model-type`, which belongs to the launcher and not to the engine's arguments."""
        kept: list[Word] = []
        at = 0
        while at < len(words):
            word = words[at]
            kind = None
            if word.text == "--model-type" and at + 1 < len(words):
                kind = words[at + 1]
                prefix.extend((word.text, kind.raw))
                at += 1
            elif word.text.startswith("--model-type="):
                kind = replace(word, text=word.text.partition("=")[2])
                prefix.append(word.raw)
            else:
                kept.append(word)
            if kind is not None and not kind.unknown and kind.text not in _CHOOSE_LLM:
                self.problem(
                    "other-server-type",
                    f"--model-type {kind.text} starts another server than the LLM engine",
                    "nothing to check here; leave --model-type out for an LLM",
                    (kind.line, kind.column),
                    "info",
                )
                return None
            at += 1
        return kept

    def _pasted(self, word: Word) -> None:
        """Name what a copy through a web page or editor does to a command."""
        place = (word.line, word.column)
        if word.raw.startswith(("\\ ", "\\\t")):
            self.problem(
                "broken-continuation",
                "a blank follows the backslash: the command ends on this line and gets a blank as argument",
                "remove everything after the backslash",
                place,
            )
        elif word.text.startswith(DASHES):
            self.problem(
                "look-alike",
                f"{word.text} starts with U+{ord(word.text[0]):04X}, which is no hyphen",
                "type the flag with `--`",
                place,
            )
        elif odd := next((char for char in word.raw if char in _LOOK_ALIKES), None):
            self.problem(
                "look-alike",
                f"{word.text!r} contains U+{ord(odd):04X}, which a shell takes as a letter",
                "type a plain blank or quote instead",
                place,
                "warning",
            )


def _word(given: Field, origin: Origin) -> Word:
    place = origin.place(given.start)
    start, end = origin.span(given.start, given.start + len(given.raw))
    if origin.spelled(start, end) != given.raw:
        start = end = -1
    return Word(given.text, *place, given.unknown, given.splits, given.raw, start=start, end=end)
