"""Compiles the rules into the wheel, so that an installed mlacheck parses no YAML on an ordinary run."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompileRules(BuildHookInterface[Any]):
    """Adds `mlacheck/_compiled` to a wheel."""

    _folder: tempfile.TemporaryDirectory[str] | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Generate one module for each recorded engine version."""
        # An editable install compiles on first use and follows the rule files.
        if self.target_name != "wheel" or version == "editable":
            return
        sys.path.insert(0, self.root)
        from mlacheck.data import compiled_name, parse_yaml, rules_root
        from mlacheck.probes.catalogue import FOLDER, INDEX, index_of
        from mlacheck.probes.engine import ENGINES, recorded_versions
        from mlacheck.ruleset.load import generate, module_name

        self._folder = tempfile.TemporaryDirectory(prefix="mlacheck-rules-")
        folder = Path(self._folder.name)
        files = {
            f"{module_name(engine, one)}.py": generate(engine, one)
            for engine in ENGINES
            for one in recorded_versions(engine)
        }
        data = {name: parse_yaml(rules_root() / name) for name in self._data()}
        files |= {compiled_name(*name.split("/")): json.dumps(content) for name, content in data.items()}
        models = {
            name.partition("/")[2]: content for name, content in data.items() if name.startswith(f"{FOLDER}/")
        }
        files[INDEX] = json.dumps(index_of(models))
        files["__init__.py"] = ""
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
            build_data["force_include"][str(folder / name)] = f"mlacheck/_compiled/{name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - hatch's
        """Remove the generated files, which the wheel now holds."""
        if self._folder is not None:
            self._folder.cleanup()

    def _data(self) -> list[str]:
        """Name the files that runs read as data; an engine has those of its kinds that it needs."""
        rules = Path(self.root, "rules")
        kinds = ("*.yaml", "*/spellings.yaml", "*/remedies.yaml", "*/matrix.yaml")
        folders = ("flashinfer/*.yaml", "decode/*.yaml", "models/*.yaml")
        found = (path for pattern in (*kinds, *folders) for path in rules.glob(pattern))
        return sorted(path.relative_to(rules).as_posix() for path in found)
