from __future__ import annotations

import pytest
from click.testing import CliRunner

from mlacheck.builtin import BUILTINS
from mlacheck.cli import cli
from mlacheck.ruleset.error import RuleError
from mlacheck.ruleset.load import ruleset
from mlacheck.ruleset.names import hint, rule_names


def test_every_rule_is_found_by_id_and_by_slug():
    names = rule_names()
    for _, _, rule in ruleset("sglang").finds():
        assert names[rule.id.lower()] == names[rule.slug.lower()] == rule.id
    for one in BUILTINS:
        assert names[one.id.lower()] == names[one.slug] == one.id


def test_a_users_own_rules_count_too(tmp_path):
    own = tmp_path / "own.yaml"
    own.write_text(
        "rules:\n  - slug: no-id\n  - slug: mine\n    id: OWN001\n  - id: 'OWN002'\n    slug: two\n"
    )
    names = rule_names([own])
    assert (names["mine"], names["own001"], names["two"]) == ("OWN001", "OWN001", "OWN002")
    assert "no-id" not in names


def test_close_names_are_written_as_they_are_called():
    names = {"mla194": "MLA194", "trtllm-dcp": "MLA194", "page-size": "MLA400", "silent": "silent"}
    assert hint("MLA19", names) == "did you mean MLA194 trtllm-dcp?"
    assert hint("page_sise", names) == "did you mean MLA400 page-size?"
    assert hint("dcp-trtllm", names) == "did you mean MLA194 trtllm-dcp?"
    assert hint("silnet", names) == "did you mean silent?"
    assert "rules list" in hint("qqqq", names)


def test_a_mistyped_name_is_told_alike_wherever_rules_are_named(tmp_path):
    told = "did you mean MLA194 trtllm-mla-dcp-speculative?"
    wrong = "trtllm-mla-dcp-speculativ"
    script = tmp_path / "a.sh"
    script.write_text(f"# mlacheck: ignore[{wrong}] reason\nsglang serve Qwen/Qwen3-8B\n")
    ways = (
        ["explain", wrong],
        ["rules", "show", wrong],
        ["rules", "test", wrong],
        ["validate", "--ignore", wrong, "--args", "sglang serve Qwen/Qwen3-8B"],
        ["validate", "--no-config", str(script)],
    )
    for words in ways:
        assert told in " ".join(CliRunner().invoke(cli, words).output.split()), words


def test_a_users_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(RuleError, match=r"none\.yaml: cannot be read: No such file"):
        rule_names([tmp_path / "none.yaml"])


def test_the_shipped_names_are_read_once_and_not_shared():
    first = rule_names()
    first["mine"] = "OWN001"
    assert "mine" not in rule_names()
