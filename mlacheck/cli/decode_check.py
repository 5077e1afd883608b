"""`mlacheck decode-check`: run the decode that a launch line implies and compare it with float64."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from mlacheck.cli import exit as codes
from mlacheck.finding import judged
from mlacheck.frozen import replace

if TYPE_CHECKING:
    from mlacheck.decode import DecodeReport
    from mlacheck.finding import Report
    from mlacheck.probes.model import ModelConfig


@click.command("decode-check", context_settings={"max_content_width": 110})
@click.option(
    "--backend", default="reference", show_default=True, help="reference, flashinfer, flashinfer-fa2, ..."
)
@click.option("--model", required=True, metavar="PATH|ID", help="config.json, its folder, or a model's name.")
@click.option("--dcp-size", type=click.IntRange(min=1), default=1, show_default=True)
@click.option(
    "--tp-size",
    type=click.IntRange(min=1),
    default=None,
    help="Tensor parallel size (default: the DCP size).",
)
@click.option("--dp-size", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--page-size", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--kv-cache-dtype", default="auto", show_default=True)
@click.option("--q-len", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--context-len", type=click.IntRange(min=1), help="Longest context of the batch, in tokens.")
@click.option("--batch", type=click.IntRange(min=1), help="Requests decoded together.")
@click.option(
    "--lse-base", type=click.Choice(["e", "2"]), help="Base the engine merges in (default: the kernel's own)."
)
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option(
    "--time-limit", type=click.FloatRange(min=1), default=300.0, show_default=True, metavar="SECONDS"
)
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(*, model: str, tp_size: int | None, format_: str, **given: Any) -> None:
    """Decode with a kernel as the launch would, on simulated DCP ranks, and compare with float64.

    \b
    mlacheck decode-check --backend reference --model deepseek-v3 --dcp-size 8
    mlacheck decode-check --backend flashinfer --model deepseek-v3 --dcp-size 8 --page-size 64
    """  # noqa: D301 - \b is click's mark for a paragraph kept as it is
    from mlacheck.decode import decode_check  # not needed for --help
    from mlacheck.decode.ranks import ranks_here  # same
    from mlacheck.probes.model import ModelProblem, find_model  # same

    found = find_model(model)
    if isinstance(found, ModelProblem):
        click.echo(f"error: {found.message}\n  {found.hint}", err=True)
        sys.exit(codes.USAGE)
    ranks = ranks_here()
    leads = ranks is None or ranks.leads
    report = decode_check(
        found.config,
        tp_size=tp_size or given["dcp_size"],
        on_progress=_progress if leads else None,
        **given,
    )
    if not leads:
        for row in report.bad:
            click.echo(f"mlacheck: rank {ranks.rank if ranks else 0}: {row.detail}", err=True)
        sys.exit(codes.OK)
    if format_ == "json":
        click.echo(json.dumps(report.to_dict(), indent=2, default=str))
    else:
        _write(report)
    sys.exit(_code(report))


def _progress(line: str) -> None:
    click.echo(line, err=True)


def _code(report: DecodeReport) -> int:
    if report.bad:
        return codes.FINDINGS
    return codes.NOT_RUN if report.could_not_run else codes.OK


def _write(report: DecodeReport) -> None:
    click.echo(report.description or "decode check")
    where = report.device or "no device"
    click.echo(f"backend {report.backend} {report.backend_version or ''} on {where}, {report.seconds:.1f} s")
    colours = {"passes": "green", "fails": "red", "wrong": "red"}
    for row in report.rows:
        state = click.style(row.state.ljust(11), fg=colours.get(row.state, "yellow"))
        measured = "" if row.measured is None else f"  measured {_number(row.measured)}"
        limit = "" if row.limit is None else f"  limit {_number(row.limit)}"
        margin = "" if row.margin is None else f"  margin {row.margin:.0f}x"
        click.echo(f"  {state} {row.name}{measured}{limit}{margin}")
        if row.detail:
            click.echo(f"              {row.detail}")
    for line in report.boundary:
        click.echo(f"  not shown: {line}")


def _number(value: float | str) -> str:
    return f"{value:.2g}" if isinstance(value, float) else str(value)


def add_decode_check(report: Report, model: ModelConfig | None, sm: object) -> tuple[Report, bool]:
    """Run the decode check of a validated line and add its rows; tell whether it could run."""
    from mlacheck.decode import decode_check  # only when asked for
    from mlacheck.decode.row import NOT_RUN, Row  # same

    if report.verdict == "error" and any(finding.engine_stops_here for finding in report.findings):
        row = Row("runs", NOT_RUN, detail="the engine refuses this line, so there is no decode to check")
        return replace(report, decode=(row.to_dict(),)), True
    if model is None:
        row = Row("runs", NOT_RUN, detail="the model's config is not known: --model PATH supplies it")
        return replace(report, decode=(row.to_dict(),)), False
    value = {name: one.value for name, one in report.resolved.items()}
    decoded: DecodeReport = decode_check(
        model.config,
        backend=str(value.get("decode_backend")),
        dcp_size=_size(value.get("dcp_size")),
        tp_size=_size(value.get("tp_size")),
        dp_size=_size(value.get("dp_size")) if value.get("enable_dp_attention") else 1,
        page_size=_size(value.get("page_size")),
        kv_cache_dtype=str(value.get("kv_cache_dtype") or "auto"),
        target_sm=sm if isinstance(sm, int) and sm > 0 else None,
        on_progress=_progress,
    )
    return judged(replace(report, decode=tuple(decoded.to_list()))), not decoded.could_not_run


def _size(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 1
