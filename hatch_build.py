"""Compiles the rules into the wheel, so that an installed mlacheck parses no YAML on an ordinary run."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompileRules(BuildHookInterface[Any]):
    """Adds `mlacheck/_compiled` to a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Generate one module for each recorded engine version."""
        # An editable install compiles on first use and follows the rule files.
        if self.target_name != "wheel" or version == "editable":
            return
        sys.path.insert(0, self.root)
        from mlacheck.ruleset.load import generate, known_versions, module_name, write_module

        folder = Path(tempfile.mkdtemp(prefix="mlacheck-rules-"))
        for engine_version in known_versions("sglang"):
            write_module(module_name("sglang", engine_version), generate("sglang", engine_version), folder)
        for path in sorted(folder.glob("*.py")):
            build_data["force_include"][str(path)] = f"mlacheck/_compiled/{path.name}"
