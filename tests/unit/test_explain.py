from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner
from rule_pages import stale

from mlacheck.cli import cli
from mlacheck.explain import UnknownRule, explain, explanations
from mlacheck.report.rule_page import markdown_page, rule_pages, text_page
from mlacheck.ruleset.load import ruleset


@pytest.fixture(scope="module")
def rules():
    return ruleset("sglang")


@pytest.fixture(scope="module")
def every(rules):
    return list(explanations(rules))


def test_every_rule_that_makes_findings_is_explained(rules, every):
    ids = [one.id for one in every]
    assert len(ids) == len(set(ids))
    assert {rule.id for _, _, rule in rules.finds()} <= set(ids)
    assert {"MLA001", "MLA514"} <= set(ids)


def test_an_explanation_has_what_why_versions_lines_and_evidence(rules):
    one = explain([rules], "trtllm-mla-dcp-speculative")
    assert one == explain([rules], "mla194")
    text = "\n".join(text_page(one, 80))
    for part in (
        "MLA194",
        one.title.split()[0],
        "sglang 0.5.17 to 0.5.23",
        "A line that fails (sglang 0.5.17, GPU b200):",
        "A line that passes",
        "--speculative-algorithm EAGLE",
        "drop --dcp-size",
        "sgl-project/sglang#33926",
        "create_trtllm_mla_backend",
        "mlacheck: ignore[MLA194]",
    ):
        assert part in text, part


def test_pages_fit_the_terminal(every):
    wide = [line for one in every for line in text_page(one, 80) if len(line) > 80 and " " in line.strip()]
    # A word that is longer than a line is not broken, and neither is a flag with the JSON text after it.
    words = re.compile(r"(?:--\S+ )?'\{.*\}'|\S+")
    assert [line for line in wide if max(map(len, words.findall(line))) < 60] == []


def test_an_unknown_name_gives_the_closest(rules):
    with pytest.raises(UnknownRule, match="did you mean MLA194 trtllm-mla-dcp-speculative"):
        explain([rules], "trtllm-mla-dcp-speculativ")
    # All parts of the name, wherever they stand; underscores as the engine's own names have them.
    with pytest.raises(UnknownRule, match="MLA250 dcp-decode-unsupported"):
        explain([rules], "dcp_decode")
    with pytest.raises(UnknownRule, match="MLV"):
        explain([rules, ruleset("vllm")], "MLV00")
    assert explain([rules], "TRTLLM_MLA_DCP_speculative").id == "MLA194"
    with pytest.raises(UnknownRule, match="rules list"):
        explain([rules], "zzzzzz")


def test_markdown_is_escaped(every):
    for one in every:
        page = markdown_page(one)
        assert page.startswith(f"# {one.id}")
        assert page.count("```") % 2 == 0


def test_pages_hold_every_rule_once_and_the_index_links_to_it(every):
    pages = rule_pages(every)
    text = "\n".join(page for name, page in pages.items() if name != "README.md")
    for one in every:
        assert text.count(f"\n## {one.id} ") == 1
        assert f"[{one.id}](" in pages["README.md"]


def test_the_command_line():
    run = CliRunner().invoke
    assert "MLA194" in run(cli, ["explain", "MLA194"]).stdout
    assert run(cli, ["explain", "MLA194", "--format", "markdown"]).stdout.startswith("# MLA194")
    assert json.loads(run(cli, ["explain", "MLA194", "--format", "json"]).stdout)["id"] == "MLA194"
    done = run(cli, ["explain", "MLA9999"])
    assert done.exit_code == 2
    assert "no rule 'MLA9999'" in done.stderr


def test_the_tool_tells_pages_that_are_not_current(tmp_path):
    assert "README.md" in stale(tmp_path)
    for name, text in rule_pages(list(explanations(ruleset("sglang")))).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert stale(tmp_path) == []
    (tmp_path / "old.md").write_text("left over", encoding="utf-8")
    (tmp_path / "dcp.md").write_text("changed", encoding="utf-8")
    assert stale(tmp_path) == ["dcp.md", "old.md"]


def test_an_example_is_a_line_of_its_engine():
    one = explain([ruleset("vllm")], "MLV041")
    [bad], [good] = one.bad, one.good
    assert bad.command == "vllm serve deepseek-ai/DeepSeek-V3.2 -tp 8 -dcp 2"
    assert bad.target == "vllm 0.33.0, GPU h200"
    assert good.command.startswith("vllm serve deepseek-ai/DeepSeek-V3.2 ")
