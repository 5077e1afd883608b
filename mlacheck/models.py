"""Models' configs, and the facts that rules take from them: each looked for and read once in a run."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from mlacheck.facts import UNKNOWN
from mlacheck.frozen import replace
from mlacheck.probes.config import first_value, text_config
from mlacheck.probes.model import ModelConfig, ModelProblem, find_model
from mlacheck.probes.weights import least_weights

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mlacheck.ruleset.expression import Declaration
    from mlacheck.ruleset.program import Program


class Models:
    """Finds models, and remembers what it found."""

    def __init__(self) -> None:
        # By reference, and by the JSON of what a line changes in the config.
        self._found: dict[tuple[str, str], ModelConfig | ModelProblem] = {}
        # By identity: the entries keep their program and model, so ids stay theirs.
        self._facts: dict[tuple[int, str, int], tuple[object, object, dict[str, object]]] = {}
        self._declared: dict[int, dict[str, list[tuple[str, Declaration]]]] = {}

    def add(self, model: ModelConfig) -> str:
        """Make a model known; give the name to call it by."""
        name = f"{model.ref} #{len(self._found)}"
        self._found[name, ""] = replace(model, ref=name)
        return name

    def find(
        self, reference: str, overrides: Mapping[str, Any] | None = None, kept: tuple[str, ...] = ()
    ) -> ModelConfig | ModelProblem:
        """Find a model's config by path or name, as a line changes it, or say why it is not known."""
        key = (reference, json.dumps([overrides, kept], sort_keys=True) if overrides else "")
        found = self._found.get(key)
        if found is None:
            found = self.find(reference) if overrides else find_model(reference)
            if overrides and isinstance(found, ModelConfig):
                found = found.with_overrides(overrides, kept)
            self._found[key] = found
        return found

    def facts(self, program: Program, prefix: str, model: ModelConfig | None) -> dict[str, object]:
        """Give the facts of a model's config under `target.` or `draft.`."""
        key = (id(program), prefix, id(model))
        known = self._facts.get(key)
        if known is None:
            known = self._facts[key] = (program, model, self._read(program, prefix, model))
        return known[2]

    def _read(self, program: Program, prefix: str, model: ModelConfig | None) -> dict[str, object]:
        facts: dict[str, object] = {f"{prefix}known": model is not None}
        if model is not None and model.files is not None and f"{prefix}files" in program.defaults:
            facts[f"{prefix}files"] = model.files
        if prefix == "target.":
            facts |= _weight_facts(program, model)
        if model is not None:
            config = {**model.config, "text": text_config(model.config)}  # as paths of facts name it
            for name, declared in self._declarations(program)[prefix]:
                facts[name] = first_value(config, declared.config, declared.type)
                if facts[name] is None and "architectures.0" in declared.config:
                    facts[name] = UNKNOWN  # the engine takes one from the model's type
        return facts

    def _declarations(self, program: Program) -> dict[str, list[tuple[str, Declaration]]]:
        """Sort what a program reads of models by the prefix of its name."""
        declared = self._declared.get(id(program))
        if declared is None:
            declared = self._declared[id(program)] = defaultdict(list)
            for name, one in program.declarations.items():
                if one.config:
                    declared[f"{name.partition('.')[0]}."].append((name, one))
        return declared


def _weight_facts(program: Program, model: ModelConfig | None) -> dict[str, object]:
    """Give the lower bounds of the weights; None where there is none, and nothing is compared."""
    least = None if model is None else least_weights(model.config, model.least_files_gib)
    facts = {
        "given.weights_gib": None if least is None else round(least.total, 2),
        "given.attention_gib": None if least is None else round(least.attention, 2),
    }
    return {name: value for name, value in facts.items() if name in program.defaults}
