"""The formats of a report by name; each module is imported only when its format is asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final, Protocol, TextIO

from mlacheck.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlacheck.finding import Report

FORMATS: Final = ("text", "concise", "json", "jsonl", "sarif", "junit", "github", "markdown")
_MODULES: Final = {"json": "json_", "jsonl": "json_"}


@frozen
class Style:
    """What a run asks of its reports beside their format."""

    verbose: bool = False
    quiet: bool = False
    # What fails the run, for formats whose readers see only failures.
    fail_on: str = "error"
    strict: bool = False
    # False when a requested check could not run.
    complete: bool = True


class Writer(Protocol):
    """Writes reports in one format."""

    def __call__(self, reports: Sequence[Report], stream: TextIO, style: Style, /) -> None:
        """Write them."""


def writer(format_: str) -> Writer:
    """Give the writer of a format."""
    module = importlib.import_module(f"mlacheck.report.{_MODULES.get(format_, format_)}")
    write: Writer = getattr(module, f"write_{format_}")
    return write
