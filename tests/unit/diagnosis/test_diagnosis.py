from __future__ import annotations

import gzip
import json
import re
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from mlacheck.cli import cli
from mlacheck.diagnosis.advice import fixes
from mlacheck.diagnosis.diagnose import diagnose
from mlacheck.diagnosis.log import Log, read_log
from mlacheck.diagnosis.phrases import words_of
from mlacheck.diagnosis.signs import Advice, signs
from mlacheck.diagnosis.version import versions
from mlacheck.engines import Grammar
from mlacheck.probes.engine import ENGINES, recorded_versions
from mlacheck.probes.target import TargetFlags
from mlacheck.report.diagnosis import text_lines
from mlacheck.ruleset.load import load_program
from mlacheck.session import Session

RECORDED = sorted((Path(__file__).parents[2] / "conformance" / "recorded").rglob("*.jsonl.gz"))
NOISE = [
    "[2026-11-29 12:00:00 TP0] Attention backend not explicitly specified. Use trtllm_mla by default.",
    "Loading safetensors checkpoint shards:  12% Completed | 20/163 [00:04<00:31,  4.60it/s]",
    "INFO 11-29 12:00:00 decode context parallelism ... EAGLE ... error? no",
]


ARGUMENTS = (
    "server_args=ServerArgs(model_path='deepseek-ai/DeepSeek-V3', tp_size=8, dcp_size=8, "
    "attention_backend='trtllm_mla', speculative_algorithm='EAGLE', kv=<object at 0x7f>)"
)


def engine_of(path):
    return path.parent.name if path.parent.name in ENGINES else ENGINES[0]


def version_of(path):
    return path.name.removesuffix(".jsonl.gz")


def read(lines, version=None, *, engine="sglang", **flags):
    log = Log(engine)
    log.read(f"{line}\n" for line in lines)
    return diagnose(log, Session(TargetFlags(**flags)), version)


def ids(result):
    return [rule.id for one in result.diagnoses for rule in one.rules]


def traceback(row):
    """Print a recorded refusal as the engine's log would hold it."""
    file, _, line = (row["where"] or "x.py:1").partition(":")
    raised = row.get("exc_type", "ValueError")
    if row["stage"] == "parse" and raised in {"SystemExit", "ValueError"}:
        return [*NOISE, row["message"]]
    said = f"{raised}: {row['message']}" if row["message"] else raised
    return [
        *NOISE,
        "[2026-11-29 12:00:01 TP3] Scheduler hit an exception: Traceback (most recent call last):",
        f'  File "/usr/lib/python3.12/site-packages/{file}", line {line or 1}, in somewhere',
        "    raise something",
        *said.split("\n"),
        *NOISE,
    ]


@pytest.mark.parametrize(
    ("engine", "version"), [(engine, one) for engine in ENGINES for one in recorded_versions(engine)]
)
def test_each_message_that_a_rule_knows_names_the_rule(engine, version):
    missed = []
    for step in load_program(engine, version).program.steps:
        for text in words_of(step) if step.kind == "find" else ():
            found = ids(read([*NOISE, f"ValueError: {text} and more", *NOISE], version, engine=engine))
            if step.id not in found:
                missed.append((step.id, text, found))
    assert not missed


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: f"{engine_of(path)}-{version_of(path)}")
def test_every_recorded_refusal_with_words_is_recognised(path):
    engine, version = engine_of(path), version_of(path)
    missed, seen = [], set()
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            key = (row["message"], row["where"])
            # Accidents inside the engine have other packages' words.
            if row["verdict"] != "error" or not row["message"] or not row.get("guard", True) or key in seen:
                continue
            seen.add(key)
            if re.fullmatch(r"'\w+'", row["message"]):
                continue  # a bare KeyError
            if not ids(read(traceback(row), version, engine=engine)):
                missed.append(f"{row['id']} {row['where']} {row['message'][:120]}")
    assert len(seen) >= 20
    assert not missed, "\n".join(missed)


def test_noise_alone_says_nothing():
    assert read(NOISE * 3).diagnoses == ()


