"""Comments that silence findings: `# mlacheck: ignore[ID] reason`, for the command below or its own line's.

`ignore-file[ID] reason` silences it for every command of the file. A comment without ids or without a reason
is refused, and one that silences nothing is told.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mlacheck.builtin import BARE_IGNORE, INPUT, NO_REASON, UNKNOWN_IGNORE, UNUSED_IGNORE, with_undecided
from mlacheck.finding import Location, Remedy, judged
from mlacheck.frozen import frozen, replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mlacheck.builtin import Builtin
    from mlacheck.finding import Finding, Report

_COMMENT: Final = re.compile(r"(?:^|(?<=\s))#[ \t]*mlacheck[ \t]*:[ \t]*(?P<said>[^\r\n]*)", re.MULTILINE)
# The same with capitals, which is no comment of ours but meant to be one.
_MEANT: Final = re.compile(
    r"(?:^|(?<=\s))#[ \t]*(?P<name>mlacheck)[ \t]*:[ \t]*(?P<said>ignore\b[^\r\n]*)",
    re.MULTILINE | re.IGNORECASE,
)
# Lines that may stand between a comment and its command, because they are no other command: empty ones,
# comments, keys, assignments and words that go on, and what ends by opening something.
_BETWEEN: Final = re.compile(
    r"""\s*(?:$ | \# | [)\]}'"-]*[)\]}][;,]?$ | --?[A-Za-z]
      | (?!(?:-[ ]+)*(?:run|script|cmd)\s*:\s*[^\s|>\[{\#&])(?:-[ ]+)*["']?[\w./-]+["']?\s*:(?:\s|$)
      | (?:(?:export|local|readonly|declare|typeset)\s+(?:-\w+\s+)*)?\w+(?:\[\w*\])?\s*\+?=
      | (?:ENV|ARG|ENTRYPOINT|SHELL)\s
      | .*(?:[:|>(\[{]|[|>][+-]?\d?|\b(?:then|do|else))$ )""",
    re.VERBOSE,
)
_IGNORE: Final = re.compile(
    r"(?P<kind>ignore(?:-file)?)\b[ \t]*(?:\[(?P<names>[^\]]*)\])?(?P<reason>.*)", re.IGNORECASE
)
_FORM: Final = "write `# mlacheck: ignore[ID] REASON`"
COMMENT: Final = "comment"


@frozen
class Ignore:
    """One comment; `refused` says why it silences nothing."""

    location: Location
    names: tuple[str, ...] = ()
    reason: str = ""
    whole_file: bool = False
    refused: Builtin | None = None
    # The first line below that can be no part of the way to its command.
    until: int | None = None
    misspelt: str = ""


def read_ignores(text: str) -> tuple[Ignore, ...]:
    """Find the suppression comments of a text."""
    if "mlacheck" not in text.lower():
        return ()
    found = []
    lines = [line.rstrip() for line in text.split("\n")]
    for match in _COMMENT.finditer(text):
        start = match.start()
        line = text.count("\n", 0, start) + 1
        location = Location(line, start - text.rfind("\n", 0, start))
        found.append(replace(_ignore(match["said"], location), until=_until(lines, line)))
    for match in _MEANT.finditer(text):
        if match["name"] != "mlacheck":
            start = match.start()
            line = text.count("\n", 0, start) + 1
            location = Location(line, start - text.rfind("\n", 0, start))
            found.append(Ignore(location, refused=BARE_IGNORE, misspelt=match["name"]))
    return tuple(found)


def _until(lines: Sequence[str], line: int) -> int:
    """Give the first line below a comment that is a command: the comment reaches no further."""
    return next((at for at in range(line + 1, len(lines) + 1) if not _BETWEEN.match(lines[at - 1])), line + 1)


def _ignore(said: str, location: Location) -> Ignore:
    match = _IGNORE.match(said)
    names = tuple(name.strip() for name in ((match and match["names"]) or "").split(",") if name.strip())
    if match is None or not names:
        return Ignore(location, refused=BARE_IGNORE)
    reason = match["reason"].strip().lstrip(":-").strip()
    refused = None if reason else NO_REASON
    return Ignore(location, names, reason, match["kind"].lower() == "ignore-file", refused)


def suppress(reports: Sequence[Report], text: str, names: Mapping[str, str] | None = None) -> list[Report]:
    """Silence findings in the reports of one text, and add what is wrong with its comments.

    `names` has every id and slug with its id; by default those of the rules that are shipped.
    """
    ignores = read_ignores(text)
    if not ignores or not reports:
        return list(reports)
    if names is None:
        from mlacheck.ruleset.names import rule_names  # only for a text with such comments

        names = rule_names()
    done = list(reports)
    for ignore in ignores:
        targets = _targets(ignore, done)
        at = targets[0] if targets else len(done) - 1
        if ignore.refused is not None:
            said = _refusal(ignore.refused, ignore)
            done[at] = _with(done[at], said)
            continue
        for name in ignore.names:
            id_ = names.get(name.lower())
            if id_ is None:
                done[at] = _with(done[at], _unknown(ignore, name, names))
                continue
            silenced = [silence(done[target], id_, COMMENT, ignore.reason) for target in targets]
            used = any(new is not done[target] for new, target in zip(silenced, targets, strict=True))
            for new, target in zip(silenced, targets, strict=True):
                done[target] = new
            if not used:
                done[at] = _with(done[at], _unused(ignore, name, found=bool(targets)))
    return [judged(report) for report in done]


def silence(report: Report, id_: str, by: str, reason: str) -> Report:
    """Silence a rule in a report, undecided or not; the same report comes back where it says nothing."""
    findings = tuple(
        replace(one, suppressed=True, suppressed_by=by, suppressed_reason=reason)
        if one.id == id_ and not one.suppressed and one.phase != INPUT
        else one
        for one in report.findings
    )
    undecided = tuple(one for one in report.undecided if one.rule != id_)
    if findings == report.findings and len(undecided) == len(report.undecided):
        return report
    return with_undecided(replace(report, findings=findings), undecided)


def _targets(ignore: Ignore, reports: Sequence[Report]) -> list[int]:
    """List the reports that a comment is for: of the command that starts on its line, or of the next one."""
    if ignore.whole_file:
        return list(range(len(reports)))
    here = ignore.location.line
    own = [at for at, report in enumerate(reports) if here in _lines(report)]
    if own:
        return own
    below = min((line for report in reports if (line := max(_lines(report))) > here), default=None)
    if below is not None and ignore.until is not None and below > ignore.until:
        return []
    return [at for at, report in enumerate(reports) if max(_lines(report)) == below]


def _lines(report: Report) -> tuple[int, int]:
    """Give where a command and its words start; words defined above the command start with it."""
    start = report.location.line if report.location else 0
    return start, max(start, report.words_line)


def _with(report: Report, finding: Finding) -> Report:
    return replace(report, findings=(*report.findings, finding))


def _refusal(refused: Builtin, ignore: Ignore) -> Finding:
    what = f"is misspelt, {ignore.misspelt} for mlacheck" if ignore.misspelt else _wrong(refused, ignore)
    return refused.finding(
        f"this suppression {what}, so it silences nothing",
        location=ignore.location,
        remedies=(Remedy("none", _FORM),),
    )


def _wrong(refused: Builtin, ignore: Ignore) -> str:
    return "names no rule" if refused is BARE_IGNORE else f"of {', '.join(ignore.names)} gives no reason"


def _unknown(ignore: Ignore, name: str, names: Mapping[str, str]) -> Finding:
    from mlacheck.ruleset.names import hint  # only for a mistake

    return UNKNOWN_IGNORE.finding(
        f"this suppression names {name}, which no rule is called",
        location=ignore.location,
        remedies=(Remedy("none", hint(name, names)),),
    )


def _unused(ignore: Ignore, name: str, *, found: bool) -> Finding:
    where = "in this file" if ignore.whole_file else "on its command"
    why = f"{where} that rule says nothing" if found else "no launch command stands below it"
    return UNUSED_IGNORE.finding(
        f"this suppression of {name} silences nothing: {why}",
        location=ignore.location,
        remedies=(Remedy("none", "take it out" if found else "put it above the command, or take it out"),),
    )
