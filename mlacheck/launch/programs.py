"""Programs that a launch line may start with: how to see through them to the engine's own words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mlacheck.frozen import frozen

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
        "xargs",
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
MENTIONS: Final = ("sglang", "vllm")
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
    *("sglang", "vllm", "bash", "sh", "{", "(", *RUNNERS),
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


_DOCKER_VALUES: Final = frozenset(
    {
        "-a",
        "--attach",
        "--add-host",
        "--annotation",
        "--blkio-weight",
        "--blkio-weight-device",
        "--cap-add",
        "--cap-drop",
        "--cgroup-parent",
        "--cgroupns",
        "--cidfile",
        "--cpu-count",
        "--cpu-percent",
        "--cpu-period",
        "--cpu-quota",
        "--cpu-rt-period",
        "--cpu-rt-runtime",
        "-c",
        "--cpu-shares",
        "--cpus",
        "--cpuset-cpus",
        "--cpuset-mems",
        "--detach-keys",
        "--device",
        "--device-cgroup-rule",
        "--device-read-bps",
        "--device-read-iops",
        "--device-write-bps",
        "--device-write-iops",
        "--dns",
        "--dns-opt",
        "--dns-option",
        "--dns-search",
        "--domainname",
        "--entrypoint",
        "-e",
        "--env",
        "--env-file",
        "--expose",
        "--gpus",
        "--group-add",
        "--health-cmd",
        "--health-interval",
        "--health-retries",
        "--health-start-period",
        "--health-start-interval",
        "--health-timeout",
        "-h",
        "--hostname",
        "--io-maxbandwidth",
        "--io-maxiops",
        "--ip",
        "--ip6",
        "--ipc",
        "--isolation",
        "--kernel-memory",
        "-l",
        "--label",
        "--label-file",
        "--link",
        "--link-local-ip",
        "--log-driver",
        "--log-opt",
        "--mac-address",
        "-m",
        "--memory",
        "--memory-reservation",
        "--memory-swap",
        "--memory-swappiness",
        "--mount",
        "--name",
        "--net",
        "--net-alias",
        "--network",
        "--network-alias",
        "--oom-score-adj",
        "--pid",
        "--pids-limit",
        "--platform",
        "-p",
        "--publish",
        "--pull",
        "--restart",
        "--runtime",
        "--security-opt",
        "--shm-size",
        "--stop-signal",
        "--stop-timeout",
        "--storage-opt",
        "--sysctl",
        "--tmpfs",
        "--ulimit",
        "-u",
        "--user",
        "--userns",
        "--uts",
        "-v",
        "--volume",
        "--volume-driver",
        "--volumes-from",
        "-w",
        "--workdir",
    }
)


@frozen
class Module:
    """An entry point: the engine whose arguments follow it, and its name in reports."""

    engine: str
    entry: str


MODULES: Final = {
    "sglang.launch_server": Module("sglang", "sglang.launch_server"),
    "dynamo.sglang": Module("sglang", "dynamo.sglang"),
    "vllm.entrypoints.openai.api_server": Module("vllm", "vllm.entrypoints.openai.api_server"),
    "dynamo.vllm": Module("vllm", "dynamo.vllm"),
}
# The same entry points by the path of their file.
SCRIPTS: Final = {
    "sglang/launch_server.py": "sglang.launch_server",
    "vllm/entrypoints/openai/api_server.py": "vllm.entrypoints.openai.api_server",
}
# `PROGRAM serve`, also as `python -m MODULE serve`.
SERVERS: Final = {
    "sglang": Module("sglang", "sglang serve"),
    "vllm": Module("vllm", "vllm serve"),
    "vllm.entrypoints.cli.main": Module("vllm", "vllm serve"),
}
POSITIONAL_MODEL: Final = {"sglang serve": "--model-path", "vllm serve": "--model"}
# Images whose own entry point is a server: only its arguments follow the image.
SERVER_IMAGES: Final = {"vllm/vllm-openai": Module("vllm", "vllm serve")}


def image_module(repository: str) -> Module | None:
    """Give the server that an image runs when it gets only flags, by the image's name."""
    name = basename(repository)
    if "sglang" in name:
        return MODULES["sglang.launch_server"]
    return Module("vllm", "vllm serve") if "vllm" in name else None


@frozen
class Container:
    """The options of a `docker run`: index of the image (None when absent), environment, entry point."""

    image_at: int | None
    env: tuple[
        tuple[str, int, str | None], ...
    ]  # name, index of the word, its value (None: taken from outside)
    files: tuple[int, ...]  # indexes of the values of --env-file
    entrypoint: str | None


def basename(word: str) -> str:
    """Give the last component of a path."""
    return word.rsplit("/", 1)[-1]


def container_options(words: list[str], start: int) -> Container:
    """Read the options from `start`, the word after `run` or `exec`, up to the image or container name."""
    env: list[tuple[str, int, str | None]] = []
    files: list[int] = []
    entrypoint: str | None = None
    at = start
    while at < len(words):
        word = words[at]
        if word == "...":  # an elision in a report
            at += 1
            continue
        if not word.startswith("-") or word == "-":
            break
        if word == "--":
            at += 1
            break
        flag, equals, value = word.partition("=")
        where = at
        at += 1
        if not equals or not flag.startswith("--"):
            flag, value, takes = _separate(word)
            if takes and not value and at < len(words):
                value, where = words[at], at
                at += 1
        if flag in ("-e", "--env") and value:
            name, assigned, text = value.partition("=")
            env.append((name, where, text if assigned else None))
        elif flag == "--env-file":
            files.append(where)
        elif flag == "--entrypoint":
            entrypoint = value
    return Container(at if at < len(words) else None, tuple(env), tuple(files), entrypoint)


def _separate(word: str) -> tuple[str, str, bool]:
    """Split a docker option without `=` into flag, glued value, and whether the flag takes a value."""
    if word.startswith("--"):
        return word, "", word in _DOCKER_VALUES
    for at in range(1, len(word)):  # a cluster such as -itv /a:/b or -eK=V
        flag = "-" + word[at]
        if flag in _DOCKER_VALUES:
            return flag, word[at + 1 :].removeprefix("="), True
    return word, "", False
