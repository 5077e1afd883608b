"""`mlacheck matrix`: which combinations work on a target."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mlacheck.cli import exit as codes
from mlacheck.cli.configure import config_options
from mlacheck.cli.options import format_option, names_engine, target_options
from mlacheck.cli.targets import make_session, refuse_target

if TYPE_CHECKING:
    from mlacheck.cli.options import Versions
    from mlacheck.launch.command import LaunchCommand
    from mlacheck.matrix import Matrix
    from mlacheck.session import Session

_COLOURS = {
    "works": "green",
    "works, with a warning": "yellow",
    "refused at start-up": "red",
    "dies at the first decode": "red",
    "silently wrong": "magenta",
    "unknown": "cyan",
}


@click.command("matrix", epilog="Exit codes: 0 shown, 2 bad usage or a page that cannot be written.")
@target_options
@config_options
@click.option(
    "--args",
    "texts",
    multiple=True,
    metavar="TEXT",
    help="Other flags of every line, or a command of one engine; repeatable [default: TP 8].",
)
@click.option("--backend", metavar="A,B", help="Attention backends [default: those for NVIDIA GPUs].")
@click.option("--dcp", metavar="N,M", help="DCP sizes [default: 1,2,8].")
@click.option("--speculation", metavar="A,B", help="Speculative algorithms [default: none,EAGLE or mtp].")
@click.option("--kv", metavar="A,B", help="KV cache dtypes [default: auto and FP8].")
@click.option("--html", "page", metavar="FILE", type=click.Path(dir_okay=False), help="Also write a page.")
@format_option
def command(texts: tuple[str, ...], page: str | None, format_: str, **given: Any) -> None:
    """Show what works: attention backend x DCP x speculation x KV dtype.

    With several --engine-version, engines or versions stand side by side; a value that they call
    differently is written A/B, in their order.

    \b
    mlacheck matrix --model deepseek-ai/DeepSeek-V3 --gpu b200 --engine-version 0.5.23
    mlacheck matrix --model moonshotai/Kimi-K2-Instruct --gpu h200 --engine-version 0.5.23 --html k2.html
    mlacheck matrix --model deepseek-ai/DeepSeek-V3 --gpu b200 \\
      --engine-version sglang=0.5.23 --engine-version vllm=0.33.0 --html both.html
    """  # noqa: D301 - \b is click's mark for a paragraph kept as it is
    from mlacheck import __version__  # not needed for --help
    from mlacheck.report.layout import wants_colour, width_of  # same
    from mlacheck.report.matrix import text_lines, to_dict  # same
    from mlacheck.report.sides import side_lines, sides_dict  # same

    matrices = _matrices(texts, given)
    if page is not None:
        from mlacheck.report.matrix_html import html_page  # only when asked for

        try:
            Path(page).write_text(html_page(matrices, f"mlacheck {__version__}"), encoding="utf-8")
        except OSError as error:
            click.echo(f"error: {page} cannot be written: {error.strerror}", err=True)
            sys.exit(codes.USAGE)
    alone = len(matrices) == 1
    if format_ == "json":
        data = to_dict(matrices[0]) if alone else sides_dict(matrices)
        click.echo(json.dumps(data, indent=2, default=str))
        return
    colour, width = wants_colour(sys.stdout), width_of(sys.stdout)
    for line in text_lines(matrices[0], width, _paint) if alone else side_lines(matrices, width, _paint):
        click.echo(line, color=colour)


def _matrices(texts: tuple[str, ...], given: dict[str, Any]) -> list[Matrix]:
    """Make the matrix of each engine version that is asked for."""
    from mlacheck.sides import mismatch  # not needed for --help

    versions: Versions = given["engine_version"] or ((None, ""),)
    engines = [engine or given["engine"] for engine, _ in versions]
    if names_engine() and given["engine"] not in engines:
        raise click.UsageError(f"--engine {given['engine']} is not used: --engine-version names {engines[0]}")
    bases = [_bases(texts, engine) for engine in engines]
    for text in texts:
        if not any(text in lines for lines in bases):
            raise click.UsageError("--args takes the flags of one launch line")
    asked = _asked(given, len(engines))
    matrices = [
        _matrix(engine, version or None, lines, one, given)
        for engine, (_, version), lines, one in zip(engines, versions, bases, asked, strict=True)
    ]
    wrong = mismatch(matrices)
    if wrong is not None:
        raise click.UsageError(f"{wrong}: they cannot stand side by side")
    return matrices


def _bases(texts: tuple[str, ...], engine: str) -> dict[str, LaunchCommand]:
    """Give the launch lines of an engine that texts hold; flags alone are any engine's."""
    from mlacheck.launch import parse_text  # not needed for --help
    from mlacheck.launch.file.config import with_configs  # same

    found = {text: with_configs(parse_text(text, default_engine=engine), Path()).commands for text in texts}
    return {text: one[0] for text, one in found.items() if len(one) == 1 and one[0].engine == engine}


def _asked(given: dict[str, Any], sides: int) -> list[dict[str, list[str]]]:
    """Give the values that are asked for, in the words of each side."""
    from mlacheck.sides import BETWEEN  # not needed for --help

    asked: list[dict[str, list[str]]] = [{} for _ in range(sides)]
    for name in ("backend", "dcp", "speculation", "kv"):
        for value in (given[name] or "").split(","):
            words = [word.strip() for word in value.split(BETWEEN)] if sides > 1 else [value.strip()]
            if len(words) not in {1, sides}:
                raise click.UsageError(f"--{name} {value}: give one value, or {sides} with {BETWEEN} between")
            for side, word in zip(asked, words * (sides // len(words)), strict=True):
                if word:
                    side.setdefault(name, []).append(word)
    return asked


def _matrix(
    engine: str,
    version: str | None,
    lines: dict[str, LaunchCommand],
    asked: dict[str, list[str]],
    given: dict[str, Any],
) -> Matrix:
    from mlacheck.matrix import axes, build, has_settings, refused, settings  # not needed for --help

    if not has_settings(engine):
        raise codes.InputError(
            f"there is no matrix for {engine}: rules/{engine}/matrix.yaml says what it shows"
        )
    if len(lines) > 1:
        raise click.UsageError(f"--args takes the flags of one launch line of {engine}")
    default: str = settings(engine)["args"]
    [base] = lines.values() or _bases((default,), engine).values()
    named = {**given, "engine_version": ()} if version else given
    session = make_session(named, engine_version=version, remedies=False, model_beside=True)
    checker = session.checker(base)
    refuse_target(session, base)
    wrong = refused(engine, checker.version, asked)
    if wrong is not None:
        raise click.UsageError(wrong)
    _refuse_model(session, base)
    return build(session, base, *axes(engine, checker.version, asked))


def _refuse_model(session: Session, base: LaunchCommand) -> None:
    """Refuse a line whose model is not known, on which most cells depend."""
    from mlacheck.line import arguments_of  # not needed for --help

    checker, profile = session.checker(base), session.profile_of(None)
    given = arguments_of(base, checker.grammar).given
    if not (session.model or (profile and profile.model) or checker.compiled.program.model in given):
        raise click.UsageError("a matrix is about one model: name it with --model ID|PATH")
    report = session.check(base)
    if not report.target.get("model"):
        raise codes.InputError("; ".join(f"{one.message}; {one.hint}" for one in report.problems))


def _paint(mark: str, state: str) -> str:
    return click.style(mark, fg=_COLOURS[state])
