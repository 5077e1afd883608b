from __future__ import annotations

import pytest

from mlacheck.engines import Grammar
from mlacheck.facts import UNKNOWN


def parse(line, unknown=None):
    return Grammar.load("vllm", "0.33.0").parse(line.split(), unknown)


def test_underscores_become_dashes_up_to_the_first_dot_and_not_in_values():
    arguments = parse("--model m --tensor_parallel_size 8 --speculative_config.num_speculative_tokens 3")
    assert arguments.problems == ()
    assert arguments.values["tensor_parallel_size"] == 8
    assert arguments.values["speculative_config"] == {"num_speculative_tokens": 3}
    assert parse("--model a_b").values["model"] == "a_b"


@pytest.mark.parametrize(
    ("line", "config"),
    [
        ("-sc.method mtp -sc.num_speculative_tokens 3", {"method": "mtp", "num_speculative_tokens": 3}),
        ("-sc.method=mtp", {"method": "mtp"}),
        # Both spellings: the engine looks for the one with underscores before it reads the other.
        (
            "--speculative-config.num-speculative-tokens 2",
            {"num_speculative_tokens": 2, "num-speculative-tokens": 2},
        ),
        ("--speculative-config None", None),
    ],
)
def test_dotted_keys_are_one_config(line, config):
    arguments = parse(f"--model m {line}")
    assert arguments.problems == ()
    assert arguments.values["speculative_config"] == config


def test_lists_are_joined_and_objects_nest():
    arguments = parse("--model m -cc.custom_ops+ a,b -cc.custom_ops+=c -cc.pass_config.fuse_norm_quant 1")
    config = {"custom_ops": ["a", "b", "c"], "pass_config": {"fuse_norm_quant": True}}
    assert arguments.values["compilation_config"] == config


def test_keys_inside_a_config_are_checked_too():
    [problem] = parse("--model m -cc.pass_config.fuse_norm_quan true").problems
    assert "pass_config.fuse_norm_quan" in problem.message
    assert "did you mean pass_config.fuse_norm_quant?" in problem.message
    [problem] = parse("--model m -cc.pass_config.fuse_norm_quant maybe").problems
    assert "pass_config.fuse_norm_quant is no boolean" in problem.message


def test_what_is_given_keeps_its_place_in_the_line():
    arguments = parse("-sc.method mtp -tp 8 -sc.num_speculative_tokens 3 --model m")
    assert arguments.given["speculative_config"].spans == ((0, 2), (4, 6))
    assert arguments.given["tensor_parallel_size"].spans == ((2, 4),)
    wrong = parse("--model m -tp 8 -sc.methd mtp")
    assert (wrong.problems[0].kind, wrong.problems[0].index) == ("invalid-value", 4)


@pytest.mark.parametrize(("line", "level"), [("-O3", "3"), ("-O=2", "2"), ("-O 1", "1")])
def test_an_optimization_level_may_be_glued(line, level):
    assert parse(f"--model m {line}").values["optimization_level"] == level


def test_a_variable_inside_a_config_leaves_the_config_unknown():
    arguments = parse("--model m -sc.method $M", {3: ("M",)})
    assert arguments.values["speculative_config"] is UNKNOWN


def test_a_key_without_a_value_is_a_problem():
    [problem] = parse("--model m -ac.backend").problems
    assert (problem.kind, problem.index) == ("missing-value", 2)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("-ac.backend foo", "no choice 'foo'"),
        ("-ac.backnd TRITON_MLA", "did you mean backend?"),
        ("-ac {x", "not JSON"),
        ("-ac [1]", "not a JSON object"),
        ("-ac.use_non_causal maybe", "is no boolean"),
        ("--speculative-config.method mtpp", "no choice 'mtpp'"),
        ("--eplb-config.window_size 0", "greater than 0, not 0"),
        ("--profiler-config.active_iterations 0", "greater than or equal to 1, not 0"),
        ("-ac.tokenspeed_mla_min_split_kv 257", "less than or equal to 256, not 257"),
    ],
)
def test_a_config_is_checked_by_its_class(line, said):
    [problem] = parse(f"--model m {line}").problems
    assert said in problem.message


