"""Reads versions as people and packages write them, and finds the nearest one that the rules recorded."""

from __future__ import annotations

import functools
import re

from packaging.version import InvalidVersion, Version

from mlacheck.frozen import frozen
from mlacheck.pattern import lazy

# Leading version of a tag such as v0.5.18-cu130-runtime; two-part numbers (25.12-py3) are calendar tags.
_TAG = lazy(r"v?(\d+\.\d+\.\d+(?:[._-]?(?:post|rc|a|b|dev)\d+)*)(?![\w.])(?:[-_].*)?", re.IGNORECASE)


@frozen
class Nearest:
    """The recorded version that stands for another one; `exact` when it is that version."""

    version: str
    exact: bool


@functools.lru_cache(maxsize=1024)
def parse_version(text: str) -> Version | None:
    """Read `0.5.18`, `v0.5.18.post1`, `0.5.19.dev3+g12345`; None when it names no release (`latest`)."""
    try:
        version = Version(text.strip())
    except InvalidVersion:
        match = _TAG.fullmatch(text.strip())
        if match is None:
            return None
        version = Version(match[1])
    # Builds from a checkout without tags call themselves 0.0.0.dev1+g1234567: that says nothing.
    return None if version.release == (0,) * len(version.release) else version


def tag_version(tag: str) -> Version | None:
    """Read the version out of an image tag."""
    match = _TAG.fullmatch(tag)
    return None if match is None else Version(match[1])


@functools.lru_cache(maxsize=1024)
def nearest(version: Version, recorded: tuple[str, ...]) -> Nearest | None:
    """Choose among recorded versions, oldest first: itself, the same release, else the last one before it."""
    if not recorded:
        return None
    known = _parsed(recorded)
    public = Version(version.public)
    if public in known:
        return Nearest(known[public], exact=True)
    # A release candidate or development build of a recorded release is judged as that release.
    same = [one for one in known if one.release == public.release and (one <= public or public.is_prerelease)]
    before = [one for one in known if one <= public]
    chosen = (
        (same[0] if public.is_prerelease else same[-1])
        if same
        else before[-1]
        if before
        else next(iter(known))
    )
    return Nearest(known[chosen], exact=False)


@functools.lru_cache(maxsize=16)
def _parsed(recorded: tuple[str, ...]) -> dict[Version, str]:
    return {Version(text): text for text in recorded}
