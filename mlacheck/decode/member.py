"""One process of a torchrun: it meets the others; then it leads the check, or decodes what it is told."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NoReturn

import torch
import torch.distributed as dist

from mlacheck.decode.requirements import installed
from mlacheck.decode.roster import Member, choose, unlike
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
    own = device.type != "cuda" or ranks.local < torch.cuda.device_count()
    try:
        members = _meet(Member(ranks.rank, own, _what(backend, device), unable), request, ranks.world)
    except RuntimeError as error:
        cause = str(error).strip().splitlines()[0]
        events.row(Row("runs", FAILS, detail=f"{ranks.world} processes did not meet: {cause}"))
        _end(events)
    roster = choose(members, problem.dcp_size)
    reasons = [f"rank {rank}: {members[rank].unable}" for rank in roster.chosen if members[rank].unable]
    if reasons or roster.alone_because:
        if not ranks.leads:
            _end(events)
        if roster.alone_because:
            events.send(alone=roster.alone_because)
        return None, roster.alone_because, reasons[0] if reasons else None

    def lost(who: str) -> None:
        events.send(gone=f"{who} gives no sign of life any more; its own output says why")
        os._exit(1)

    team = Team(roster.chosen, problem.dcp_size, backend, device, lost, request["meeting"])
    if not ranks.leads:
        try:
            if team.follow() if ranks.rank in roster.chosen else team.wait():
                events.send(lost=True)
        except TeamLostError as error:
            events.row(Row("runs", FAILS, detail=str(error)))
        _end(events)
    differ = unlike(members, roster.chosen)
    events.send(boundary=[f"ranks are real: {team.describe()}", *differ])
    return team, None, None


def _meet(member: Member, request: Mapping[str, Any], world: int) -> list[Member]:
    """Wait for the other processes; gives what each says of itself."""
    # Less than the parent allows, so that the reason is told.
    timeout = timedelta(seconds=0.8 * request["time_limit"])
    kept, rank, size = next(
        dist.rendezvous("env://", timeout=timeout)  # type: ignore[attr-defined]  # torch exports it unsaid
    )
    store = dist.PrefixStore(f"mlacheck/{request['meeting']}", kept)  # type: ignore[attr-defined]  # same
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=timeout)
    members: list[Any] = [None] * world
    dist.all_gather_object(members, member)
    return members


def _what(backend: Backend, device: torch.device) -> str:
    found = installed(backend.requirements)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "a CPU"
    return f"{name} with {' '.join(found)}" if found else name


def _end(events: Events) -> NoReturn:
    events.send(done=True)
    os._exit(0)  # process groups that lost a member do not close