@pytest.mark.parametrize(
    ("line", "dest", "value"),
    [
        ("-ac.backend triton_mla", "backend", "TRITON_MLA"),
        ("-ac.backend auto", "backend", None),
        ("-ac.use_non_causal yes", "use_non_causal", True),
        ('-ac {"flex_attn_block_m":"16"}', "flex_attn_block_m", 16),
        ('-ac {"backend":7}', "backend", 7),
        ("-ac.tokenspeed_mla_min_split_kv 256", "tokenspeed_mla_min_split_kv", 256),
    ],
)
def test_values_are_read_as_the_class_reads_them(line, dest, value):
    arguments = parse(f"--model m {line}")
    assert arguments.problems == ()
    assert arguments.values["attention_config"] == {dest: value}


def test_optional_and_named_types():
    arguments = parse("--model m --max-model-len 10k --dcp-comm-backend None --moe-backend Deep-GEMM")
    assert arguments.problems == ()
    assert arguments.values["max_model_len"] == 10_000
    assert arguments.values["dcp_comm_backend"] is None
    assert arguments.values["moe_backend"] == "deep_gemm"
    assert parse("--model m --max-model-len auto").values["max_model_len"] == -1
    assert parse("--model m --disable-prefix-caching").values["enable_prefix_caching"] is False
    [problem] = parse("--model m --dcp-comm-backend ag").problems
    assert problem.kind == "invalid-choice"


def test_of_a_config_that_is_read_later_only_the_last_one_counts():
    nope, mtp = '{"method":"nope"}', '{"method":"mtp"}'
    assert parse(f"--model m -sc {nope} -sc {mtp}").problems == ()
    [problem] = parse(f"--model m -sc {mtp} -sc {nope}").problems
    assert (problem.late, problem.index) == (True, 5)
    assert [one.late for one in parse(f"--model m -sc {nope} -tp x").problems] == [False, True]
    assert [one.late for one in parse('--model m -ac {"backend":"nope"}').problems] == [False]


@pytest.mark.parametrize(
    ("line", "model", "refused"),
    [
        ("--port 8000 a/b", "a/b", []),
        ("-tp 8 --enforce-eager a/b --seed 1", "a/b", []),
        ("-O3 a/b", "a/b", []),
        ("--bogus 3 a/b", "a/b", ["--bogus"]),
        ("--seed 1 a/b c/d", "a/b", ["c/d"]),
        ("--model a/b -tp 8 c/d", "a/b", ["c/d"]),
        ("--served-model-name x a/b", "Qwen/Qwen3-0.6B", []),
    ],
)
def test_a_word_of_its_own_is_the_model_wherever_it_stands(line, model, refused):
    read = Grammar.load("vllm", "0.33.0").parse(line.split(), positional=True)
    assert read.values["model"] == model
    assert [one.token for one in read.problems] == refused


def test_a_word_that_is_not_known_may_be_the_model_unless_it_may_be_flags():
    grammar = Grammar.load("vllm", "0.33.0")
    assert "model" in grammar.parse(["-tp", "8", "$M"], {2: ("M",)}, positional=True).given
    assert "model" not in grammar.parse(["-tp", "8", "$M"], {2: ("M",)}, loose=(2,), positional=True).given
    # Words that are rewritten move the places of those after them.
    assert "model" not in grammar.parse(["-O3", "$M"], {1: ("M",)}, loose=(1,), positional=True).given


def test_the_beginning_of_a_flag_with_one_dash_is_that_flag_or_stands_for_several():
    assert parse("--model m -t 2").values["tensor_parallel_size"] == 2
    [problem] = parse("--model m -p 3").problems[:1]
    assert (problem.kind, problem.engine_message) == (
        "ambiguous-flag",
        "ambiguous option: -p could match -pp, -pcp",
    )
    assert parse("--model m -p=3").problems[0].kind == "unknown-flag"


def test_the_help_may_be_asked_for_by_a_word():
    [problem] = parse("--model m --help=page").problems
    assert problem.kind == "help"


@pytest.mark.parametrize(
    "line",
    [
        "--ir-op-priority.rms_norm=aiter,vllm_c",  # a list as one text
        '--kernel-config {"moe_backend":"FlashInfer-Cutlass"}',
    ],
)
def test_what_a_config_class_makes_of_text_is_taken(line):
    assert parse(f"--model m {line}").problems == ()
