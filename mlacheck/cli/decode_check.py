"""`mlacheck decode-check`: run the decode that a launch line implies and compare it with float64."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from mlacheck.cli import exit as codes
from mlacheck.cli.options import (
    format_option,
    launch_options,
    names_engine,
    override_options,
    target_options,
)
from mlacheck.cli.targets import new_session, read_launch
from mlacheck.finding import judged
from mlacheck.frozen import replace
from mlacheck.report.layout import figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlacheck.decode import DecodeReport, Overrides
    from mlacheck.finding import Report
    from mlacheck.probes.model import ModelConfig

# Sizes that a launch line gives itself.
_SIZES = (
    "backend",
    "tp_size",
    "dp_size",
    "dcp_size",
    "interleave",
    "page_size",
    "kv_cache_dtype",
    "lse_base",
    "dcp_comm_backend",
)


@click.command("decode-check", context_settings={"max_content_width": 110}, epilog=codes.EPILOG)
@launch_options
@target_options
@override_options
@click.option(
    "--backend",
    metavar="NAME",
    help="Kernel, for sizes given here instead of a launch command; with --engine, a backend of the engine.",
)
@click.option("--dcp-size", type=click.IntRange(min=1), help="Decode context parallel size (default: 1).")
@click.option(
    "--interleave",
    type=click.IntRange(min=1),
    metavar="N",
    help="Tokens a DCP rank holds in a row (default: 1).",
)
@click.option("--dcp-comm-backend", metavar="NAME", help="How DCP ranks are merged (default: ag_rs).")
@click.option("--tp-size", type=click.IntRange(min=1), help="Tensor parallel size (default: the DCP size).")
@click.option("--dp-size", type=click.IntRange(min=1), help="Data parallel size of attention (default: 1).")
@click.option("--page-size", type=click.IntRange(min=1), help="Tokens a page (default: 1).")
@click.option("--kv-cache-dtype", metavar="DTYPE", help="KV cache dtype (default: auto).")
@click.option("--lse-base", type=click.Choice(["e", "2"]), help="Base merged in (default: the kernel's own).")
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option(
    "--time-limit", type=click.FloatRange(min=1), default=300.0, show_default=True, metavar="SECONDS"
)
@format_option
def command(*, text: str | None, words: Sequence[str], format_: str, **given: Any) -> None:
    """Decode with a kernel as the launch would, on simulated DCP ranks, and compare with float64.

    \b
    mlacheck decode-check --args "--model-path deepseek-ai/DeepSeek-V3 --tp 8 --dcp-size 8 --attention-backend flashinfer"
    mlacheck decode-check --backend flashinfer --model deepseek-v3 --dcp-size 8 --page-size 64
    mlacheck decode-check --engine vllm --backend FLASHINFER_MLA --model deepseek-v3 --dcp-size 8
    """  # noqa: D301, E501 - \b is click's mark for a paragraph kept as it is
    from mlacheck.decode.ranks import ranks_here  # not needed for --help

    sizes = [name for name in _SIZES if given[name] is not None]
    if text is None and not words:
        reports: tuple[DecodeReport, ...] = (_by_sizes(given),)
    elif sizes:
        flag = "--" + sizes[0].replace("_", "-")
        raise click.UsageError(f"{flag} goes without a launch command, which says it itself")
    else:
        reports = _by_line(text, words, given)
    ranks = ranks_here()
    if ranks is not None and not ranks.leads:
        for row in (row for report in reports for row in report.bad):
            click.echo(f"mlacheck: rank {ranks.rank}: {row.detail}", err=True)
        sys.exit(codes.OK)
    if format_ == "json":
        values = [report.to_dict() for report in reports]
        click.echo(json.dumps(values if len(values) > 1 else values[0], indent=2, default=str))
    else:
        for report in reports:
            _write(report)
    sys.exit(max((_code(report) for report in reports), key=(codes.OK, codes.NOT_RUN, codes.FINDINGS).index))


def _by_sizes(given: dict[str, Any]) -> DecodeReport:
    from mlacheck.decode import check_backend, decode_check  # not needed for --help
    from mlacheck.decode.backend import BACKENDS, NOT_COVERED  # same
    from mlacheck.decode.engine import backends_of  # same
    from mlacheck.probes.model import ModelProblem, find_model  # same

    if given["model"] is None:
        raise click.UsageError("give a launch command (--args TEXT or -- COMMAND...), or --model and sizes")
    found = find_model(given["model"])
    if isinstance(found, ModelProblem):
        click.echo(f"error: {found.message}\n  {found.hint}", err=True)
        sys.exit(codes.USAGE)
    dcp_size = given["dcp_size"] or 1
    if given["backend"] is not None and names_engine():
        names = backends_of(given["engine"])
        _known(given["backend"], names, f"{given['engine']}'s backends that are known here")
        if given["lse_base"] is not None:
            raise click.UsageError("--lse-base goes without --engine, which knows the base that it merges in")
        return check_backend(
            given["engine"],
            _version_of(given["engine"], given["engine_version"]),
            given["backend"],
            {
                "tp_size": given["tp_size"] or dcp_size * (given["dp_size"] or 1),
                "dp_size": given["dp_size"],
                "dcp_size": dcp_size,
                "interleave": given["interleave"],
                "page_size": given["page_size"],
                "kv_cache_dtype": given["kv_cache_dtype"],
                "comm": given["dcp_comm_backend"],
            },
            found.config,
            overrides=_overrides(given),
            target_sm=_sm_of(given["gpu"]),
            on_progress=_progress,
        )
    backend = given["backend"] or "reference"
    if backend not in NOT_COVERED:
        _known(backend, BACKENDS, "the kernels that can be checked (--engine E takes the engine's own names)")
    return decode_check(
        found.config,
        backend=backend,
        dcp_size=dcp_size,
        interleave=given["interleave"] or 1,
        comm=given["dcp_comm_backend"] or "ag_rs",
        tp_size=given["tp_size"] or dcp_size * (given["dp_size"] or 1),
        dp_size=given["dp_size"] or 1,
        page_size=given["page_size"] or 1,
        kv_cache_dtype=given["kv_cache_dtype"] or "auto",
        q_len=given["q_len"] or 1,
        context_len=given["context_len"],
        batch=given["batch"],
        lse_base=given["lse_base"],
        device=given["device"],
        seed=given["seed"],
        time_limit=given["time_limit"],
        on_progress=_progress,
    )


def _by_line(text: str | None, words: Sequence[str], given: dict[str, Any]) -> tuple[DecodeReport, ...]:
    if text is not None and words:
        raise click.UsageError("give one of --args TEXT and -- COMMAND...")
    result = read_launch(text, words, given)
    if not result.commands:
        for problem in result.problems:
            click.echo(f"error: {problem.message}\n  {problem.hint}", err=True)
        sys.exit(codes.NOTHING)
    session = new_session(given, gpu=given["gpu"] or _gpu_here(), remedies=False)
    overrides = _overrides(given)
    reports: list[DecodeReport] = []
    for launch in result.commands:
        report = session.check(launch, result.problems)
        reports += measured(report, session.model_of(report), overrides)
    return tuple(reports)


def _version_of(engine: str, named: Sequence[tuple[str | None, str]]) -> str | None:
    """Give the version named for an engine, or for all, and without one the newest that is recorded."""
    from mlacheck.probes.engine import recorded_versions  # not needed for --help

    versions = dict(named)
    recorded = recorded_versions(engine)
    return versions.get(engine) or versions.get(None) or (recorded[-1] if recorded else None)


def _sm_of(name: str | None) -> int | None:
    """Give the capability of the GPU asked about; None where none is named."""
    from mlacheck.probes.hardware import Gpu, find_gpu  # not needed for --help

    found = find_gpu(name) if name is not None else None
    if found is None or isinstance(found, Gpu):
        return (found.sm or None) if found else None
    raise click.UsageError(f"{found.message}: {found.hint}")


def _overrides(given: dict[str, Any]) -> Overrides:
    from mlacheck.decode import Overrides  # not needed for --help

    return Overrides(
        context_len=given["context_len"],
        batch=given["batch"],
        q_len=given["q_len"],
        device=given["device"],
        seed=given["seed"],
        time_limit=given["time_limit"],
    )


def _gpu_here() -> str | None:
    """Name this machine's GPU, on which the kernel will run unless another one is asked about."""
    from mlacheck.probes.gpu import probe_gpus  # only where no GPU is named

    seen = probe_gpus().gpu
    if not seen.sm:
        return None
    _progress(f"the GPU is this machine's: {seen.name}")
    return seen.key or f"sm{seen.sm}"


