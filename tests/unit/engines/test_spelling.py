from __future__ import annotations

import pytest

from mlacheck.engines import Grammar
from mlacheck.engines.conversion import ConversionError
from mlacheck.engines.spelling import listed, refusal
from mlacheck.probes.engine import recorded_versions


def problem(*words, version="0.5.20"):
    return Grammar.load("sglang", version).parse(["--model-path", "m", *words]).problems[0]


@pytest.mark.parametrize(
    ("words", "suggestions"),
    [
        (["--attention_backend", "fa3"], ("--attention-backend",)),
        (["--Attention-Backend", "fa3"], ("--attention-backend",)),
        (["-tp-size", "8"], ("--tp-size",)),
        (["--cp-size", "8"], ("--dcp-size",)),
        (["--enable-flashmla"], ("--attention-backend flashmla",)),
        (["--atention-backend", "fa3"], ("--attention-backend",)),
        (["--attention-backend", "FA3"], ("fa3",)),
        (["--attention-backend", "trtllm-mla"], ("trtllm_mla",)),
        (["--attention-backend", "flashinfr"], ("flashinfer",)),
        (["--deepep-mode", "low-latency"], ("low_latency",)),
        (["--kv-cache-dtype", "fp8"], ("fp8_e4m3",)),
        (["--tool-call-parser", "qwen3"], ("qwen",)),
        (["--pp", "3"], ("--pp-size",)),
        (["--enable-flashinfer-cutlass-moe"], ("--moe-runner-backend flashinfer_cutlass",)),
        (["--xyzzy-plugh"], ()),
    ],
)
def test_the_nearest_spelling_comes_first(words, suggestions):
    assert problem(*words).suggestions[:1] == suggestions


def test_every_suggestion_exists_in_that_version():
    for version in recorded_versions("sglang"):
        grammar = Grammar.load("sglang", version)
        for flag in (
            "--cp-size",
            "--dcp-siz",
            "--spec-algo",
            "--tensor-parallel",
            "--draft-model",
            "--mla-backend",
        ):
            found = grammar.parse(["--model-path", "m", flag, "1"]).problems
            for one in (name for each in found for name in each.suggestions):
                assert one.split()[0] in grammar.flags


def test_a_flag_of_another_version_says_which_has_it():
    here, newest = (Grammar.load("sglang", version) for version in ("0.5.15", "0.5.23"))
    coming = next(flag for flag in newest.flags if flag not in here.flags)
    found = here.parse(["--model-path", "m", coming]).problems[0]
    assert "since" in found.note
    gone = [flag for flag in here.flags if flag not in newest.flags]
    notes = [newest.parse(["--model-path", "m", flag, "1"]).problems[0].note for flag in gone]
    assert notes
    assert all("removed it" in note for note in notes if note.startswith("sglang"))


def test_a_value_that_is_gone_is_no_misspelling():
    found = problem("--attention-backend", "cutlass_mla", version="0.5.23")
    assert found.kind == "invalid-choice"
    assert "had cutlass_mla" in found.note
    assert not found.suggestions


def test_nothing_is_suggested_for_other_problems():
    assert problem("--tp-size", "x").suggestions == ()
    assert problem("stray").suggestions == ()


def test_flags_that_do_not_exist_at_all_say_so():
    found = problem("--cp-kv-cache-interleave-size", "1")
    assert found.suggestions == ()
    assert "vLLM" in found.note


def test_an_engine_without_recorded_texts_leaves_the_converters_own():
    assert refusal("other", ConversionError("plain text", "human-int")) == "plain text"
    assert "1.5" in refusal("sglang", ConversionError("x", "human-int", value="1.5"))


@pytest.mark.parametrize(("rank", "meant"), [("24", "32"), ("3", "8"), ("300", "320"), ("600", "512")])
def test_a_number_that_is_no_choice_is_the_next_larger_one(rank, meant):
    words = ["--model", "m", "--max-lora-rank", rank]
    found = Grammar.load("vllm", "0.33.0").parse(words).problems[0]
    assert found.suggestions == (meant,)
    assert found.message.endswith(f"no choice '{rank}' (there are 1, 8, 16, 32, 64, 128, 256, 320, 512)")


def test_of_many_choices_the_first_are_listed():
    assert listed(range(11)) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10"
    assert listed(range(12)) == "0, 1, 2, 3, 4, 5, 6, 7, 8 and 3 more"