def test_a_message_broken_over_lines_is_recognised_once_for_all_ranks():
    text = "ValueError: trtllm_mla cannot serve decode context parallelism with\n speculative decoding"
    result = read([line for rank in range(8) for line in f"[TP{rank}] {text}".split("\n")], "0.5.18")
    [one] = result.diagnoses
    assert [rule.id for rule in one.rules] == ["MLA194"]
    assert one.count == 8


def test_the_version_and_the_line_come_from_the_log():
    result = read(
        [
            "pulling lmsysorg/sglang:v0.5.18-cu130",
            ARGUMENTS,
            "ValueError: trtllm_mla cannot serve decode context parallelism with speculative decoding",
        ],
        gpu="b200",
    )
    assert result.version == "0.5.18"
    assert "--dcp-size 8" in result.command
    [rule] = result.diagnoses[0].rules
    assert rule.confirmed
    assert any(remedy.command for finding in result.report.findings for remedy in finding.remedies)


def test_the_version_can_be_told_from_the_arguments_that_are_printed():
    defaults = dict(json.loads(json.dumps(load_program("sglang", "0.5.20").program.defaults)))
    names = Grammar.load("sglang", "0.5.20").defaults
    result = read([f"server_args={ {name: defaults.get(name) for name in names} }"])
    assert result.version == "0.5.20"


@pytest.mark.parametrize(
    ("lines", "version", "fit"),
    [
        (["Successfully installed sglang-0.5.18 torch-2.9"], "0.5.18", ()),
        (["Requirement already satisfied: sglang[all]==0.5.19 in /x"], "0.5.19", ()),
        # A print that is cut says which versions have its arguments, and nothing by what it lacks.
        (["server_args=ServerArgs(model_path='x', tp_size=8)"], None, ()),
        (
            ["server_args=ServerArgs(model_path='x', enable_amd_monokernel=4)"],
            "0.5.23",
            (),
        ),
        (
            ["server_args=ServerArgs(model_path='x', speculative_draft_kv_cache_dtype='auto')"],
            None,
            ("0.5.18", "0.5.19", "0.5.20", "0.5.21", "0.5.22", "0.5.23"),
        ),
        (["sglang==0.5.18", "sglang==0.5.20"], None, ("0.5.18", "0.5.20")),
        (
            [
                "sglang==0.5.17",
                "sglang==0.5.20",
                "server_args=ServerArgs(speculative_draft_kv_cache_dtype='auto')",
            ],
            "0.5.20",
            (),
        ),
    ],
)
def test_the_versions_that_a_log_fits(lines, version, fit):
    result = read(lines)
    assert (result.version, result.versions) == (version, fit)


def test_a_range_of_versions_narrows_the_rules_and_is_said():
    printed = "server_args=ServerArgs(model_path='x', tp_size=8, speculative_draft_kv_cache_dtype='auto')"
    result = read([printed, "torch.OutOfMemoryError: CUDA out of memory."])
    text = "\n".join(text_lines(result, 200))
    assert text.startswith("sglang 0.5.18 to 0.5.23 (the arguments that the log prints fit these)")
    assert "--engine-version V" in text
    assert "--tp-size 8" in result.command
    assert result.report is None


def frame(file, function):
    return f'  File "/usr/lib/python3.12/site-packages/sglang/{file}", line 7, in {function}'


OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"


@pytest.mark.parametrize(
    ("lines", "title", "first"),
    [
        ([OOM], "a GPU ran out of memory", "--mem-fraction-static"),
        (
            [frame("srt/model_loader/loader.py", "load_model"), frame("torch/nn.py", "empty"), OOM],
            "memory ran out while the weights were loaded",
            "--tp-size",
        ),
        (
            [frame("srt/model_executor/runner/decode_cuda_graph_runner.py", "capture"), OOM],
            "memory ran out while CUDA graphs were captured",
            "--mem-fraction-static",
        ),
        (
            ["Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 20.00 MiB."],
            "memory ran out while CUDA graphs were captured",
            "--mem-fraction-static",
        ),
        (
            ["RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."],
            "weights and states leave no room for the KV cache",
            "raise --mem-fraction-static",
        ),
    ],
)
def test_running_out_of_memory_gets_advice_by_its_place(lines, title, first):
    [one] = read([*NOISE, "Traceback (most recent call last):", *lines], "0.5.20").diagnoses
    assert one.title == title
    assert first in one.fixes[0]


