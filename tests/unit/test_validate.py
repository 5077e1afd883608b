from __future__ import annotations

import gzip
import json
import re
import shlex
from pathlib import Path

import pytest

from mlacheck.finding import START_UP_PHASES
from mlacheck.launch import parse_text
from mlacheck.probes.config import overridden
from mlacheck.probes.engine import recorded_versions
from mlacheck.probes.model import find_model
from mlacheck.probes.target import TargetFlags
from mlacheck.session import Session

LLAMA = "--model-path meta-llama/Llama-3.1-8B-Instruct"
DEEPSEEK = "--model-path deepseek-ai/DeepSeek-V3 --tp-size 8"
RECORDED = Path(__file__).parent.parent / "conformance"
VERSIONS = recorded_versions("sglang")


def check(text, *, gpu="h200", version="0.5.18", **more):
    flags = TargetFlags(gpu=gpu, engine_version=version, flashinfer=more.pop("flashinfer", None))
    result = parse_text(text)
    [command] = result.commands
    return Session(flags, **more).check(command, result.problems)


def needs(report):
    return {name for one in report.undecided for name in one.needs}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("gpu", ["a100", "h200", "b200", "b300"])
def test_an_ordinary_line_is_ok_on_every_version(version, gpu):
    report = check(LLAMA, gpu=gpu, version=version)
    assert report.verdict == "ok", (report.findings, report.undecided)
    assert not report.undecided


@pytest.mark.parametrize("version", VERSIONS)
def test_a_line_without_a_model_is_refused(version):
    report = check("--tp-size 8", version=version)
    assert report.verdict == "error"
    assert report.findings[0].id == "MLA006"
    assert report.findings[0].engine_stops_here


def test_what_the_line_changes_in_the_config_is_what_is_checked():
    def resolved(**changes):
        report = check(f"{DEEPSEEK} --json-model-override-args {shlex.quote(json.dumps(changes))}")
        return {one.id for one in report.findings if one.level == "error"}

    assert "MLA894" in resolved(num_attention_heads=6)
    assert "MLA894" not in resolved(num_attention_heads=64)
    assert "MLA802" not in resolved()
    # The parts that the engine changes value by value keep what they do not name; others are replaced.
    config = {"text_config": {"a": {"x": 1}, "b": 2}, "c": {"d": 3}}
    changes = {"text_config": {"a": {"y": 5}}, "c": {"e": 4}}
    assert overridden(config, changes, ["text_config"]) == {
        "text_config": {"a": {"y": 5}, "b": 2},
        "c": {"e": 4},
    }
    assert overridden(config, changes, ["text_config", "text_config.a"])["text_config"]["a"] == {
        "x": 1,
        "y": 5,
    }
    assert overridden(config, changes) == changes


def test_a_model_that_nobody_knows_leaves_the_verdict_open():
    report = check("--model-path nobody/knows-this --tp-size 8")
    assert report.verdict == "unknown"
    assert report.target["model"] is None
    assert [problem.kind for problem in report.problems] == ["not-found"]
    assert any(name.startswith("target.") for name in needs(report))


def test_what_needs_no_model_is_decided_without_one():
    report = check("--model-path nobody/knows-this --attention-backend trtllm_mla --tp-size 8", gpu="a100")
    known = check(f"{DEEPSEEK} --attention-backend trtllm_mla", gpu="a100")
    assert known.verdict == "error"
    assert report.verdict in {"error", "unknown"}


def test_without_a_gpu_each_class_is_asked():
    report = check(LLAMA, gpu="unknown")
    assert report.verdict in {"ok", "unknown"}
    assert report.target["sm"] is None
    assert report.resolved["decode_backend"].value is not None
    assert "one of one of" not in str(report.resolved["decode_backend"].value)
    assert "gpu" in report.resolved["decode_backend"].origin


