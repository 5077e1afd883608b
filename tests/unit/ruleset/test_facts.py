from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mlacheck.probes.engine import ENGINES, recorded_versions
from mlacheck.remedies.preference import preferences
from mlacheck.ruleset import load
from mlacheck.ruleset.expression import names_of
from mlacheck.ruleset.program import PLACEHOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mlacheck.ruleset.load import Compiled


def expressions(compiled: Compiled) -> Iterator[str]:
    program = compiled.program
    yield from (*program.derives.values(), program.draft, program.overrides, program.overrides_keep)
    for step in program.steps:
        yield from (*step.conditions, *step.values)
        yield from (remedy["when"] for remedy in step.remedies if "when" in remedy)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_fact_and_table_is_read_in_some_version(engine: str) -> None:
    files = [file for _, file in load.ruleset(engine).files]
    unread = {name for file in files for name in (*file.facts, *file.derive, *file.tables)}
    unread.difference_update(keep.fact for keep in preferences(engine).keeps)
    for version in recorded_versions(engine):
        compiled = load.load_program(engine, version)
        unread -= {name for text in expressions(compiled) for name in names_of(compiled.scope.tree(text))}
        for step in compiled.program.steps:
            unread.difference_update(PLACEHOLDER.findall(step.message))
        unread.difference_update(compiled.program.resolved)
    assert not unread


@pytest.mark.parametrize("engine", ENGINES)
def test_a_fact_is_declared_in_one_file_and_under_one_name(engine: str) -> None:
    places: dict[object, list[str]] = {}
    for source, file in load.ruleset(engine).files:
        for name, fact in file.facts.items():
            places.setdefault(name, []).append(source.name)
            if fact.config:
                same = (name.partition(".")[0], fact.type, *fact.config)
                places.setdefault(same, []).append(name)
    assert {what: found for what, found in places.items() if len(found) > 1} == {}