def test_an_earlier_traceback_is_not_the_place_of_a_later_error():
    earlier = [frame("srt/model_loader/loader.py", "load_model"), OOM]
    found = read([*earlier, frame("srt/managers/scheduler.py", "event_loop_normal"), OOM], "0.5.20")
    assert [one.title for one in found.diagnoses] == [
        "memory ran out while the weights were loaded",
        "a GPU ran out of memory",
    ]


def test_advice_says_the_values_of_the_launch_and_a_rule_that_is_certain_stands_alone():
    printed = (
        "server_args=ServerArgs(model_path='deepseek-ai/DeepSeek-V3', tp_size=8, mem_fraction_static=0.92)"
    )
    [one] = read([printed, OOM], "0.5.20", gpu="h200").diagnoses
    assert "lower --mem-fraction-static (0.92 here)" in one.fixes[0]
    assert one.rules == ()  # the line is checked: neither is behind it
    [one] = read([printed, OOM], "0.5.20", gpu="h100").diagnoses
    assert [rule.id for rule in one.rules] == ["MLA883"]
    assert not one.fixes


def test_words_about_memory_in_a_notice_are_no_error():
    notice = "Available memory 3GB is less than required, reducing max_m to 4 to avoid out of memory"
    assert read([notice]).diagnoses == ()


@pytest.mark.parametrize("engine", ENGINES)
def test_each_fix_names_flags_that_every_version_has(engine):
    for advice in signs(engine).advice:
        for version in recorded_versions(engine):
            grammar = Grammar.load(engine, version)
            flags = [flag for text in advice.fixes for flag in re.findall(r"--[a-z-]+", text)]
            assert [flag for flag in flags if flag not in grammar.flags] == []
        assert len(list(fixes(advice, Log(engine), recorded_versions(engine), None))) == len(advice.fixes) > 0


def test_a_fix_with_a_flag_that_a_version_lacks_is_left_out():
    advice = Advice(re.compile("x"), None, "x", ("lower --cuda-graph-max-bs", "lower --max-total-tokens"))
    assert len(list(fixes(advice, Log("sglang"), ("0.5.15",), None))) == 2
    assert list(fixes(advice, Log("sglang"), ("0.5.15", "0.5.23"), None)) == ["lower --max-total-tokens"]


def test_each_vllm_advice_is_found_by_the_engines_words():
    said = {
        "ValueError: No available memory for the cache blocks. Try increasing": "no room for the KV cache",
        "ValueError: To serve at least one request with the model's max seq len (9)": "--max-model-len",
        "ValueError: Free memory on device cuda:0 (1/79 GiB) on startup is less than": "not free enough",
        "RuntimeError: CUDA out of memory occurred when warming up sampler with 1024": "--max-num-seqs",
        "torch.OutOfMemoryError: CUDA out of memory. Tried": "a GPU ran out of memory",
    }
    for line, words in said.items():
        text = " ".join(text_lines(read([line], "0.28.0", engine="vllm"), 500))
        assert words in text


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["nothing"], "next: give the server's whole log"),
        (["server_args=ServerArgs(model_path='x', tp_size=8)"], "next: check the launch line itself"),
        (["pip: sglang==0.5.20", ARGUMENTS.replace("EAGLE", "None")], "next: the launch line passes"),
    ],
)
def test_a_log_that_says_nothing_tells_the_next_step(lines, words):
    flags = {"gpu": "b200"}
    lines = [line.replace("dcp_size=8, ", "") for line in lines]
    assert words in " ".join(" ".join(text_lines(read(lines, **flags), 200)).split())


def test_a_command_in_the_log_is_used():
    result = read(["+ python -m sglang.launch_server --model-path x --tp 8"], "0.5.18")
    assert result.command.startswith("python -m sglang.launch_server")


def test_a_config_file_of_a_launch_line_is_read_unless_the_log_prints_what_it_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.yaml").write_text("model-path: x\ntp-size: 8\ndcp-size: 3\n")
    line = "+ python -m sglang.launch_server --config c.yaml"
    assert read([line], "0.5.18").report.resolved["dcp_size"].value == 3
    printed = "server_args=ServerArgs(model_path='x', tp_size=8, dcp_size=4)"
    result = read([line, printed], "0.5.18")
    assert result.report.resolved["dcp_size"].value == 4
    assert result.command_from == "made from the arguments that the log prints"
    (tmp_path / "c.yaml").unlink()
    assert [one.kind for one in read([line], "0.5.18").report.problems][:1] == ["config-unread"]


