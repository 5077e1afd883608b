"""From one simple command to the launch of an engine, or to the string that holds one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mlacheck.frozen import replace
from mlacheck.launch.collection import Collection
from mlacheck.launch.command import ELIDED, LaunchCommand, Source, Word, Wrapper
from mlacheck.launch.fan import fanned
from mlacheck.launch.finder import Environment, Hit, find
from mlacheck.launch.frame import Frame, Line, Surroundings, is_flag
from mlacheck.launch.piece import Field, Lines, Piece, Pieces, again, joined
from mlacheck.launch.programs import (
    MENTIONS,
    MODULES,
    POSITIONAL_MODEL,
    SERVER_KINDS,
    Module,
    basename,
    starts_program,
    with_model_flag,
)
from mlacheck.launch.quoting import quote
from mlacheck.pattern import lazy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlacheck.launch.shell.state import State
    from mlacheck.launch.shell.world import Value

_SHOWN: Final = 3  # words that name a program and what it is to do
_TYPED: Final = lazy(r"(?:\\(?:n|r|015)|\^M)$")
_DEEPEST: Final = 4  # strings inside strings
_ASKS_ONLY: Final = frozenset({"-h", "--help", "--version", "-v"})


class Recognizer(Collection):
    """Looks for launches in simple commands."""

    def __init__(self, default_engine: str, file: str | None, lines: Lines, *, whole: bool) -> None:
        super().__init__(file, lines)
        self.default_engine = default_engine
        self.whole = whole  # the text is a command, so flags alone are one too
        self.seen: Field | None = None  # the first word that is not a launch, for the message
        self.seen_words: tuple[str, ...] = ()  # that word and those after it
        self.job: set[str] = set()  # variables that a scheduler sets; no server reads them
        self.consumed: set[str] = set()  # variables that were read by a command that launches nothing

    def parse(self, pieces: Pieces, frame: Frame, state: State | None) -> None:
        """Read a text with a parser; the reader of texts does it."""
        raise NotImplementedError

    def env_file(self, field: Field, *, quotes: bool) -> dict[str, str | None] | None:
        """Read a file of variables; the reader of texts does it."""
        raise NotImplementedError

    def code(self, pieces: Sequence[Piece], frame: Frame) -> None:
        """Read a string of Python; the reader of texts does it."""
        raise NotImplementedError

    def mentions(self, text: str) -> bool:
        """Tell whether a text may hold a launch command."""
        return any(mark in text for mark in MENTIONS)

    def finds(self, line: Line) -> bool:
        """Tell whether a line has an entry point."""
        return find(line.fields, Environment()) is not None

    def line(self, line: Line, env: Environment, state: State | None, frame: Frame) -> bool:
        """Look for a launch in one simple command; tell whether it was one (or nearly)."""
        before = len(self.problems)
        for name, assigned in line.assignments:
            env.put(name, assigned.text, assigned.unknown)
        first = line.assignments[0][1] if line.assignments else line.fields[0]
        source = frame.source or self.source(first.place)
        line.fields, more = fanned(line.fields)
        hit = find(line.fields, env)
        if hit is None:
            if frame.guess:
                return False
            flags = line.fields
            elided = flags[0].text in ELIDED and len(flags) > 1
            if frame.wrappers or not self.whole or not is_flag(flags[elided].text):
                if self.seen is None:
                    self.seen, self.seen_words = flags[0], tuple(field.text for field in flags[:_SHOWN])
                self.consumed.update(name for field in flags for name in field.via)
                return False
            hit = Hit(module=Module(self.default_engine, "flags"))
        if frame.guess and (hit.not_runnable is not None or not plain_launch(line, hit)):
            return False
        named = {*env.values, *env.unknown}  # `-e` counts more than a file
        for index in hit.env_files:
            for name, value in (self.env_file(line.fields[index], quotes=False) or {}).items():
                if name not in named:
                    env.put(name, value or "", () if value is not None else (name,))
        if hit.not_runnable is not None:
            module = line.fields[hit.not_runnable]
            why, instead = "the package has no __main__", f"{module.text} serve"
            if module.text in MODULES:
                why, instead = "-m is missing before the module", f"python -m {module.text}"
            said = " ".join(field.text for field in line.fields[: hit.not_runnable + 1])
            self.problem(
                "not-runnable-module", f"{said} cannot be run: {why}", f"use `{instead} ...`", module.place
            )
            return True
        if hit.code_at is not None:
            self.code(line.fields[hit.code_at].pieces, frame)
            return False
        if hit.string_at is not None:
            found = len(self.commands)
            inner = replace(frame, source=source, text=frame.text or line.text)
            self._string(line, hit, env, state, inner)
            if len(self.commands) == found and len(self.problems) == before and not frame.guess:
                self._cut_off(line.fields[hit.string_at :])
            return len(self.commands) > found or len(self.problems) > before
        if more:
            hit.open_end = f"what {more} adds"
        self._command(line, hit, env, state, frame, source)
        return True

    def _string(self, line: Line, hit: Hit, env: Environment, state: State | None, frame: Frame) -> None:
        start = hit.string_at or 0
        script = line.fields[start]
        rest = line.fields[start + 1 :]
        if hit.joined and rest:
            script, rest = script._replace(pieces=joined(line.fields[start:])), []
        if len(frame.wrappers) >= _DEEPEST:
            self.problem(
                "nested-too-deep",
                f"the command stands in more than {_DEEPEST} strings inside each other",
                "give the innermost command on its own",
                script.place,
            )
            return
        prefix = [
            *(f.raw for _, f in line.assignments),
            *(f.raw or quote(f.text) for f in line.fields[:start]),
        ]
        suffix = (*(f.raw or quote(f.text) for f in rest), *line.suffix)
        wrapper = Wrapper(tuple(prefix), suffix, line.setup, script.live)
        inner = replace(
            frame,
            wrappers=(*frame.wrappers, wrapper),
            image=hit.image or frame.image,
            around=_within(frame, hit),
            guess=frame.guess or hit.guess,
        )
        pieces = again(script.pieces)
        if basename(line.fields[0].text) == "screen" and (typed := _TYPED.search(script.text)):
            pieces = Pieces(pieces).cut(0, typed.start())  # `stuff "COMMAND\\n"`: the key that ends it
        if hit.string_from:
            pieces = Pieces(pieces).cut(hit.string_from, len(Pieces(pieces).text))
        if hit.guess and not self.mentions(script.text):
            self.consumed.update(script.via)
            return
        self.parse(Pieces(pieces), inner, self._inherited(env, state))

    def _cut_off(self, fields: list[Field]) -> None:
        """Tell of a command of which a shell gets the first word alone."""
        first = fields[0].text
        if not any(blank in first for blank in " \t\n") and find(fields, Environment()) is not None:
            self.problem(
                "unquoted-string",
                f"the shell runs {first} alone: the words after it are no part of the command",
                "put quotes around the whole command; ssh takes one pair off, so it needs two",
                fields[0].place,
            )

    def _inherited(self, env: Environment, state: State | None) -> State:
        """Give the state of a shell that is started with an environment."""
        from mlacheck.launch.shell.state import State as Fresh  # the parser is for texts that need one
        from mlacheck.launch.shell.world import Option, Value, always  # same

        inner = Fresh()
        if state is not None:
            inner.guard, inner.calls = state.guard, state.calls
        for name, value in env.values.items():
            held = state.variables.get(name) if state is not None else None
            same = held is not None and len(held) == 1 and held[0].value is not None
            inner.variables[name] = (
                held
                if same and held is not None and _text(held[0].value) == value
                else always(Value((Piece(value),) if value else ()))
            )
        for name, unknown in env.unknown.items():
            held = state.variables.get(name) if state is not None else None
            inner.variables[name] = (
                held
                if held is not None and len(held) > 1
                else (Option(frozenset(), Value((Piece("${" + name + "}", names=unknown),))),)
            )
        inner.exported = {*env.values, *env.unknown}
        return inner

    def _command(
        self, line: Line, hit: Hit, env: Environment, state: State | None, frame: Frame, source: Source
    ) -> None:
        module = hit.module
        if module is None:
            return
        fields = line.fields
        prefix = [f.raw for _, f in line.assignments] + [
            f.raw or quote(f.text) for f in fields[: hit.argv_at]
        ]
        given = [f for f in fields[hit.argv_at :] if not (f.text in ELIDED and module.entry == "flags")]
        words = [self._word(f) for f in given]
        if self.whole or frame.guess:  # what people read leaves words out
            words = [
                replace(one, unknown=(one.text,), splits=True) if one.raw in ELIDED else one for one in words
            ]
        if any(word.text.partition("=")[0] in _ASKS_ONLY for word in words) and not self.whole:
            return
        for word in words:
            self.pasted(word)
        kind = SERVER_KINDS.get(module.entry)
        if kind is not None:
            kept = self.server_type(words, prefix, kind["flag"], kind["llm"])
            if kept is None:
                return
            words = kept
        if hit.open_end:
            last = words[-1] if words else Word("", source.line, source.column)
            words.append(Word("...", last.line, last.column, (hit.open_end,), splits=True, implied=True))
        words = with_model_flag(module.entry, words)
        around = _within(frame, hit)
        command = LaunchCommand(
            engine=module.engine,
            entry=module.entry,
            words=tuple(words),
            prefix=tuple(prefix),
            env={name: value for name, value in env.values.items() if name not in self.job},
            unknown_env={name: value for name, value in env.unknown.items() if name not in self.job},
            image=hit.image or frame.image or around.image,
            text=frame.text or line.text,
            source=source,
            suffix=line.suffix,
            setup=line.setup,
            wrappers=frame.wrappers,
            image_at=None if hit.image_at is None else hit.image_at + len(line.assignments),
            start=line.span[0],
            end=line.span[1],
            gpu=around.gpu,
            gpu_count=around.gpu_count,
            nodes=around.nodes,
            label=around.label,
            assumed=tuple(dict.fromkeys(one for field in given for one in field.assumed)),
        )
        self.add(command, state.guard if state is not None else frozenset())

    def _word(self, field: Field) -> Word:
        return Word(
            field.text,
            *self.lines.place(field.place),
            field.unknown,
            field.splits,
            field.raw,
            start=field.start,
            end=field.end,
            via=field.via,
            style=field.style,
            within=field.within,
        )


def _within(frame: Frame, hit: Hit) -> Surroundings:
    """Give what stands around a command, the GPUs of its container or step included."""
    around = frame.around
    if hit.gpu is None and hit.gpu_count is None:
        return around
    count = around.gpu_count if hit.gpu_count is None else hit.gpu_count
    return replace(around, gpu=hit.gpu or around.gpu, gpu_count=count)


def _text(value: Value | None) -> str | None:
    if value is None or value.items is not None or any(piece.names for piece in value.pieces):
        return None
    return "".join(piece.text for piece in value.pieces)


def plain_launch(line: Line, hit: Hit) -> bool:
    """Tell whether a line that may be prose is a launch: programs alone before it, flags after it."""
    if hit.string_at is not None:
        return True
    given = line.fields[hit.argv_at :]
    flags = any(is_flag(field.text) or (field.splits and field.unknown) for field in given)
    entry = hit.module.entry if hit.module is not None else ""
    # `vllm serve ORGANISATION/MODEL` is whole without flags.
    model = len(given) == 1 and entry in POSITIONAL_MODEL and ("/" in given[0].text or given[0].unknown != ())
    return (flags or model) and starts_program(line.fields[: hit.argv_at])
