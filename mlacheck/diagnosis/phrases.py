"""The words by which each rule's refusal is recognised, over all recorded versions."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Final

from mlacheck.frozen import frozen
from mlacheck.probes.engine import recorded_versions
from mlacheck.ruleset.load import load_program

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mlacheck.ruleset.program import Step

_WORD: Final = re.compile(r"\w+")
_TYPE: Final = re.compile(r"[A-Z]\w*(?:Error|Exception)")


@frozen
class Candidate:
    """A rule that a message or a place may come from, and the versions in which it does."""

    step: Step
    versions: tuple[str, ...]


@frozen
class Phrases:
    """All such words of one engine, found in a line by one word of each."""

    keyed: Mapping[str, tuple[str, ...]]  # a telling word to the phrases that contain it
    unkeyed: tuple[str, ...]  # phrases without one
    rules: Mapping[str, tuple[Candidate, ...]]  # phrase to rules
    places: Mapping[tuple[str, str], tuple[Candidate, ...]]  # (file, function) to rules

    def keyed_in(self, line: str) -> list[str]:
        """Give the phrases that may stand in a line, or end or begin in it."""
        told = self.keyed.keys() & _WORD.findall(line)
        found = [text for word in told for text in self.keyed[word]]
        # Words as short as these say something in an error only.
        if "rror" in line or "xception" in line:
            found += [text for text in self.unkeyed if text in line]
        return found


def places_of(step: Step) -> list[tuple[str, str]]:
    """Give the file and each function that a rule is about."""
    file, _, symbols = step.source.partition("::")
    return [(file, symbol.strip().rpartition(".")[2]) for symbol in symbols.split(",")]


def words_of(step: Step) -> list[str]:
    """Give what the engine says of a rule; an exception's bare type says nothing of which one it is."""
    return [text for text in step.engine_says if not _TYPE.fullmatch(text)]


def flat(text: str) -> str:
    """Put text on one line with single blanks."""
    return " ".join(text.split())


@cache
def phrases(engine: str) -> Phrases:
    """Collect them."""
    steps: dict[tuple[str, str], tuple[Step, list[str]]] = {}
    said: dict[str, dict[str, None]] = {}
    places: dict[tuple[str, str], dict[str, None]] = {}
    for version in recorded_versions(engine):
        for step in load_program(engine, version).program.steps:
            if step.id is None or step.kind != "find":
                continue
            for text in words_of(step):
                key = (step.id, flat(text))
                steps.setdefault(key, (step, []))[1].append(version)
                said.setdefault(key[1], {})[step.id] = None
            if step.source:
                for where in places_of(step):
                    steps.setdefault((step.id, f"{where}"), (step, []))[1].append(version)
                    places.setdefault(where, {})[step.id] = None

    def candidates(key: str, ids: Iterable[str]) -> tuple[Candidate, ...]:
        return tuple(Candidate(steps[one, key][0], tuple(dict.fromkeys(steps[one, key][1]))) for one in ids)

    keyed, unkeyed = _keys(said)
    return Phrases(
        keyed,
        unkeyed,
        {text: candidates(text, ids) for text, ids in said.items()},
        {where: candidates(f"{where}", ids) for where, ids in places.items()},
    )


def _keys(texts: Iterable[str]) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Index each phrase by its rarest word; the first and last may be parts of longer ones."""
    words = {text: _WORD.findall(text)[1:-1] for text in texts}
    counts = Counter(word for inner in words.values() for word in set(inner))
    keyed: dict[str, list[str]] = {}
    unkeyed = []
    for text, inner in words.items():
        if inner:
            keyed.setdefault(min(inner, key=lambda word: (counts[word], -len(word))), []).append(text)
        else:
            unkeyed.append(text)
    return {word: tuple(found) for word, found in keyed.items()}, tuple(unkeyed)
