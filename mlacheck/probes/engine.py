"""Engine versions: those that the rules recorded, what each pins, and what an image reference names."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any, Final, cast

from mlacheck.data import load_json, load_yaml, rules_root
from mlacheck.frozen import frozen
from mlacheck.pattern import lazy
from mlacheck.probes.distribution import DISTRIBUTIONS
from mlacheck.probes.version import parse_version, tag_version

if TYPE_CHECKING:
    from packaging.version import Version

ENGINES: Final = tuple(cast("dict[str, Any]", load_yaml("engines.yaml")))

# Requirement text as METADATA has it, with or without the distribution's name in front.
_EXACT = lazy(r"(?:[\w.-]+\s*(?:\[[^]]*\])?\s*==)?=*\s*(\d[\w.!+-]*)")


@frozen
class Image:
    """What an image reference says of the engine; a tag such as `latest` names no version."""

    reference: str
    engine: str
    version: Version | None


def entry_points(engine: str) -> dict[str, Any]:
    """Give how an engine is started."""
    return cast("dict[str, Any]", load_yaml("engines.yaml"))[engine]  # type: ignore[no-any-return]  # JSON


@functools.cache
def recorded_versions(engine: str) -> tuple[str, ...]:
    """List the recorded versions of an engine, oldest first."""
    files = rules_root().joinpath(engine, "flags").glob("*.json")
    named = [(version, file.stem) for file in files if (version := parse_version(file.stem)) is not None]
    return tuple(stem for _, stem in sorted(named))


@functools.cache
def pins(engine: str, recorded: str) -> dict[str, str]:
    """Give the exact versions that a recorded engine version requires, by fact name."""
    data = load_json(engine, "flags", f"{recorded}.json")
    raw = data.get("pins") if isinstance(data, dict) else None
    listed = {_normal(name): str(spec) for name, spec in raw.items()} if isinstance(raw, dict) else {}
    found: dict[str, str] = {}
    for fact, names in DISTRIBUTIONS.items():
        spec = next((listed[name] for name in names if name in listed), None)
        exact = None if spec is None else _EXACT.fullmatch(spec.strip())
        if exact is not None:
            found[fact] = exact[1]
    return found


@functools.lru_cache(maxsize=256)
def read_image(reference: str) -> Image | None:
    """Read `registry/org/sglang:v0.5.18-cu130`; None when the image is not an engine's own."""
    name, _, _digest = reference.partition("@")
    path, _, last = name.rpartition("/")
    repository, _, tag = last.partition(":")
    for engine in ENGINES:
        if (
            repository == engine
            or repository.startswith(engine + "-")
            or path.split("/")[-1] == f"{engine}-project"
        ):
            return Image(reference, engine, tag_version(tag) if tag else None)
    return None


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.partition("[")[0]).lower()
