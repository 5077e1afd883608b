"""Where the knowledge lives: `rules/` beside the package in a checkout, inside it in an installed wheel."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path


@cache
def rules_root() -> Path:
    """Give the folder of the rules."""
    packaged = Path(__file__).parent / "rules"
    return packaged if packaged.is_dir() else Path(__file__).parent.parent / "rules"


@cache
def load_json(*parts: str) -> object:
    """Read one JSON data file under the rules, once; the result must not be changed."""
    return json.loads(rules_root().joinpath(*parts).read_text(encoding="utf-8"))


@cache
def load_yaml(*parts: str) -> object:
    """Read one YAML data file under the rules, once; the result must not be changed."""
    import yaml  # the compiled form spares ordinary runs this import

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(rules_root().joinpath(*parts).read_text(encoding="utf-8"), Loader=loader)  # noqa: S506 - a safe loader
