"""Turns a program into the text of a Python module: functions that run its rules, and the program's data.

The module is what a wheel carries, so that an ordinary run parses no YAML. Only checked expressions reach it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mlacheck.frozen import as_dict, replace
from mlacheck.ruleset.settle import settles_after
from mlacheck.ruleset.waking import Waking

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mlacheck.ruleset.expression import Scope
    from mlacheck.ruleset.program import Program, Step

_HEAD = '''"""Generated from rules/{engine} for {engine} {version}; do not edit."""

from mlacheck.facts import UNKNOWN, Possible
from mlacheck.ruleset.expression import UNDECIDABLE
from mlacheck.ruleset.functions import FUNCTIONS
from mlacheck.ruleset.interpreter import version

globals().update(FUNCTIONS)
DIGEST = {digest!r}
'''


def module_text(program: Program, digest: str) -> str:
    """Generate the module of one program; `digest` names the rule files it came from."""
    scope = program.scope()
    lines = [_HEAD.format(engine=program.engine, version=program.version, digest=digest)]
    lines.append(f"DATA = {_table(as_dict(replace(program, steps=())))}\n")
    lines += ["STEPS = (", *(f"{_row(step)!r}," for step in program.steps), ")\n"]
    for name, table in program.tables.items():
        value = frozenset(table) if _is_set(table) else table
        lines.append(f"{scope.identifiers[name]} = {value!r}")
    for name, text in program.derives.items():
        lines.append(f"def {scope.identifiers[name]}(f):\n    return {scope.source(text)}\n")
    texts = dict.fromkeys((*program.derives.values(), *_conditions_and_values(program)))
    lines.append(f"NAMES = {_table({text: scope.names(text) for text in texts})}")
    lines += _conditions(program, scope)
    # Computed once: nothing that it is made of changes while the rules run.
    lines.append("def settle(f):")
    settle = [line for name in scope.settled for line in _settle(name, f"{scope.identifiers[name]}(f)")]
    lines.extend(f"    {line}" for line in settle)
    lines.append("    return\n")
    waking = Waking(program, scope)
    lines.append(f"SLEEPERS = {len(waking)}")
    lines.append(f"WAKES = {_table(waking.wakes())}")
    lines.append("def run(f, h):")
    body = ["a = h.awake.flags"]
    settling = settles_after(program, scope)
    group: int | None = None
    for index, step in enumerate(program.steps):
        number = waking.numbers[index]
        if number is not None and number != group:
            body.append(f"if a[{number}]:")
        group = number
        body += _indented(_step(index, step, scope), by=0 if number is None else 1)
        for name in settling.get(index, ()):
            group = None
            body += _settle(name, scope.source(program.derives[name]))
            scope = replace(program, settled=(*scope.settled, name)).scope()
    lines += _indented(body)
    lines.append("    return\n")
    return "\n".join(lines)


def _conditions_and_values(program: Program) -> Iterator[str]:
    for step in program.steps:
        yield from step.conditions
        yield from step.values


def _conditions(program: Program, scope: Scope) -> list[str]:
    """Write a function for each condition of a remedy, and a table of them by their text."""
    texts = dict.fromkeys(
        remedy["when"] for step in program.steps for remedy in step.remedies if "when" in remedy
    )
    lines = [f"def c{index}(f):\n    return {scope.source(text)}\n" for index, text in enumerate(texts)]
    table = ", ".join(f"{text!r}: c{index}" for index, text in enumerate(texts))
    return [*lines, f"CONDITIONS = {{{table}}}\n"]


def _indented(lines: list[str], by: int = 1) -> list[str]:
    return ["    " * by + line for line in lines]


def _settle(name: str, source: str) -> list[str]:
    return ["try:", f"    f[{name!r}] = {source}", "except UNDECIDABLE:", f"    f[{name!r}] = UNKNOWN"]


def _is_set(table: object) -> bool:
    return isinstance(table, tuple) and all(isinstance(item, str | int) for item in table)


def _step(index: int, step: Step, scope: Scope) -> list[str]:
    if step.kind == "find":
        condition = scope.condition(step.when or "True")
        return [
            "try:",
            f"    if {condition}:",
            f"        h.find({index}, f)",
            "except UNDECIDABLE:",
            f"    h.slow_find({index}, f)",
        ]
    body = _arms(index, step, scope)
    if step.when is not None:
        body = [f"if {scope.condition(step.when)}:", *(f"    {line}" for line in body)]
    return ["try:", *(f"    {line}" for line in body), "except UNDECIDABLE:", f"    h.slow_set({index}, f)"]


def _arms(index: int, step: Step, scope: Scope) -> list[str]:
    lines: list[str] = []
    for number, arm in enumerate(step.arms):
        values = ", ".join(
            scope.source(value) if is_expression else repr(value) for _, is_expression, value in arm.targets
        )
        names = ", ".join(repr(fact) for fact, _, _ in arm.targets)
        word = "if" if number == 0 else "elif"
        condition = "True" if arm.when is None else scope.condition(arm.when)
        lines.append(f"{word} {condition}:")
        assign = f"h.assign(({index}, {number}), f, ({names},), ({values},))"
        lines += [f"    if {assign}:", f"        h.find({index}, f)"] if step.message else [f"    {assign}"]
    return lines


def _table(items: dict[str, Any]) -> str:
    return "{\n" + "".join(f"{key!r}: {value!r},\n" for key, value in items.items()) + "}"


def _row(step: Step) -> str:
    """Write a step as JSON text: a run reads few of all steps, and only when it comes to them."""
    fields = {key: value for key, value in as_dict(step).items() if value not in ("", (), None, [], False)}
    return json.dumps(fields, ensure_ascii=False)
