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
        from mlacheck.probes.engine import recorded_versions
        from mlacheck.ruleset.load import generate, module_name

        self._folder = tempfile.TemporaryDirectory(prefix="mlacheck-rules-")
        folder = Path(self._folder.name)
        files = {
            f"{module_name('sglang', one)}.py": generate("sglang", one) for one in recorded_versions("sglang")
        }
        engine = ("sglang/spellings.yaml", "sglang/remedies.yaml", "sglang/matrix.yaml", "decode/sglang.yaml")
        data = ("gpus.yaml", "flashinfer/watched.yaml", *engine, *self._models())
        for name in data:
            files[compiled_name(*name.split("/"))] = json.dumps(parse_yaml(rules_root() / name))
        files["__init__.py"] = ""
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
            build_data["force_include"][str(folder / name)] = f"mlacheck/_compiled/{name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - hatch's
        """Remove the generated files, which the wheel now holds."""
        if self._folder is not None:
            self._folder.cleanup()

    def _models(self) -> list[str]:
        return [f"models/{path.name}" for path in sorted(Path(self.root, "rules", "models").glob("*.yaml"))]
