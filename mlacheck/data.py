"""Where the knowledge lives: `rules/` beside the package in a checkout, inside it in an installed wheel.

YAML is the source. Parsing it costs more than a whole run, so a compiled form lies in `_compiled`: made when
a wheel is built, and in a checkout on first use and whenever a source is newer.
"""

from __future__ import annotations

import contextlib
import json
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import yaml

PACKAGE: Final = Path(__file__).parent
COMPILED: Final = PACKAGE / "_compiled"


@cache
def rules_root() -> Path:
    """Give the folder of the rules."""
    packaged = PACKAGE / "rules"
    return packaged if packaged.is_dir() else PACKAGE.parent / "rules"


@cache
def is_checkout() -> bool:
    """Tell whether the rules can be newer than what was compiled; an installed wheel is made in one piece."""
    return rules_root().parent != PACKAGE


@cache
def load_json(*parts: str) -> object:
    """Read one JSON data file under the rules, once; the result must not be changed."""
    return json.loads(rules_root().joinpath(*parts).read_text(encoding="utf-8"))


def find_json(*parts: str) -> Any:
    """Read one that an engine may have, as `load_json` does; None where it has none."""
    try:
        return load_json(*parts)
    except FileNotFoundError:
        return None


@cache
def load_yaml(*parts: str) -> object:
    """Read one YAML data file under the rules, once; the result must not be changed."""
    source = rules_root().joinpath(*parts)
    return load_compiled(compiled_name(*parts), (source,), lambda: parse_yaml(source))


def load_compiled(name: str, sources: Iterable[Path], make: Callable[[], object]) -> object:
    """Read what was compiled from files and folders; make it, and keep it, where one of them is newer."""
    compiled = COMPILED / name
    with contextlib.suppress(OSError, ValueError):
        if not is_checkout() or compiled.stat().st_mtime_ns > max(one.stat().st_mtime_ns for one in sources):
            return json.loads(compiled.read_text(encoding="utf-8"))
    data = make()
    # A read-only checkout works too, only slower.
    with contextlib.suppress(OSError):
        write_compiled(compiled, json.dumps(data, ensure_ascii=False))
    return data


def compiled_name(*parts: str) -> str:
    """Name the compiled form of a YAML data file."""
    return "-".join(parts).replace(".yaml", ".json")


def parse_yaml(path: Path) -> object:
    """Parse one of our own YAML files."""
    import yaml  # the compiled form spares ordinary runs this import

    return yaml.load(path.read_text(encoding="utf-8"), Loader=yaml_loader())  # noqa: S506 - a safe loader


def yaml_loader() -> type[yaml.SafeLoader]:
    """Give the safe loader that is faster where PyYAML was built with it."""
    import yaml  # same

    loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return loader


def write_compiled(path: Path, text: str) -> None:
    """Write a compiled file so that no reader ever sees half of one."""
    path.parent.mkdir(exist_ok=True)
    partial = path.parent / f".{path.name}.{os.getpid()}"
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
