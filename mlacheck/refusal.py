"""What the engine's own argument parser refuses, as findings; no rule stands behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from mlacheck.builtin import PARSER
from mlacheck.finding import Remedy
from mlacheck.frozen import replace
from mlacheck.remedies.edit import render

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mlacheck.engines import ArgumentProblem, Grammar
    from mlacheck.finding import Finding, Location
    from mlacheck.launch.command import LaunchCommand

# Of a kind without an id of its own.
_OTHER: Final = PARSER["unexpected-argument"]


class Correct(Protocol):
    """Gives the corrected command for a suggestion, and what there is to say of it."""

    def __call__(self, problem: ArgumentProblem, suggestion: str, /) -> tuple[str | None, str | None]:
        """Give both, or None."""


def refusal_findings(
    problems: Iterable[ArgumentProblem],
    grammar: Grammar,
    locate: Callable[[int], Location | None],
    correct: Correct,
) -> list[Finding]:
    """Make a finding of each problem; the engine stops at the first."""
    return [
        replace(
            PARSER.get(problem.kind, _OTHER).finding(
                problem.message,
                location=locate(problem.index) if problem.index is not None else None,
                engine_stops_here=number == 0,
                engine_message=problem.engine_message,
                remedies=_remedies(problem, grammar, correct),
            ),
            slug=problem.kind,
        )
        for number, problem in enumerate(problems)
    ]


def corrected(command: LaunchCommand, changes: Sequence[tuple[ArgumentProblem, str]]) -> LaunchCommand:
    """Put what was meant in the place of words that the parser refuses."""
    words = list(command.words)
    for problem, suggestion in changes:
        if problem.index is None or problem.index >= len(words):
            continue
        word = words[problem.index]
        if problem.kind == "invalid-choice":
            text = word.text.removesuffix(problem.token) + suggestion
        else:
            _, equals, value = word.text.partition("=")
            text = suggestion if "=" in suggestion else f"{suggestion}{equals}{value}"
        words[problem.index] = replace(word, text=text, raw="")
    changed = replace(command, words=tuple(words))
    return replace(changed, text=render(changed))


def _remedies(problem: ArgumentProblem, grammar: Grammar, correct: Correct) -> tuple[Remedy, ...]:
    note = f" ({problem.note})" if problem.note else ""
    if problem.suggestions:
        remedies = []
        for one in problem.suggestions:
            command, cost = correct(problem, one)
            remedies.append(Remedy("edit", f"did you mean {one}?{note}", command, cost=cost))
        return tuple(remedies)
    if problem.kind == "missing-required":
        return (Remedy("none", f"add {problem.flag} VALUE"),)
    if problem.kind == "invalid-choice" and problem.dest is not None:
        choices = ", ".join(map(str, grammar.option(problem.dest).choices))
        return (Remedy("none", f"choose from {choices}{note}"),)
    if problem.kind in {"invalid-value", "missing-value"}:
        return (Remedy("none", f"correct the value{note}"),)
    return (Remedy("none", f"take it out: nothing close is known in this version{note}"),)
