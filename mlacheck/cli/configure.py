"""The flags that choose a configuration file and a profile."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mlacheck.cli.options import F, add_options

if TYPE_CHECKING:
    from mlacheck.config import Settings


def config_options(function: F) -> F:
    """Add them."""
    return add_options(
        function,
        click.option(
            "--profile",
            metavar="NAME",
            help="Target from the configuration, for every file.",
            shell_complete=_complete_profile,
        ),
        click.option(
            "--config-file",
            metavar="PATH",
            help="Configuration (default: the nearest mlacheck.toml or [tool.mlacheck]).",
        ),
        click.option("--no-config", is_flag=True, help="Read no configuration."),
    )


def _complete_profile(ctx: click.Context, _: click.Parameter, start: str) -> list[str]:
    """Offer the configuration's profiles to a shell."""
    from mlacheck.config import ConfigError  # only for completion

    try:
        settings = load_settings(ctx.params.get("config_file"), no_config=False)
    except ConfigError:
        return []
    return [profile.name for profile in settings.profiles if profile.name.startswith(start)]


def load_settings(config_file: str | None, *, no_config: bool) -> Settings:
    """Read the configuration that a run is to have. Raises `ConfigError`."""
    from mlacheck.config import Settings, find_config, read_config  # not needed for --help

    if no_config and config_file is not None:
        raise click.UsageError("--no-config and --config-file do not go together")
    if no_config:
        return Settings()
    path = find_config(Path.cwd()) if config_file is None else Path(config_file)
    return Settings() if path is None else read_config(path)
