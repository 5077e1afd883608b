"""The child process: reads one JSON request on stdin and writes one JSON line for each event on stdout.

Kernels run here, so that a crash, a hang or a lost GPU ends this process and nothing else.
Progress is told on stderr.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any, TextIO

from mlacheck.decode.ranks import Ranks
from mlacheck.decode.row import FAILS, NOT_RUN, Row

if TYPE_CHECKING:
    import torch

    from mlacheck.decode.problem import DecodeProblem
    from mlacheck.decode.requirements import Gpu

NO_TORCH = "torch is not installed; pip install 'mlacheck[gpu]'"


class Events:
    """Writes events; kernels and compilers that print to stdout end up on stderr instead."""

    def __init__(self) -> None:
        self._out: TextIO = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)

    def send(self, **event: Any) -> None:
        """Write one event."""
        self._out.write(json.dumps(event) + "\n")
        self._out.flush()

    def row(self, row: Row) -> None:
        """Write one finished row."""
        self.send(row=row.to_dict())

    def progress(self, text: str) -> None:
        """Tell a reader of stderr, and the parent, what is going on."""
        sys.stderr.write(f"mlacheck: {text}\n")
        sys.stderr.flush()
        self.send(progress=text)


def main() -> int:
    """Serve one request."""
    events = Events()
    request = json.loads(sys.stdin.read())
    events.progress("importing torch")
    try:
        import torch  # noqa: F401 - only this process may import it
    except ModuleNotFoundError as error:
        if error.name != "torch":
            events.row(Row("runs", FAILS, detail=f"torch does not import: {error}"))
        else:
            events.row(Row("runs", NOT_RUN, detail=NO_TORCH))
        return 0
    except (ImportError, OSError) as error:
        events.row(Row("runs", FAILS, detail=f"torch does not import: {error}"))
        return 0
    _serve(request, events)
    events.send(done=True)
    if request.get("ranks"):
        os._exit(0)  # process groups that lost a member do not close
    return 0


def _serve(request: dict[str, Any], events: Events) -> None:
    from mlacheck.decode.backend import load_backend
    from mlacheck.decode.cause import forbid_downloads
    from mlacheck.decode.check import Contract, LostError
    from mlacheck.decode.contract import row_names
    from mlacheck.decode.convention import Convention
    from mlacheck.decode.environment import environment
    from mlacheck.decode.problem import DecodeProblem
    from mlacheck.decode.requirements import installed, missing, wrong_target

    problem = DecodeProblem.from_dict(request["problem"])
    convention = Convention(**request.get("convention", {}))
    backend = load_backend(request["backend"], convention.options)
    ranks = Ranks(**request["ranks"]) if request.get("ranks") else None
    device, gpu = _device(problem.device, ranks.local if ranks else 0)
    found = installed(backend.requirements)
    events.send(
        device=gpu.name if gpu else "cpu",
        sm=gpu.sm if gpu else None,
        distribution=found[0] if found else None,
        version=found[1] if found else None,
        rows=row_names(
            problem, backend.traits.scales, processes=ranks is not None or "alone_because" in request
        ),
        environment=environment(),
    )
    target = request.get("target_sm")
    reason = wrong_target(target, gpu) if target else None
    reason = reason or missing(backend.requirements, gpu) or _too_large(problem, device)
    team, alone_because = None, request.get("alone_because")
    if ranks:
        from mlacheck.decode.member import attend

        team, alone_because, reason = attend(ranks, problem, backend, device, reason, request, events)
    if reason:
        events.row(Row("runs", NOT_RUN, detail=reason))
        return
    skip = request.get("skip", ())
    if not skip:
        need = problem.estimate(device.type)
        where = f"{gpu.name} (SM{gpu.sm})" if gpu else "cpu"
        events.progress(f"decoding on {where}: {problem.describe()}")
        events.progress(f"needs about {need.bytes / 2**30:.1f} GiB and {need.seconds:.0f} s")
        if backend.builds:
            events.progress(backend.builds)
    forbid_downloads()
    contract = Contract(problem, backend, gpu, device, convention, team, alone_because)
    started = time.monotonic()

    def begin(name: str) -> None:
        events.send(started=name)
        events.progress(f"{time.monotonic() - started:5.1f} s  {name}")

    lost = False
    try:
        for row in contract.rows(begin, skip):
            events.row(row)
    except LostError:
        lost = True
        events.send(lost=True)
    if team:
        team.stop(again=lost)


def _device(wanted: str, place: int) -> tuple[torch.device, Gpu | None]:
    """Give this process's device; `place` is its number among those that share this machine."""
    import torch

    from mlacheck.decode.requirements import Gpu

    name = ("cuda" if torch.cuda.is_available() else "cpu") if wanted == "auto" else wanted
    if name != "cuda" or not torch.cuda.is_available():
        return torch.device(name), None
    device = torch.device("cuda", place if place < torch.cuda.device_count() else 0)
    torch.cuda.set_device(device)
    major, minor = torch.cuda.get_device_capability(device)
    return device, Gpu(torch.cuda.get_device_name(device), major * 10 + minor)


def _too_large(problem: DecodeProblem, device: torch.device) -> str | None:
    import torch

    if device.type != "cuda":
        return None
    if not torch.cuda.is_available():
        return "no CUDA GPU is visible here; run the check on the target machine, or with --device cpu"
    free, _ = torch.cuda.mem_get_info(device)
    need = problem.estimate("cuda").bytes
    if need <= free:
        return None
    return (
        f"the check needs about {need / 2**30:.1f} GiB of GPU memory, {free / 2**30:.1f} GiB is free; "
        "a smaller --context-len or --batch needs less"
    )


if __name__ == "__main__":
    sys.exit(main())
