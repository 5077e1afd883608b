from __future__ import annotations

import pytest

from mlacheck.frozen import replace
from mlacheck.launch import parse_text
from mlacheck.probes.target import TargetFlags
from mlacheck.ruleset.source import RuleError
from mlacheck.session import Session

LLAMA = "--model-path meta-llama/Llama-3.1-8B-Instruct"


def session(**more):
    return Session(TargetFlags(engine_version="0.5.18", gpu="h200"), **more)


def command(text):
    [found] = parse_text(text).commands
    return found


def test_what_commands_share_is_prepared_once():
    one = session()
    assert one.checker(command(LLAMA)) is one.checker(command(f"{LLAMA} --tp-size 2"))
    assert one.models.find("nobody/knows") is one.models.find("nobody/knows")
    changed = one.models.find("deepseek-v3", {"num_hidden_layers": 4})
    assert changed.config["num_hidden_layers"] == 4
    assert one.models.find("deepseek-v3", {"num_hidden_layers": 4}) is changed
    assert one.models.find("deepseek-v3").config["num_hidden_layers"] != 4


def test_an_image_tag_names_the_version_unless_a_flag_does():
    docker = f"docker run lmsysorg/sglang:v0.5.20-cu130 python3 -m sglang.launch_server {LLAMA}"
    tagged = Session(TargetFlags(gpu="h200"))
    assert tagged.check(command(docker)).engine_version == "0.5.20"
    assert tagged.checker(command(docker)) is not tagged.checker(command(LLAMA))
    assert session().check(command(docker)).engine_version == "0.5.18"


def test_commands_do_not_leak_into_each_other():
    one = session()
    first = one.check(command(LLAMA))
    one.check(command(f"{LLAMA} --attention-backend triton --page-size 64"))
    assert one.check(command(LLAMA)).resolved == first.resolved


def test_the_model_of_a_report_is_found_again():
    one = session()
    found = one.model_of(one.check(command(LLAMA)))
    assert found.name == "meta-llama/Llama-3.1-8B-Instruct"
    assert one.model_of(one.check(command("--model-path nobody/knows"))) is None
    beside = session(model="deepseek-ai/DeepSeek-V3")
    assert beside.model_of(beside.check(command(LLAMA))).name == "deepseek-ai/DeepSeek-V3"


def test_problems_of_the_text_come_first_and_errors_among_them_leave_no_ok():
    text = parse_text(f"source env.sh\npython -m sglang.launch_server {LLAMA}\n")
    report = session().check(text.commands[0], text.problems)
    assert (report.verdict, [one.kind for one in report.problems]) == ("ok", ["sourced-file"])
    text = parse_text(f"python -m sglang.launch_server {LLAMA}\n--tp-size 8\n")
    report = session().check(text.commands[0], text.problems, id_=4)
    assert (report.verdict, report.id, report.problems[0].location.line) == ("unknown", 4, 2)


def test_an_error_stays_an_error_whatever_else_is_wrong_with_the_text():
    text = parse_text("python -m sglang.launch_server --model-path x --tp-size nine\n--tp-size 8\n")
    assert session().check(text.commands[0], text.problems).verdict == "error"


def test_rules_of_ones_own_join_and_wrong_ones_are_named(tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text(
        "subject: mine\nrules:\n- {id: OWN001, slug: own, title: t, phase: silent, level: warning, "
        "when: tp_size > 4, message: m}\n"
    )
    report = session(extra_rules=(path,)).check(command(f"{LLAMA} --tp-size 8"))
    assert report.verdict == "warning"
    assert [finding.id for finding in report.findings] == ["OWN001"]
    path.write_text("subject: mine\nrules: 7\n")
    with pytest.raises(RuleError, match="own"):
        session(extra_rules=(tmp_path / "gone.yaml",)).check(command(LLAMA))


def test_an_engine_without_rules_is_no_silent_ok():
    with pytest.raises(ValueError, match="other"):
        session().check(replace(command(LLAMA), engine="other"))
