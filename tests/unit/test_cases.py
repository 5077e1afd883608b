from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlacheck.cases import CaseProblem, Cases
from mlacheck.finding import Report

ARGS = ["--model-path", "meta-llama/Llama-3.1-8B-Instruct"]


def case(**more):
    return {"id": 1, "engine_version": "0.5.18", "gpu": "h200", "flashinfer": "pin", "args": ARGS} | more


def check(*rows):
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    return list(Cases().check(lines))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "is a list; give one JSON object a line"),
        ("3", "is a number; give one JSON object a line"),
        ({}, "args is missing; give a list of words"),
        (case(args=None), "args is None; give a list of words"),
        (case(args=[1]), "args is [1]; give a list of words"),
        (case(args='python -m sglang.launch_server --model-path "x'), "never closed"),
        (case(args="ls -la"), "no launch command"),
        (case(args="sglang serve a; sglang serve b"), "hold 2 launch commands"),
        (case(args="vllm serve a"), "start vllm"),
        (case(args="python -m sglang.launch_server --model-path x\n--tp 8"), "not part of"),
        (case(env=[]), "env is []; give an object"),
        (case(env={"A": 1}), "env is {'A': 1}; give an object"),
        (case(packages=["x"]), "packages is ['x']; give an object"),
        (case(packages={"sglang_kernel": 1}), "packages is {'sglang_kernel': 1}; give an object"),
        (case(gpu=9), "gpu is 9"),
        (case(engine_version=0.5), "engine_version is 0.5"),
        (case(model=[]), "model is"),
        (case(gpu_count="8"), "gpu_count is '8'"),
        (case(gpu_count=True), "gpu_count is True"),
        (case(gpu_count=-1), "gpu_count is -1"),
        (case(nodes=0), "nodes is 0"),
        (case(engine="other"), "engine 'other' is not known"),
    ],
)
def test_a_line_that_is_no_case_says_what_is_wrong_and_where(row, said):
    problem, report = check(row, case())
    assert isinstance(problem, CaseProblem)
    assert problem.line == 1
    assert said in problem.message
    if isinstance(row, dict):
        assert problem.id == row.get("id")
    assert report.verdict == "ok"


def test_order_ids_and_empty_lines():
    first, second = check("", case(id="a"), "  ", case(id=[2]))
    assert (first.id, second.id) == ("a", [2])


def test_null_means_absent_and_a_missing_key_means_unknown():
    row = case()
    [absent] = check(case(gpu=None, flashinfer=None))
    assert (absent.target["sm"], absent.target["flashinfer"]) == (0, "none")
    del row["gpu"], row["flashinfer"]
    [unknown] = check(row)
    assert (unknown.target["sm"], unknown.target["flashinfer"]) == (None, None)
    assert unknown.verdict == "unknown"
    [pinned] = check(case(flashinfer="pin"))
    assert pinned.target["flashinfer"] == "0.6.17"


def test_args_may_be_text_with_or_without_the_command():
    reports = check(
        case(args=" ".join(ARGS)),
        case(args="python -m sglang.launch_server " + " ".join(ARGS)),
        case(args="sglang serve --model-path 'meta-llama/Llama-3.1-8B-Instruct'"),
    )
    assert [report.verdict for report in reports] == ["ok"] * 3


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ("vllm", ["serve", "Qwen/Qwen3-8B", "-tp", "2"]),
        ("vllm", ["serve", "-tp", "2", "Qwen/Qwen3-8B"]),
        ("vllm", ["-tp", "2", "Qwen/Qwen3-8B"]),
        ("sglang", ["serve", "Qwen/Qwen3-8B", "--tp", "2"]),
    ],
)
def test_args_are_what_stands_after_the_program(engine, words):
    version = "0.33.0" if engine == "vllm" else "0.5.23"
    [report] = check(case(engine=engine, engine_version=version, args=words))
    assert (report.verdict, report.target["model"]) == ("ok", "Qwen/Qwen3-8B")


@pytest.mark.parametrize("args", ["", " ", []])
def test_a_model_beside_the_args_is_enough(args):
    [report] = check(case(args=args, model="meta-llama/Llama-3.1-8B-Instruct"))
    assert report.verdict == "ok"
    assert report.target["model"] == "meta-llama/Llama-3.1-8B-Instruct"


