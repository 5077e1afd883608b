"""Mends the launch lines of a text in place, one after the other, and proves each step by reading again."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from mlacheck.builtin import CARRIAGE_RETURNS
from mlacheck.frozen import frozen, replace
from mlacheck.remedies.patch import NotEditableError, changes, patched
from mlacheck.remedies.variable import variable_changes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mlacheck.launch.command import Document, LaunchCommand, LaunchResult
    from mlacheck.remedies.advice import Solution
    from mlacheck.remedies.patch import Change
    from mlacheck.session import Session

# Commands of one text that are mended; a text with more is no launch file.
_MOST: int = 200
# What is wrong with a text that was read all the same.
_READ_ALL_THE_SAME: Final = ("look-alike", "not-rendered", CARRIAGE_RETURNS.slug)
_MOST_WAYS: int = 20  # of editing variables, for one solution


@frozen
class Note:
    """What became of one command: mended (by which change, at what cost), or not, and why."""

    line: int
    errors: tuple[str, ...]
    mended: bool
    text: str


@frozen
class Mended:
    """A text after mending."""

    document: Document
    notes: tuple[Note, ...]
    commands: int
    # The text could not all be read, so that a command may have been missed.
    unread: tuple[str, ...] = ()


def mend(document: Document, session: Session, read: Callable[[Document], LaunchResult]) -> Mended:
    """Mend each command that has an error and a corrected line that can be written in place."""
    result = read(document)
    notes: list[Note] = []
    lines = [one.place[0] for one in result.commands]  # as the text was: mending moves what stands below
    # A dash that is no hyphen is read as what it is, and may be what is mended; ends of lines stay.
    unread = tuple(
        f"line {one.line}: {one.message}"
        for one in result.problems
        if one.level == "error" and one.kind not in _READ_ALL_THE_SAME
    )
    accepted = _accepted(document, result, session)
    for number in range(min(len(result.commands), _MOST)):
        command = result.commands[number]
        if not session.has_rules(command):
            continue
        report = session.check(command)
        ids = (one.id for one in report.findings if one.level == "error" and one.id not in accepted[number])
        errors = tuple(dict.fromkeys(ids))
        if not errors:
            continue
        found, why = _first(document, result, number, session, read)
        if found is None:
            first = next(one for one in report.findings if one.id == errors[0])
            ways = why or "; ".join(one.text for one in first.remedies)
            note = Note(lines[number], errors, mended=False, text=ways)
            notes += [note] if note not in notes else []  # a loop's turns fail alike
            continue
        solution, document, result = found
        cost = f" ({solution.cost})" if solution.cost else ""
        notes.append(Note(lines[number], errors, mended=True, text=f"{solution.text}{cost}"))
    return Mended(document, tuple(notes), len(result.commands), unread)


def _accepted(document: Document, result: LaunchResult, session: Session) -> list[set[str]]:
    """Name, for each command, the findings that a comment of the text accepts."""
    if "mlacheck" not in document.text:
        return [set() for _ in result.commands]
    from mlacheck.ruleset.names import rule_names  # only for a text that may have such comments
    from mlacheck.suppression import suppress  # same

    checked = [at for at, one in enumerate(result.commands) if session.has_rules(one)]
    reports = [session.check(result.commands[at]) for at in checked]
    accepted: list[set[str]] = [set() for _ in result.commands]
    for at, report in zip(checked, suppress(reports, document.text, rule_names()), strict=True):
        accepted[at] = {one.id for one in report.findings if one.suppressed}
    return accepted


def _first(
    document: Document,
    result: LaunchResult,
    number: int,
    session: Session,
    read: Callable[[Document], LaunchResult],
) -> tuple[tuple[Solution, Document, LaunchResult] | None, str]:
    """Give the best corrected line that can be written in place, with the text after it."""
    command = result.commands[number]
    solutions = session.solutions(command)
    if not solutions:
        return None, ""
    reasons = []
    for solution in solutions:
        try:
            made = changes(document.text, session.fitted(command).words, solution.command.words)
        except NotEditableError as error:
            reasons.append(f"{solution.text}: {error} (line {error.line})")
            continue
        wrong: str | None = "the file does not settle where the variable is set"
        for more in _variables(document.text, command, solution):
            after = replace(document, text=patched(document.text, [*made, *more]))
            again = read(after)
            wrong = _wrong(result.commands, again.commands, number, solution, session)
            if wrong is None:
                return (solution, after, again), ""
        reasons.append(f"{solution.text}: {wrong}")
    return None, f"{'; '.join(reasons)}; edit by hand {_place(command)}"


def _variables(text: str, command: LaunchCommand, solution: Solution) -> Iterator[tuple[Change, ...]]:
    """Give what may have to change for the variables of a solution, the place most likely meant first."""
    ways = []
    for name in (one.removeprefix("env.") for one in solution.edits if one.startswith("env.")):
        new = solution.command.env.get(name)
        ways.append(list(variable_changes(text, command, name, command.env.get(name), new)))
    yield from itertools.islice(itertools.product(*ways), _MOST_WAYS)


def _wrong(
    before: Sequence[LaunchCommand],
    after: Sequence[LaunchCommand],
    number: int,
    solution: Solution,
    session: Session,
) -> str | None:
    """Say what speaks against a change: the text has to read as the line meant, and no other line fails."""
    if len(after) != len(before) or session.fitted(after[number]).argv != solution.command.argv:
        return "the file does not read as that line afterwards"
    if dict(after[number].env) != dict(solution.command.env):
        return "the file does not settle where the variable is set"
    if any(one.level == "error" for one in session.check(after[number]).findings):
        return "the line still fails afterwards"
    return next(_harmed(before, after, number, solution, session), None)


def _harmed(
    before: Sequence[LaunchCommand],
    after: Sequence[LaunchCommand],
    number: int,
    solution: Solution,
    session: Session,
) -> Iterator[str]:
    """Yield what speaks for the other commands with these words, variants of this one among them."""
    sharing = [
        at
        for at, old in enumerate(before)
        if at != number and (old.argv != after[at].argv or old.env != after[at].env)
    ]
    if not sharing:
        return
    worse, intended = _change(session, before[number], after[number])
    for at in sharing:
        old, new = before[at], after[at]
        said = f"the command on line {new.place[0]} {_branch(new)}shares these words and"
        if not session.has_rules(new):
            yield f"{said} cannot be checked"
            continue
        bad, changed = _change(session, old, new)
        # A command that passes stays what it is; one that fails too may change as the mended one does.
        if _errors(session, old):
            bad -= worse
            changed = {
                name: one
                for name, one in changed.items()
                if name not in intended or (name in solution.edits and one != intended[name])
            }
        if bad:
            yield f"{said} would be worse ({', '.join(sorted(bad))})"
        elif changed:
            name, (was, now) = next(iter(changed.items()))
            yield f"{said} would run with another {name} ({was} becomes {now})"


def _change(
    session: Session, old: LaunchCommand, new: LaunchCommand
) -> tuple[set[str], dict[str, tuple[str, str]]]:
    """Give the rules that only the new command has against it, and the values that differ."""
    was, now = session.settled(old), session.settled(new)
    against = [
        {one.id for one in report.findings if one.level in {"error", "warning"}}
        | {one.rule for one in report.undecided if one.level == "error"}
        for report in map(session.check, (old, new))
    ]
    return against[1] - against[0], {name: (was[name], now[name]) for name in was if was[name] != now[name]}


def _errors(session: Session, command: LaunchCommand) -> bool:
    return any(one.level == "error" for one in session.check(command).findings)


def _branch(command: LaunchCommand) -> str:
    return f"({'; '.join(command.variant)}) " if command.variant else ""


def _place(command: LaunchCommand) -> str:
    return f"for {'; '.join(command.variant)}" if command.variant else f"on line {command.place[0]}"
