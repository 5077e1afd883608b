"""Checks the keys and values of a configuration file, and makes `Settings` of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from mlacheck.config.settings import ConfigError, Profile, Settings, hint
from mlacheck.finding import LEVELS
from mlacheck.frozen import replace
from mlacheck.probes.engine import ENGINES, recorded_versions
from mlacheck.probes.resolution import OTHERS
from mlacheck.probes.target import TargetFlags

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_TARGET: Final = ("flashinfer", "gpu")
_VERSION: Final = "engine-version"
_COUNTS: Final = {"gpu-count": 0, "nodes": 1}
# Keys by what their value has to be; whole numbers have a least one of their own.
_STRINGS: Final = (*_TARGET, "engine", "model", "baseline", "profile")
_LISTS: Final = ("select", "ignore", "rules", "files")
_TABLES: Final = ("env", "packages")
_TARGET_KEYS: Final = ("engine", _VERSION, *_TARGET, *_COUNTS, "model", "env", "packages")
_PROFILE_KEYS: Final = (*_TARGET_KEYS, "files")
_KEYS: Final = (
    *_TARGET_KEYS,
    "fail-on",
    "strict",
    "select",
    "ignore",
    "baseline",
    "rules",
    "profile",
    "profiles",
)


def settings_of(path: Path, data: Mapping[str, Any], where: str) -> Settings:
    """Make settings of a parsed file. Raises `ConfigError` with everything that is wrong."""
    problems: list[str] = []

    def check(table: object, place: str, keys: tuple[str, ...]) -> dict[str, Any]:
        """Keep what is right, and note what is not."""
        if not isinstance(table, dict):
            problems.append(f"{path}: {place} is {table!r}, not a table")
            return {}
        good = {}
        for key, value in table.items():
            name = _path(place, key)
            if key not in keys:
                meant = key.replace("_", "-")
                close = f"; did you mean {meant}?" if meant in keys else hint(key, keys)
                problems.append(f"{path}: {name} is not a key here{close}")
            elif (kind := _wrong(key, value)) is not None:
                problems.append(f"{path}: {name} is {_shown(value)}, not {kind}")
            else:
                good[key] = value
        return good

    top = check(data, where, _KEYS)
    base = _profile("", top, path.parent) if any(key in top for key in _TARGET_KEYS) else None
    under = f"{where}.profiles" if where else "profiles"
    profiles = []
    for name, table in top.get("profiles", {}).items():
        own = check(table, _path(under, name), _PROFILE_KEYS)
        inherited = {key: top[key] for key in _TARGET_KEYS if key in top}
        for key in ("env", "packages"):
            if key in inherited and key in own:
                own[key] = {**inherited[key], **own[key]}
        profiles.append(_profile(name, {**inherited, **own}, path.parent))
    default = top.get("profile")
    if default is not None and default not in top.get("profiles", {}):
        known = list(top.get("profiles", {}))
        place = f"{where}.profile" if where else "profile"
        problems.append(f"{path}: {place} is {default!r}, and there is no such profile{hint(default, known)}")
    for engine, place in _named(top, under, where, "engine"):
        known = [one for one in ENGINES if recorded_versions(one)]
        if engine not in known:
            problems.append(f"{path}: {place} is {engine!r}; there are rules for {', '.join(known)}")
    for versions, place in _named(top, under, where, _VERSION):
        problems += [
            f"{path}: {_path(place, name)} is no engine{hint(name, ENGINES)}"
            for name in versions
            if isinstance(versions, dict) and name not in ENGINES
        ]
    for packages, place in _named(top, under, where, "packages"):
        problems += [
            f"{path}: {_path(place, name)} is no package that rules ask about{hint(name, OTHERS)}"
            for name in packages
            if name not in OTHERS
        ]
    if problems:
        raise ConfigError(problems)
    return Settings(
        path=path,
        profiles=tuple(profiles),
        base=base,
        default_profile=default,
        fail_on=top.get("fail-on"),
        strict=top.get("strict", False),
        select=tuple(top.get("select", ())),
        ignore=tuple(top.get("ignore", ())),
        baseline=None if "baseline" not in top else str(path.parent / top["baseline"]),
        rules=tuple(str(path.parent / one) for one in top.get("rules", ())),
    )


def _path(place: str, key: str) -> str:
    """Write a key with those around it, as TOML does; one that is not plain in quotes."""
    plain = key if re.fullmatch(r"[\w-]+", key, re.ASCII) else repr(key)
    return f"{place}.{plain}" if place else plain


def _wrong(key: str, value: object) -> str | None:
    """Say what a value should be, when it is not."""
    if key in _STRINGS:
        return None if isinstance(value, str) else "a string"
    if key in _LISTS:
        good = isinstance(value, list) and all(isinstance(one, str) for one in value)
        return None if good else "a list of strings"
    if key in _TABLES:
        good = isinstance(value, dict) and all(isinstance(one, str) for one in value.values())
        return None if good else "a table of strings"
    if key in _COUNTS:
        least = _COUNTS[key]
        good = isinstance(value, int) and not isinstance(value, bool) and value >= least
        return None if good else f"a whole number from {least}"
    if key == _VERSION:
        good = isinstance(value, str) or (isinstance(value, dict) and _wrong("env", value) is None)
        return None if good else "a string, or a table of one for each engine"
    if key == "fail-on":
        return None if value in LEVELS else f"one of {', '.join(LEVELS)}"
    if key == "strict":
        return None if isinstance(value, bool) else "true or false"
    return None if isinstance(value, dict) else "a table of profiles"


def _named(top: Mapping[str, Any], under: str, where: str, key: str) -> list[tuple[Any, str]]:
    """List the values of a key, each with its place, outside profiles and in them."""
    found = [(top[key], f"{where}.{key}" if where else key)] if key in top else []
    for name, table in top.get("profiles", {}).items():
        if isinstance(table, dict) and key in table and _wrong(key, table[key]) is None:
            found.append((table[key], f"{_path(under, name)}.{key}"))
    return found


def _profile(name: str, table: Mapping[str, Any], folder: Path) -> Profile:
    version, engine = table.get(_VERSION), table.get("engine")
    if engine is not None and isinstance(version, str):
        version = {engine: version}
    target = (
        TargetFlags(engine_version=version)
        if not isinstance(version, dict)
        else TargetFlags(engine_versions=tuple(sorted(version.items())))
    )
    values = {key.replace("-", "_"): table[key] for key in (*_TARGET, *_COUNTS) if key in table}
    if "packages" in table:
        values["packages"] = tuple(sorted(table["packages"].items()))
    model = table.get("model")
    if model is not None and (folder / model).exists():
        # A path in the file is meant from where the file is, not from where the command is run.
        model = str(folder / model)
    return Profile(
        name, replace(target, **values), model, table.get("env", {}), tuple(table.get("files", ()))
    )


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)
