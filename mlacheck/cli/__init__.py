"""The command line: reads the request, calls the checks, writes the report, decides the exit code."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from mlacheck import __version__
from mlacheck.cli.exit import EPILOG

if TYPE_CHECKING:
    from collections.abc import Iterator

# What a shell gives for a command that a closed pipe ended, as in `mlacheck rules list | head`.
_PIPE_CLOSED: Final = 141
# Most objects of a run stay: looking for cycles as often as is usual takes a twentieth of it.
_OBJECTS_BETWEEN_COLLECTIONS: Final = 50_000


@contextlib.contextmanager
def _closed_pipes() -> Iterator[None]:
    """Go before click, which makes a closed pipe exit code 1: here that means findings."""
    try:
        yield
    except BrokenPipeError:
        raise SystemExit(_PIPE_CLOSED) from None


class _Lazy(click.Group):
    """Imports a command's module only when that command runs."""

    modules = {  # noqa: RUF012 - a constant table
        "validate": "check launch lines before a GPU is booked",
        "fix": "correct launch lines in the files that hold them",
        "decode-check": "run the decode of a launch line and compare it with float64",
        "matrix": "show which combinations of backend, DCP, speculation and KV dtype work",
        "compare": "say what another engine version changes for a launch line",
        "diagnose": "name the rules behind the errors of a server log",
        "explain": "explain a rule: what, why, versions, a bad and a good line",
        "probe": "show what this machine has: engines, FlashInfer, GPUs",
        "rules": "list, show and test the rules",
    }

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self.modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - same
        if cmd_name not in self.modules:
            return None
        import importlib  # one command's imports only

        module = importlib.import_module(f"mlacheck.cli.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        with _closed_pipes():  # --help and --version write here
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> object:
        with _closed_pipes():
            return super().invoke(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.modules and not args[0].startswith("-"):
            import difflib  # only for a command that is not there

            close = difflib.get_close_matches(args[0], self.modules, n=2, cutoff=0.5)
            hint = f"did you mean {' or '.join(close)}?" if close else f"there is {', '.join(self.modules)}"
            ctx.fail(f"there is no command {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - same
        with formatter.section("Commands"):
            formatter.write_dl(list(self.modules.items()))


@click.group(
    cls=_Lazy,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EPILOG,
)
@click.version_option(__version__, prog_name="mlacheck")
def cli() -> None:
    """Say whether a launch line boots and decodes correctly, before a GPU is booked.

    \b
    mlacheck validate --args "sglang serve deepseek-ai/DeepSeek-V3 --tp 8 --dcp-size 8" --gpu b200
    mlacheck validate --gpu h200 -- sglang serve deepseek-ai/DeepSeek-V3 --tp 8
    mlacheck decode-check --backend reference --model deepseek-v3 --dcp-size 8
    mlacheck rules show MLA252
    """  # noqa: D301 - \b is click's mark for a paragraph kept as it is


def main() -> None:
    """Run the command line; a report that cannot be written is no traceback."""
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    if sys.stdout is None:  # closed by the caller
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - stays open
    # A terminal or log that lacks a character gets its escape, not a traceback.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            cli(prog_name="mlacheck")
        finally:
            sys.stdout.flush()
            gc.freeze()  # the interpreter would look through every object once more as it ends
    except BrokenPipeError:
        _drop_output()
        sys.exit(_PIPE_CLOSED)
    except OSError as error:
        _drop_output()
        click.echo(f"error: the report cannot be written: {error.strerror}", err=True)
        sys.exit(2)


def _drop_output() -> None:
    """Let what is left go nowhere: the interpreter would try to write it once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
