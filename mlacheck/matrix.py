"""Which combinations of backend, DCP, speculation and KV dtype work: one launch line checked for each."""

from __future__ import annotations

import itertools
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

from mlacheck.data import load_yaml, rules_root
from mlacheck.engines import Grammar
from mlacheck.finding import START_UP_PHASES
from mlacheck.frozen import frozen, replace
from mlacheck.launch.command import Word
from mlacheck.remedies.edit import option_words, render
from mlacheck.ruleset.load import load_program

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mlacheck.finding import Finding, Report
    from mlacheck.launch.command import LaunchCommand
    from mlacheck.session import Session

WORKS: Final = "works"
WARNS: Final = "works, with a warning"
REFUSED: Final = "refused at start-up"
DIES: Final = "dies at the first decode"
WRONG: Final = "silently wrong"
UNKNOWN: Final = "unknown"
STATES: Final = (WORKS, WARNS, REFUSED, DIES, WRONG, UNKNOWN)
# In a row or column these say that the flag is left out.
AUTO: Final = "auto"
NONE: Final = "none"


@frozen
class Axis:
    """What varies: an argument and its values, as text."""

    name: str
    argument: str
    values: tuple[str, ...]
    flags: str = ""  # how a value is written where it is more than that argument's value


@frozen
class Reason:
    """Why a cell is as it is."""

    id: str
    level: str
    phase: str
    message: str


@frozen
class Cell:
    """One combination."""

    row: str
    column: tuple[str, ...]
    state: str
    command: str
    decode: str
    reasons: tuple[Reason, ...]


