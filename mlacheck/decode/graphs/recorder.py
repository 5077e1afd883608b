"""Capture and replay with `torch.cuda.CUDAGraph`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import torch

from mlacheck.decode.backend import Decoded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mlacheck.decode.graphs import Staged
    from mlacheck.decode.pages import Shard

_WARM = 2


T = TypeVar("T")


class Recorder(Protocol[T]):
    """Records launches and plays them again."""

    def capture(self, launch: Callable[[], T]) -> None:
        """Record what a launch puts on the GPU."""

    def replay(self) -> T:
        """Play it again; gives the tensors that the recorded launch wrote."""


class CudaRecorder(Generic[T]):
    """One CUDA graph."""

    def __init__(self) -> None:
        self._graph = torch.cuda.CUDAGraph()
        self._result: T | None = None

    def capture(self, launch: Callable[[], T]) -> None:
        """Warm up on a stream of its own, then record."""
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]  # torch's own
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(_WARM):
                launch()
        torch.cuda.current_stream().wait_stream(stream)
        torch.cuda.synchronize()
        with torch.cuda.graph(self._graph):
            self._result = launch()

    def replay(self) -> T:
        """Play it again."""
        if self._result is None:
            raise RuntimeError("nothing was captured")
        self._graph.replay()
        return self._result


def replayed(staged: Staged, shards: Sequence[Shard], recorder: Recorder[Decoded]) -> Iterator[Decoded]:
    """Capture with the first shard, then give what replays make of each other one."""
    staged.stage(shards[0])
    recorder.capture(staged.launch)
    for shard in shards[1:]:
        staged.stage(shard)
        result = recorder.replay()
        lse = None if result.lse is None else result.lse.clone()
        yield Decoded(result.out.clone(), lse, result.lse_base)
