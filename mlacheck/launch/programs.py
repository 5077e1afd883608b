"""Programs that a launch line may start with: how to see through them to the engine's own words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mlacheck.frozen import frozen, replace
from mlacheck.launch.command import ELIDED, Word
from mlacheck.probes.engine import ENGINES, entry_points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlacheck.launch.piece import Field

SHELLS: Final = frozenset({"bash", "sh", "dash", "zsh", "ksh", "ash"})
CONTAINERS: Final = frozenset({"docker", "podman", "nerdctl"})
# Their arguments are themselves a command line: one string, or the rest of the words.
RUNS_STRINGS: Final = frozenset({"eval", "ssh", "tmux", "screen", "su", "pdsh", "watch", "script"})
# They name a launch command without running it.
QUOTES_ONLY: Final = frozenset(
    {
        "echo",
        "printf",
        "grep",
        "egrep",
        "rg",
        "pgrep",
        "pkill",
        "kill",
        "killall",
        "ps",
        "cat",
        "less",
        "man",
        "which",
        "type",
        "help",
        "git",
        "pip",
        "pip3",
        "uv",
        "conda",
        "apt",
        "apt-get",
        "curl",
        "wget",
        "sed",
        "awk",
        "test",
        "[",
        "[[",
        "read",
        "local",
        "alias",
        "trap",
        "source",
        ".",
        "cd",
        "set",
        "sleep",
        "wait",
        "log",
        "log_info",
        "info",
        "warn",
        "error",
        "err",
        "die",
        "fail",
        "usage",
        "print",
        "msg",
        "say",
        "note",
        "debug",
        "logger",
        "tee",
        "notify-send",
        "wall",
        "help2man",
        "apk",
        "yum",
        "dnf",
        "brew",
        "poetry",
        "pipenv",
        "pixi",
        "micromamba",
        "mamba",
    }
)
# `PROGRAM run COMMAND...`; everything else that they do launches nothing.
RUNNERS: Final = frozenset(
    {"uv", "conda", "poetry", "pipenv", "pixi", "micromamba", "mamba", "pdm", "hatch", "rye"}
)
# A text without any of these holds no launch command.
MENTIONS: Final = ENGINES
# Programs that run another one; what stands before an entry point in a text that may be prose.
_LAUNCHERS: Final = {
    *(
        "env",
        "nohup",
        "exec",
        "setsid",
        "time",
        "command",
        "nice",
        "ionice",
        "stdbuf",
        "sudo",
        "timeout",
        "unbuffer",
        "opentelemetry-instrument",
    ),
    *(
        "srun",
        "mpirun",
        "mpiexec",
        "torchrun",
        "numactl",
        "taskset",
        "nsys",
        "ncu",
        "gdb",
        "strace",
        "perf",
        "ray",
    ),
    *("docker", "podman", "nerdctl", "apptainer", "singularity", "kubectl", "ssh", "accelerate", "deepspeed"),
    *(*ENGINES, "bash", "sh", "{", "(", *RUNNERS),
}


def starts_program(fields: Sequence[Field]) -> bool:
    """Tell whether a text that may be prose starts like a command."""
    first = next(
        (
            field
            for field in fields
            if not field.text.partition("=")[0].isidentifier() or "=" not in field.text
        ),
        None,
    )
    if first is None:
        return True
    name = basename(first.text)
    return bool(first.unknown) or name in _LAUNCHERS or name.rstrip("0123456789.") in ("python", "pypy")


@frozen
class Module:
    """An entry point: the engine whose arguments follow it, and its name in reports."""

    engine: str
    entry: str


_KNOWN: Final = {engine: entry_points(engine) for engine in ENGINES}
MODULES: Final = {name: Module(engine, name) for engine, known in _KNOWN.items() for name in known["modules"]}
# The same entry points by the path of their file.
SCRIPTS: Final[dict[str, str]] = {
    path: name for known in _KNOWN.values() for path, name in known["scripts"].items()
}
# `PROGRAM serve`, also as `python -m MODULE serve`.
SERVERS: Final = {
    program: Module(engine, known["serve"]["entry"])
    for engine, known in _KNOWN.items()
    for program in known["serve"]["programs"]
}
POSITIONAL_MODEL: Final[dict[str, str]] = {
    known["serve"]["entry"]: known["serve"]["model"] for known in _KNOWN.values()
}


def names_model(word: str) -> bool:
    """Tell whether a word is a flag that gives the model."""
    return word.partition("=")[0].replace("_", "-") in POSITIONAL_MODEL.values()


def with_model_flag(entry: str, words: list[Word]) -> list[Word]:
    """Put the flag of the model before a model that stands before all flags, where the entry point does."""
    flag = POSITIONAL_MODEL.get(entry)
    # `$X` alone may be the model or more flags: it is the model when no flag names one.
    named = any(names_model(word.text) for word in words)
    if not flag or not words or words[0].text.startswith("-") or (words[0].splits and named):
        return words
    rest = words
    if words[0].splits and words[0].text in ELIDED:  # the model, and more
        rest = [replace(words[0], splits=False), replace(words[0], start=-1, end=-1), *words[1:]]
    return [Word(flag, words[0].line, words[0].column, implied=True), *rest]


# The flag with which a launcher chooses another server, and its values for LLMs.
SERVER_KINDS: Final[dict[str, dict[str, Any]]] = {
    known["serve"]["entry"]: known["serve"]["kind"] for known in _KNOWN.values() if "kind" in known["serve"]
}
# The flags that a launcher reads itself beside the engine's, as far as they are known.
OWN_FLAGS: Final[dict[str, frozenset[str]]] = {
    entry: frozenset(f"--{name}" for name in names)
    for known in _KNOWN.values()
    for entry, names in known.get("own", {}).items()
}
# Images whose own entry point is a server: only its arguments follow the image.
SERVER_IMAGES: Final = {
    image: Module(engine, known["image"]) for engine, known in _KNOWN.items() for image in known["images"]
}


# Words of which a text that starts an engine has one, beside the engine's name.
STARTS: Final = {"serve", *CONTAINERS} | {
    next(part for part in reversed(name.split(".")) if part not in ENGINES) for name in MODULES
}


def image_server(image: str, first: str) -> Module | None:
    """Give the server that an image's own entry point is, with the first of the words that it gets."""
    repository = _repository(image)
    known = server_image(repository)
    if known is not None and not _is_program(first):
        return known
    name = basename(repository)
    engine = next((one for one in ENGINES if one in name), None) if first[:1] == "-" != first else None
    return None if engine is None else Module(engine, _KNOWN[engine]["image"])


def misread_by(image: str, first: str) -> Module | None:
    """Give the server that an image starts where it gets another program, which it takes for its model."""
    return SERVER_IMAGES.get(_repository(image)) if _is_program(first) else None


def server_image(repository: str) -> Module | None:
    """Give the server of an image that is known to start one, a copy in another registry too."""
    ends = (module for name, module in SERVER_IMAGES.items() if f"/{repository}".endswith(f"/{name}"))
    return next(ends, None)


def _repository(image: str) -> str:
    path, slash, name = image.partition("@")[0].rpartition("/")
    return f"{path}{slash}{name.partition(':')[0]}".removeprefix("docker.io/")


def _is_program(word: str) -> bool:
    name = basename(word)
    return (
        name in SHELLS or name in SERVERS or name.startswith("python") or word.startswith(("/bin/", "/usr/"))
    )


def basename(word: str) -> str:
    """Give the last component of a path."""
    return word.rsplit("/", 1)[-1]
