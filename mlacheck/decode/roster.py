"""Which of the processes that meet decode: as many as have a device of their own and divide the DCP ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlacheck.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence


@frozen
class Member:
    """What a process says about itself when ranks meet."""

    rank: int
    own_device: bool  # no other process of this machine has it
    what: str = ""  # the device and the kernel's package
    unable: str | None = None  # why it cannot decode


@frozen
class Roster:
    """The processes that decode, or why one of them simulates all ranks."""

    chosen: tuple[int, ...]
    alone_because: str | None = None


def unlike(members: Sequence[Member], chosen: Sequence[int]) -> tuple[str, ...]:
    """Say which of the processes that decode have another device or package than rank 0."""
    return tuple(
        f"rank {rank} has {members[rank].what}, rank {chosen[0]} has {members[chosen[0]].what}"
        for rank in chosen
        if members[rank].what != members[chosen[0]].what
    )


def choose(members: Sequence[Member], dcp_size: int) -> Roster:
    """Choose the processes that decode."""
    able = [member.rank for member in members if member.own_device]
    count = max(number for number in range(1, max(len(able), 1) + 1) if dcp_size % number == 0)
    if count > 1:
        return Roster(tuple(able[:count]))
    if dcp_size == 1:
        return Roster((0,), "one DCP rank has nothing to merge")
    if len(able) < 2:
        there = f"{len(members)} processes were started where {len(able)} GPU is there for them"
    else:
        there = f"DCP {dcp_size} cannot be divided among {len(able)} processes"
    return Roster((0,), f"{there}: all ranks are simulated on one device")