def measured(
    report: Report, model: ModelConfig | None, overrides: Overrides | None = None
) -> tuple[DecodeReport, ...]:
    """Run the decode checks of a validated line; what keeps one from running is said in its only row."""
    from mlacheck.decode import check_launch  # only when asked for
    from mlacheck.decode.row import NOT_RUN, DecodeReport, Row  # same

    stops = next((one for one in report.findings if one.level == "error" and one.engine_stops_here), None)
    why = None
    if stops is not None:
        why = f"the engine refuses this line ({stops.id}), so there is no decode to check"
    elif model is None:
        why = "the model's config is not known: --model PATH supplies it"
    if why is not None or model is None:
        backend = report.resolved.get("decode_backend")
        return (DecodeReport((Row("runs", NOT_RUN, detail=why or ""),), str(backend and backend.value)),)
    sm = report.target.get("sm")
    return check_launch(
        report.engine,
        report.engine_version,
        {name: one.value for name, one in report.resolved.items()},
        model.config,
        target_sm=sm if isinstance(sm, int) and sm > 0 else None,
        overrides=overrides,
        on_progress=_progress,
    )


def add_decode_check(
    report: Report, model: ModelConfig | None, overrides: Overrides | None = None
) -> tuple[Report, bool]:
    """Add the decode checks of a validated line to its report; tell whether they could run.

    The verdict is the worse of the two: a verified kernel clears nothing.
    """
    checks = measured(report, model, overrides)
    rows = tuple(row for check in checks for row in check.to_list())
    refused = report.verdict == "error" and any(one.engine_stops_here for one in report.findings)
    ran = refused or not any(check.could_not_run for check in checks)
    return judged(replace(report, decode=rows)), ran


