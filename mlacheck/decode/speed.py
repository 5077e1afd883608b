"""How long work on a device takes, once warm."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Final

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

_WARM: Final = 5
_TIMED: Final = 30


def median_seconds(run: Callable[[], object], device: torch.device) -> float:
    """Give the median of some runs, each between two events of the GPU, or by the clock on a CPU."""
    for _ in range(_WARM):
        run()
    return statistics.median((_on_gpu if device.type == "cuda" else _on_cpu)(run) for _ in range(_TIMED))


def _on_gpu(run: Callable[[], object]) -> float:
    begin = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]  # torch's own
    end = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]  # same
    begin.record()
    run()
    end.record()
    torch.cuda.synchronize()
    return float(begin.elapsed_time(end)) / 1e3


def _on_cpu(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began
