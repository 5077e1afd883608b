"""The options of `docker run` and `docker exec`: where the image stands, and what they set inside."""

from __future__ import annotations

import re
from typing import Final

from mlacheck.frozen import frozen
from mlacheck.launch.command import ELIDED

# Options with a value.
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
class Container:
    """The options of a `docker run`: index of the image (None if absent), environment, entry point, GPUs."""

    image_at: int | None
    env: tuple[
        tuple[str, int, str | None], ...
    ]  # name, index of the word, its value (None: taken from outside)
    files: tuple[int, ...]  # indexes of the values of --env-file
    entrypoint: str | None
    gpus: int | None  # index of the value of --gpus


def container_options(words: list[str], start: int) -> Container:
    """Read the options from `start`, the word after `run` or `exec`, up to the image or container name."""
    env: list[tuple[str, int, str | None]] = []
    files: list[int] = []
    entrypoint: str | None = None
    gpus: int | None = None
    at = start
    while at < len(words):
        word = words[at]
        if word in ELIDED:
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
        elif flag == "--gpus":
            gpus = where
    return Container(at if at < len(words) else None, tuple(env), tuple(files), entrypoint, gpus)


def gpu_count(given: str) -> int | None:
    """Count what a `--gpus` word gives a container; None for all of them, and where it does not say."""
    value = given.removeprefix("--gpus=")
    # Comma-separated fields; one in quotes holds commas of its own.
    listed = re.search(r'"device=([^"]*)"', value)
    if listed is not None:
        return len([one for one in listed[1].split(",") if one]) or None
    fields = [one.partition("=") for one in value.split(",")]
    numbers = [
        text if key == "count" else key for key, equals, text in fields if key == "count" or not equals
    ]
    if any(key == "device" and text != "all" for key, _, text in fields):
        return None if numbers else 1
    if len(numbers) == 1 and numbers[0].isdecimal() and 0 < int(numbers[0]) < 10_000:
        return int(numbers[0])
    return None


def _separate(word: str) -> tuple[str, str, bool]:
    """Split a docker option without `=` into flag, glued value, and whether the flag takes a value."""
    if word.startswith("--"):
        return word, "", word in _DOCKER_VALUES
    for at in range(1, len(word)):  # a cluster such as -itv /a:/b or -eK=V
        flag = "-" + word[at]
        if flag in _DOCKER_VALUES:
            return flag, word[at + 1 :].removeprefix("="), True
    return word, "", False
