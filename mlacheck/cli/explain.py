"""`mlacheck explain`: one rule in words."""

from __future__ import annotations

import sys

import click

from mlacheck.cli import exit as codes
from mlacheck.probes.engine import ENGINES


@click.command("explain")
@click.argument("name", metavar="ID|SLUG")
@click.option("--engine", type=click.Choice(ENGINES), help="Only rules of this engine.")
@click.option(
    "--format", "format_", type=click.Choice(["text", "markdown", "json"]), default="text", show_default=True
)
def command(name: str, engine: str | None, format_: str) -> None:
    """Explain a rule: what, why, versions, a bad and a good line, ways out, source and evidence.

    \b
    mlacheck explain MLA194
    mlacheck explain dcp-size-positive --format markdown
    """  # noqa: D301 - \b is click's mark for a paragraph kept as it is
    from mlacheck.explain import UnknownRule, explain  # YAML and pydantic only here
    from mlacheck.report.layout import width_of  # same
    from mlacheck.report.rule_page import markdown_page, text_page  # same
    from mlacheck.ruleset.error import RuleError  # same
    from mlacheck.ruleset.load import ruleset  # same

    try:
        one = explain(map(ruleset, (engine,) if engine else ENGINES), name)
    except (UnknownRule, RuleError) as error:
        raise codes.InputError(str(error)) from error
    if format_ == "json":
        import json  # same

        from mlacheck.frozen import as_dict  # same

        click.echo(json.dumps(as_dict(one), indent=2))
    elif format_ == "markdown":
        click.echo(markdown_page(one), nl=False)
    else:
        click.echo("\n".join(text_page(one, width_of(sys.stdout))))
