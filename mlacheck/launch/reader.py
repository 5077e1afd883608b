"""Read launch commands out of shell text: from a simple command to the command of an engine."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mlacheck.frozen import replace
from mlacheck.launch.command import CONFIG
from mlacheck.launch.finder import Environment, Hit, find
from mlacheck.launch.frame import Frame, Line
from mlacheck.launch.piece import Field, Lines, Piece, Pieces, elision
from mlacheck.launch.plain import plain_words
from mlacheck.launch.programs import image_server, misread_by, names_model
from mlacheck.launch.quoting import quote
from mlacheck.launch.recognizer import Recognizer, plain_launch
from mlacheck.launch.slurm import directives

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tree_sitter import Node

    from mlacheck.launch.file.beside import Beside
    from mlacheck.launch.programs import Module
    from mlacheck.launch.shell.script import Script
    from mlacheck.launch.shell.state import State
    from mlacheck.launch.shell.syntax import Syntax
    from mlacheck.launch.shell.world import Guard

_DEEPEST: Final = 4  # texts inside texts
_LONGEST: Final = 1_000_000
_MOST_STATEMENTS: Final = 20_000
_MOST_ALTERNATIVES: Final = 2_000  # of all statements together


class Reader(Recognizer):
    """Collects the commands and problems of one document."""

    def __init__(
        self,
        default_engine: str,
        file: str | None,
        lines: Lines,
        *,
        whole: bool = True,
        env: Mapping[str, str] | None = None,
        readers: Mapping[str, Callable[[Reader, Pieces, Frame], None]] | None = None,
        beside: Beside | None = None,
    ) -> None:
        super().__init__(default_engine, file, lines, whole=whole)
        self.beside = beside  # reads the files that the text names
        own = beside.find(file.rsplit("/", 1)[-1]) if beside is not None and file is not None else None
        self.sourcing: list[str] = [own] if own else []  # files that are being followed
        self._kept: dict[tuple[str, int], Syntax] = {}
        self.env = dict(env or {})  # what the caller's environment is known to hold
        self.readers = dict(readers or {})  # of texts that are generated, by their kind
        self.called: set[tuple[int, int]] = set()
        self._syntaxes: list[Syntax] = []  # kept, so that their ids stay theirs
        self._read: set[tuple[int, int, int]] = set()
        self._functions: list[tuple[Script, Node]] = []
        self._steps = self._worlds = 0
        self._depth = 0

    # Texts.

    def text(self, pieces: Pieces, frame: Frame, state: State | None = None) -> None:
        """Read all statements of a text."""
        end = _end(pieces.text)
        if end < len(pieces.text):
            pieces = Pieces(pieces.cut(0, end))
        if not frame.guess or self.mentions(pieces.text):
            words = plain_words(pieces) if state is None else None
            if words is not None:
                text = pieces.text.strip()
                line = Line([], words, text=text, span=pieces.span(*_trimmed(pieces.text)))
                self.line(line, Environment(), None, frame)
                return
            self.parse(pieces, frame, state)

    def batch(self, pieces: Pieces, frame: Frame, state: State | None = None) -> None:
        """Read a script of its own, which may be a job with directives for its scheduler."""
        if "#SBATCH" in pieces.text:
            from mlacheck.launch.shell.state import State as Fresh  # the parser is for texts that need one
            from mlacheck.launch.shell.world import Value, always  # same

            job = directives(pieces)
            frame = replace(frame, around=job.around)
            state = Fresh(guard=state.guard) if state is not None else Fresh()
            settled = {name: value for name, value in job.variables.items() if name not in self.env}
            state.variables = {name: always(Value(value)) for name, value in settled.items()}
            state.exported = set(settled)
            self.job |= state.exported
        self.text(pieces, frame, state)

    def parse(self, pieces: Pieces, frame: Frame, state: State | None) -> None:
        """Read a text with a parser."""
        from mlacheck.launch.shell.script import Script  # the parser is for texts that need one
        from mlacheck.launch.shell.state import State as Fresh  # same
        from mlacheck.launch.shell.syntax import Syntax  # same

        if len(pieces.text) > _LONGEST:
            self.problem(
                "too-large",
                f"the shell text has {len(pieces.text):,} characters; up to {_LONGEST:,} are read",
                "give the launch command alone",
                pieces.offset(0),
            )
            return
        syntax = Syntax(pieces)
        self._syntaxes.append(syntax)
        problem = syntax.problem()
        if problem is not None and not frame.guess:
            at = pieces.offset(problem.offset)
            # The grammar stumbles over some valid scripts: far from any launch that is no error.
            far = not self.whole and not any(self.mentions(part) for part in syntax.broken())
            level = "info" if far else "error"
            if problem.kind == "shell-syntax":
                self.problem(
                    problem.kind,
                    f"the shell text cannot be read from {problem.opened!r} on",
                    "correct the text; `bash -n FILE` says what is wrong with it",
                    at,
                    level,
                )
            else:
                what = "quote" if problem.kind == "unbalanced-quote" else "expansion"
                self.problem(
                    problem.kind,
                    f"the {what} opened by {problem.opened} is never closed",
                    f"close the {what}, or put a backslash before the character if it is meant literally",
                    at,
                    level,
                )
            if self.whole:
                return
        outermost = self._depth == 0
        self._depth += 1
        script = Script(self, syntax, state or Fresh(), frame)
        script.run()
        if outermost:
            self._uncalled(script)
        self._depth -= 1

    def _uncalled(self, script: Script) -> None:
        """Follow the functions that the text defines and never calls: somebody else does."""
        for owner, node in self._functions:
            body = node.child_by_field_name("body")
            if (id(owner.syntax), node.id) in self.called or body is None:
                continue
            self.called.add((id(owner.syntax), node.id))
            owner.state = script.state.copy()
            owner.state.pass_words(None)
            owner.state.ended = False
            owner.nested = True
            owner.statement(body)
        self._functions.clear()
        self._held(script)

    def _held(self, script: Script) -> None:
        """Read commands that a variable holds and that this text does not run."""
        used = {name for command in self.commands for word in command.words for name in word.via}
        for name, options in script.state.variables.items():
            if name in used or name in self.consumed or not name.isidentifier():
                continue
            for option in options:
                value = option.value
                if value is None:
                    continue
                frame = replace(script.frame, guess=True)
                if value.items is not None:
                    if any(self.mentions(item.text) for item in value.items):
                        self.words(list(value.items), frame)
                elif any(self.mentions(piece.text) for piece in value.pieces):
                    self.text(Pieces(value.pieces), frame)

    def words(
        self,
        fields: list[Field],
        frame: Frame,
        env: Environment | None = None,
        text: str = "",
        *,
        guard: Guard = frozenset(),
    ) -> None:
        """Read an argv that is split already; `guard` are the branches that lead to it."""
        from mlacheck.launch.shell.state import State as Fresh  # few texts have branches

        line = Line([], fields, text=text or " ".join(field.raw or field.text for field in fields))
        self.line(line, env or Environment(), Fresh(guard=guard) if guard else None, frame)

    def script(
        self,
        pieces: Sequence[Piece],
        frame: Frame,
        env: Environment | None = None,
        words: Sequence[Field] = (),
        *,
        guard: Guard = frozenset(),
    ) -> None:
        """Read a string that a shell gets, with its words and its environment."""
        state = self._inherited(env or Environment(), None)
        state.guard = guard
        if words:
            state.pass_words(words)
        self.text(Pieces(pieces), frame, state)

    def argv(self, fields: list[Field]) -> bool:
        """Tell whether words that are split already are a launch."""
        if not any(self.mentions(field.text) for field in fields):
            return False
        hit = find(fields, Environment())
        return hit is not None and not hit.guess and plain_launch(Line([], fields), hit)

    def arguments(
        self, fields: list[Field], frame: Frame, env: Environment, *, sure: bool = True, part: bool = False
    ) -> bool:
        """Read what an image's entry point gets, if that is `sure`; tell whether it is a server.

        In `part` there may be more words than these, where they name no model.
        """
        first = fields[0]
        module = image_server(frame.around.image or "", first.text)
        if module is not None:
            # A file that is named may give the model too.
            named = (names_model(one.text) or one.text.partition("=")[0] == CONFIG for one in fields)
            if part and not any(named):
                fields = [elision("what gives the model", first.place), *fields]
            self.flags(fields, module, frame, env)
        elif sure:
            self.misread(first.text, first.place, frame)
        return module is not None

    def misread(self, program: str, at: int, frame: Frame) -> None:
        """Tell of a program that is given to an image whose entry point is a server."""
        server = misread_by(frame.around.image or "", program)
        if server is not None:
            self.problem(
                "entry-point",
                f"the image starts `{server.entry}` itself, which takes {program} for its model",
                "give the model and the flags alone, or set the entry point too",
                at,
            )

    def program(self, field: Field) -> None:
        """Look at the word that names the program of a list that no shell reads."""
        if any(blank in field.text for blank in " \t\n") and self.mentions(field.text):
            shown = " ".join(field.text.split())
            self.problem(
                "one-word",
                f"a program called {shown[:60]!r} as a whole is started: a list is not split at blanks",
                'write each word as an item of its own, or give the text to a shell: ["bash", "-c", "..."]',
                field.place,
            )

    def flags(
        self,
        fields: list[Field],
        module: Module,
        frame: Frame,
        env: Environment,
        start: int = -1,
        end: int = -1,
    ) -> None:
        """Read flags of an engine that something else starts."""
        if not fields:
            return
        source = self.source(start if start >= 0 else fields[0].place)
        text = " ".join(quote(field.text) for field in fields)
        line = Line([], fields, text=text, span=(start, end))
        self._command(line, Hit(module=module), env, None, frame, source)

    def generated(self, kind: str, pieces: Sequence[Piece], script: Script, *, inherits: bool) -> None:
        """Read a text that a script writes, as the kind of text that it is."""
        text = Pieces(pieces)
        if not self.mentions(text.text) or self._depth > _DEEPEST:
            return
        frame = replace(script.frame, wrappers=(), file_kind=kind)
        if kind == "shell":
            self.batch(text, frame, script.inner_state() if inherits else script.fresh_state())
        else:
            self._inner(text, frame)

    def manifest(self, pieces: Sequence[Piece], frame: Frame) -> None:
        """Read a string that holds a manifest."""
        text = Pieces(pieces)
        if self.mentions(text.text) and self._depth <= _DEEPEST:
            self._inner(text, replace(frame, file_kind="yaml"))

    def _inner(self, text: Pieces, frame: Frame) -> None:
        """Read a text inside another one as its kind of file, if there is a reader for it."""
        if frame.file_kind in self.readers:
            self._depth += 1
            self.readers[frame.file_kind](self, text, frame)
            self._depth -= 1

    def code(self, pieces: Sequence[Piece], frame: Frame) -> None:
        """Read a string of Python."""
        text = Pieces(pieces)
        if "python" in self.readers and self.mentions(text.text) and self._depth <= _DEEPEST:
            self.readers["python"](self, text, replace(frame, wrappers=(), file_kind="python"))

    def kind(self, name: str, text: str) -> str:
        """Tell what a file that a script writes holds."""
        if re.search(r"\.(sh|bash|slurm|sbatch|sub|job)$", name) or re.match(r"#!.*\b(ba|z|k|da)?sh\b", text):
            return "shell"
        if re.search(r"\.ya?ml$", name):
            return "yaml"
        if name.endswith((".service", ".container")):
            return "unit"
        if name.endswith(".py") or re.match(r"#!.*\bpython", text):
            return "python"
        return "shell" if name.startswith("$") or "." not in name.rsplit("/", 1)[-1] else ""

    # What scripts ask.

    def once(self, syntax: Syntax, node: Node) -> bool:
        """Tell whether a node is met for the first time."""
        key = (id(syntax), node.start_byte, node.end_byte)
        if key in self._read:
            return False
        self._read.add(key)
        return True

    def exhausted(self) -> bool:
        """Count statements; too many of them are not followed."""
        self._steps += 1
        if self._steps == _MOST_STATEMENTS:
            self.problem(
                "too-long",
                f"the text has more than {_MOST_STATEMENTS:,} statements to follow; the rest is not read",
                "give the launch command alone",
                0,
            )
        return self._steps >= _MOST_STATEMENTS

    @property
    def most_worlds(self) -> int:
        """Give how many alternatives of a statement are still followed."""
        from mlacheck.launch.shell.world import MOST_WORLDS  # only where a text has branches

        return MOST_WORLDS if self._worlds < _MOST_ALTERNATIVES else 1

    def branched(self, count: int, at: int) -> None:
        """Count alternatives; too many of them in one text are not followed one by one."""
        before, self._worlds = self._worlds, self._worlds + count
        if before < _MOST_ALTERNATIVES <= self._worlds:
            self.problem(
                "many-branches",
                f"the branches up to here have {_MOST_ALTERNATIVES:,} alternatives; after them what differs "
                "between branches is open",
                "settle the variables that matter with --env NAME=VALUE, or check one line with --args",
                at,
                "info",
            )

    def kept(self, path: str, parse: Callable[[], Syntax], at: int) -> Syntax:
        """Give the syntax of a file that scripts read, parsed once for each place that reads it."""
        if (path, at) not in self._kept:
            self._kept[path, at] = parse()
        return self._kept[path, at]

    def env_file(self, field: Field, *, quotes: bool) -> dict[str, str | None] | None:
        """Read a file of variables, or say that it is not read."""
        why = "its name is not settled" if field.unknown else "there is nothing beside the text"
        if self.beside is not None and not field.unknown:
            text, why = self.beside.text(field.text)
            if text is not None:
                from mlacheck.launch.envfile import variables  # few scripts read one

                return variables(text, quotes=quotes)
        self.problem(
            "env-file-not-read",
            f"the variables in {field.text} are not known: {why}",
            "give the ones that matter with --env NAME=VALUE",
            field.place,
            "info",
        )
        return None

    def defined(self, script: Script, node: Node) -> None:
        """Note a function."""
        if self.mentions(script.syntax.source(node)) and self.once(script.syntax, node):
            self._functions.append((script, node))

    def broken(self, script: Script, node: Node) -> None:
        """Read the lines of a text that is not shell as a whole, one by one."""
        syntax = script.syntax
        start, end = syntax.span(node)
        if self.whole or not self.mentions(syntax.text[start:end]) or self._depth > _DEEPEST:
            return
        at = start
        for match in re.finditer(r"(?:[^\\\n]|\\[\s\S])+", syntax.text[start:end]):
            at = start + match.start()
            if self.mentions(match.group()):
                pieces = Pieces(syntax.pieces.cut(at, start + match.end()))
                if plain_words(pieces) is not None or match.end() - match.start() < end - start:
                    self.text(pieces, replace(script.frame, guess=True), script.state.copy())


def _end(text: str) -> int:
    """Give where a text ends without backslashes that continue nothing."""
    end = len(text)
    while (kept := text[:end].rstrip(" \t\n")).endswith("\\") and text[len(kept) : end][:1] in ("", "\n"):
        end = len(kept) - 1
    return end


def _trimmed(text: str) -> tuple[int, int]:
    stripped = text.strip()
    start = text.find(stripped)
    return start, start + len(stripped)
