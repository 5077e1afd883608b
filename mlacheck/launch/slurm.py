"""What a batch script asks its scheduler for, and the variables that the scheduler sets for it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from mlacheck.launch.frame import Surroundings
from mlacheck.launch.piece import Piece
from mlacheck.pattern import lazy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlacheck.launch.piece import Pieces

Value: TypeAlias = tuple[Piece, ...]

_DIRECTIVE: Final = lazy(r"^#SBATCH[ \t]+([^\r\n#]*)", re.MULTILINE)
_HEAD: Final = lazy(r"(?:[ \t]*(?:#[^\n]*)?(?:\n|\Z))*")
_OPTION: Final = lazy(r"(?<!\S)(--[a-z-]+|-[A-Za-z])(?:[= \t]+|(?=\d))([^\s]+)")
_GPUS: Final = lazy(
    r"(?:gres/)?gpu:(?:([A-Za-z][A-Za-z0-9_.-]*):)?(\d+)|(?:([A-Za-z][A-Za-z0-9_.-]*):)?(\d+)"
)
# Options whose text a variable of the job gets; an option that is not given sets none.
_COPIED: Final = {
    "nodes": ("SLURM_JOB_NUM_NODES", "SLURM_NNODES"),
    "ntasks": ("SLURM_NTASKS", "SLURM_NPROCS"),
    "ntasks-per-node": ("SLURM_NTASKS_PER_NODE",),
    "cpus-per-task": ("SLURM_CPUS_PER_TASK",),
    "gpus": ("SLURM_GPUS",),
    "gpus-per-node": ("SLURM_GPUS_PER_NODE",),
    "gpus-per-task": ("SLURM_GPUS_PER_TASK",),
    "job-name": ("SLURM_JOB_NAME",),
}
_SHORT: Final = {
    "N": "nodes",
    "n": "ntasks",
    "c": "cpus-per-task",
    "G": "gpus",
    "J": "job-name",
    "C": "constraint",
}
_PROGRAMS: Final = frozenset({"srun", "sbatch", "salloc"})
_COUNTS: Final = frozenset({"nodes", "ntasks", "ntasks-per-node", "cpus-per-task"})


class Job(NamedTuple):
    """What a script's directives say of its machine, and the variables that they settle."""

    around: Surroundings
    variables: dict[str, Value]


def directives(text: Pieces) -> Job:
    """Read the `#SBATCH` lines of a script; the scheduler reads them up to the first command."""
    head = _HEAD.match(text.text)
    # The last one of an option counts.
    given = {
        _name(match[1]): tuple(text.cut(line.start(1) + match.start(2), line.start(1) + match.end(2)))
        for line in _DIRECTIVE.finditer(head.group() if head else "")
        for match in _OPTION.finditer(line[1])
    }
    settled = {
        option: value for option, value in given.items() if value and not any(piece.names for piece in value)
    }
    variables: dict[str, Value] = {}
    for option, names in _COPIED.items():
        if option in settled and (option not in _COUNTS or _text(settled, option).isdecimal()):
            variables.update(dict.fromkeys(names, settled[option]))
    nodes, tasks = (_number(settled, option) for option in ("nodes", "ntasks-per-node"))
    if "ntasks" not in given and nodes is not None and tasks is not None:
        total = (Piece(str(nodes * tasks), settled["ntasks-per-node"][0].at),)
        variables |= {"SLURM_NTASKS": total, "SLURM_NPROCS": total}
    # The GPUs of a whole job may be spread over its nodes in any way.
    gpu, count, option = _gpus(
        {name: _text(settled, name) for name in settled if name != "gpus" or nodes == 1}
    )
    if count is not None:
        variables["SLURM_GPUS_ON_NODE"] = (Piece(str(count), settled[option][0].at),)
    kind = _text(settled, "constraint")
    if re.fullmatch(r"[A-Za-z]+[0-9]+[A-Za-z0-9_-]*", kind):
        gpu = gpu or kind
    return Job(Surroundings(gpu=gpu, gpu_count=count, nodes=nodes), variables)


class Step(NamedTuple):
    """What the options before a command give it: GPUs of a node, and variables that are set anew."""

    gpu: str | None
    gpu_count: int | None
    reset: frozenset[str]


def step(words: Sequence[str]) -> Step | None:
    """Read the words before a command, None when no scheduler's program is among them."""
    start = next((at for at, word in enumerate(words) if word.rsplit("/", 1)[-1] in _PROGRAMS), None)
    if start is None:
        return None
    given = {_name(match[1]): match[2] for match in _OPTION.finditer(" ".join(words[start + 1 :]))}
    gpu, count, _ = _gpus({name: text for name, text in given.items() if name != "gpus"})
    names = {name for option in given for name in _COPIED.get(option, ())}
    return Step(gpu, count, frozenset(names - {"SLURM_JOB_NUM_NODES"}))


def _gpus(given: dict[str, str]) -> tuple[str | None, int | None, str]:
    for option in ("gpus-per-node", "gres", "gpus"):
        match = _GPUS.match(given.get(option, ""))
        if match is not None:
            return match[1] or match[3], int(match[2] or match[4]), option
    return None, None, ""


def _name(option: str) -> str:
    return option[2:] if option.startswith("--") else _SHORT.get(option[1:], "")


def _text(given: dict[str, Value], option: str) -> str:
    return "".join(piece.text for piece in given.get(option, ()))


def _number(given: dict[str, Value], option: str) -> int | None:
    text = _text(given, option)
    return int(text) if text.isdecimal() else None
