from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from mlacheck.probes.engine import ENGINES, recorded_versions
from mlacheck.ruleset.load import ruleset

if TYPE_CHECKING:
    from collections.abc import Iterator


def without_version(node: Any, engine: str, left: list[Version], where: str) -> Iterator[str]:
    """Name what is bounded to versions of which the bounds around it leave none."""
    if isinstance(node, dict):
        bound = (node.get("versions") or {}).get(engine, "")
        left = [one for one in left if one in SpecifierSet(bound)]
        if not left:
            yield f"{where}: {bound}"
            return
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield from without_version(value, engine, left, f"{where}.{key}")


@pytest.mark.parametrize("engine", ENGINES)
def test_every_bound_leaves_a_recorded_version(engine: str) -> None:
    versions = [Version(one) for one in recorded_versions(engine)]
    found = []
    for _, file in ruleset(engine).files:
        for rule in file.model_dump()["rules"]:
            found += without_version(rule, engine, versions, rule["slug"])
    assert not found


@pytest.mark.parametrize("engine", ENGINES)
def test_every_arm_of_a_table_or_derived_fact_is_for_some_version(engine: str) -> None:
    for _, file in ruleset(engine).files:
        data = file.model_dump()
        for name, arms in (*data["tables"].items(), *data["derive"].items()):
            left = [Version(one) for one in recorded_versions(engine)]
            for arm in arms if isinstance(arms, list) else ():
                bound = SpecifierSet(arm["versions"].get(engine, ""))
                assert any(one in bound for one in left), f"{name}: {bound}"
                left = [one for one in left if one not in bound]
