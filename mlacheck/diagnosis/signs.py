"""How an engine's logs are recognised and read, and what helps against accidents: its `log.yaml`."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final, cast

from mlacheck.data import load_yaml
from mlacheck.frozen import frozen

# No part of an address: 127.0.0.1 is none.
_VERSION: Final = r"v?(\d+\.\d+\.\d+(?:\.?(?:post|rc|dev)\d+)?)(?!\d|\.\d)"


@frozen
class Advice:
    """What helps against an accident that no flag alone decides, by its words and where it happens."""

    says: re.Pattern[str]
    at: re.Pattern[str] | None  # a file::function that the traceback passes
    title: str
    fixes: tuple[str, ...]


@frozen
class Signs:
    """By what an engine's log is known, and how it names its version, its launch line and its arguments."""

    version: tuple[re.Pattern[str], ...]  # the server's own words
    named: tuple[re.Pattern[str], ...]  # packages, paths, images
    launch: re.Pattern[str]
    arguments: re.Pattern[str]
    complete: bool  # all arguments are printed, not only those that were given
    launcher: tuple[str, ...]
    advice: tuple[Advice, ...]  # the first that fits counts


@cache
def signs(engine: str) -> Signs:
    """Read them."""
    data = cast("dict[str, Any]", load_yaml(engine, "log.yaml"))
    version, named = (
        tuple(re.compile(one + _VERSION, re.IGNORECASE) for one in data[name])
        for name in ("version", "named")
    )
    launch, arguments = (re.compile(data[name]) for name in ("launch", "arguments"))
    advice = tuple(
        Advice(
            re.compile(one["says"]),
            re.compile(one["at"]) if "at" in one else None,
            one["title"],
            tuple(one["fixes"]),
        )
        for one in data["advice"]
    )
    return Signs(version, named, launch, arguments, data["complete"], tuple(data["launcher"]), advice)
