"""What a configuration file says, as plain values."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from mlacheck.frozen import field, frozen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mlacheck.probes.target import TargetFlags


class ConfigError(Exception):
    """A configuration that cannot be used; one line for each thing that is wrong."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))


@frozen
class Profile:
    """A target with a name, for the files that match its globs."""

    name: str
    target: TargetFlags
    model: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    files: tuple[str, ...] = ()


@frozen
class Settings:
    """One configuration file, or none: then everything is left to flags and defaults."""

    path: Path | None = None
    profiles: tuple[Profile, ...] = ()
    # The target that is named outside any profile; profiles inherit it.
    base: Profile | None = None
    default_profile: str | None = None
    fail_on: str | None = None
    strict: bool = False
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    baseline: str | None = None
    rules: tuple[str, ...] = ()

    def named(self, name: str) -> Profile:
        """Give a profile by name. Raises `ConfigError`."""
        for profile in self.profiles:
            if profile.name == name:
                return profile
        if self.path is None:
            raise ConfigError(
                [f"profile {name}: no mlacheck.toml or [tool.mlacheck] in pyproject.toml was found"]
            )
        names = [profile.name for profile in self.profiles]
        raise ConfigError([f"{self.path}: there is no profile {name!r}{hint(name, names)}"])

    def profile_of(self, file: str | None) -> Profile | None:
        """Give the profile of a file: the first whose globs match it, else the default one, else the base."""
        if file is not None and self.path is not None:
            for profile in self.profiles:
                if matches(file, profile.files, self.path.parent):
                    return profile
        return self.base if self.default_profile is None else self.named(self.default_profile)


def matches(file: str, globs: Sequence[str], folder: Path) -> bool:
    """Tell whether a file matches a glob relative to a folder; one without `/` is for names in any folder."""
    if not globs:
        return False
    path = PurePath(os.path.relpath(file, folder)).as_posix()
    return any(_pattern(glob).fullmatch(path if "/" in glob else path.rpartition("/")[2]) for glob in globs)


def _pattern(glob: str) -> re.Pattern[str]:
    parts = []
    for part in re.split(r"(\*\*/|/\*\*$|\*|\?|\[!?[^\]]+\])", glob.removeprefix("./")):
        match part:
            case "**/":
                parts.append("(?:[^/]+/)*")
            case "/**":
                parts.append("/.*")
            case "*":
                parts.append("[^/]*")
            case "?":
                parts.append("[^/]")
            case _ if part.startswith("[") and part.endswith("]"):
                parts.append(part.replace("[!", "[^"))
            case _:
                parts.append(re.escape(part))
    return re.compile("".join(parts))


def hint(word: str, known: Sequence[str]) -> str:
    """Say what a word that is not known may stand for."""
    import difflib  # only for a mistake

    close = difflib.get_close_matches(word, known, n=2, cutoff=0.6)
    if close:
        return f"; did you mean {' or '.join(close)}?"
    return f"; there is {', '.join(known)}" if known else "; it has none"
