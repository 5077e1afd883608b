"""Finds and reads the configuration file: `mlacheck.toml`, or `[tool.mlacheck]` in `pyproject.toml`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from mlacheck.config.settings import ConfigError, Settings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

NAME: Final = "mlacheck.toml"
PROJECT: Final = "pyproject.toml"


def find_config(start: Path) -> Path | None:
    """Look for a configuration file in a folder and in those above it; the nearest one counts alone."""
    for folder in (start, *start.parents):
        own = folder / NAME
        if own.is_file():
            return own
        project = folder / PROJECT
        if project.is_file() and _names_us(project):
            return project
    return None


def _names_us(project: Path) -> bool:
    try:
        # Most projects do not name this one: those are not parsed.
        if b"mlacheck" not in project.read_bytes():
            return False
    except OSError:
        return False
    tool = _parsed(project).get("tool")
    return isinstance(tool, dict) and "mlacheck" in tool


def read_config(path: Path) -> Settings:
    """Read a configuration file. Raises `ConfigError`."""
    from mlacheck.config.check import settings_of  # only where there is a file

    data: Any = _parsed(path)
    where = ""
    if path.name == PROJECT:
        tool = data.get("tool")
        data = tool.get("mlacheck") if isinstance(tool, dict) else None
        where = "tool.mlacheck"
        if data is None:
            raise ConfigError([f"{path}: it has no [tool.mlacheck]"])
    return settings_of(path, data, where)


def _parsed(path: Path) -> Mapping[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib  # only where there is a file
    else:
        import tomli as tomllib
    try:
        data: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError([f"{path}: cannot be read: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise ConfigError([f"{path}: is not UTF-8 (byte {error.start})"]) from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError([f"{path}: is not TOML: {error}"]) from error
    return data