def test_a_bare_assertion_is_told_by_its_place():
    lines = [
        '  File "/x/site-packages/sglang/srt/arg_groups/parallel_hook.py", line 326, in SYMBOL',
        "    assert tp_size % dp_size == 0",
        "AssertionError",
    ]
    programs = load_program("sglang", "0.5.23").program.steps
    bare = [
        one
        for one in programs
        if one.kind == "find"
        and not one.engine_says
        and one.source.startswith("srt/arg_groups/parallel_hook")
    ]
    symbol = bare[0].source.partition("::")[2]
    lines[0] = lines[0].replace("SYMBOL", symbol)
    assert bare[0].id in ids(read(lines, "0.5.23"))


@pytest.mark.parametrize(
    ("said", "id_", "remedy"),
    [
        ("error: unrecognized arguments: --dcpsize 8", "MLA001", "did you mean --dcp-size?"),
        ("error: ambiguous option: --dcp could match --dcp-size, --dcp-comm-backend", "MLA002", None),
        ("error: argument --attention-backend: invalid choice: 'trtllm-mla' (choose from", "MLA003", "mla?"),
        ("error: argument --tp-size/--tp: invalid int value: 'x'", "MLA004", None),
        ("error: argument --tp-size: expected one argument", "MLA005", None),
        ("error: the following arguments are required: --model-path/--model", "MLA006", None),
    ],
)
def test_the_argument_parsers_words(said, id_, remedy):
    result = read([f"launch_server.py: {said}"], "0.5.18")
    [rule] = result.diagnoses[0].rules
    assert rule.id == id_
    assert remedy is None or any(remedy in one for one in rule.remedies)


@pytest.mark.parametrize("prefix", ["", "(EngineCore pid=7) ERROR 11-29 12:00:00 [core.py:9] ", "[TP0] "])
@pytest.mark.parametrize(
    "source", [(), ("    raise ValueError(x)",), ("    raise ValueError(x)", "    ^^^^^")]
)
def test_frames_with_and_without_their_source_text(prefix, source):
    said = "ValueError: --dcp-replicate-q-proj requires --dcp-size > 1"
    frame = '  File "a.py", line 2, in f'
    lines = [prefix + one for one in ("Traceback (most recent call last):", frame, *source, frame, said)]
    assert ids(read(lines, "0.5.18")) == ["MLA203"]
    assert ids(read([one.lstrip() for one in lines], "0.5.18")) == ["MLA203"]


def test_a_bare_exception_says_nothing():
    assert ids(read(["AssertionError"], "0.5.23")) == []
    assert ids(read(["[TP0] RuntimeError: out of luck"], "0.5.23")) == []


def test_source_text_that_quotes_a_message_is_not_an_error():
    quoted = '    raise ValueError("--dcp-replicate-q-proj requires --dcp-size > 1")'
    assert ids(read(['  File "a.py", line 2, in f', quoted], "0.5.18")) == []


def test_an_error_of_the_launch_line_that_the_log_does_not_say():
    result = read([ARGUMENTS], "0.5.18", gpu="b200")
    assert result.diagnoses == ()
    assert [one.id for one in result.unsaid] == ["MLA194"]
    done = CliRunner().invoke(
        cli, ["diagnose", "-", "--engine-version", "0.5.18", "--gpu", "b200"], input=ARGUMENTS
    )
    assert done.exit_code == 1
    assert "error[MLA194]" in done.stdout
    assert "1 error of the launch line" in done.stdout
    said = "ValueError: trtllm_mla cannot serve decode context parallelism with speculative decoding"
    assert read([ARGUMENTS, said], "0.5.18", gpu="b200").unsaid == ()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("version", [None, "newest"])
