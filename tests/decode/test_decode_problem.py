"""Problems from model configs, the layout, the limits: none of it needs torch."""

from __future__ import annotations

import json
import math

import pytest

from mlacheck.decode.layout import local_bound, local_length, owner, pages_for
from mlacheck.decode.limits import LIMITS, limit_for
from mlacheck.decode.problem import KV_BYTES, DecodeProblem, ProblemError

DEEPSEEK_V3 = {
    "num_attention_heads": 128,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "torch_dtype": "bfloat16",
    "rope_scaling": {"type": "yarn", "factor": 40, "mscale": 1.0, "mscale_all_dim": 1.0},
}


def test_heads_are_those_after_the_gather():
    problem = DecodeProblem.from_config(DEEPSEEK_V3, tp_size=16, dp_size=2, dcp_size=4, page_size=64)
    assert (problem.heads, problem.latent_dim, problem.rope_dim) == (64, 512, 64)
    assert (problem.dcp_size, problem.page_size, problem.kv_dtype) == (4, 64, "bf16")


def test_yarn_scales_the_softmax():
    mscale = 0.1 * math.log(40) + 1
    assert DecodeProblem.from_config(DEEPSEEK_V3).softmax_scale == pytest.approx(mscale**2 / math.sqrt(192))


@pytest.mark.parametrize(
    "rope",
    [
        {"rope_scaling": None},
        {"rope_parameters": {"rope_type": "default", "mscale_all_dim": 1.0, "factor": 40}},
        {"rope_scaling": {"type": "yarn", "factor": 40}},
        {"rope_scaling": {"type": "yarn", "factor": 1, "mscale_all_dim": 1.0}},
        {"rope_scaling": {"type": "yarn", "factor": 40, "mscale_all_dim": 1.0, "apply_yarn_scaling": False}},
    ],
)
def test_no_mscale_where_the_config_asks_for_none(rope):
    config = {**DEEPSEEK_V3, "rope_scaling": None, **rope}
    assert DecodeProblem.from_config(config).softmax_scale == pytest.approx(1 / math.sqrt(192))


def test_nested_text_config_is_found():
    assert DecodeProblem.from_config({"model_type": "vl", "text_config": DEEPSEEK_V3}).heads == 128


def test_sparse_models_are_noted():
    problem = DecodeProblem.from_config({**DEEPSEEK_V3, "index_topk": 2048})
    assert "2048 selected tokens" in problem.notes[0]


@pytest.mark.parametrize(
    ("config", "sizes", "words"),
    [
        ({"num_attention_heads": 32}, {}, "no kv_lora_rank"),
        ({**DEEPSEEK_V3, "num_attention_heads": "many"}, {}, "num_attention_heads = 'many'"),
        (DEEPSEEK_V3, {"tp_size": 8, "dcp_size": 3}, "not a multiple of dcp_size 3"),
        (DEEPSEEK_V3, {"tp_size": 8, "dp_size": 4, "dcp_size": 8}, "tp_size / dp_size = 2"),
        (DEEPSEEK_V3, {"tp_size": 6}, "num_attention_heads 128 is not a multiple"),
        (DEEPSEEK_V3, {"tp_size": 8, "dp_size": 3}, "not a multiple of dp_size 3"),
        (DEEPSEEK_V3, {"dcp_size": 0}, "dcp_size is 0"),
        (DEEPSEEK_V3, {"page_size": 0}, "page_size is 0"),
        (DEEPSEEK_V3, {"kv_cache_dtype": "fp4_e2m1"}, "'fp4_e2m1'"),
        (DEEPSEEK_V3, {"context_len": 0}, "at least 1"),
    ],
)
def test_what_is_no_problem_says_why(config, sizes, words):
    with pytest.raises(ProblemError) as caught:
        DecodeProblem.from_config(config, **sizes)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("spelling", "name"),
    [("auto", "bf16"), ("bfloat16", "bf16"), ("fp8_e4m3", "fp8_e4m3"), ("fp8", "fp8_e4m3")],
)
def test_kv_dtype_spellings(spelling, name):
    assert DecodeProblem.from_config(DEEPSEEK_V3, kv_cache_dtype=spelling).kv_dtype == name


def test_round_trip_through_json():
    problem = DecodeProblem.from_config(DEEPSEEK_V3, tp_size=8, dcp_size=8, context_len=100_000, batch=7)
    assert problem.batch == 7
    assert DecodeProblem.from_dict(json.loads(json.dumps(problem.to_dict()))) == problem


