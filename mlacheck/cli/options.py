"""Options that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
from click.core import ParameterSource

from mlacheck.probes.engine import ENGINES, recorded_versions

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")


_AFTER: Final = "mlacheck.command"  # where the words after `--` are kept


class FilesOrCommand(click.Command):
    """Takes files before `--` and a command after it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the words after `--` apart."""
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[_AFTER] = args[at + 1 :]
        return super().parse_args(ctx, args[:at])


def words_after_dashes() -> list[str]:
    """Give the command that stands after `--`."""
    words: list[str] = click.get_current_context().meta[_AFTER]
    return words


# For commands that write for a person or for a program.
format_option = click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True
)
engine_option = click.option("--engine", type=click.Choice(ENGINES), default=ENGINES[0], show_default=True)


def names_engine() -> bool:
    """Tell whether the command names an engine; without, `engine` is only a default."""
    context = click.get_current_context(silent=True)
    return context is not None and context.get_parameter_source("engine") is ParameterSource.COMMANDLINE


def default_engine(given: dict[str, Any]) -> str:
    """Say whose flags stand alone: the named engine's, or that of which alone a version is named."""
    named = given["engine_version"]
    if names_engine() or len(named) != 1:
        return str(given["engine"])
    engine, version = named[0]
    having = [one for one in ENGINES if version in recorded_versions(one)]
    return engine or (having[0] if len(having) == 1 else str(given["engine"]))


def add_options(function: F, *options: Callable[[F], F]) -> F:
    """Add several options, in the order in which help is to list them."""
    for option in reversed(options):
        function = option(function)
    return function


def launch_options(function: F) -> F:
    """Add the two ways to give a launch line: as text, and as the words after `--`."""
    return add_options(
        function,
        click.option("--args", "text", metavar="TEXT", help="A launch command, or only its flags."),
        click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]"),
    )


def target_options(function: F) -> F:
    """Add the flags that say what the launch line will run on."""
    return add_options(
        function,
        engine_option,
        click.option(
            "--engine-version",
            multiple=True,
            metavar="[ENGINE=]V",
            callback=_read_versions,
            help="Engine version, such as 0.5.18; with ENGINE= for that engine alone, repeatable.",
        ),
        click.option(
            "--flashinfer", multiple=True, callback=_once, metavar="V", help="FlashInfer version, or none."
        ),
        click.option(
            "--gpu",
            multiple=True,
            callback=_once,
            metavar="NAME",
            help="GPU: h200, b200, ..., smXY, or none.",
            shell_complete=_complete_gpu,
        ),
        click.option("--gpu-count", type=click.IntRange(min=0), metavar="N", help="GPUs per node."),
        click.option("--nodes", type=click.IntRange(min=1), metavar="N", help="Nodes."),
        click.option("--model", metavar="PATH|ID", help="config.json, its folder, or a model's name."),
        click.option(
            "--env", "env", multiple=True, metavar="K=V", help="Environment of the engine; repeatable."
        ),
    )


def override_options(function: F) -> F:
    """Add the flags that change the problem of a decode check."""
    return add_options(
        function,
        click.option(
            "--context-len",
            type=click.IntRange(min=1),
            metavar="N",
            help="Longest context of the decode check, in tokens.",
        ),
        click.option(
            "--batch", type=click.IntRange(min=1), metavar="N", help="Requests that it decodes together."
        ),
        click.option(
            "--q-len",
            type=click.IntRange(min=1),
            metavar="N",
            help="Query tokens a request (default: the line's draft tokens, else 1).",
        ),
    )


# Versions as they were given: the engine that one is for, or None, and the version.
Versions = tuple[tuple[str | None, str], ...]


def _once(_: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> str | None:
    """Refuse a flag that names two targets: one of them would go unchecked without a word."""
    if len(given) > 1:
        raise click.UsageError(f"{parameter.opts[0]} is given twice ({', '.join(given)}); one run checks one")
    return given[0] if given else None


def _read_versions(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> Versions:
    """Read `V` and `ENGINE=V`; `==` and `:` do too, as pip and image references have them."""
    read: list[tuple[str | None, str]] = []
    for text in given:
        name, separator, version = next(
            (text.partition(one) for one in ("==", "=", ":") if one in text), (text, "", "")
        )
        if name in ENGINES and version:
            read.append((name, version))
        elif "=" in separator:
            raise click.BadParameter(f"{text!r} is not ENGINE=V with {' or '.join(ENGINES)}")
        else:
            read.append((None, text))
    return tuple(read)


def _complete_gpu(_: click.Context, __: click.Parameter, start: str) -> list[str]:
    """Offer the names of GPUs to a shell."""
    from mlacheck.probes.hardware import load_gpus  # only for completion

    return [name for name in (*load_gpus(), "none") if name.startswith(start.lower())]


def parse_env(pairs: tuple[str, ...]) -> dict[str, str]:
    """Read `K=V` pairs."""
    env = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{pair!r} is not K=V", param_hint="--env")
        env[name] = value
    return env