def test_remedies_never_show_a_condition(engine, version):
    told = version and recorded_versions(engine)[-1]
    lines = ["torch.OutOfMemoryError: CUDA out of memory"]
    lines += [
        f"ValueError: {text}"
        for step in load_program(engine, recorded_versions(engine)[-1]).program.steps
        for text in (step.engine_says if step.kind == "find" else ())
    ]
    log = read_log(lines, [engine])
    result = diagnose(log, Session(TargetFlags()), told)
    remedies = [text for one in result.diagnoses for rule in one.rules for text in rule.remedies]
    assert remedies
    assert not [text for text in remedies if "where " in text]


VLLM_ARGUMENTS = (
    "(APIServer pid=1) INFO 11-29 12:00:00 [utils.py:233] non-default args: "
    "{'model': 'deepseek-ai/DeepSeek-V3', 'tensor_parallel_size': 8, 'decode_context_parallel_size': 3}"
)
VLLM = [
    "(APIServer pid=1) INFO 11-29 12:00:00 [api_server.py:1977] vLLM API server version 0.25.0",
    VLLM_ARGUMENTS,
    "torch.OutOfMemoryError: CUDA out of memory",
]
SERVE = "+ vllm serve deepseek-ai/DeepSeek-V3 --tensor-parallel-size 8 --decode-context-parallel-size 3"


@pytest.mark.parametrize("first", [[], [SERVE]])
def test_the_engine_is_told_from_the_log(first):
    log = read_log([*first, *VLLM], ENGINES)
    result = diagnose(log, Session(TargetFlags(gpu="b200")))
    assert (result.engine, result.version) == ("vllm", "0.25.0")
    assert "vllm serve" in result.command
    assert "--decode-context-parallel-size 3" in result.command
    assert [one.id for one in result.unsaid] == ["MLV006"]
    assert any("judged as" in line for line in text_lines(result, 200))
    assert read_log([*first, *VLLM], ["sglang"]).engine == "sglang"
    assert read_log([ARGUMENTS, "INFO vllm 0.9.0 is installed"], ENGINES).engine == "sglang"


@pytest.mark.parametrize(
    "line",
    [
        "INFO vLLM server version 0.28.0, serving model deepseek-ai/DeepSeek-V3",
        "INFO vLLM API server version 0.28.0",
        "INFO  ▄▄ ▄█ █     █     █ ▀▄▀ █\x1b[0m  version \x1b[97m0.28.0\x1b[0m",
        "INFO Initializing a V1 LLM engine (v0.28.0) with config: model='deepseek-ai/DeepSeek-V3'",
        "+ docker run vllm/vllm-openai:v0.28.0 --model deepseek-ai/DeepSeek-V3",
    ],
)
def test_a_log_of_vllm_names_its_version(line):
    log = read_log([line, "ValueError: tp_size=8 must be divisible by dcp_size=3."], ENGINES)
    assert (log.engine, list(log.versions or log.beside)) == ("vllm", ["0.28.0"])


NAMED = """
  File "/opt/x/lib/python3.12/site-packages/{e}-{v}-py3.12.egg/{e}/a.py", line 12, in f
/usr/local/lib/python3.12/dist-packages/{e}-{v}.dist-info/METADATA
/nix/store/abc-python3.12-{e}-{v}/lib/python3.12/site-packages
pip install "{e}[all]=={v}"
Successfully installed torch-2.9.1 {e}-{v} xgrammar-0.1
Requirement already satisfied: {e}[all]==9.9 in /usr/lib/python3/dist-packages ({v})
[conda] {e}                     {v}    pypi_0    pypi
{e}_version='{v}'
{{'torch': '2.9.1', '{e}': '{v}'}}
{e}.__version__: {v}
Pulled image "mirror.local:5000/{e}:v{v}-cu130" in 3s
{e} @ git+https://github.com/x/{e}@v{v}#subdirectory=python
Name: {e}|Version: {v}
"""


@pytest.mark.parametrize("line", [one for one in NAMED.split("\n") if one])
@pytest.mark.parametrize(("engine", "version"), [("sglang", "0.5.18.post1"), ("vllm", "0.28.0")])
def test_packages_paths_and_images_name_the_version(line, engine, version):
    log = read_log(line.format(e=engine, v=version).split("|"), ENGINES)
    assert (log.engine, list(log.beside)) == (engine, [version])
    assert versions(log) == ((version,), "a package, path or image in the log names it")