def test_an_undecided_rule_names_the_gpus_on_which_it_fires():
    line = "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3.2 --tp 8 --dcp-size 8"
    titles = {one.rule: one.title for one in check(line, gpu=None, version="0.5.23").undecided}
    assert titles["MLA248"].endswith("(on SM80, SM89)")


def test_what_some_gpus_refuse_is_undecided_and_what_all_refuse_is_an_error():
    some = check(f"{DEEPSEEK} --attention-backend trtllm_mla", gpu="unknown")
    assert some.verdict == "unknown"
    assert not [finding for finding in some.findings if finding.level == "error"]
    assert "gpu.sm" in needs(some)
    every = check(f"{LLAMA} --nnodes 3", gpu="unknown")
    assert every.verdict == "error"
    [stop] = [finding for finding in every.findings if finding.engine_stops_here]
    assert stop.id in {finding.id for finding in check(f"{LLAMA} --nnodes 3").findings}


def test_no_gpu_is_not_an_unknown_gpu():
    report = check(LLAMA, gpu="none")
    assert report.target["sm"] == 0
    assert report.verdict == "error"


def test_an_unresolved_variable_leaves_open_what_hangs_on_it():
    report = check(f"{LLAMA} --dcp-size $DCP")
    assert report.verdict == "unknown"
    assert [problem.kind for problem in report.problems] == ["unresolved-variable"]
    assert "DCP" in report.problems[0].message
    assert "dcp_size" in needs(report)
    assert check(f"DCP=1; {LLAMA} --dcp-size $DCP").verdict == "ok"


def test_words_that_may_be_anything_leave_no_ok():
    for text in (f"{LLAMA} $EXTRA", f'{LLAMA} "$@"'):
        assert check(text).verdict == "unknown"


def test_an_error_of_a_flag_left_out_is_open_where_words_may_give_it():
    line = "sglang serve deepseek-ai/DeepSeek-V3"
    closed = check(line, version="0.5.23")
    assert "MLA883" in {one.id for one in closed.findings}
    report = check(f"{line} $EXTRA", version="0.5.23")
    assert (report.verdict, [one for one in report.findings if one.level == "error"]) == ("unknown", [])
    assert {"tp_size", "pp_size"} <= {one for each in report.undecided for one in each.needs}
    given = check(f"{line} --tp-size 1 --pp-size 1 --device cuda $EXTRA", version="0.5.23")
    assert "MLA883" in {one.id for one in given.findings}


def test_an_error_of_a_backend_that_the_engine_chose_is_open_where_words_may_name_one():
    line = "sglang serve deepseek-ai/DeepSeek-V3 --tp-size 8 --dcp-size 8 --speculative-algorithm EAGLE"
    closed = check(line, version="0.5.23", gpu="b200")
    error = next(one for one in closed.findings if one.engine_stops_here)
    report = check(f"{line} $EXTRA", version="0.5.23", gpu="b200")
    assert (report.verdict, [one for one in report.findings if one.level == "error"]) == ("unknown", [])
    assert "attention_backend" in next(one.needs for one in report.undecided if one.rule == error.id)
    named = check(f"{line} --attention-backend trtllm_mla $EXTRA", version="0.5.23", gpu="b200")
    assert error.id in {one.id for one in named.findings}


@pytest.mark.parametrize("version", ["0.5.24", "0.6.0", "0.4.0", "0.5.18.post7", "0.5.19rc1"])
def test_outside_the_recorded_versions_nothing_is_certain(version):
    report = check(LLAMA, version=version)
    assert report.verdict == "unknown"
    assert any(version in text for text in report.assumptions)
    refused = check(f"{DEEPSEEK} --attention-backend trtllm_mla", version=version)
    assert refused.findings
    assert all(finding.extrapolated for finding in refused.findings)
    assert not any(
        finding.extrapolated for finding in check(f"{DEEPSEEK} --attention-backend trtllm_mla").findings
    )


