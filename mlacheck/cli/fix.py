"""`mlacheck fix`: launch lines corrected in the files that hold them."""

from __future__ import annotations

import difflib
import os
import stat
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mlacheck.cli import exit as codes
from mlacheck.cli.configure import config_options
from mlacheck.cli.options import FilesOrCommand, default_engine, target_options, words_after_dashes
from mlacheck.cli.targets import make_session, note_unused, read_launch, refuse_target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlacheck.launch.command import Document
    from mlacheck.mending import Mended
    from mlacheck.session import Session


@click.command(
    "fix",
    cls=FilesOrCommand,
    epilog="Exit codes: 0 nothing to mend (--write, --args: or all mended), 1 errors that are to be mended "
    "or that cannot be, 2 bad usage or a file that cannot be read or written, 3 no launch command found.",
)
@click.argument("files", nargs=-1, type=click.Path(allow_dash=True), metavar="[FILE|FOLDER|-]... [-- LINE]")
@click.option(
    "--args", "text", metavar="TEXT", help="A launch command, or only its flags; printed corrected."
)
@click.option("--write", is_flag=True, help="Write the change instead of showing it.")
@click.option("--diff", is_flag=True, help="Show the change (default), also with --write.")
@target_options
@config_options
@click.option("--allow-empty", is_flag=True, help="Exit 0 when there is no launch command.")
def command(
    files: Sequence[str], text: str | None, *, write: bool, diff: bool, allow_empty: bool, **given: Any
) -> None:
    """Correct launch lines in place: scripts, Dockerfiles, manifests, configuration.

    Only the words that have to change are touched; each changed file is read and checked again first. A line
    of the command line is printed corrected.

    \b
    mlacheck fix serve.sh --gpu b200 --engine-version 0.5.18
    mlacheck fix deploy/*.yaml --write --gpu h200
    mlacheck fix --gpu b200 --args "sglang serve deepseek-ai/DeepSeek-V3 --tp 8 --attention-backend fa3"
    """  # noqa: D301 - \b is click's mark for a paragraph kept as it is
    from mlacheck.launch.file.walk import files as found_in  # not needed for --help
    from mlacheck.ruleset.error import RuleError  # same

    words = words_after_dashes()
    if sum((bool(files), text is not None, bool(words))) != 1:
        raise click.UsageError("give exactly one of FILE..., --args TEXT and -- COMMAND...")
    if not files:
        sys.exit(_line(text, words, given, write=write, allow_empty=allow_empty))
    if "-" in files and write:
        raise click.UsageError("standard input cannot be written to; leave --write out")
    session = make_session(given)
    started: set[str] = set()
    try:
        found = [
            _file(file, session, default_engine(given), started, write=write, show=diff or not write)
            for file in found_in(files)
        ]
    except RuleError as error:
        raise codes.InputError(str(error)) from error
    note_unused(given, started)
    if codes.USAGE in found:
        sys.exit(codes.USAGE)
    if codes.FINDINGS in found:
        sys.exit(codes.FINDINGS)
    if all(one == codes.NOTHING for one in found) and not allow_empty:
        codes.say_nothing_in(files)
        sys.exit(codes.NOTHING)
    sys.exit(codes.OK)


def _line(
    text: str | None, words: Sequence[str], given: dict[str, Any], *, write: bool, allow_empty: bool
) -> int:
    """Print a line corrected."""
    from mlacheck.launch.quoting import quote  # not needed for --help
    from mlacheck.mending import mend  # same

    if write:
        raise click.UsageError("a line of the command line cannot be written back; leave --write out")
    if text is None:
        text = words[0] if len(words) == 1 else " ".join(map(quote, words))
    result = read_launch(text, (), given)
    if not result.commands:
        return codes.say_no_command(result, allow_empty=allow_empty)
    session = make_session(given)
    for launch in result.commands:
        refuse_target(session, launch)
    mended = mend(result.document, session, lambda document: read_launch(document.text, (), given))
    _tell("--args" if not words else "--", mended, "mended")
    if not mended.notes and not mended.unread:
        click.echo("nothing to mend", err=True)
    click.echo(mended.document.text.rstrip("\n"))
    if mended.unread:
        return codes.USAGE
    return codes.OK if all(note.mended for note in mended.notes) else codes.FINDINGS


def _file(file: str, session: Session, engine: str, started: set[str], *, write: bool, show: bool) -> int:
    from mlacheck.launch.file.read import read_bytes, read_document  # not needed for --help
    from mlacheck.mending import mend  # same

    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        click.echo(f"error: {file} cannot be read: {error.strerror}", err=True)
        return codes.USAGE
    folder = str(Path() if file == "-" else Path(file).parent)
    result = read_bytes(data, file, engine=engine, folder=folder)
    document = result.document
    for launch in result.commands:
        started.add(launch.engine)
        refuse_target(session, launch)
    mended = mend(document, session, lambda text: read_document(text, engine=engine, folder=folder))
    _tell(file, mended, "mended" if write else "can be mended")
    if mended.unread:
        return codes.USAGE
    if not mended.commands:
        return codes.NOTHING
    changed = mended.document.text != document.text
    if changed and show:
        _show(file, document, mended.document)
    if changed and write:
        try:
            _write(Path(file), data, _bytes(mended.document))
        except OSError as error:
            click.echo(f"error: {file} cannot be written: {error.strerror or error}", err=True)
            return codes.USAGE
    left = any(not note.mended for note in mended.notes)
    return codes.FINDINGS if left or (changed and not write) else codes.OK


def _tell(file: str, mended: Mended, done: str) -> None:
    for problem in mended.unread:
        click.echo(f"{file}: {problem}; nothing is changed", err=True)
    for note in mended.notes:
        what = done if note.mended else "not mended"
        click.echo(f"{file}:{note.line}: {', '.join(note.errors)} {what}: {note.text}", err=True)


def _show(file: str, old: Document, new: Document) -> None:
    name = file.removeprefix("./").lstrip("/")
    before, after = (one.text.splitlines(keepends=True) for one in (old, new))
    for line in difflib.unified_diff(before, after, f"a/{name}", f"b/{name}"):
        click.echo(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n", nl=False)


def _bytes(document: Document) -> bytes:
    return document.bom + document.text.encode(document.encoding)


def _write(path: Path, before: bytes, after: bytes) -> None:
    """Put the new file in the place of the old one in one step, with its permissions."""
    path = path.resolve()  # a link stays one
    if path.read_bytes() != before:
        raise OSError("it was changed meanwhile")
    mode = stat.S_IMODE(path.stat().st_mode)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(after)
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).chmod(mode)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