@frozen
class Matrix:
    """All combinations on one target."""

    engine: str
    version: str  # whose rules judge
    named: str  # that version, and the one that was asked about where it is another
    target: Mapping[str, object]
    assumptions: tuple[str, ...]
    rows: Axis
    columns: tuple[Axis, ...]
    cells: tuple[Cell, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Count the cells of each state."""
        counts = Counter(cell.state for cell in self.cells)
        return {state: counts[state] for state in STATES if counts[state]}

    @property
    def reasons(self) -> list[tuple[Reason, str, int]]:
        """List each rule behind a cell once, with the state and number of its cells, most cells first."""
        first: dict[str, tuple[Reason, str]] = {}
        counts: Counter[str] = Counter()
        for cell in self.cells:
            for reason in cell.reasons[:1]:
                first.setdefault(reason.id, (reason, cell.state))
                counts[reason.id] += 1
        return [(*first[id_], count) for id_, count in counts.most_common()]


@cache
def settings(engine: str) -> dict[str, Any]:
    """Give the rows, columns and flags that are shown by default."""
    return cast("dict[str, Any]", load_yaml(engine, "matrix.yaml"))


def has_settings(engine: str) -> bool:
    """Tell whether there is anything to show for an engine."""
    return rules_root().joinpath(engine, "matrix.yaml").exists()


def default_rows(engine: str, version: str) -> tuple[str, ...]:
    """List the attention backends of a version that run on NVIDIA GPUs, and the engine's own choice first."""
    known = settings(engine)
    choices = known.get("rows") or Grammar.load(engine, version).option(known["row"]).choices
    return (AUTO, *(str(one) for one in choices if one not in known["elsewhere"]))


def axes(engine: str, version: str, given: Mapping[str, Sequence[str]]) -> tuple[Axis, tuple[Axis, ...]]:
    """Give what varies: values that were asked for, or the default ones."""
    known = settings(engine)
    rows = Axis("backend", known["row"], tuple(given.get("backend") or default_rows(engine, version)))
    columns = tuple(
        Axis(
            one["name"],
            one["argument"],
            tuple(map(str, given.get(one["option"]) or one["values"])),
            one.get("flags", ""),
        )
        for one in known["columns"]
    )
    return rows, columns


def refused(engine: str, version: str, given: Mapping[str, Sequence[str]]) -> str | None:
    """Say which of the values that were asked for the engine's parser does not take, and what it takes."""
    grammar, known = Grammar.load(engine, version), settings(engine)
    arguments = {"backend": known["row"], **{one["option"]: one["argument"] for one in known["columns"]}}
    flags = {one["option"]: one.get("flags", "") for one in known["columns"]}
    tables = load_program(engine, version).program.tables
    for name, values in given.items():
        if name not in arguments:
            return f"--{name}: the matrix of {engine} has no such column; there are {', '.join(arguments)}"
        option = grammar.option(arguments[name])
        choices = option.choices or tables.get(known.get("choices", {}).get(option.dest), ())
        takes = ", ".join(map(str, choices)) or "whole numbers of at least 1"
        for value in values:
            if value in {AUTO, NONE} or value == str(grammar.defaults.get(option.dest)):
                continue
            problems = grammar.parse(_written(grammar, option.dest, flags.get(name, ""), value)).problems
            wrong = any(one.kind != "missing-required" for one in problems)
            wrong |= bool(choices) and value.lower() not in {str(one).lower() for one in choices}
            if wrong and flags.get(name):
                return f"--{name} {value}: {engine} {version} does not take it: {problems[0].message}"
            if wrong or (option.type == "int" and int(value) < 1):
                return f"--{name} {value}: {engine} {version} takes {takes}"
    return None


def build(session: Session, base: LaunchCommand, rows: Axis, columns: tuple[Axis, ...]) -> Matrix:
    """Check every combination on top of a launch command."""
    checker = session.checker(base)
    cells, report = [], None
    for row in rows.values:
        for column in itertools.product(*(axis.values for axis in columns)):
            words = list(base.words)
            for axis, value in zip((rows, *columns), (row, *column), strict=True):
                words += _words(checker.grammar, axis, value)
            command = replace(base, words=tuple(words))
            command = replace(command, text=render(command))
            report = session.check(command)
            cells.append(_cell(row, column, command, report))
    target = {**checker.summary, "model": report.target.get("model") if report else None}
    assumptions = report.assumptions if report else ()
    asked = checker.target.engine_version
    named = checker.version if asked in {None, checker.version} else f"{asked}, judged as {checker.version}"
    return Matrix(base.engine, checker.version, named, target, assumptions, rows, columns, tuple(cells))


def _words(grammar: Grammar, axis: Axis, value: str) -> list[Word]:
    default = grammar.defaults.get(axis.argument)
    if value in {AUTO, NONE} or value == str(default):
        return []
    return [Word(text) for text in _written(grammar, axis.argument, axis.flags, value)]


def _written(grammar: Grammar, argument: str, flags: str, value: str) -> list[str]:
    if flags:
        return [word.format(value=value) for word in flags.split()]
    return option_words(grammar.option(argument), value)


def _cell(row: str, column: tuple[str, ...], command: LaunchCommand, report: Report) -> Cell:
    errors = [one for one in report.findings if one.level == "error"]
    warnings = [one for one in report.findings if one.level == "warning"]
    decode = report.resolved.get("decode_backend")
    reasons = tuple(_reason(one) for one in errors or warnings)
    if not errors and report.verdict == "unknown":
        reasons = tuple(
            Reason(one.rule, one.level, one.phase, f"{one.title} (needs {', '.join(one.needs)})")
            for one in report.undecided
            if one.level == "error"
        )
        reasons += tuple(Reason(one.kind, "info", "input", one.message) for one in report.problems)
    return Cell(
        row, column, _state(errors, report), command.text, str(decode.value) if decode else "", reasons
    )


def _state(errors: Sequence[Finding], report: Report) -> str:
    phases = {one.phase for one in errors}
    if phases & set(START_UP_PHASES):
        return REFUSED
    if "first-decode" in phases:
        return DIES
    if errors:
        return WRONG
    if report.verdict == "warning":
        return WARNS
    return WORKS if report.verdict == "ok" else UNKNOWN if report.verdict == "unknown" else REFUSED


def _reason(one: Finding) -> Reason:
    return Reason(one.id, one.level, one.phase, one.message)
