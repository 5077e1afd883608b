from __future__ import annotations

import json

import jsonschema
import pytest
from click.testing import CliRunner

from mlacheck import __version__
from mlacheck.cli import cli, main
from mlacheck.data import rules_root
from mlacheck.ruleset.source import read


def run(*arguments):
    result = CliRunner().invoke(cli, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def test_the_list_has_every_finding_once():
    lines = run("rules", "list").stdout.splitlines()
    rows = json.loads(run("rules", "list", "--format", "json").stdout)
    assert len(lines) == len(rows) > 100
    ids = [row["id"] for row in rows]
    assert ids == sorted(set(ids))
    assert all(row["level"] in {"error", "warning", "info"} for row in rows)
    assert lines[0].startswith(ids[0])
    assert {"MLA001", "MLA194", "MLA514", "MLA598"} <= set(ids)
    assert all(set(row) == {"id", "slug", "title", "level", "phase", "versions"} for row in rows)


@pytest.mark.parametrize("name", ["MLA194", "mla194", "trtllm-mla-dcp-speculative"])
def test_a_rule_is_shown_by_id_or_slug(name):
    result = run("rules", "show", name)
    assert result.exit_code == 0
    assert result.stdout.startswith("rules/sglang/")
    assert "id: MLA194" in result.stdout


def test_rules_of_every_engine_are_shown():
    result = run("rules", "show", "MLV006")
    assert result.stdout.startswith("rules/vllm/")
    assert run("rules", "show", "MLV006", "--engine", "vllm").stdout == result.stdout
    assert run("rules", "show", "MLV006", "--engine", "sglang").exit_code == 2
    assert "MLA001" in run("rules", "show", "unknown-flag").stdout


@pytest.mark.parametrize(("name", "hint"), [("MLA19", "did you mean MLA"), ("qqqqqqqqqqqq", "rules list")])
def test_a_rule_that_is_not_there_is_bad_usage_with_a_hint(name, hint):
    result = run("rules", "show", name)
    assert result.exit_code == 2
    assert hint in result.stderr


def test_the_rows_of_one_rule_are_run():
    result = run("rules", "test", "MLA194")
    assert result.exit_code == 0, result.stdout
    assert result.stdout.strip().endswith("rows, 0 failed")
    assert not result.stdout.startswith("0 rows")


def test_the_schema_accepts_the_shipped_rules_and_refuses_a_misspelt_key():
    schema = json.loads(run("rules", "schema").stdout)
    folder = rules_root() / "sglang"
    files = read(folder / "program.yaml").data["files"]
    for name in files:
        jsonschema.validate(read(folder / name).data, schema)
    assert len(files) > 10
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"subject": "x", "rulez": []}, schema)


def test_probe_says_what_this_machine_has():
    text = run("probe")
    data = run("probe", "--format", "json")
    assert (text.exit_code, data.exit_code) == (0, 0)
    assert text.stdout.strip()
    assert json.loads(data.stdout)


def test_help_names_every_command_and_the_exit_codes():
    result = run("--help")
    for name in ("validate", "decode-check", "probe", "rules"):
        assert name in result.stdout
    assert "Exit codes" in result.stdout
    assert __version__ in run("--version").stdout
    assert run("no-such-command").exit_code == 2


def test_main_runs_the_command_line(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["mlacheck", "--version"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 0
    assert __version__ in capsys.readouterr().out


def test_coverage_gives_the_share_and_the_guards_that_no_rule_models():
    text = run("rules", "coverage", "--engine-version", "0.5.18")
    assert text.exit_code == 0
    assert text.stdout.startswith("start-up guards of sglang 0.5.18\n")
    data = json.loads(run("rules", "coverage", "--engine-version", "0.5.18", "--format", "json").stdout)
    assert data["engine"] == {"name": "sglang", "version": "0.5.18"}
    assert data["modelled"] == len(data["modelled_guards"]) > 200
    assert data["guards"] == data["modelled"] + len(data["unmodelled_guards"])
    assert data["share"] == round(data["modelled"] / data["guards"], 4)
    assert sum(area["guards"] for area in data["areas"]) == data["guards"]
    assert all(data["out_of_scope"].values())
    assert {"key", "file", "symbol", "says", "phase", "area", "flags", "rules"} <= set(
        data["unmodelled_guards"][0]
    )
    dcp = next(one for one in data["modelled_guards"] if "MLA194" in one["rules"])
    assert dcp["symbol"] == "create_trtllm_mla_backend"


def test_coverage_of_one_flag_or_area_lists_no_other():
    wide = json.loads(run("rules", "coverage", "--format", "json").stdout)
    for flag in ("--dcp-size", "dcp_size"):
        narrow = json.loads(run("rules", "coverage", "--flag", flag, "--format", "json").stdout)
        assert 0 < narrow["guards"] < wide["guards"]
        assert all("--dcp-size" in one["flags"] for one in narrow["modelled_guards"])
    tp = run("rules", "coverage", "--flag", "--tp-size").stdout
    for alias in ("--tp", "--tensor-parallel-size", "--tensor-parallel-siz"):
        assert run("rules", "coverage", "--flag", alias).stdout == tp
    short = run("rules", "coverage", "--engine", "vllm", "--flag", "-tp")
    assert (
        short.stdout == run("rules", "coverage", "--engine", "vllm", "--flag", "tensor_parallel_size").stdout
    )
    narrow = json.loads(run("rules", "coverage", "--area", "topology", "--format", "json").stdout)
    assert {one["area"] for one in narrow["modelled_guards"]} == {"topology"}


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("--engine-version", "0.1"), "0.5.23"),
        (("--flag", "--no-such-flag"), "no option"),
        (("--area", "nowhere"), "topology"),
    ],
)
def test_coverage_of_what_is_not_there_is_bad_usage(arguments, hint):
    result = run("rules", "coverage", *arguments)
    assert result.exit_code == 2
    assert hint in result.stderr


def test_rows_of_a_rule_that_is_not_there_are_bad_usage():
    result = run("rules", "test", "trtllm-mla-dcp-speculativ")
    assert result.exit_code == 2
    assert "did you mean MLA194 trtllm-mla-dcp-speculative" in result.stderr


def test_coverage_lists_what_no_rule_models_only_when_asked():
    plain = run("rules", "coverage").stdout
    table = run("rules", "coverage", "-q").stdout
    whole = run("rules", "coverage", "--list").stdout
    assert "share" in table
    assert plain.removeprefix(table).splitlines() == [
        "what no rule models is listed with --flag FLAG, --area AREA or, whole, --list"
    ]
    assert whole.startswith(table)
    assert len(table.splitlines()) < len(whole.splitlines()) / 2
    for narrowed in (("--flag", "--tp-size"), ("--area", "topology")):
        assert (
            run("rules", "coverage", *narrowed).stdout == run("rules", "coverage", *narrowed, "--list").stdout
        )
    assert run("rules", "coverage", "-q", "--list").stdout == table


def test_a_rule_of_the_other_engine_is_told_as_that():
    result = CliRunner().invoke(cli, ["rules", "test", "MLV010"])
    assert result.exit_code == 2
    assert "MLV010 is no rule of sglang; --engine says whose it is" in result.stderr