@pytest.mark.parametrize(
    ("words", "identifier"),
    [
        ("--nope 1", "MLA001"),
        ("--speculative x", "MLA002"),
        ("--attention-backend nope", "MLA003"),
        ("--tp-size x", "MLA004"),
        ("--tp-size", "MLA005"),
        ("--trust-remote-code=1", "MLA007"),
    ],
)
def test_what_argparse_refuses_is_where_the_engine_stops(words, identifier):
    report = check(f"{LLAMA} {words}")
    assert report.verdict == "error"
    first = report.findings[0]
    assert (first.id, first.phase, first.engine_stops_here) == (identifier, "argparse", True)
    assert first.engine_message
    assert first.location.column == len(LLAMA) + 2 + (" " in words and identifier in {"MLA003", "MLA004"}) * (
        words.index(" ") + 1 if " " in words else 0
    )
    assert first.remedies
    assert sum(finding.engine_stops_here for finding in report.findings) == 1


def test_the_value_that_was_meant_is_used_to_check_the_rest():
    report = check(f"{DEEPSEEK} --attention-backend trtllm-mla")
    assert report.findings[0].id == "MLA003"
    assert report.resolved["attention_backend"].value == "trtllm_mla"
    assert len([finding for finding in report.findings if finding.level == "error"]) > 1


def test_a_value_that_cannot_be_guessed_ends_the_check_there():
    report = check(f"{DEEPSEEK} --attention-backend xyzzy")
    assert [finding.id for finding in report.findings] == ["MLA003"]
    assert any("argument parsing" in note for note in report.not_checked)


def test_a_flag_that_no_rule_reads_is_named():
    report = check(f"{LLAMA} --hf-chat-template-name x")
    assert any("--hf-chat-template-name" in note for note in report.not_checked)
    assert not any("--port" in note for note in check(f"{LLAMA} --port 1").not_checked)


def test_guards_that_no_rule_models_are_counted_by_the_flags_that_meet_them():
    note = next(one for one in check(f"{LLAMA} --enable-lora").not_checked if "no rule models" in one)
    assert "--enable-lora" in note
    assert "mlacheck rules coverage --engine-version" in note
    assert not any("no rule models" in one for one in check(f"{LLAMA} --nonsense").not_checked)


def test_guards_about_other_models_and_methods_are_not_counted():
    def count(words):
        notes = " ".join(check(f"--tp-size 8 {words}", version="0.5.23").not_checked)
        return int(re.search(r"(\d+) start-up guard", notes)[1])

    assert count("--model-path /none") > count("--model-path deepseek-ai/DeepSeek-V3")
    drafts = "--model-path deepseek-ai/DeepSeek-V3 --speculative-algorithm"
    assert count(f"{drafts} EAGLE") < count(f"{drafts} DFLASH")


def test_the_environment_of_the_line_and_of_the_caller_is_read():
    names = [
        name
        for name in Session(TargetFlags(engine_version="0.5.18", gpu="h200"))
        .checker(parse_text(LLAMA).commands[0])
        .facts
        if name.startswith("env.")
    ]
    assert names
    name = names[0].removeprefix("env.")
    line = check(f"{name}=$X python -m sglang.launch_server {LLAMA}")
    given = check(f"python -m sglang.launch_server {LLAMA}", env={name: "0"})
    assert line.engine == given.engine == "sglang"


def test_every_finding_says_where_and_why():
    report = check(
        f"{DEEPSEEK} --dcp-size 8 --attention-backend trtllm_mla --speculative-algorithm EAGLE", gpu="b200"
    )
    [stop] = [finding for finding in report.findings if finding.engine_stops_here]
    assert stop.phase in START_UP_PHASES
    assert stop.location is not None
    assert any("(--attention-backend)" in text for text in stop.because)
    assert stop.source
    assert stop.engine_message


