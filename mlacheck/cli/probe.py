"""`mlacheck probe`: what this machine would be checked as."""

from __future__ import annotations

import json

import click

from mlacheck.cli.options import format_option


@click.command("probe")
@format_option
@click.option("--probe-import", is_flag=True, help="Also import FlashInfer in a child process.")
def command(format_: str, *, probe_import: bool) -> None:
    """Show engines, FlashInfer, its decode signature, and the GPUs of this machine."""
    from mlacheck.probes.report import probe_report  # not needed for --help

    report = probe_report(probe_import=probe_import)
    if format_ == "json":
        click.echo(json.dumps(report.to_dict(), indent=2, default=str))
        return
    for line in report.lines():
        click.echo(line)
