"""Corrects what the engine's argument parser refuses: what was meant, the nearest value, or without it."""

from __future__ import annotations

import itertools
import json
import re
from typing import TYPE_CHECKING, Final

from mlacheck.engines import ArgumentProblem
from mlacheck.engines.spelling import suggest
from mlacheck.frozen import frozen, replace
from mlacheck.launch.frame import DASHES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mlacheck.launch.command import LaunchCommand, Word
    from mlacheck.line import Line

# Ways to correct a line that are looked at, best first.
_MOST: Final = 12
# A line with more mistakes in its words is no launch line.
_MOST_PROBLEMS: Final = 6
_NAMES: Final = frozenset(
    {None, "str", "optional_str", "nullable_str"}
)  # types of options that take any text
_VALUED: Final = frozenset({"invalid-choice", "invalid-value", "missing-value", "retired-flag"})


@frozen
class Change:
    """Other words in place of `[start, end)`, and what that is in words."""

    start: int
    end: int
    words: tuple[str, ...]
    text: str
    drops: str | None = None  # the argument, or the flag, that the line then lacks
    value: str = ""  # that it has with it
    writes: str | None = None  # the argument that a misspelt flag is read as
    rank: int = 0  # how many readings of the word are closer


@frozen
class Repair:
    """A command after such changes."""

    command: LaunchCommand
    changes: tuple[Change, ...]

    @property
    def text(self) -> str:
        """Say what was changed."""
        return "; ".join(change.text for change in self.changes)


def repairs(line: Line, most_changes: int) -> Iterator[Repair]:
    """Yield the ways to make a line readable, the closest to what was written first."""
    # What is missing may be there under a misspelt name; the line is read again afterwards.
    problems = [one for one in line.refusals if one.kind != "missing-required"]
    if len(problems) > _MOST_PROBLEMS or any(problem.index is None for problem in problems):
        return
    options = [tuple(_changes(line, problem)) for problem in problems]
    choices = sorted(
        itertools.islice(itertools.product(*(range(len(option)) for option in options)), 200), key=sum
    )
    for chosen in choices[:_MOST]:
        changes = tuple(option[at] for option, at in zip(options, chosen, strict=True))
        if sum(change.drops is not None for change in changes) > most_changes:
            continue
        yield Repair(_apply(line.command, changes), changes)


def _changes(line: Line, problem: ArgumentProblem) -> Iterator[Change]:
    words, at = line.command.words, problem.index or 0
    start, end = _span(line, problem)
    given = " ".join(word.text for word in words[start:end])
    if problem.kind in {"unknown-flag", "ambiguous-flag"}:
        name, equals, value = words[at].text.partition("=")
        said = value or " ".join(word.text for word in words[at + 1 : end])
        for rank, template in enumerate(_likely(line, problem, name)):
            one = template.replace("{value}", said)
            flag, _, fixed = one.partition(" ")
            if not fixed and _unlike(line, flag, words, at):
                continue
            dest = _dest(line, flag)
            if fixed or "=" in flag:
                new = tuple(one.split(" "))
                yield Change(start, end, new, f"write {one} for {given}", rank=rank, writes=dest)
            else:
                new = (f"{flag}{equals}{value}",)
                yield Change(at, at + 1, new, f"write {flag} for {name}", rank=rank, writes=dest)
    elif problem.kind == "invalid-choice":
        for rank, one in enumerate(problem.suggestions):
            # Of several values only what is at fault is another.
            values = range(start + 1, end)
            told = [one if i == at else _value(line, problem, words[i].text) for i in values] or [one]
            head = words[start].text.partition("=")[0]
            new = (f"{head}={one}",) if "=" in words[start].text else (words[start].text, *told)
            yield Change(start, end, new, f"set {problem.flag} {' '.join(told)}", rank=rank)
    elif problem.kind == "invalid-value" and (pairs := _pairs(problem.token)):
        new = (words[start].text.partition("=")[0], pairs)
        yield Change(start, end, new, f"write {pairs} for {problem.token}")
    elif problem.kind == "unexpected-argument":
        taken = _taken_for_model(line.command, at)
        if taken is not None:
            given = " ".join(word.text for word in words[slice(*taken)])
            yield Change(*taken, (), f"drop {given}, which is taken for the model")
            return  # what stands after it is the model
        meant = tuple(_as_model(line, at))
        if meant:
            yield from meant
            return  # a line without its model is none that was meant
    elif problem.kind == "unexpected-value":
        name = words[at].text.partition("=")[0]
        yield Change(at, at + 1, (name,), f"write {name} without a value")
    if words[at].text.startswith(DASHES):
        typed = words[at].text
        flag = "--" + typed.lstrip("".join((*DASHES, "-")))
        yield Change(at, at + 1, (flag,), f"write {flag} for {typed}: its dash is no hyphen")
        end = _up_to_flag(line, end)
        given = " ".join(word.text for word in words[start:end])
    why = f" ({problem.note})" if problem.note and problem.kind in {"unknown-flag", "invalid-choice"} else ""
    value = given.partition("=" if "=" in words[start].text else " ")[2]
    nearest = _dest(line, problem.suggestions[0]) if problem.suggestions else None
    dropped = problem.dest or nearest or words[at].text.partition("=")[0]
    yield Change(start, end, (), f"drop {given}{why}", dropped, value=value)