@pytest.mark.parametrize(
    "line",
    [
        "sglang-router 0.3.2",
        "sgl-kernel==0.4.2",
        "ai-dynamo/sglang-runtime:0.8.1",
        "sglang 127.0.0.1:30000",
        "sglang requires torch 2.9.1",
        "Collecting sglang>=0.5.18",
        "vllm-flash-attn 2.7.2",
        "vllm:25.10-py3",
    ],
)
def test_what_is_not_the_engines_own_version_names_none(line):
    log = read_log([line], ENGINES)
    assert not log.versions
    assert not log.beside


def test_the_servers_own_word_counts_more_than_a_packages():
    lines = ["Uninstalling vllm-0.22.1", "INFO vLLM API server version 0.28.0", "vllm/vllm-openai:v0.33.0"]
    assert versions(read_log(lines, ENGINES)) == (("0.28.0",), "the log names it")


def test_a_log_without_a_sign_is_taken_for_the_one_whose_words_it_has():
    assert (
        read_log(["ValueError: --dcp-replicate-q-proj requires --dcp-size > 1"], ENGINES).engine == "sglang"
    )
    assert read_log(NOISE, ENGINES).engine == ENGINES[0]


def test_a_long_log_is_read_in_a_stream():
    log = Log("sglang")
    start = time.perf_counter()
    log.read(NOISE[number % 3] for number in range(30_000))
    assert time.perf_counter() - start < 10
    assert log.lines == 30_000


def test_the_command_line(tmp_path):
    path = tmp_path / "server.log"
    path.write_text("ValueError: --dcp-replicate-q-proj requires --dcp-size > 1\n")
    done = CliRunner().invoke(cli, ["diagnose", str(path), "--engine-version", "0.5.18"])
    assert done.exit_code == 1
    assert "error[MLA203]" in done.stdout
    data = json.loads(CliRunner().invoke(cli, ["diagnose", str(path), "--format", "json"]).stdout)
    assert data["errors"][0]["rules"][0]["id"] == "MLA203"
    assert data["engine"]["version"] is None
    assert CliRunner().invoke(cli, ["diagnose", "-"], input="nothing\n").exit_code == 3
    assert CliRunner().invoke(cli, ["diagnose", str(tmp_path / "none")]).exit_code == 2


def test_an_exception_that_no_rule_knows_is_told_with_the_rules_about_its_place():
    place = (
        '  File "/x/sglang/srt/layers/attention/attention_registry.py", line 9, in create_trtllm_mla_backend'
    )
    result = read([*NOISE, "Traceback (most recent call last):", place, "    x()", "ValueError: a new one"])
    assert not result.diagnoses
    [strange] = result.strange
    assert (strange.line, strange.text) == (len(NOISE) + 4, "ValueError: a new one")
    assert "MLA194" in strange.near
    text = " ".join(" ".join(text_lines(result, 200)).split())
    assert f"line {strange.line} holds an exception that no rule knows: ValueError: a new one" in text


def test_what_is_no_text_is_no_log(tmp_path):
    path = tmp_path / "program"
    path.write_bytes(b"\x7fELF\x02\x01\0\0\n")
    done = CliRunner().invoke(cli, ["diagnose", str(path)])
    assert done.exit_code == 2
    assert "is no log" in done.stderr


def test_a_log_of_no_engine_is_not_said_to_be_one_of_them():
    hello = CliRunner().invoke(cli, ["diagnose", "-"], input="hello\n")
    assert hello.exit_code == 3
    assert "no sign of an engine in this log: --engine E says whose it is" in hello.stdout
    assert not any(engine in hello.stdout for engine in ENGINES)
    data = CliRunner().invoke(cli, ["diagnose", "-", "--format", "json"], input="hello\n").stdout
    assert json.loads(data)["engine"]["name"] is None
    asked = CliRunner().invoke(cli, ["diagnose", "-", "--engine-version", "0.28.0"], input="hello\n").stdout
    assert "vllm 0.28.0 (--engine-version)" in asked
    named = CliRunner().invoke(cli, ["diagnose", "-"], input="sglang starts\n").stdout
    assert "(nothing in the log tells it)" in named