def test_cases_of_one_target_share_a_session_and_others_do_not():
    cases = Cases()
    for _ in range(2):
        cases.report(case())
        cases.report(case(gpu="b200"))
    assert len(cases._sessions) == 2


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({"gpu": "h2oo"}, "unknown GPU 'h2oo'; use one of"),
        ({"engine_version": "banana"}, "sglang version 'banana' cannot be read; write a release"),
        ({"flashinfer": "x.y"}, "FlashInfer version 'x.y' cannot be read; write a release"),
        ({"packages": {"sglang_kernel": "bad"}}, "packages: sglang_kernel is 'bad', which is no version"),
    ],
)
def test_a_target_that_cannot_be_read_is_a_mistake_of_the_case_and_the_others_go_on(named, said):
    bad, good = check(case(**named, id="a"), case())
    assert isinstance(bad, CaseProblem)
    assert (bad.line, bad.id) == (1, "a")
    assert bad.message.startswith(said)
    assert good.verdict == "ok"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KEYS = [
    "engine",
    "engine_version",
    "model",
    "gpu",
    "gpu_count",
    "nodes",
    "flashinfer",
    "args",
    "env",
    "id",
    "packages",
]


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.dictionaries(st.sampled_from(KEYS), JSON | st.lists(st.text(max_size=9), max_size=4), max_size=9))
def test_no_json_object_breaks_the_reader(row):
    [result] = check({"args": ARGS} | row)
    assert isinstance(result, Report | CaseProblem)
    if isinstance(result, Report) and row.get("engine_version") is None:
        assert any("no version is named" in text for text in result.assumptions)
        assert result.verdict != "ok"


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("engine_verison", "engine_version"),
        ("engine-version", "engine_version"),
        ("GPU", "gpu"),
        ("gpus", "gpu"),
        ("flash_infer", "flashinfer"),
        ("gpu-count", "gpu_count"),
        ("package", "packages"),
    ],
)
def test_a_misspelt_key_is_named_with_what_is_close(key, meant):
    (problem,) = Cases().check([json.dumps({"id": 1, "args": [], key: "0.5.18"})])
    assert isinstance(problem, CaseProblem)
    assert problem.message == f"{key} is no key of a case; did you mean {meant}?"


def test_keys_of_the_callers_own_are_left_alone():
    row = {
        "id": 1,
        "args": [],
        "gpu": "h200",
        "gpus": 8,
        "note": "x",
        "verdict": "ok",
        "argv": [],
        "comment": 1,
    }
    (report,) = Cases().check([json.dumps(row)])
    assert not isinstance(report, CaseProblem)


def vllm(folder, name, text, *args):
    (folder / name).write_text(text)
    row = {"engine": "vllm", "engine_version": "0.33.0", "gpu": "h200", "flashinfer": "pin"}
    words = ["--model", "deepseek-ai/DeepSeek-V3", "--config", str(folder / name), *args]
    [report] = check(row | {"args": words})
    return report


def test_a_case_reads_the_config_file_that_it_names(tmp_path):
    report = vllm(tmp_path, "c.yaml", "tensor-parallel-size: 4\nspeculative-config:\n  method: ngram\n")
    assert report.resolved["tensor_parallel_size"].value == 4
    assert [one.id for one in report.findings if one.engine_stops_here] == ["MLV024"]
    report = vllm(tmp_path, "c.yaml", "tensor-parallel-size: 4\n", "-tp", "8")
    assert (report.verdict, report.resolved["tensor_parallel_size"].value) == ("ok", 8)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("c.json", "{}", "yaml/yml"),
        ("c.yaml", "a: [1\n", "while parsing a flow sequence"),
        ("c.yaml", "- a\n", "has no attribute 'items'"),
        ("c.yaml", "", "has no attribute 'items'"),
    ],
)
def test_a_config_file_that_the_engine_cannot_read_is_an_error(tmp_path, name, text, said):
    report = vllm(tmp_path, name, text, "-tp", "3")
    assert report.verdict == "error"
    [stop] = [one for one in report.findings if one.engine_stops_here]
    assert (stop.id, stop.phase) == ("MLA094", "argparse")
    assert said in stop.engine_message


