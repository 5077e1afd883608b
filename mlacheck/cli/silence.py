"""The flags that say which findings count: `--select`, `--ignore`, `--baseline`, `--write-baseline`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mlacheck.cli import exit as codes
from mlacheck.cli.options import F, add_options
from mlacheck.cli.output import OutputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mlacheck.finding import Report
    from mlacheck.selection import Selection


def silence_options(function: F) -> F:
    """Add them."""
    return add_options(
        function,
        click.option(
            "--select",
            multiple=True,
            metavar="NAMES",
            help="Only these count: ids, starts of ids, slugs, phases, levels; repeatable.",
        ),
        click.option(
            "--ignore", multiple=True, metavar="NAMES", help="These do not count; named as for --select."
        ),
        click.option("--baseline", metavar="FILE", help="Findings in FILE do not count."),
        click.option("--write-baseline", metavar="FILE", help="Write what is found to FILE, and accept it."),
    )


def terms(values: Sequence[str]) -> tuple[str, ...]:
    """Split values of a repeatable flag at commas."""
    return tuple(term.strip() for value in values for term in value.split(",") if term.strip())


def apply_comments(reports: Sequence[Report], text: str, extra: Iterable[str]) -> list[Report]:
    """Apply the suppression comments of the text that the commands come from."""
    if not reports or "mlacheck" not in text:
        return list(reports)
    from mlacheck.ruleset.names import rule_names  # only for a text that may have such comments
    from mlacheck.suppression import suppress  # same

    return suppress(reports, text, rule_names(map(Path, extra)))


def make_selection(select: Sequence[str], ignore: Sequence[str], extra: Sequence[Path] = ()) -> Selection:
    """Read `--select` and `--ignore`; a name that selects nothing is bad usage."""
    from mlacheck.selection import Selection, TermError  # not needed for --help

    selection = Selection(terms(select), terms(ignore))
    if selection.select or selection.ignore:
        from mlacheck.ruleset.names import rule_names  # only where rules are named

        try:
            selection.check(rule_names(extra))
        except TermError as error:
            raise codes.InputError(f"--select or --ignore: {error}") from error
    return selection


def silence_reports(
    reports: Sequence[Report],
    *,
    select: Sequence[str],
    ignore: Sequence[str],
    baseline: str | None,
    write_baseline: str | None,
    extra: Sequence[Path] = (),
    quiet: bool = False,
) -> list[Report]:
    """Silence what does not count. Raises `OutputError`; a name that selects nothing is bad usage."""
    done = list(reports)
    if select or ignore:
        done = make_selection(select, ignore, extra).apply(done)
    if write_baseline is not None or baseline is not None:
        done = _baseline(done, baseline, write_baseline, quiet=quiet)
    return done


def _baseline(
    reports: list[Report], baseline: str | None, write_to: str | None, *, quiet: bool
) -> list[Report]:
    from mlacheck.baseline import (  # only where there is one
        BaselineError,
        apply_baseline,
        read_baseline,
        write_baseline,
    )
    from mlacheck.report.summary import counted  # same

    path = Path(write_to or baseline or "")
    try:
        if write_to is not None:
            number = write_baseline(path, reports)
            click.echo(f"{write_to}: {counted(number, 'finding')} accepted", err=True)
        done, stale = apply_baseline(path, read_baseline(path), reports)
    except BaselineError as error:
        raise OutputError(str(error)) from error
    if stale and not quiet:
        click.echo(
            f"{path}: {counted(stale, 'finding')} not found any more; --write-baseline {path} drops them",
            err=True,
        )
    return done
