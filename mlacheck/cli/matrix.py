"""`mlacheck matrix`: which combinations work on a target."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from mlacheck.cli import exit as codes
from mlacheck.cli.configure import config_options
from mlacheck.cli.options import format_option, target_options
from mlacheck.cli.targets import make_session, refuse_target

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
@click.option("--args", "text", metavar="TEXT", help="Other flags of every line [default: --tp-size 8].")
@click.option("--backend", metavar="A,B", help="Attention backends [default: those for NVIDIA GPUs].")
@click.option("--dcp", metavar="N,M", help="DCP sizes [default: 1,2,8].")
@click.option("--speculation", metavar="A,B", help="Speculative algorithms [default: none,EAGLE].")
@click.option("--kv", metavar="A,B", help="KV cache dtypes [default: auto,fp8_e4m3].")
@click.option("--html", "page", metavar="FILE", type=click.Path(dir_okay=False), help="Also write a page.")
@format_option
def command(text: str | None, page: str | None, format_: str, **given: Any) -> None:
    """Show what works: attention backend x DCP x speculation x KV dtype.

    \b
    mlacheck matrix --model deepseek-ai/DeepSeek-V3 --gpu b200 --engine-version 0.5.23
    mlacheck matrix --model moonshotai/Kimi-K2-Instruct --gpu h200 --engine-version 0.5.23 --html k2.html
    """  # noqa: D301 - \b is click's mark for a paragraph kept as it is
    from mlacheck import __version__  # not needed for --help
    from mlacheck.launch import parse_text  # same
    from mlacheck.launch.file.config import with_configs  # same
    from mlacheck.matrix import axes, build, has_settings, refused, settings  # same
    from mlacheck.report.layout import wants_colour, width_of  # same
    from mlacheck.report.matrix import text_lines, to_dict  # same

    engine = given["engine"]
    if not has_settings(engine):
        raise codes.InputError(
            f"there is no matrix for {engine}: rules/{engine}/matrix.yaml says what it shows"
        )
    session = make_session(given, remedies=False, model_beside=True)
    base = parse_text(settings(engine)["args"] if text is None else text, default_engine=engine)
    base = with_configs(base, Path())
    if len(base.commands) != 1:
        raise click.UsageError("--args takes the flags of one launch line")
    checker = session.checker(base.commands[0])
    refuse_target(session, base.commands[0])
    asked = {
        name: [item.strip() for item in given[name].split(",") if item.strip()]
        for name in ("backend", "dcp", "speculation", "kv")
        if given[name]
    }
    wrong = refused(engine, checker.version, asked)
    if wrong is not None:
        raise click.UsageError(wrong)
    matrix = build(session, base.commands[0], *axes(engine, checker.version, asked))
    if page is not None:
        from mlacheck.report.matrix_html import html_page  # only when asked for

        try:
            Path(page).write_text(html_page(matrix, f"mlacheck {__version__}"), encoding="utf-8")
        except OSError as error:
            click.echo(f"error: {page} cannot be written: {error.strerror}", err=True)
            sys.exit(codes.USAGE)
    if format_ == "json":
        click.echo(json.dumps(to_dict(matrix), indent=2, default=str))
        return
    colour = wants_colour(sys.stdout)
    for line in text_lines(matrix, width_of(sys.stdout), _paint):
        click.echo(line, color=colour)


def _paint(mark: str, state: str) -> str:
    return click.style(mark, fg=_COLOURS[state])
