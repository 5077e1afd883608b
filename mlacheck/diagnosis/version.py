"""Which versions of the engine a log fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mlacheck.engines import Grammar
from mlacheck.probes.engine import recorded_versions

if TYPE_CHECKING:
    from collections.abc import Collection

    from mlacheck.diagnosis.log import Log

# A print that lacks more of the arguments than any release adds was cut: what it lacks says nothing.
_WHOLE: Final = 0.9


def versions(log: Log) -> tuple[tuple[str, ...], str]:
    """Give the versions, none where nothing tells them, and how they are told."""
    named = tuple(log.versions or log.beside)
    if len(named) == 1:
        by = "the log" if log.versions else "a package, path or image in the log"
        return named, f"{by} names it"
    said = f"the log names {', '.join(named)}" if named else ""
    if log.arguments:
        known = [one for one in recorded_versions(log.engine) if not named or one in named]
        fit = _fitting(log, known)
        if len(fit) == 1:
            return fit, "the arguments that the log prints are this version's"
        if fit and len(fit) < len(recorded_versions(log.engine)):
            return fit, said or "the arguments that the log prints fit these"
    return named, said or "nothing in the log tells it"


def _fitting(log: Log, known: Collection[str]) -> tuple[str, ...]:
    """Give the versions that have the arguments that are printed, and no others where all are printed."""
    printed = set(log.arguments or ())
    has = {one: set(Grammar.load(log.engine, one).defaults) for one in known}
    fit = _least({one: len(printed - names) for one, names in has.items()})
    lacking = {one: len(has[one] - printed) for one in fit}
    if log.signs.complete and any(lacking[one] <= (1 - _WHOLE) * len(has[one]) for one in fit):
        fit = _least(lacking)
    return fit


def _least(counts: dict[str, int]) -> tuple[str, ...]:
    least = min(counts.values(), default=0)
    return tuple(one for one, count in counts.items() if count == least)