def rows(version, most):
    """Give recorded refusals with different messages."""
    seen = set()
    with gzip.open(RECORDED / "recorded" / f"{version}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            key = re.sub(r"\d+|'[^']*'", "", row["message"] or "")[:60]
            if row["verdict"] == "error" and row["stage"] != "parse" and key not in seen and len(seen) < most:
                seen.add(key)
                yield row


@pytest.mark.parametrize("version", ["0.5.18", "0.5.23"])
def test_every_corrected_line_has_no_error_when_it_is_checked_again(version):
    models = RECORDED / "models"
    offered = 0
    for row in rows(version, 60):
        args = [str(models / word[1:]) if word.startswith("@") else word for word in row["args"]]
        model = models / str(row["model"])
        where = ["--model-path", str(model)] if model.exists() else []
        text = "python -m sglang.launch_server " + shlex.join([*where, *args])
        target = {"gpu": row["gpu"], "version": version, "flashinfer": row["flashinfer"] or "none"}
        env = row.get("env") or {}
        first = check(text, env=env, **target)
        for finding in first.findings:
            for command in (remedy.command for remedy in finding.remedies if remedy.command):
                offered += 1
                again = check(command, env=env, **target)
                errors = [(one.id, one.message) for one in again.findings if one.level == "error"]
                assert not errors, f"{row['id']} {finding.id}\n{text}\n{command}"
                assert command != text
    assert offered >= 20


def test_a_corrected_line_keeps_everything_else():
    text = (
        "CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 python3 -m sglang.launch_server "
        f"{DEEPSEEK} --dcp-size 8 --attention-backend trtllm_mla --speculative-algorithm EAGLE "
        "--served-model-name 'my model' 2>&1 | tee log"
    )
    report = check(text, gpu="b200")
    commands = [
        remedy.command for finding in report.findings for remedy in finding.remedies if remedy.command
    ]
    assert commands
    for command in commands:
        assert command.startswith("CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 python3 -m sglang.launch_server")
        assert "--served-model-name 'my model'" in command
        assert command.endswith("2>&1 | tee log")


def test_remedies_are_not_searched_when_nobody_wants_them():
    report = check(f"{DEEPSEEK} --attention-backend trtllm_mla", remedies=False)
    assert report.verdict == "error"
    assert not [remedy for finding in report.findings for remedy in finding.remedies if remedy.command]


@pytest.mark.parametrize("broken", [{"num_attention_heads": -1}, {"hidden_size": "big"}, {"kv_lora_rank": 0}])
def test_a_config_with_nonsense_numbers_is_told_and_never_ok(tmp_path, broken):
    config = {**find_model("deepseek-ai/DeepSeek-V3").config, **broken}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    report = check(f"--model-path {tmp_path} --tp-size 8")
    assert report.verdict in {"unknown", "error"}
    (problem,) = report.problems
    assert problem.kind == "odd-config"
    assert str(tmp_path / "config.json") in problem.message
    assert next(iter(broken)) in problem.message
    assert "--model" in problem.hint


def test_a_draft_that_lacks_dimensions_is_told(tmp_path):
    (tmp_path / "config.json").write_text(
        '{"architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama"}', encoding="utf-8"
    )
    report = check(
        f"--model-path meta-llama/Llama-3.1-8B-Instruct --speculative-algorithm EAGLE3 "
        f"--speculative-draft-model-path {tmp_path}"
    )
    assert report.verdict in {"unknown", "error"}
    assert [problem.message.split("`")[1] for problem in report.problems] == [
        "hidden_size",
        "num_attention_heads",
        "num_hidden_layers",
    ]


