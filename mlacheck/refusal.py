"""What the engine's own argument parser refuses, as findings; no rule stands behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mlacheck.builtin import PARSER
from mlacheck.finding import Remedy
from mlacheck.frozen import replace
from mlacheck.launch.frame import DASHES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mlacheck.engines import ArgumentProblem, Grammar
    from mlacheck.finding import Finding, Location

# Of a kind without an id of its own.
_OTHER: Final = PARSER["unexpected-argument"]


def refusal_findings(
    problems: Sequence[ArgumentProblem],
    grammar: Grammar,
    locate: Callable[[int], Location | None],
    corrected: tuple[Remedy, ...] = (),
    *,
    first: bool = True,
) -> list[Finding]:
    """Make a finding of each problem; the engine stops at the first one, if `first`.

    `corrected` lines mend all of them.
    """
    return [
        replace(
            PARSER.get(problem.kind, _OTHER).finding(
                problem.message if meant is None else f"{problem.message}, and {meant[0]} is another word",
                location=locate(problem.index) if problem.index is not None else None,
                engine_stops_here=first and number == 0,
                engine_message=problem.engine_message,
                remedies=corrected or _remedies(problem, grammar, meant),
            ),
            slug=problem.kind,
        )
        for number, problem in enumerate(problems)
        for meant in [_misspelt(problem, problems)]
    ]


def _misspelt(problem: ArgumentProblem, problems: Sequence[ArgumentProblem]) -> tuple[str, str] | None:
    """Give the word that is there for a flag that is missed, and how the flag is written."""
    if problem.kind != "missing-required" or problem.flag is None:
        return None
    for other in problems:
        typed = other.token
        right = "--" + typed.lstrip("".join((*DASHES, "-"))) if typed.startswith(DASHES) else None
        if problem.flag in (right, *other.suggestions):
            return typed, problem.flag
    return None


def _remedies(
    problem: ArgumentProblem, grammar: Grammar, meant: tuple[str, str] | None
) -> tuple[Remedy, ...]:
    if meant is not None:
        return (Remedy("edit", f"write {meant[1]} for {meant[0]}"),)
    if problem.kind == "unexpected-argument" and problem.token.startswith(DASHES):
        flag = "--" + problem.token.lstrip("".join((*DASHES, "-")))
        return (Remedy("edit", f"write {flag} for {problem.token}: its dash is no hyphen"),)
    note = f" ({problem.note})" if problem.note else ""
    if problem.suggestions:
        return tuple(Remedy("edit", f"did you mean {one}?{note}") for one in problem.suggestions)
    if problem.kind == "missing-required":
        return (Remedy("none", f"add {problem.flag} VALUE"),)
    if problem.kind == "invalid-choice" and problem.dest is not None:
        choices = ", ".join(map(str, grammar.option(problem.dest).choices))
        return (Remedy("none", f"choose from {choices}{note}"),)
    if problem.kind in {"invalid-value", "missing-value"}:
        return (Remedy("none", f"correct the value{note}"),)
    return (Remedy("none", f"take it out: nothing close is known in this version{note}"),)
