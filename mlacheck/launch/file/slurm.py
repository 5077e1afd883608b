"""What a batch script asks its scheduler for."""

from __future__ import annotations

import re
from typing import Final

from mlacheck.launch.frame import Surroundings

_DIRECTIVE: Final = re.compile(r"^#SBATCH[ \t]+([^\n#]*)", re.MULTILINE)
_HEAD: Final = re.compile(r"(?:[ \t]*(?:#[^\n]*)?(?:\n|\Z))*")
_OPTION: Final = re.compile(r"(--[a-z-]+|-[A-Za-z])(?:[= \t]+|(?=\d))([^\s]+)")
_GPUS: Final = re.compile(
    r"(?:gres/)?gpu:(?:([A-Za-z][A-Za-z0-9_.-]*):)?(\d+)|(?:([A-Za-z][A-Za-z0-9_.-]*):)?(\d+)"
)


def directives(text: str) -> Surroundings:
    """Read the `#SBATCH` lines of a script."""
    nodes = count = gpu = None
    # The scheduler reads them up to the first command.
    head = _HEAD.match(text)
    for line in _DIRECTIVE.finditer(head.group() if head else ""):
        for option, given in _OPTION.findall(line[1]):
            if option in ("--nodes", "-N") and given.isdigit():
                nodes = int(given)
            elif option in ("--gres", "--gpus-per-node"):
                match = _GPUS.match(given)
                if match:
                    gpu, count = match[1] or match[3], int(match[2] or match[4])
            elif option in ("--constraint", "-C") and re.fullmatch(r"[A-Za-z]+[0-9]+[A-Za-z0-9_-]*", given):
                gpu = gpu or given
    return Surroundings(gpu=gpu, gpu_count=count, nodes=nodes)