@pytest.mark.parametrize(
    ("version", "judged_as"),
    [
        ("0.5.18.post1", "0.5.18"),
        ("0.5.19rc1", "0.5.19"),
        ("0.5.20.dev3+g1234567", "0.5.20"),
        ("0.5.24", "0.5.23"),
        ("0.4.9", "0.5.15"),
        ("0.0.0.dev1+g1234567", "0.5.23"),
        ("latest", "0.5.23"),
        ("nightly-dev-20260811-abcdef", "0.5.23"),
        ("lmsysorg/sglang:latest", "0.5.23"),
    ],
)
def test_a_version_between_releases_is_judged_as_the_nearest_and_never_ok(version, judged_as):
    report = check(DEEPSEEK, version=version)
    assert report.verdict == "unknown"
    assert any(judged_as in told for told in report.assumptions)
    refused = check(f"{DEEPSEEK} --page-size 63 --attention-backend cutlass", version=version)
    assert refused.verdict == "error"
    assert all(finding.extrapolated for finding in refused.findings)


@pytest.mark.parametrize(
    "version", ["v0.5.18-cu130", "0.5.18", "lmsysorg/sglang:v0.5.18-cu130", "0.5.18+cu130"]
)
def test_a_release_is_known_by_each_of_its_names(version):
    report = check(DEEPSEEK, version=version)
    assert report.verdict == "ok"
    assert str(report.engine_version).startswith("0.5.18")


@pytest.mark.parametrize("version", ["latest", "0.0.0.dev1+g1234567"])
def test_a_name_that_is_no_release_says_what_to_do(version):
    (told,) = [told for told in check(DEEPSEEK, version=version).assumptions if "assumed" in told]
    assert f"--engine-version {version} names no release" in told
    assert told.endswith("name the one that runs there, e.g. --engine-version 0.5.23")


def test_contradictory_facts_are_told():
    flags = TargetFlags(gpu="h200", engine_version="0.5.20", gpu_count=4)
    [command] = parse_text(f"docker run lmsysorg/sglang:v0.5.18 sglang serve {DEEPSEEK}").commands
    report = Session(flags).check(command)
    said = {finding.id: finding for finding in report.findings}
    assert "0.5.20" in said["MLA598"].message
    assert "0.5.18" in said["MLA598"].message
    assert report.engine_version == "0.5.20"


def test_gpus_on_a_machine_without_gpus():
    report = Session(TargetFlags(gpu="none", engine_version="0.5.20", gpu_count=8)).check(
        parse_text(DEEPSEEK).commands[0]
    )
    assert report.verdict == "error"
    assert report.findings[0].id == "MLA540"


def test_some_rules_do_not_wait_for_values_that_the_line_does_not_settle():
    model = "python -m sglang.launch_server --model-path Qwen/Qwen3-8B"
    line = model + ' --node-rank "{}" --mem-fraction-static "{}"'
    waiting = check(line.format("$RANK", "$FRACTION"))
    assert not waiting.findings
    assert not waiting.undecided
    found = check(line.format(1, 85))
    assert [finding.id for finding in found.findings] == ["MLA890", "MLA892"]


def test_gpus_and_nodes_given_are_compared_with_the_ranks():
    line = "python -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp-size 8"
    assert check(line).verdict == "ok"
    few = check(f"CUDA_VISIBLE_DEVICES=0,1 {line}")
    assert [finding.id for finding in few.findings] == ["MLA884"]
    assert "given.gpus = 2 (CUDA_VISIBLE_DEVICES)" in few.findings[0].because


@pytest.mark.parametrize(
    "launch", ["sglang serve Qwen/Qwen3-8B --tp-size 4", "vllm serve Qwen/Qwen3-8B -tp 4"]
)
def test_the_count_of_a_node_shows_no_hidden_gpus(launch):
    flags = TargetFlags(gpu="h200", gpu_count=8)
    session = Session(flags)
    [hidden] = parse_text(f"CUDA_VISIBLE_DEVICES=0,1 {launch}").commands
    [all_there] = parse_text(f"CUDA_VISIBLE_DEVICES=0,1,2,3 {launch}").commands
    assert session.check(hidden).verdict == "error"
    assert session.check(all_there).verdict != "error"
    beside = Session(flags, env={"CUDA_VISIBLE_DEVICES": "0,1"})
    assert beside.check(all_there).verdict == "error"