def _progress(line: str) -> None:
    from mlacheck.decode.ranks import ranks_here  # only when something runs

    ranks = ranks_here()
    if ranks is None or ranks.leads:
        click.echo(line, err=True)


def _code(report: DecodeReport) -> int:
    if report.bad:
        return codes.FINDINGS
    return codes.NOT_RUN if report.could_not_run else codes.OK


def _asked(report: DecodeReport) -> str:
    """Name the engine's backend, before the adapter of its kernel."""
    engine, backend = (report.convention.get(name) for name in ("engine", "backend"))
    return f"{engine}, {backend}: " if engine else ""


def _known(name: str, names: Sequence[str], of: str) -> str:
    """Give a backend's name, or refuse it with those that there are."""
    if name in names:
        return name
    from mlacheck.similar import closest  # only for what is misspelt

    spelled = {one.lower(): one for one in names}
    close = closest(name.lower(), spelled, 1, 0.6)
    meant = f" Did you mean {spelled[close[0]]}?" if close else ""
    raise click.UsageError(f"--backend {name} is none of {of}: {', '.join(names)}.{meant}")


def _write(report: DecodeReport) -> None:
    style = "green" if report.ok else "red" if report.bad else "yellow"
    click.secho(report.outcome, fg=style, bold=True)
    if report.description:
        click.echo(f"  {report.description}")
    package = f" ({report.distribution} {report.backend_version})" if report.distribution else ""
    sm = f", SM{report.sm}" if report.sm else ""
    where = f" on {report.device}{sm}, {report.seconds:.1f} s" if report.device else ""
    click.echo(f"  {_asked(report)}{report.backend}{package}{where}")
    colours = {"passes": "green", "fails": "red", "wrong": "red"}
    for row in report.rows if report.device else ():
        state = click.style(row.state.ljust(7), fg=colours.get(row.state, "yellow"))
        measured_ = "" if row.measured is None else f"  measured {figure(row.measured)}"
        limit = "" if row.limit is None else f"  limit {figure(row.limit)}"
        margin = "" if row.margin is None else f"  margin {row.margin:.1f}x"
        click.echo(f"  {state} {row.name}{measured_}{limit}{margin}")
        if row.detail:
            click.echo(f"          {row.detail}")
    for line in report.boundary:
        click.echo(f"  not shown: {line}")
