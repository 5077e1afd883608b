"""The rule files of one engine: read, validated by their schema, and yielded rule by rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from mlacheck.frozen import frozen
from mlacheck.ruleset import source as rule_source
from mlacheck.ruleset.schema import ChooseRule, FindRule, ProgramFile, RuleFile, SetRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mlacheck.ruleset.source import Key, Source

Rule = FindRule | SetRule | ChooseRule
_KINDS: Final = frozenset({"find", "set", "choose"})


@frozen
class RuleSet:
    """The validated rule files of one engine, all versions."""

    engine: str
    order: ProgramFile
    files: tuple[tuple[Source, RuleFile], ...]

    def rules(self) -> Iterator[tuple[Source, Key, Rule]]:
        """Yield every rule with its place."""
        for source, file in self.files:
            for index, rule in enumerate(file.rules):
                yield source, ("rules", index), rule

    def finds(self) -> Iterator[tuple[Source, Key, FindRule]]:
        """Yield the rules that make findings and carry tests."""
        for source, path, rule in self.rules():
            if isinstance(rule, FindRule):
                yield source, path, rule


def read_ruleset(root: Path, engine: str, extra: Sequence[Path] = ()) -> RuleSet:
    """Read and validate an engine's rule files; `extra` files come last. Raises `RuleError`."""
    folder = root / engine
    order = _validate(rule_source.read(folder / "program.yaml", f"rules/{engine}/program.yaml"), ProgramFile)
    files = []
    for name in order.files:
        if (folder / name).exists():
            source = rule_source.read(folder / name, f"rules/{engine}/{name}")
            files.append((source, _validate(source, RuleFile)))
    for path in extra:
        source = rule_source.read(path)
        files.append((source, _validate(source, RuleFile)))
    ruleset = RuleSet(engine, order, tuple(files))
    _check_unique(ruleset)
    return ruleset


def _validate(source: Source, model: type[Any]) -> Any:
    if source.data is None:
        raise source.error("is empty")
    try:
        return model.model_validate(source.data)
    except ValidationError as error:
        # A misspelt key makes the right one missing too; name the misspelling.
        first = min(error.errors(include_url=False), key=lambda one: one["type"] != "extra_forbidden")
        path = tuple(part for part in first["loc"] if part not in _KINDS or first["loc"][0] != "rules")
        named = ".".join(map(str, path))
        raise source.error(f"{named}: {first['msg']}", path) from None


def _check_unique(ruleset: RuleSet) -> None:
    seen: dict[str, str] = {}
    for source, path, rule in ruleset.rules():
        for key in filter(None, (rule.id, rule.slug)):
            if key in seen:
                raise source.error(f"{key} is already used by {seen[key]}", path)
            seen[key] = f"{source.name}:{source.line(path)}"