def test_of_an_unknown_draft_the_flag_itself_is_the_place():
    draft = "--speculative-algorithm EAGLE3 --speculative-draft-model-path {}"
    line = "sglang serve Qwen/Qwen3-8B " + draft
    near, far = (check(line.format(name)).problems[0] for name in ("me/qwen3_8b_eagle3", "me/Qwen3-8C"))
    assert "did you mean Tengyunw/qwen3_8b_eagle3" in near.hint
    assert far.hint == "the flag that names the draft may name a folder that has its config.json"
    assert "--model" not in near.hint


def test_a_notice_says_what_ends_it_and_what_was_so_when_it_fired():
    line = "--model-path moonshotai/Kimi-K3 --tp-size 8 --dcp-size 8 --prefill-attention-backend flashinfer"
    report = check(line, gpu="b200", version="0.5.23")
    [finding] = [one for one in report.findings if one.id == "MLA296"]
    assert finding.level == "info"
    assert [one.text for one in finding.remedies] == ["drop --prefill-attention-backend"]
    # A later rule sets it to something else.
    assert "prefill_attention_backend = flashinfer (--prefill-attention-backend)" in finding.because
    assert report.resolved["prefill_backend"].value == "trtllm_mla"
    assert check(line, gpu="b200", version="0.5.23", remedies=False).findings[0].remedies == ()


def test_a_size_that_is_not_given_is_not_called_unset():
    [finding] = check(f"{LLAMA} --context-length 0", version="0.5.23").findings
    assert "--context-length (0), --max-total-tokens (none)" in finding.message


@pytest.mark.parametrize(
    ("launcher", "version"), [("dynamo.sglang --model-path", "0.5.23"), ("dynamo.vllm --model", "0.33.0")]
)
def test_flags_of_a_launcher_are_not_the_engines(launcher, version):
    line = f"python -m {launcher} Qwen/Qwen3-8B --endpoint=dyn://a.b.c --connector nixl lmcache"
    report = check(f"{line} --dyn-tool-call-parser hermes --no-enable-local-indexer", version=version)
    assert (report.verdict, report.findings) == ("ok", ())
    entry = launcher.split()[0]
    told = next(one for one in report.not_checked if f"read by {entry} itself" in one)
    assert told.startswith("--endpoint, --connector, --dyn-tool-call-parser, --no-enable-local-indexer:")
    report = check(f"{line} --servd-model-name x", version=version)
    assert (report.verdict, report.findings) == ("unknown", ())
    [problem] = report.problems
    assert f"and {entry} is not known to have it" in problem.message
    assert "did you mean --served-model-name?" in problem.hint
    assert problem.location.column == line.index("lmcache") + 9
    assert check(f"{line} --kv-cache-dtype fp99", version=version).verdict == "error"


@pytest.mark.parametrize(
    ("words", "verdict", "id_"),
    [
        ("--tensor-parallel-size 2 Qwen/Qwen3-8B", "ok", None),
        ("--enforce-eager Qwen/Qwen3-8B --tensor-parallel-size 2", "ok", None),
        ("--uvicorn-log-level=info Qwen/Qwen3-8B", "ok", None),
        ("Qwen/Qwen3-8B --port 1", "ok", None),
        ("--enforce-eager Qwen/Qwen3-8B other", "error", "MLA007"),
        ("Qwen/Qwen3-8B --port 1 other", "error", "MLA007"),
        # Refused by the engine, which wants the model first then.
        ("--enforce-eager Qwen/Qwen3-8B --served-model-name x", "error", "MLV350"),
    ],
)
def test_vllm_takes_the_model_behind_flags(words, verdict, id_):
    report = check(f"vllm serve {words}", version="0.33.0")
    assert (report.verdict, [one.id for one in report.findings][:1]) == (verdict, [id_] if id_ else [])
    assert id_ or report.target["model"] == "Qwen/Qwen3-8B"
