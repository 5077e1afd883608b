"""What commands check against: a session from flags and configuration, and targets that cannot be read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mlacheck.cli import exit as codes
from mlacheck.cli.configure import load_settings
from mlacheck.cli.options import default_engine, names_engine, parse_env

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from mlacheck.launch.command import LaunchCommand, LaunchResult
    from mlacheck.session import Session


def make_session(given: dict[str, Any], *, engine_version: str | None = None, **more: Any) -> Session:
    """Make the session that the flags and the configuration ask for."""
    from mlacheck.config import ConfigError  # not needed for --help

    try:
        settings = load_settings(given["config_file"], no_config=given["no_config"])
        profile = None if given["profile"] is None else settings.named(given["profile"])
    except ConfigError as error:
        raise codes.InputError(str(error)) from error
    return new_session(
        given,
        engine_version=engine_version,
        extra_rules=tuple(map(Path, settings.rules)),
        settings=settings,
        profile=profile,
        **more,
    )


def new_session(
    given: dict[str, Any],
    *,
    engine_version: str | None = None,
    gpu: str | None = None,
    probe_import: bool = False,
    **more: Any,
) -> Session:
    """Make a session from the target's flags alone; what is named here stands above them."""
    from mlacheck.probes.target import TargetFlags  # not needed for --help
    from mlacheck.session import Session  # same

    versions = ((None, engine_version),) if engine_version else given["engine_version"]
    named = dict(versions)
    if len(named) < len(versions):
        raise click.UsageError("--engine-version is given twice; ENGINE=V gives one for each engine")
    if named and names_engine() and engine_version is None:
        if None in named:
            named.setdefault(given["engine"], named.pop(None))
        if given["engine"] not in named:
            other = " and ".join(f"{engine}={version}" for engine, version in named.items() if engine)
            raise click.UsageError(f"--engine {given['engine']} does not go with --engine-version {other}")
    flags = TargetFlags(
        engine_version=named.pop(None, None),
        engine_versions=tuple(sorted(named.items())),
        flashinfer=given["flashinfer"],
        gpu=gpu or given["gpu"],
        gpu_count=given["gpu_count"],
        nodes=given["nodes"],
        probe_import=probe_import,
    )
    return Session(flags, model=given["model"], env=parse_env(given["env"]), **more)


def read_launch(text: str | None, words: Sequence[str], given: dict[str, Any]) -> LaunchResult:
    """Find the launch commands of `--args`, or of the words after `--` where there is no text."""
    from mlacheck.launch import parse_argv, parse_text  # not needed for --help

    if text is None:
        result = parse_argv(list(words), default_engine=default_engine(given))
    else:
        result = parse_text(text, default_engine=default_engine(given), env=parse_env(given["env"]))
    unused = unused_engine(given, {one.engine for one in result.commands})
    if unused:
        raise click.UsageError(f"{unused}; leave it out, or name that engine")
    if not any(one.names_config for one in result.commands):
        return result
    from mlacheck.launch.file.config import with_configs  # few lines have a config file

    return with_configs(result, Path())


def unused_engine(given: dict[str, Any], started: Collection[str]) -> str | None:
    """Say that flags are about one engine and all lines start another."""
    asked = {engine: f"--engine-version {engine}={version}" for engine, version in given["engine_version"]}
    if names_engine():
        asked = {given["engine"]: f"--engine {given['engine']}"}
    if not started or not asked or None in asked or not asked.keys().isdisjoint(started):
        return None
    here = " and ".join(sorted(started))
    return f"{' and '.join(asked.values())} is not used: what is started here is {here}"


def note_unused(given: dict[str, Any], started: Collection[str]) -> None:
    """Remark it where files are read: others of them may need the flags."""
    unused = unused_engine(given, started)
    if unused:
        click.echo(f"note: {unused}", err=True)


def refuse_target(session: Session, launch: LaunchCommand) -> None:
    """Refuse a target or model that a flag or the configuration names and that cannot be read."""
    if not session.has_rules(launch):
        return
    profile = session.profile_of(launch.source.file)
    path = session.settings.path if session.settings else None
    wrong = [(one.origin, f"{one.message}; {one.hint}") for one in session.checker(launch).target.problems]
    model = session.named_model(launch)
    if model is not None:
        origin = "--model" if session.model or not profile else f"profile {profile.name}".strip()
        wrong.append((origin, f"{model.message}; {model.hint}"))
    if wrong:
        where = [f"{origin} of {path}" if origin[:2] != "--" and path else origin for origin, _ in wrong]
        raise codes.InputError(
            "\n".join(f"{place}: {said}" for place, (_, said) in zip(where, wrong, strict=True))
        )