@pytest.mark.parametrize(
    ("version", "text", "said"),
    [
        ("0.5.15", "lora-paths: [a]\n", "'lora_paths' with action 'LoRAPathAction'"),
        # Another option of the same argument is refused.
        ("0.5.17", "cuda-graph-bs-decode: [1, 2]\n", "with action 'DeprecatedAliasStoreAction'"),
        ("0.5.17", "cuda-graph-bs: [1, 2]\n", None),
        ("0.5.20", "cuda-graph-bs-decode: [1, 2]\n", None),
        ("0.5.22", "no-lora-strict-loading: true\n", ""),  # its parser refuses the value
        ("0.5.23", "no-lora-strict-loading: true\n", "'no_lora_strict_loading' with action 'Boolean"),
        ("0.5.21", "enable-dp-attention: false\n", None),
        ("0.5.23", "tp: 1\nenable_dp_attention: false\nbogus: 1\n", "'enable_dp_attention' with action"),
        ("0.5.22", "enable-tf32-matmul: true\n", None),  # a plain switch until then
        ("0.5.23", "enable-tf32-matmul: true\n", "with action 'BooleanOptionalAction'"),
        ("0.5.23", "disable-cuda-graph: true\n", "with action 'DeprecatedStoreTrueAction'"),
        ("0.5.23", "monokernel-backend: amd\n", None),
    ],
)
def test_a_key_that_the_engine_takes_on_the_line_only_is_an_error(tmp_path, version, text, said):
    (tmp_path / "c.yaml").write_text(text)
    row = {"engine_version": version, "gpu": "h100", "flashinfer": "pin"}
    words = ["--model-path", "Qwen/Qwen2.5-7B-Instruct", "--config", str(tmp_path / "c.yaml")]
    [report] = check(row | {"args": words})
    stops = [one for one in report.findings if one.engine_stops_here]
    if said is None:
        assert not stops
    elif said:
        [stop] = stops
        assert (stop.id, stop.phase) == ("MLA094", "argparse")
        assert said in stop.engine_message
    else:
        assert [one.id for one in stops] == ["MLA007"]


def test_a_config_file_that_is_elsewhere_leaves_the_line_open():
    row = {"engine": "vllm", "engine_version": "0.33.0", "gpu": "h200", "flashinfer": "pin"}
    [report] = check(row | {"args": ["--model", "deepseek-ai/DeepSeek-V3", "--config", "/nope.yaml"]})
    assert report.verdict == "unknown"
    assert report.problems[0].kind == "config-unread"


@pytest.mark.parametrize(
    ("words", "stops"),
    [
        (["-tp", "8"], ["MLA004"]),
        (["-tp", "8", "--block-size", "0"], ["MLV085"]),  # refused before the speculative config is read
        (["-tp", "8", "-cc.mode", "9"], ["MLA004"]),
        (["-tp", "8", "--max-num-seqs", "0"], ["MLA004"]),  # refused after it
    ],
)
def test_a_config_that_the_parser_lets_through_is_refused_where_it_is_read(words, stops):
    row = {"engine": "vllm", "engine_version": "0.33.0", "gpu": "h200", "flashinfer": "pin"}
    given = ["--model", "deepseek-ai/DeepSeek-V3", "-sc.method", "nope", *words]
    [report] = check(row | {"args": given})
    assert [one.id for one in report.findings if one.engine_stops_here] == stops
    assert "MLA004" in [one.id for one in report.findings]


@pytest.mark.parametrize(
    ("words", "gpu", "stops"),
    [
        (["-pc.profiler", "torch", "--max-num-seqs", "x"], "h200", "MLV205"),
        (["--max-num-seqs", "x", "-pc.profiler", "torch"], "h200", "MLA004"),
        (["--nope", "-pc.profiler", "torch"], "h200", "MLV205"),  # a flag that is none is told of last
        (["--nope"], "h200", "MLA001"),
        (["--kv-transfer-config.kv_connector", "NixlConnector", "-pc.profiler", "torch"], "h200", "MLV119"),
        (["-pc.profiler", "torch", "--kv-transfer-config.kv_connector", "NixlConnector"], "h200", "MLV205"),
        (["--max-num-seqs", "x"], "none", "MLV001"),  # no arguments without a device
    ],
)
def test_a_class_checks_its_config_as_the_parser_reads_it(words, gpu, stops):
    row = {"engine": "vllm", "engine_version": "0.33.0", "gpu": gpu, "flashinfer": "pin"}
    words = [word.replace("-pc.", "--profiler-config.") for word in words]
    [report] = check(row | {"args": ["--model", "deepseek-ai/DeepSeek-V3", "-tp", "8", *words]})
    assert [one.id for one in report.findings if one.engine_stops_here] == [stops]


def test_each_report_has_the_line_of_its_case():
    case = '{"id": %d, "engine_version": "0.5.18", "args": %s}\n'
    lines = [case % (1, "[]"), "\n", case % (2, '"--tp 8"')]
    assert [(one.id, one.location.line) for one in Cases().check(lines)] == [(1, 1), (2, 3)]


def test_a_case_that_begins_with_a_module_is_read_by_that_program():
    case = {"engine": "vllm", "engine_version": "0.33.0", "gpu": "h200"}
    words = ["-m", "vllm.entrypoints.openai.api_server", "--model", "Qwen/Qwen3-8B", "-tp", "2", "--headless"]
    assert "MLV435" in {one.id for one in Cases().report({**case, "args": words}).findings}
    told = Cases().report({**case, "args": words[2:]})
    assert "MLV435" not in {one.id for one in told.findings}
