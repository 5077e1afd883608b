"""`mlacheck rules`: what the rules are, and whether they hold their own tests."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import click

from mlacheck.cli import exit as codes
from mlacheck.cli.options import engine_option, format_option
from mlacheck.probes.engine import ENGINES
from mlacheck.ruleset.names import hint, rule_names, spelt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mlacheck.engines import Grammar
    from mlacheck.ruleset.files import RuleSet
    from mlacheck.ruleset.schema import FindRule


@click.group("rules")
def command() -> None:
    """List, show and test the rules.

    \b
    mlacheck rules list
    mlacheck rules show trtllm-mla-dcp-speculative
    mlacheck rules test
    """  # noqa: D301 - \b is click's mark for a paragraph kept as it is


def _read(engine: str) -> RuleSet:
    from mlacheck.ruleset.error import RuleError
    from mlacheck.ruleset.load import ruleset  # YAML and pydantic only here

    try:
        return ruleset(engine)
    except RuleError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(codes.USAGE)


@command.command("list")
@engine_option
@format_option
def list_(engine: str, format_: str) -> None:
    """List the findings that a report can have, those among them that no rule file makes."""
    rows = _rows(engine)
    if format_ == "json":
        click.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        click.echo(f"{row['id']}  {row['level']:7}  {row['phase']:15}  {row['slug']}: {row['title']}")


def _rows(engine: str) -> list[dict[str, Any]]:
    from mlacheck.builtin import BUILTINS  # only for the list

    keys = ("id", "slug", "title", "level", "phase", "versions")
    # What overrides an argument may say so; it resolves arguments and has no phase of its own.
    given = [
        {"phase": "resolve", **rule.model_dump(include=set(keys))} for _, _, rule in _read(engine).rules()
    ]
    rows = [{key: row[key] for key in keys} for row in given if row["id"] and row["level"]]
    rows += [{key: getattr(one, key, {}) for key in keys} for one in BUILTINS]
    return sorted(rows, key=lambda row: str(row["id"]))


@command.command("show")
@click.option("--engine", type=click.Choice(ENGINES), help="Only rules of this engine.")
@click.argument("name")
def show(engine: str | None, name: str) -> None:
    """Show one rule, by id or slug."""
    from mlacheck.builtin import BUILTINS  # what no rule file makes

    asked = spelt(name)
    names = {key: one.id for one in BUILTINS for key in (one.id.lower(), one.slug)}
    for searched in (engine,) if engine else ENGINES:
        for source, path, rule in _read(searched).finds():
            if asked in {rule.id.lower(), rule.slug}:
                click.echo(f"{source.name}:{source.line(path)}")
                _show(rule)
                return
            names |= dict.fromkeys((rule.id.lower(), rule.slug), rule.id)
    for one in BUILTINS:
        if asked in {one.id.lower(), one.slug}:
            click.echo(f"{one.id} {one.slug}: {one.title} ({one.level}, {one.phase})")
            if one.phase == "argparse":
                where = engine or "ENGINE"
                click.echo(f"It comes from the recorded options of each version, rules/{where}/flags.")
            return
    raise codes.InputError(_no_rule(name, names))


def _refuse_names(rules: RuleSet, names: tuple[str, ...]) -> None:
    """Refuse a name that no rule has."""
    known = {key: rule.id for _, _, rule in rules.finds() for key in (rule.id.lower(), rule.slug)}
    wrong = [name for name in names if spelt(name) not in known]
    others = rule_names() if wrong else {}
    told = [
        f"{name} is no rule of {rules.engine}; --engine says whose it is"
        if spelt(name) in others
        else _no_rule(name, known)
        for name in wrong
    ]
    if told:
        raise codes.InputError("\n".join(told))


def _no_rule(name: str, names: Mapping[str, str]) -> str:
    return f"no rule {name!r}; {hint(name, names)}"


def _show(rule: FindRule) -> None:
    import yaml  # people read YAML

    data = rule.model_dump(exclude_defaults=True, exclude_none=True, mode="json")
    click.echo(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=110).rstrip())


@command.command("coverage")
@engine_option
@click.option("--engine-version", "version", metavar="V", help="a recorded version; the newest if not given")
@click.option("--flag", metavar="FLAG", help="list only guards that this flag can trigger")
@click.option("--area", metavar="AREA", help="list only guards of this area")
@click.option("--list", "listed", is_flag=True, help="list every guard that no rule models (text)")
@click.option("-q", "--quiet", is_flag=True, help="the table alone (text)")
@format_option
def coverage(
    engine: str,
    version: str | None,
    flag: str | None,
    area: str | None,
    format_: str,
    *,
    listed: bool,
    quiet: bool,
) -> None:
    """Show which of the engine's start-up guards the rules model.

    Those that none does are listed with --list, or with --flag or --area, which narrow the list.
    """
    from mlacheck.engines import Grammar  # the options of one version, only here
    from mlacheck.probes.engine import recorded_versions  # same
    from mlacheck.report.coverage import as_json, as_text  # same
    from mlacheck.ruleset.coverage import Coverage  # same

    _read(engine)
    recorded = recorded_versions(engine)
    version = version or recorded[-1]
    if version not in recorded:
        _refuse(f"{engine} {version} is not recorded; recorded are {', '.join(recorded)}")
    found = Coverage.of(engine, version)
    if area is not None and area not in found.areas:
        _refuse(f"no area {area!r}; there are {', '.join(found.areas)}")
    grammar = Grammar.load(engine, version)
    dest = flag if flag in grammar.options else _meant(grammar, flag)
    if flag is not None and dest is None:
        _refuse(f"{engine} {version} has no option {flag!r}")
    flags = {name: option.flag for name, option in grammar.options.items()}
    found = found.of_flag(dest).of_area(area)
    if format_ == "json":
        click.echo(as_json(found, flags))
        return
    listed = listed or flag is not None or area is not None
    click.echo(as_text(found, flags, listed=listed and not quiet))
    if not listed and not quiet:
        click.echo("what no rule models is listed with --flag FLAG, --area AREA or, whole, --list")


def _meant(grammar: Grammar, flag: str | None) -> str | None:
    """Give the argument that a flag sets, however the engine's parser lets it be written."""
    if flag is None:
        return None
    read = grammar.parse((flag if flag.startswith("-") else f"--{flag}",))
    lacking = (one.dest for one in read.problems if one.kind == "missing-value")
    return next(iter((*read.given, *lacking)), None)


def _refuse(message: str) -> NoReturn:
    click.echo(f"error: {message}", err=True)
    sys.exit(codes.USAGE)


@command.command("schema")
def schema() -> None:
    """Print the JSON Schema of rule files."""
    from mlacheck.ruleset.schema import RuleFile  # pydantic only here

    click.echo(json.dumps(RuleFile.model_json_schema(), indent=2))


@command.command("test")
@engine_option
@click.argument("names", nargs=-1)
def test(engine: str, names: tuple[str, ...]) -> None:
    """Run every rule's own pass and fail rows (or those of the named rules)."""
    from mlacheck.ruleset.error import RuleError  # rules are read only now
    from mlacheck.selftest import run_tests  # same

    try:
        rules = _read(engine)
        _refuse_names(rules, names)
        results = run_tests(rules, set(map(spelt, names)))
    except RuleError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(codes.USAGE)
    failed = 0
    for result in results:
        if not result.ok:
            failed += 1
            click.echo(f"{result.place}: {result.rule} {result.expected}: {result.row}\n  {result.detail}")
    click.echo(f"{len(results)} rows, {failed} failed")
    sys.exit(codes.FINDINGS if failed else codes.OK)
