"""One process of a torchrun: it meets the others; then it leads the check, or decodes what it is told."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist

from mlacheck.decode.roster import Member, choose
from mlacheck.decode.row import FAILS, Row
from mlacheck.decode.team import Team
from mlacheck.decode.trial import TeamLostError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mlacheck.decode.backend import Backend
    from mlacheck.decode.child import Events
    from mlacheck.decode.problem import DecodeProblem
    from mlacheck.decode.ranks import Ranks


def attend(
    ranks: Ranks,
    problem: DecodeProblem,
    backend: Backend,
    device: torch.device,
    unable: str | None,
    request: Mapping[str, Any],
    events: Events,
) -> tuple[Team | None, str | None, str | None]:
    """Meet the other processes; returns on rank 0 alone, the others do their part and end.

    Gives the team, or why the ranks are simulated, or why nothing can run.
    """
    events.progress(f"waiting until {ranks.world} processes meet")
    timeout = timedelta(seconds=request["time_limit"])
    kept, rank, world = next(
        dist.rendezvous(  # type: ignore[attr-defined]  # torch exports it without saying so
            "env://", timeout=timeout
        )
    )
    store = dist.PrefixStore(  # type: ignore[attr-defined]  # same
        f"mlacheck/{request['meeting']}", kept
    )
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world, timeout=timeout)
    own = device.type != "cuda" or ranks.local < torch.cuda.device_count()
    members: list[Any] = [None] * ranks.world
    dist.all_gather_object(members, Member(ranks.rank, own, unable))
    roster = choose(members, problem.dcp_size)
    reasons = [f"rank {rank}: {members[rank].unable}" for rank in roster.chosen if members[rank].unable]
    if reasons or roster.alone_because:
        if not ranks.leads:
            _end(events)
        return None, roster.alone_because, reasons[0] if reasons else None

    def lost(who: str) -> None:
        events.send(gone=f"{who} gives no sign of life any more; its own output says why")
        os._exit(1)

    team = Team(roster.chosen, problem.dcp_size, backend, device, lost, request["meeting"])
    if not ranks.leads:
        try:
            if ranks.rank in roster.chosen:
                team.follow()
        except TeamLostError as error:
            events.row(Row("runs", FAILS, detail=str(error)))
        _end(events)
    events.send(boundary=[f"ranks are real: {team.describe()}"])
    return team, None, None


def _end(events: Events) -> None:
    events.send(done=True)
    os._exit(0)  # process groups that lost a member do not close
