"""Real ranks: processes of one torchrun that decode their shards and merge with collectives.

Rank 0 leads: it runs the contract and tells the others what to decode. Commands and results go over gloo,
the merge over NCCL between GPUs and over gloo between CPUs. When there are more DCP ranks than processes,
each process decodes several of them, one after another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch
import torch.distributed as dist

from mlacheck.decode.backend import Decoded
from mlacheck.decode.exchange import WAYS, Manner
from mlacheck.decode.graphs.recorder import CudaRecorder
from mlacheck.decode.inputs import DTYPES
from mlacheck.decode.layout import local_length
from mlacheck.decode.merge import neutral
from mlacheck.decode.pulse import Pulse
from mlacheck.decode.speed import median_seconds
from mlacheck.decode.trial import TeamLostError, decode_rank, draw_inputs

if TYPE_CHECKING:
    from collections.abc import Callable

    from mlacheck.decode.backend import Backend
    from mlacheck.decode.convention import Convention
    from mlacheck.decode.inputs import Inputs
    from mlacheck.decode.problem import DecodeProblem
    from mlacheck.decode.trial import Setting


_AGAIN: Final = "again"
_OVER: Final = "over"


class Team:
    """The chosen processes; rank 0 calls `decode` and `time`, the others `follow`."""

    def __init__(
        self,
        chosen: tuple[int, ...],
        dcp_size: int,
        backend: Backend,
        device: torch.device,
        on_lost: Callable[[str], None],
        meeting: int,
    ) -> None:
        self._backend = backend
        self._device = device
        self._rank = dist.get_rank()
        # Every process takes part in making a group, also those that will not belong to it.
        self._control = dist.new_group(list(chosen), backend="gloo")
        self._data = dist.new_group(list(chosen), backend="nccl" if device.type == "cuda" else "gloo")
        self.chosen, self.dcp_size = chosen, dcp_size
        self._held = dcp_size // len(chosen)
        watched = [rank for rank in chosen if rank != self._rank] if self._rank == 0 else [0]
        self._pulse = Pulse(self._rank, watched, on_lost, meeting)

    def describe(self) -> str:
        """Say who merges over what."""
        over = "NCCL between GPUs" if self._device.type == "cuda" else "gloo between CPU processes"
        more = f", each with {self._held} DCP ranks" if self._held > 1 else ""
        return f"{len(self.chosen)} processes over {over}{more}"

    def decode(
        self, problem: DecodeProblem, setting: Setting, convention: Convention, inputs: Inputs
    ) -> tuple[list[Decoded], dict[str, torch.Tensor]]:
        """Let every process decode its shards and merge; gives all results, on this process's device."""
        if setting.dcp_size != self.dcp_size:
            return [
                decode_rank(self._backend, problem, setting, inputs, rank) for rank in range(setting.dcp_size)
            ], {}
        self._tell(("decode", problem, setting, convention))
        return self._decode(problem, setting, convention, inputs)

    def time(self, way: str, problem: DecodeProblem, convention: Convention) -> float:
        """Give the median seconds of a merge for the problem's shape, once warm."""
        self._tell(("time", problem, way, convention))
        seconds: float = self._guard(lambda: self._time(way, problem, convention))
        return seconds

    def follow(self) -> bool:
        """Do what rank 0 tells until it says stop; tell whether the processes shall meet again."""
        while True:
            what, problem, how, convention = self._hear()
            if what == "stop":
                return bool(how)
            if what == "time":
                self._time(how, problem, convention)
            else:
                inputs = draw_inputs(problem, how, self._device)
                self._decode(problem, how, convention, inputs)

    def wait(self) -> bool:
        """Do nothing until rank 0 says stop; tell whether the processes shall meet again."""
        return self._pulse.hear() == _AGAIN

    def stop(self, *, again: bool) -> None:
        """Let the others end, to meet once more where a GPU was lost in a row."""
        self._pulse.say(_AGAIN if again else _OVER)
        self._tell(("stop", None, again, None))

    def _tell(self, command: tuple[Any, ...]) -> None:
        self._guard(lambda: dist.broadcast_object_list([command], src=0, group=self._control))

    def _hear(self) -> tuple[Any, ...]:
        box: list[Any] = [None]
        self._guard(lambda: dist.broadcast_object_list(box, src=0, group=self._control))
        heard: tuple[Any, ...] = box[0]
        return heard

    def _decode(
        self, problem: DecodeProblem, setting: Setting, convention: Convention, inputs: Inputs
    ) -> tuple[list[Decoded], dict[str, torch.Tensor]]:
        first = self.chosen.index(self._rank) * self._held
        own: list[Decoded] = []
        failed = None
        try:
            own.extend(
                decode_rank(self._backend, problem, setting, inputs, rank)
                for rank in range(first, first + self._held)
            )
            if self._device.type == "cuda":
                torch.cuda.synchronize()
        except Exception as error:  # noqa: BLE001 - whatever a kernel raises is told to rank 0
            lines = str(error).strip().splitlines()
            failed = f"rank {self._rank}: {type(error).__name__}: {lines[0] if lines else 'no message'}"
        told = self._guard(lambda: self._gather((failed, [item.lse is not None for item in own])))
        if reason := next((text for text, _ in told if text), None):
            if self._rank == 0:
                raise RuntimeError(reason)
            return [], {}
        merged = {}
        if all(all(has_lse) for _, has_lse in told):
            base = convention.lse_base or own[0].lse_base or "e"
            kept = own
            if convention.empty_ranks in {"lengths", "forced"}:
                outputs = convention.empty_ranks == "lengths"
                kept = [
                    _neutral(item, problem, setting, rank, outputs=outputs)
                    for rank, item in enumerate(own, first)
                ]
            merged = self._guard(lambda: self._merge(kept, base, convention))
        cpu = [(item.out.cpu(), None if item.lse is None else item.lse.cpu(), item.lse_base) for item in own]
        found = self._guard(lambda: self._gather((cpu, {way: out.cpu() for way, out in merged.items()})))
        if self._rank != 0:
            return [], {}
        decoded = [
            Decoded(out.to(self._device), None if lse is None else lse.to(self._device), lse_base)
            for part, _ in found
            for out, lse, lse_base in part
        ]
        shape = decoded[0].out.shape
        whole = {
            way: torch.cat([part[way] for _, part in found], 1).view(shape).to(self._device) for way in merged
        }
        return decoded, whole

    def _merge(self, own: list[Decoded], base: str, convention: Convention) -> dict[str, torch.Tensor]:
        outputs = torch.stack([item.out.flatten(0, 1) for item in own])
        lses = torch.stack([item.lse.flatten(0, 1) for item in own if item.lse is not None])
        manner = _manner(convention)
        merged = {way: merge(outputs, lses, base, self._data, manner) for way, merge in WAYS.items()}
        if self._device.type == "cuda":
            torch.cuda.synchronize()
        return merged

    def _time(self, way: str, problem: DecodeProblem, convention: Convention) -> float:
        dtype = torch.bfloat16 if problem.kv_dtype.startswith("fp8") else DTYPES[problem.kv_dtype]
        shape = (self._held, problem.batch * problem.q_len, problem.heads)
        outputs = torch.randn(*shape, problem.latent_dim, dtype=dtype, device=self._device)
        lses = torch.randn(*shape, device=self._device)
        base, manner = convention.lse_base or "e", _manner(convention)

        def merge() -> object:
            return WAYS[way](outputs, lses, base, self._data, manner)

        if self._device.type == "cuda":
            # As engines run it: eager launches would take longer than what they launch.
            recorder: CudaRecorder[object] = CudaRecorder()
            recorder.capture(merge)
            return median_seconds(recorder.replay, self._device)
        return median_seconds(merge, self._device)

    def _gather(self, item: object) -> list[Any]:
        found: list[Any] = [None] * len(self.chosen)
        dist.all_gather_object(found, item, group=self._control)
        return found

    def _guard(self, collective: Callable[[], Any]) -> Any:
        """Run a collective; what it raises means that a process is gone, and which one the pulse tells."""
        try:
            return collective()
        except RuntimeError as error:
            silent = self._pulse.silent()
            who = ", ".join(f"rank {rank}" for rank in silent)
            why = "its own output says why" if who else str(error).splitlines()[0]
            raise TeamLostError(f"{who or 'a rank'} ended in the middle; {why}") from error


def _manner(convention: Convention) -> Manner:
    return Manner(weightless=convention.empty_ranks == "forced", in_float32=convention.sums == "float32")


def _neutral(
    decoded: Decoded, problem: DecodeProblem, setting: Setting, rank: int, *, outputs: bool
) -> Decoded:
    """Clear what a rank gives for requests of which it holds no token, as some engines do first."""
    if decoded.lse is None:
        return decoded
    lengths = [[local_length(n, setting.dcp_size, rank, problem.interleave) for n in setting.lengths]]
    out, lse = neutral(decoded.out.unsqueeze(0), decoded.lse.unsqueeze(0), lengths)
    return Decoded(out[0] if outputs else decoded.out, lse[0], decoded.lse_base)