@pytest.mark.parametrize("values", [{"heads": 1}, {"heads": 1, "colour": 2}])
def test_malformed_problem(values):
    with pytest.raises(ProblemError):
        DecodeProblem.from_dict(values)


def test_long_context_only_beyond_the_usual_lengths():
    assert DecodeProblem.from_config(DEEPSEEK_V3, context_len=100_000).long_context == 100_000
    short = DecodeProblem.from_config(DEEPSEEK_V3, context_len=128)
    assert short.long_context is None
    assert max(short.context_lengths) == 128


@pytest.mark.parametrize("interleave", [1, 2, 16, 64])
@pytest.mark.parametrize("dcp_size", [2, 3, 4, 8])
def test_lengths_are_what_their_names_say(dcp_size, interleave):
    problem = DecodeProblem.from_config(DEEPSEEK_V3).with_(dcp_size=dcp_size, interleave=interleave)

    def held(length):
        return {local_length(length, dcp_size, rank, interleave) for rank in range(dcp_size)}

    assert all(len(held(n)) == 1 and 0 not in held(n) for n in problem.even_lengths)
    assert all(len(held(n)) > 1 and 0 not in held(n) for n in problem.ragged_lengths)
    assert all(n % interleave for n in problem.ragged_lengths) or interleave == 1
    *shorts, longest = problem.short_lengths
    assert all(0 in held(n) for n in shorts)
    assert 0 not in held(longest)


def test_runs_belong_to_ranks():
    problem = DecodeProblem.from_config(DEEPSEEK_V3, tp_size=8, dcp_size=8, interleave=16, page_size=64)
    assert "DCP 8 in runs of 16 tokens" in problem.describe()
    assert DecodeProblem.from_dict(problem.to_dict()) == problem
    # One rank holds everything, in runs or not.
    assert DecodeProblem.from_config(DEEPSEEK_V3, interleave=16).interleave == 1
    (note,) = DecodeProblem.from_config(
        DEEPSEEK_V3, tp_size=8, dcp_size=8, interleave=16, context_len=40
    ).notes
    assert "contexts of 40 tokens leave 5 of 8 ranks empty" in note
    assert note.endswith("the others take 128")
    with pytest.raises(ProblemError, match="interleave is 0"):
        DecodeProblem.from_config(DEEPSEEK_V3, interleave=0)


def test_description_and_estimate():
    problem = DecodeProblem.from_config(DEEPSEEK_V3, tp_size=8, dcp_size=8, page_size=64)
    assert "128 heads, latent 512 + rope 64" in problem.describe()
    assert "DCP 8" in problem.describe()
    long = problem.with_(long_context=1_000_000)
    assert long.estimate().bytes - problem.estimate().bytes > 1_000_000 * 576 * 2
    assert long.estimate().seconds > long.estimate("cuda").seconds > 0


def test_the_owner_of_a_token():
    assert [owner(token, 4) for token in range(6)] == [0, 1, 2, 3, 0, 1]
    assert [owner(token, 2, 3) for token in range(8)] == [0, 0, 0, 1, 1, 1, 0, 0]


@pytest.mark.parametrize("interleave", [1, 2, 3, 16])
def test_local_lengths_count_owned_tokens(interleave):
    for dcp_size in range(1, 9):
        for length in range(40):
            for rank in range(dcp_size):
                held = [token for token in range(length) if owner(token, dcp_size, interleave) == rank]
                assert local_length(length, dcp_size, rank, interleave) == len(held)


@pytest.mark.parametrize("interleave", [1, 2, 3, 16])
def test_local_bounds_count_visible_owned_tokens(interleave):
    for dcp_size in range(1, 9):
        for q_len in range(1, 6):
            for length in range(q_len, 40):
                for rank in range(dcp_size):
                    for row in range(q_len):
                        own = length - q_len + row
                        held = (owner(token, dcp_size, interleave) for token in range(own + 1))
                        bound = local_bound(length, q_len, row, dcp_size, rank, interleave)
                        assert bound == sum(one == rank for one in held)


def test_pages():
    assert [pages_for(n, 64) for n in (0, 1, 64, 65)] == [0, 1, 1, 2]


def test_every_limit_lies_between_what_is_right_and_what_is_wrong():
    for item in LIMITS:
        assert item.measured * 2 < item.limit, item
        assert item.limit * 2 < item.smallest_fault, item


def test_every_kv_dtype_has_limits():
    for kv_dtype in KV_BYTES:
        for quantity in ("output", "lse", "merged"):
            assert limit_for(quantity, kv_dtype).limit > 0
    assert limit_for("lse", "fp8_e4m3", scaled=True).limit > limit_for("lse", "fp8_e4m3").limit
