"""The recorded inventory of an engine's start-up guards, and which of them the rules model."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

from mlacheck.data import find_json
from mlacheck.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from mlacheck.ruleset.program import Step


@frozen
class Guard:
    """One place where an engine version can refuse a launch."""

    file: str
    symbol: str
    kind: str
    says: str
    number: int  # among guards of the same place that begin alike
    digest: str
    reads: tuple[str, ...]
    needs: tuple[str, ...]
    area: str
    phase: str
    backends: tuple[str, ...] = ()
    about: tuple[str, ...] = ()  # model classes, speculative algorithms
    why: str = ""  # why no line of ours meets it, if so

    @property
    def key(self) -> str:
        """Name it the same way in every version in which it stands."""
        number = f"-{self.number + 1}" if self.number else ""
        return f"{self.file}::{self.symbol}::{_slug(self.kind, self.says)}{number}"


def _slug(kind: str, says: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", says.lower()).strip("-")[:48].rstrip("-") or kind


def inventory(engine: str) -> dict[str, Any]:
    """Read the inventory of all recorded versions as it is stored."""
    found = find_json(engine, "guards", "inventory.json")
    return cast("dict[str, Any]", found or {"versions": [], "files": {}})


def guards(engine: str, version: str) -> list[Guard]:
    """List the start-up guards of a recorded version."""
    return list(guards_in(inventory(engine), version))


def guards_in(data: dict[str, Any], version: str) -> Iterator[Guard]:
    """Read one version's guards out of an inventory."""
    versions: list[str] = data["versions"]
    if version not in versions:
        return
    for file, entry in data["files"].items():
        area = entry["area"]
        phase = data["areas"][area]
        backends = tuple(entry.get("backends", ()))
        for symbol, rows in entry["guards"].items():
            seen: dict[str, int] = {}
            for kind, words, names, *spans in rows:
                digest = digest_at(spans, version, versions)
                if digest is None:
                    continue
                slug = _slug(kind, words)
                number = seen.get(slug, 0)
                seen[slug] = number + 1
                about = tuple(name[1:] for name in names if name.startswith("@"))
                why = next((name[1:] for name in names if name.startswith("#")), "")
                reads = tuple(name.rstrip("!") for name in names if name[0] not in "@#")
                needs = tuple(name[:-1] for name in names if name.endswith("!"))
                yield Guard(
                    file, symbol, kind, words, number, digest, reads, needs, area, phase, backends, about, why
                )


def digest_at(spans: Sequence[str], version: str, versions: Sequence[str]) -> str | None:
    """Give the digest that a guard has in a version, None where it does not stand."""
    at = versions.index(version)
    for span in spans:
        range_, _, digest = span.partition(" ")
        first, dash, last = range_.partition("-")
        if versions.index(first) <= at and (not dash or at <= versions.index(last)):
            return digest
    return None


def models(step: Step, file: str, symbol: str, said: str) -> bool:
    """Tell whether a rule names a guard: same file and function, and the rule's text is in its message."""
    from mlacheck.ruleset.wording import says  # only when rules are built

    named, _, symbols = step.source.partition("::")
    return (
        named == file
        and any(not one or f".{one}." in f".{symbol}." for one in symbols.split(", "))
        and any(says(text, said) for text in step.engine_says or ("",))
    )


def modelled(steps: Iterable[Step], found: Iterable[Guard]) -> dict[str, tuple[str, ...]]:
    """Give each guard's key with the rules that name it."""
    by_file: dict[str, list[Step]] = {}
    for step in steps:
        if step.kind == "find":
            by_file.setdefault(step.source.partition("::")[0], []).append(step)
    return {
        guard.key: tuple(
            step.id or step.slug
            for step in by_file.get(guard.file, ())
            if models(step, guard.file, guard.symbol, guard.says)
        )
        for guard in found
    }


# How many guards that no rule names share: arguments that must be set, arguments read, backends that they are
# of, model classes or speculative algorithms that they are about.
Trigger = tuple[int, tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...]]
# By the arguments of which a line gives one where they concern it; "" where a backend or a model is enough.
Unmodelled = dict[str, tuple[Trigger, ...]]


def unmodelled(steps: Iterable[Step], found: Sequence[Guard]) -> Unmodelled:
    """Count the guards that no rule names by what makes them concern a line."""
    named = modelled(steps, found)
    counts: dict[tuple[tuple[str, ...], ...], int] = {}
    for guard in found:
        if not guard.why and not named[guard.key] and (guard.reads or guard.backends or guard.about):
            trigger = (guard.needs, guard.reads, guard.backends, guard.about)
            counts[trigger] = counts.get(trigger, 0) + 1
    rows: Unmodelled = {}
    for (needs, reads, *rest), count in counts.items():
        for key in needs[:1] or reads or ("",):
            rows[key] = (*rows.get(key, ()), (count, needs, reads, *rest))  # type: ignore[arg-type]  # two of them
    return rows


def concerning(
    rows: Unmodelled,
    given: Iterable[str],
    backends: Iterable[str],
    kinds: AbstractSet[str] | None = None,
) -> tuple[int, dict[str, int]]:
    """Count the guards that no rule names and a line could meet, in all and for each argument given.

    `kinds` are the model's class and the speculative method, None where they are not known.
    """
    given, backends = frozenset(given), frozenset(backends)
    total = 0
    by_argument: dict[str, int] = {}
    # A guard that reads several of the arguments stands under each.
    for count, needs, reads, only, about in set(
        chain.from_iterable(rows.get(name, ()) for name in ("", *given))
    ):
        if not given.issuperset(needs) or (only and backends.isdisjoint(only)):
            continue
        if about and kinds is not None and kinds.isdisjoint(about):
            continue
        named = [name for name in reads if name in given]
        if named or ((only or about) and not reads):
            total += count
            for name in needs or named:
                by_argument[name] = by_argument.get(name, 0) + count
    return total, by_argument
