"""Checks the launch commands of files: one report a command, and one for a file that cannot be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mlacheck.builtin import CARRIAGE_RETURNS, UNREAD_FILE, UNREADABLE_LAUNCH, UNSUPPORTED_ENGINE
from mlacheck.finding import Location, Remedy, Report, judged
from mlacheck.launch.file.read import read_bytes, read_path
from mlacheck.probes.engine import recorded_versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mlacheck.builtin import Builtin
    from mlacheck.launch.command import LaunchCommand, LaunchProblem, LaunchResult
    from mlacheck.session import Session

# What is wrong with a command that was read; everything else is about text that could not be.
_OF_COMMANDS: Final = frozenset(
    {
        "detached-flags",
        "not-rendered",
        "either-engine",
        "broken-continuation",
        "look-alike",
        "config-not-read",
        "config-unread",
        "config-refused",
        "too-many-variants",
        "env-file-not-read",
        "sourced-file",
    }
)
# Shell text that goes on after one of these may not be what it looks like.
_BREAKS: Final = frozenset(
    {"shell-syntax", "unbalanced-quote", "unbalanced-expansion", "nested-too-deep", "too-long"}
)
_SILENT: Final = frozenset({"other-server-type", "not-utf8"})
STDIN: Final = "<stdin>"


def read(path: str, data: bytes | None, engine: str, env: Mapping[str, str]) -> LaunchResult:
    """Read a file, or the bytes of standard input."""
    if data is None:
        return read_path(path, engine=engine, env=env)
    return read_bytes(data, STDIN, engine=engine, env=env, folder=".")


def reports_of(
    result: LaunchResult,
    session: Session,
    measured: Callable[[LaunchCommand, Report], Report] = lambda _, report: report,
) -> list[Report]:
    """Check the commands of one file; `measured` adds to a report what was measured."""
    file = result.document.file
    reports = [_unreadable(file, problem) for problem in result.problems if _is_of_file(problem)]
    shared = [problem for problem in result.problems if problem.kind in _OF_COMMANDS]
    for command in result.commands:
        mine = [problem for problem in shared if _concerns(problem, command, result.commands)]
        mine += [
            problem for problem in result.problems if problem.kind in _BREAKS and problem.level == "error"
        ]
        report = _checked(command, mine, session, measured)
        # A quote that is never closed swallowed what the command is: of what is left there is nothing to say.
        unclosed = (one for one in mine if one.kind == "unbalanced-quote")
        if report.live or not any(_concerns(one, command, result.commands) for one in unclosed):
            reports.append(report)
    return sorted(
        reports, key=lambda one: (one.location.line, one.location.column) if one.location else (0, 0)
    )


def _is_of_file(problem: LaunchProblem) -> bool:
    return problem.kind not in _OF_COMMANDS and problem.kind not in _SILENT


def _concerns(problem: LaunchProblem, command: LaunchCommand, commands: Iterable[LaunchCommand]) -> bool:
    """Tell whether a problem is this command's: the nearest one before it, or all that a setting reaches."""
    at = (problem.line, problem.column)
    if problem.kind in ("sourced-file", "env-file-not-read"):
        return True
    words = {(word.line, word.column) for word in command.words if word.file is None}
    if at in words:
        return True
    before = [(one.source.line, one.source.column) for one in commands]
    nearest = max((place for place in before if place <= at), default=None)
    return nearest == (command.source.line, command.source.column)


def _checked(
    command: LaunchCommand,
    problems: list[LaunchProblem],
    session: Session,
    measured: Callable[[LaunchCommand, Report], Report],
) -> Report:
    if not recorded_versions(command.engine):
        message = f"{command.engine} launch lines are found and not checked: there are no rules for it yet"
        return _report(command.source.file, command, UNSUPPORTED_ENGINE, message, unsure=True)
    return measured(command, session.check(command, problems))


def _unreadable(file: str | None, problem: LaunchProblem) -> Report:
    builtin = UNREADABLE_LAUNCH if problem.level == "error" else UNREAD_FILE
    if problem.kind == CARRIAGE_RETURNS.slug:
        builtin = CARRIAGE_RETURNS
    return _report(file, problem, builtin, problem.message, unsure=True, hint=problem.hint)


def _report(
    file: str | None,
    about: LaunchCommand | LaunchProblem,
    builtin: Builtin,
    message: str,
    *,
    unsure: bool,
    hint: str = "",
) -> Report:
    """Make the report of something that was not checked."""
    from mlacheck.launch.command import LaunchProblem as Problem  # for telling the two apart

    command = None if isinstance(about, Problem) else about
    place = about if isinstance(about, Problem) else about.source
    location = Location(place.line, place.column)
    remedies = (Remedy("none", hint),) if hint else ()
    return judged(
        Report(
            id=None,
            command="" if command is None else command.text,
            file=file,
            location=location,
            engine="" if command is None else command.engine,
            engine_version=None,
            target={},
            assumptions=(),
            verdict="unknown",
            findings=(builtin.finding(message, location=location, remedies=remedies),),
            resolved={},
            undecided=(),
            not_checked=("everything",),
            unsure=unsure,
        )
    )
