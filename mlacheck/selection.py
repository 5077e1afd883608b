"""Which findings count: `--select` and `--ignore` by id, start of an id, slug, phase or level."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mlacheck.builtin import INPUT, with_undecided
from mlacheck.finding import LEVELS, PHASES, judged
from mlacheck.frozen import frozen, replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mlacheck.finding import Finding, Report, Undecided

OPTION: Final = "option"
_PHASES: Final = (*PHASES, INPUT)
_START: Final = re.compile(r"[a-z]{1,3}|[a-z]{3}\d{1,3}")


class TermError(ValueError):
    """A term that selects nothing that exists."""


@frozen
class Selection:
    """What is selected (empty: everything) and what is ignored; ignoring wins."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def check(self, names: Mapping[str, str]) -> None:
        """Raise `TermError` for a term that is no id, start of one, slug, phase or level."""
        ids = {id_.lower() for id_ in names.values()}
        for given in (*self.select, *self.ignore):
            term = given.lower()
            if term in names or term in LEVELS or term in _PHASES:
                continue
            if _START.fullmatch(term) and any(id_.startswith(term) for id_ in ids):
                continue
            from mlacheck.ruleset.names import hint  # only for a mistake

            known = {**names, **{one: one for one in (*_PHASES, *LEVELS)}}
            what = "no rule's id, start of an id, slug, phase or level"
            raise TermError(f"{given!r} is {what}; {hint(term, known)}")

    def apply(self, reports: Sequence[Report]) -> list[Report]:
        """Silence what does not count."""
        return [self._apply(report) for report in reports] if self.select or self.ignore else list(reports)

    def _apply(self, report: Report) -> Report:
        findings = tuple(self._finding(finding) for finding in report.findings)
        kept = [one for one in report.undecided if not self._ignored(one.rule, one)]
        done = with_undecided(replace(report, findings=findings), kept)
        selected = tuple(one for one in kept if self._why(one.rule, one) is None)
        return judged(replace(done, undecided=selected))

    def _finding(self, finding: Finding) -> Finding:
        why = None if finding.suppressed else self._why(finding.id, finding)
        if why is None:
            return finding
        return replace(finding, suppressed=True, suppressed_by=OPTION, suppressed_reason=why)

    def _why(self, id_: str, one: Finding | Undecided) -> str | None:
        """Say why a finding does not count."""
        ignored = self._ignored(id_, one)
        if ignored is not None:
            return f"--ignore {ignored}"
        if self.select and not any(_means(term.lower(), id_, one) for term in self.select):
            return "not selected"
        return None

    def _ignored(self, id_: str, one: Finding | Undecided) -> str | None:
        return next((term for term in self.ignore if _means(term.lower(), id_, one)), None)


def _means(term: str, id_: str, one: Finding | Undecided) -> bool:
    starts = _START.fullmatch(term) is not None and id_.lower().startswith(term)
    return starts or term in {one.slug, one.phase, one.level}