def _pairs(text: str) -> str | None:
    """Write `image=4,video=1` as the JSON object that the flag takes now."""
    pairs = [pair.partition("=") for pair in text.split(",")]
    if not all(name.isidentifier() and value.isdecimal() for name, _, value in pairs):
        return None
    return json.dumps({name: int(value) for name, _, value in pairs}, separators=(",", ":"))


def _value(line: Line, problem: ArgumentProblem, text: str) -> str:
    """Give a value that stands beside a refused one, or what it is close to where it is no choice either."""
    grammar = line.around.grammar
    if problem.flag is None or text in map(str, grammar.flags[problem.flag].choices):
        return text
    meant = suggest(replace(problem, token=text, suggestions=()), grammar).suggestions
    return meant[0] if meant else text


def _dest(line: Line, flag: str) -> str | None:
    """Name the argument that a flag sets, whatever value is written with it."""
    option = line.around.grammar.flags.get(re.split("[ =.]", flag)[0])
    return option.dest if option is not None else None


def _as_model(line: Line, at: int) -> Iterator[Change]:
    """Take a word of its own that names a model as the model, in place of one that names none."""
    words, dest = line.command.words, line.around.compiled.program.model
    given = line.arguments.given.get(dest)
    if "/" not in words[at].text:
        return
    if given is None:
        flag = line.around.grammar.option(dest).flag
        yield Change(at, at + 1, (flag, words[at].text), f"write {flag} {words[at].text}")
        return
    start, end = given.spans[0]
    named = words[end - 1]
    if (start == end - 1 or words[start].implied) and "/" not in named.text:
        yield Change(end - 1, end, (), f"drop {named.text}")


def _taken_for_model(command: LaunchCommand, stray: int) -> tuple[int, int] | None:
    """Give the launcher's own words that are given once more, as to an image that starts with them."""
    words, start = command.words, stray - 1
    if start < 1 or not words[start - 1].implied:
        return None
    program, _, verb = command.entry.rpartition(" ")
    if words[start].text == verb:
        return start, stray
    return (start, stray + 1) if [words[start].text, words[stray].text] == [program, verb] else None


def _likely(line: Line, problem: ArgumentProblem, name: str) -> Sequence[str]:
    """Put what takes the place of an old flag before the others that its name is short for."""
    if problem.kind != "ambiguous-flag":
        return problem.suggestions
    meant = suggest(
        ArgumentProblem("unknown-flag", None, name, None, "", ""), line.around.grammar
    ).suggestions
    return sorted(problem.suggestions, key=lambda one: one not in meant)


def _span(line: Line, problem: ArgumentProblem) -> tuple[int, int]:
    """Give the words that belong to what is refused."""
    words, at = line.command.argv, problem.index or 0
    given = line.arguments.given.get(problem.dest or "")
    for start, end in given.spans if given is not None else ():
        if start <= at < end:
            return start, end
    end = at + 1
    if problem.kind in _VALUED and not words[at].startswith("-"):
        at -= 1  # the value is named; its flag stands before it
    elif problem.kind in {"unknown-flag", "unexpected-argument"} and "=" not in words[at]:
        end = _up_to_flag(line, end)
    return at, end


def _up_to_flag(line: Line, end: int) -> int:
    """Give the end of the values before the next flag; words that may be flags, or are taken, are none."""
    words, loose = line.command.argv, line.command.loose
    taken = {start for given in line.arguments.given.values() for start, _ in given.spans}
    while end < len(words) and not words[end].startswith("-") and end not in loose and end not in taken:
        end += 1
    return end


def _unlike(line: Line, flag: str, words: Sequence[Word], at: int) -> bool:
    """Tell whether the value at hand is of another kind: a number where a flag takes a name."""
    option = line.around.grammar.flags.get(flag.partition("=")[0])
    _, equals, value = words[at].text.partition("=")
    if not equals and at + 1 < len(words):
        value = words[at + 1].text
    number = re.fullmatch(r"-?\d+(\.\d+)?", value) is not None
    return (
        number and option is not None and option.takes_value and option.type in _NAMES and not option.choices
    )


def _apply(command: LaunchCommand, changes: Sequence[Change]) -> LaunchCommand:
    words: list[Word] = list(command.words)
    for change in sorted(changes, key=lambda one: one.start, reverse=True):
        old = words[change.start : change.end]
        kept = [
            old[number]
            if number < len(old) and old[number].text == text
            else replace(
                old[min(number, len(old) - 1)], text=text, raw="", unknown=(), splits=False, implied=False
            )
            for number, text in enumerate(change.words)
        ]
        words[change.start : change.end] = kept
    return replace(command, words=tuple(words))
