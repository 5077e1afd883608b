"""Find the engine's entry point in the words of one simple command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mlacheck.frozen import field, record
from mlacheck.launch.programs import (
    CONTAINERS,
    MENTIONS,
    MODULES,
    QUOTES_ONLY,
    RUNNERS,
    RUNS_STRINGS,
    SCRIPTS,
    SERVERS,
    SHELLS,
    Module,
    basename,
    image_server,
    misread_by,
)
from mlacheck.launch.slurm import step
from mlacheck.pattern import lazy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlacheck.launch.container import Container
    from mlacheck.launch.piece import Field

ASSIGNMENT: Final = lazy(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=")
_TRANSPARENT: Final = frozenset({"nohup", "exec", "setsid", "time", "command", "nice", "ionice", "stdbuf"})
# Functions of scripts that tell, wait or end something.
_TELLS: Final = lazy(
    r"(?:log|print|show|echo|wait|check|assert|warn|info|note|die|fail|usage|notify|kill|stop|cleanup)[_-]"
)
# What a JSON value begins with; one that names a model is no command, whatever the model is called.
_JSON: Final = ('{"', '["', "[{")
_RUN: Final = (["run"], ["tool", "run"])
_PODS: Final = frozenset({"kubectl", "oc", "k3s", "microk8s"})
_OPTION: Final = lazy(r"--?[A-Za-z][A-Za-z-]*=")
_PACKAGE: Final = lazy(r"(?:\[[\w,-]*\])?@[\w.+-]+$")
_SSH_VALUES: Final = "BbcDEeFIiJLlmOoPpQRSWw"  # options with a value
_ENV_VALUES: Final = frozenset({"-u", "--unset", "-C", "--chdir"})


@record
class Environment:
    """The variables a command gets: settled values, and names whose value the text leaves open."""

    values: dict[str, str] = field(default_factory=dict)
    unknown: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def put(self, name: str, value: str, unknown: tuple[str, ...] = ()) -> None:
        """Set a variable, to a value that is open when `unknown` names something."""
        self.drop(name)
        if unknown:
            self.unknown[name] = unknown
        else:
            self.values[name] = value

    def drop(self, name: str) -> None:
        """Unset a variable."""
        self.values.pop(name, None)
        self.unknown.pop(name, None)

    def copy(self) -> Environment:
        """Give an independent copy."""
        return Environment(dict(self.values), dict(self.unknown))


@record
class Hit:
    """An entry point and where argv starts, or a string that holds a command, or a module that is none."""

    module: Module | None = None
    argv_at: int = 0
    string_at: int | None = None
    string_from: int = 0  # where in that word the string starts
    joined: bool = False  # the words after that one belong to the string
    guess: bool = False  # the string may be something else than a command
    not_runnable: int | None = None
    image: str | None = None
    image_at: int | None = None
    gpu: str | None = None  # the GPUs that a container or a job's step gets
    gpu_count: int | None = None
    env_files: list[int] = field(default_factory=list)
    open_end: str = ""  # who adds words that the text does not hold
    code_at: int | None = None  # a string of Python


class _Scan:
    def __init__(self, fields: Sequence[Field], env: Environment) -> None:
        self.fields, self.env = fields, env
        self.words = [field.text for field in fields]
        self.hit = Hit()

    def run(self) -> Hit | None:
        at, program, strings = 0, True, False
        while at < len(self.words):
            word = self.words[at]
            name = basename(word)
            assigned = ASSIGNMENT.match(word) if program and at and self.fields[at - 1].unknown else None
            if assigned is not None:
                # After a word that may be nothing or another assignment, this is one; else it is an argument.
                self.env.put(assigned.group(1), "", self.fields[at - 1].unknown)
                at += 1
                continue
            runner = next((one for one in _RUN if self.words[at + 1 : at + 1 + len(one)] == one), None)
            if program and name in RUNNERS and runner is not None:
                at += 1 + len(runner)
                continue
            if program and (name in QUOTES_ONLY or _TELLS.match(name)):
                return None
            if program and name.startswith("python") and "-c" in self.words[at + 1 : at + 4]:
                code = self.words.index("-c", at) + 1
                self.hit.code_at = code if code < len(self.words) else None
                return self.hit if self.hit.code_at else None
            if program and name == "ssh" and (remote := self._remote(at + 1)) is not None:
                self.hit.string_at, self.hit.joined = remote, True
                return self.hit
            if self._entry(at):
                self._step(at)
                return self.hit
            if name in SHELLS:
                script = self._script(at + 1)
                if script is not None:
                    self._step(at)
                    self.hit.string_at = script
                    return self.hit
                if program:
                    return None  # runs a script file
            runs = self._container(at) if name in CONTAINERS else None
            if runs is not None:
                if self._contained(runs):
                    return self.hit
                if runs.image_at is None:
                    return None
                at, program = runs.image_at + 1, True
                continue
            if program and name in _PODS and self.words[at + 1 : at + 2] == ["run"] and "--" in self.words:
                if self._pod(at):
                    return self.hit
                at, program = self.words.index("--") + 1, True
                continue
            if name in ("env", "sudo") and (program or at + 1 < len(self.words)):
                at, program = self._assignments(at + 1), True
                continue
            if word.startswith("--export="):  # srun
                self._export(at)
            if word.startswith("--container-image=") and not self.fields[at].unknown:  # srun with a container
                image = word.partition("=")[2].removeprefix("docker://").replace("#", "/")
                self.hit.image = image if ":" in image else None
            if strings and any(blank in word for blank in " \t\n"):
                self._step(at)
                self.hit.string_at = at
                return self.hit
            strings |= program and name in RUNS_STRINGS
            program = program and (name in _TRANSPARENT or bool(self.fields[at].unknown))
            at += 1
        return self._argument()

    def _argument(self) -> Hit | None:
        """Find a whole command in one word, the argument of a program that is not known."""
        for at, word in enumerate(self.words[1:], 1):
            if word.startswith(_JSON):
                continue
            if (" " in word or "\n" in word) and any(mark in word for mark in MENTIONS):
                match = _OPTION.match(word)
                self._step(at)
                self.hit.string_at, self.hit.guess = at, True
                self.hit.string_from = match.end() if match else 0
                return self.hit
        return None

    def _entry(self, at: int) -> bool:
        word = self.words[at]
        after = self.words[at + 1] if at + 1 < len(self.words) else ""
        module, argv_at = "", at + 2
        if word in ("-m", "--module"):
            module = after
        elif word.startswith("-m") and word[2:] in MODULES:
            module, argv_at = word[2:], at + 1
        if module in MODULES:
            self.hit.module, self.hit.argv_at = MODULES[module], argv_at
            return True
        if word in MODULES:
            before = next((one for one in reversed(self.words[:at]) if not one.startswith("-")), "python")
            if basename(before).startswith("python") and "-m" not in self.words[:at]:
                self.hit.not_runnable = at  # `-m` is missing
                return True
        if at and (script := next((one for one in SCRIPTS if word.endswith(one)), None)):
            self.hit.module, self.hit.argv_at = MODULES[SCRIPTS[script]], at + 1
            return True
        if module in SERVERS and "." in module:
            if self.words[at + 2 : at + 3] == ["serve"]:  # what else it does is no server
                self.hit.module, self.hit.argv_at = SERVERS[module], at + 3
                return True
        elif module in SERVERS:
            self.hit.not_runnable = at + 1
            return True
        # `uvx PROGRAM[EXTRA]@VERSION serve`
        program = _PACKAGE.sub("", basename(word)) if at else basename(word)
        if after == "serve" and "." not in program and program in SERVERS:
            self.hit.module, self.hit.argv_at = SERVERS[program], at + 2
            return True
        return False

    def _script(self, at: int) -> int | None:
        """Give the index of the string after `-c`, or None."""
        while at < len(self.words) and self.words[at].startswith(("-", "+")):
            option = self.words[at]
            at += 1
            if option.startswith("-") and not option.startswith("--") and "c" in option:
                return at if at < len(self.words) else None
            if option in ("-o", "+o", "-O", "+O"):
                at += 1
        return None

    def _remote(self, at: int) -> int | None:
        """Give where the words start that ssh joins, where the shell over there splits one of them."""
        while self.words[at : at + 1] and self.words[at].startswith("-"):
            at += 1 + (self.words[at][-1] in _SSH_VALUES and len(self.words[at]) == 2)
        given = self.words[at + 1 :]
        split = any(blank in word for word in given for blank in " \t\n")
        return at + 1 if split and any(mark in word for word in given for mark in MENTIONS) else None

    def _container(self, at: int) -> Container | None:
        from mlacheck.launch.container import container_options, gpu_count  # few lines start containers

        rest = self.words[at + 1 :]
        for verbs in (["run"], ["exec"], ["container", "run"], ["container", "exec"]):
            if rest[: len(verbs)] == verbs:
                options = container_options(self.words, at + 1 + len(verbs))
                if verbs[-1] == "run" and options.image_at is not None:
                    image = self.fields[options.image_at]
                    self.hit.image = None if image.unknown else image.text
                    self.hit.image_at = options.image_at
                    if options.gpus is not None and not self.fields[options.gpus].unknown:
                        self.hit.gpu_count = gpu_count(self.words[options.gpus])
                return options
        return None

    def _pod(self, at: int) -> bool:
        """Read `kubectl run NAME --image=IMAGE -- FLAGS`; tell whether only flags are given."""
        after = self.words.index("--", at) + 1
        image = None
        for index in range(at, after - 1):
            name, equals, value = self.words[index].partition("=")
            value = value if equals else self.words[index + 1]
            if name == "--image" and not self.fields[index].unknown:
                image = value
            elif name == "--env" and (match := ASSIGNMENT.match(value)):
                self.env.put(match.group(1), value[match.end() :], self.fields[index].unknown)
        self.hit.image = image
        module = image_server(image or "", self.words[after]) if self.words[after : after + 1] else None
        if module is None:
            return False
        self.hit.module, self.hit.argv_at = module, after
        return True

    def _contained(self, options: Container) -> bool:
        """Take over the environment of a container, whose entry point may need no word of its own."""
        # A container starts from the image's own environment, not from the caller's.
        outside, inside = self.env.copy(), Environment()
        for name, index, value in options.env:
            unknown = self.fields[index].unknown
            if value is not None:
                inside.put(name, value, unknown)
            elif name in outside.values:
                inside.put(name, outside.values[name])
            else:
                inside.put(name, "", outside.unknown.get(name, (name,)))
        self.env.values, self.env.unknown = inside.values, inside.unknown
        self.hit.env_files.extend(options.files)
        if options.image_at is None:
            return False
        after = options.image_at + 1
        if options.entrypoint is None:
            first = self.words[after] if self.words[after : after + 1] else ""
            module = image_server(self.hit.image or "", first) or misread_by(self.hit.image or "", first)
            if module is not None:
                self.hit.module, self.hit.argv_at = module, after
            return module is not None
        name = basename(options.entrypoint)
        if name in SHELLS:
            self.hit.string_at = self._script(after)
            return self.hit.string_at is not None
        if name in SERVERS and self.words[after : after + 1] == ["serve"]:
            self.hit.module, self.hit.argv_at = SERVERS[name], after + 1
            return True
        return False

    def _assignments(self, at: int) -> int:
        """Read the options and NAME=VALUE words of `env` or `sudo`."""
        while at < len(self.words):
            word = self.words[at]
            match = ASSIGNMENT.match(word)
            if match:
                self.env.put(match.group(1), word[match.end() :], self.fields[at].unknown)
            elif word in ("-i", "-", "--ignore-environment"):
                self.env.values.clear()
                self.env.unknown.clear()
            elif word in _ENV_VALUES and at + 1 < len(self.words):
                at += 1
                self.env.drop(self.words[at])
            elif word.startswith("--unset="):
                self.env.drop(word.partition("=")[2])
            elif not word.startswith("-") or word == "-m" or word.startswith("-m"):
                break
            at += 1
        return at

    def _step(self, at: int) -> None:
        """Take over what a scheduler's program gives the command at `at`, or the shell that runs it."""
        given = step(self.words[:at])
        if given is None:
            return
        self.hit.gpu, self.hit.gpu_count = given.gpu or self.hit.gpu, given.gpu_count or self.hit.gpu_count
        for name in given.reset:
            if name in self.env.values:
                self.env.put(name, "", (name,))

    def _export(self, at: int) -> None:
        for item in self.words[at].partition("=")[2].split(","):
            match = ASSIGNMENT.match(item)
            if match:
                self.env.put(match.group(1), item[match.end() :], self.fields[at].unknown)


def find(fields: Sequence[Field], env: Environment) -> Hit | None:
    """Find the launch in one simple command; `env` is brought up to what the engine would get."""
    return _Scan(fields, env).run()
