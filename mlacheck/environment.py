"""Environment variables of a line that its engine does not read, of which it says nothing, or cannot read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mlacheck.builtin import MISSPELT_VARIABLE, UNREAD_VARIABLE
from mlacheck.data import find_json
from mlacheck.probes.engine import entry_points, recorded_versions
from mlacheck.similar import closest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from mlacheck.finding import Finding

# One letter wrong in fifteen: people begin names of their own like the engine's (SGLANG_IMAGE, VLLM_MODEL).
_LIKE: Final = 0.93
_NUMBERS: Final[dict[str, tuple[Callable[[str], float], str]]] = {
    "int": (int, "whole number"),
    "float": (float, "number"),
}


def unread(names: Iterable[str], engine: str, version: str) -> Iterator[Finding]:
    """Tell of names that only other recorded versions read, or that are a slip away from one that is read."""
    prefixes: dict[str, str] = entry_points(engine)["variables"]
    for name in names:
        prefix = next((one for one in prefixes if name.startswith(one)), None)
        if prefix is None:
            continue
        spans: dict[str, tuple[str, str]] = find_json(engine, "environment.json")["names"]
        span = spans.get(name) or spans.get(prefixes[prefix] + name.removeprefix(prefix))
        if span is None:
            known = [one for one, span in spans.items() if _covers(engine, *span, version)]
            for meant in closest(name, known, 1, _LIKE):
                yield MISSPELT_VARIABLE.finding(f"{engine} {version} reads no {name}: did you mean {meant}?")
        elif not _covers(engine, *span, version):
            which = " to ".join(dict.fromkeys(span))
            yield UNREAD_VARIABLE.finding(
                f"{engine} {version} does not read {name}, which {which} read: it has no effect here"
            )


def misread(given: Mapping[str, str], engine: str, version: str) -> str | None:
    """Tell what is wrong with values that are not of the form in which their variables are read."""
    forms: dict[str, Any] = find_json(engine, "environment.json").get("values", {})
    wrong = []
    for name, value in given.items():
        for first, last, form in forms.get(name, ()):
            wanted = _wanted(value, form)
            if wanted and _covers(engine, first, last, version):
                wrong.append(f"{name}={value} is {wanted}")
    return ", ".join(wrong) or None


def _wanted(value: str, form: Any) -> str | None:
    """Tell what a text is not, of the form that is asked for; None where it fits."""
    if isinstance(form, str):
        read, kind = _NUMBERS[form]
        try:
            read(value)
        except ValueError:
            return f"no {kind}"
        return None
    words: list[str] = form["words"]
    texts = [one.strip() for one in value.split(",") if one.strip()] if form.get("many") else [value]
    fold = str if form.get("cased", True) else str.lower
    return None if {*map(fold, texts)} <= {*map(fold, words)} else f"none of {', '.join(words)}"


def _covers(engine: str, first: str, last: str, version: str) -> bool:
    versions = recorded_versions(engine)
    return versions.index(first) <= versions.index(version) <= versions.index(last)
