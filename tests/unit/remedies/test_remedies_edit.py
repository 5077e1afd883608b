from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlacheck.engines import Option
from mlacheck.launch import parse_argv, parse_text
from mlacheck.remedies.edit import UNSET, edit_command, render

OPTIONS = {
    "model_path": Option("model_path", ("--model-path",)),
    "tp_size": Option("tp_size", ("--tensor-parallel-size",)),
    "dcp_size": Option("dcp_size", ("--dcp-size",)),
    "cuda_graph_bs": Option("cuda_graph_bs", ("--cuda-graph-bs",), nargs="+"),
    "trust": Option("trust", ("--trust-remote-code",), "store_true", nargs=0),
    "radix": Option("radix", ("--disable-radix",), "store_false", nargs=0),
    "overlap": Option(
        "overlap", ("--overlap", "--no-overlap"), "boolean_optional", nargs=0, negative=("--no-overlap",)
    ),
    "extra": Option("extra", ("--extra",)),
}
MANY = {"cuda_graph_bs"}
ALIASES = {"--tp": "tp_size", "--tp-size": "tp_size", "--model": "model_path", "-dcp": "dcp_size"}


def spans_of(argv):
    """Give the spans by dest as an engine's grammar would for these few flags."""
    flags = {o.flag: dest for dest, o in OPTIONS.items()} | ALIASES
    flags |= {"--no-overlap": "overlap"}
    switches = {dest for dest, o in OPTIONS.items() if o.kind == "switch"}
    spans, at = {}, 0
    while at < len(argv):
        flag, equals, _ = argv[at].partition("=")
        dest = flags.get(flag)
        if dest is None:
            at += 1
            continue
        end = at + 1
        if not equals and dest in MANY:
            while end < len(argv) and not argv[end].startswith("-"):
                end += 1
        elif not equals and dest not in switches:
            end += 1
        spans.setdefault(dest, []).append((at, end))
        at = end
    return spans


def edit(text, edits, parse=parse_text):
    [command] = parse(text).commands
    return edit_command(command, edits, spans=spans_of(command.argv), options=OPTIONS)


def edited(text, **edits):
    return edit(text, {name.replace("env_", "env."): value for name, value in edits.items()})


SAME = [
    "--model-path x --tp 8",
    "A=b C='d e' python3 -m sglang.launch_server --model-path \"$M\" --x $EXTRA > $LOG 2>&1 &",
    "export A=1; cd /x && B=2 sglang serve m --tp ${TP} | tee log &",
    "sglang serve --model-type llm m --tp $TP",
    'docker run --gpus all -e A=1 img:1 python3 -m sglang.launch_server --extra \'{"a": "b c"}\'',
    "srun bash -c \"python -m sglang.launch_server --model-path '$MODEL' --node-rank \\$SLURM_PROCID\" &",
    'bash -c \'A="x y" sglang serve m --extra "a b"\'',
    "docker run --entrypoint bash img -c 'vllm serve m --tp 8'",
    'sglang serve m "${P[@]}"',
]


@pytest.mark.parametrize("text", SAME)
def test_editing_nothing_gives_the_same_line(text):
    assert edited(text).text == text


@pytest.mark.parametrize("text", SAME)
def test_the_line_of_an_edit_reads_as_the_edited_command(text):
    result = edited(text, dcp_size=4, env_NEW="a b")
    assert result.words[-2:] == ("--dcp-size", "4")
    [again] = parse_text(result.text).commands
    assert again.argv == result.words
    assert again.env == result.command.env
    assert again.env["NEW"] == "a b"
    assert again.unknown == result.command.unknown
    assert again.image == result.command.image
    assert render(again) == result.text


def test_words_of_variables_are_written_with_their_values():
    assert edited("TP=8; sglang serve m --tp $TP --n ${N:-1}").text == "sglang serve m --tp 8 --n 1"
    assert edited('T=$N; sglang serve m --tp $T --n "$T"').text == 'sglang serve m --tp $N --n "$N"'


def test_continued_lines_come_out_on_one():
    text = "# why\nsglang serve \\\n  m \\\n  --tp 8 \\\n  --extra a\\\nb\n"
    assert edited(text).text == "sglang serve m --tp 8 --extra ab"
    text = 'P=(a # why\n  b)\nsglang serve m "${P[@]}"'
    assert edited(text).text == "sglang serve m a b"


@pytest.mark.parametrize(
    ("line", "edits", "expected"),
    [
        ("--tp 8 --x", {"tp_size": 16}, "--tp 16 --x"),
        ("--tp=8 --x", {"tp_size": 16}, "--tp=16 --x"),
        ("--tp $TP --x", {"tp_size": 16}, "--tp 16 --x"),
        ("--tp=$TP --x", {"tp_size": 16}, "--tp=16 --x"),
        ("--tp 8 --x --tp-size 4", {"tp_size": 2}, "--x --tp-size 2"),
        ("--tp 8 --x --tp-size 4", {"tp_size": UNSET}, "--x"),
        ("--tp 8 --x", {"tp_size": None}, "--x"),
        ("--x", {"tp_size": UNSET}, "--x"),
        ("--x", {"tp_size": 4, "dcp_size": 2}, "--x --tensor-parallel-size 4 --dcp-size 2"),
        ("--x > log &", {"tp_size": 4}, "--x --tensor-parallel-size 4 > log &"),
        ("-dcp 8 --x", {"dcp_size": 2}, "-dcp 2 --x"),
        ("--tp 8 --dcp-size 4 --x", {"dcp_size": UNSET, "tp_size": 4}, "--tp 4 --x"),
        ("--cuda-graph-bs 1 2 4 --x", {"cuda_graph_bs": [8]}, "--cuda-graph-bs 8 --x"),
        ("--cuda-graph-bs 1 --x", {"cuda_graph_bs": [1, 2, 3]}, "--cuda-graph-bs 1 2 3 --x"),
        ("--cuda-graph-bs=1 --x", {"cuda_graph_bs": (1, 2)}, "--cuda-graph-bs 1 2 --x"),
        ("--cuda-graph-bs 1 2 --x", {"cuda_graph_bs": UNSET}, "--x"),
        ("--x", {"trust": True}, "--x --trust-remote-code"),
        ("--trust-remote-code --x", {"trust": True}, "--trust-remote-code --x"),
        ("--trust-remote-code --x", {"trust": False}, "--x"),
        ("--trust-remote-code --x", {"trust": UNSET}, "--x"),
        ("--x", {"trust": False}, "--x"),
        ("--x", {"radix": False}, "--x --disable-radix"),
        ("--disable-radix --x", {"radix": True}, "--x"),
        ("--overlap --x", {"overlap": False}, "--no-overlap --x"),
        ("--no-overlap --x", {"overlap": True}, "--overlap --x"),
        ("--x", {"extra": "a b"}, "--x --extra 'a b'"),
        ("--x", {"extra": {"a": 1}}, "--x --extra '{\"a\": 1}'"),
        ("--x", {"extra": -1}, "--x --extra -1"),
        ("--x", {"extra": "-a"}, "--x --extra=-a"),
        ("--extra b --x", {"extra": "-a"}, "--extra=-a --x"),
    ],
)
def test_edits_of_arguments(line, edits, expected):
    assert edit(line, edits).text == expected
    assert edit(f"sglang serve m {line}", edits).text == f"sglang serve m {expected}"


def test_a_positional_model_stays_positional():
    result = edited("sglang serve m --x", model_path="n")
    assert (result.text, result.words) == ("sglang serve n --x", ("--model-path", "n", "--x"))
    assert edited("sglang serve m --x", model_path=UNSET).words == ("--x",)


def test_a_new_value_keeps_the_place_of_the_old_one():
    [command] = parse_text("sglang serve m --tp $TP").commands
    result = edit_command(command, {"tp_size": 4}, spans=spans_of(command.argv), options=OPTIONS)
    old, new = command.words[-1], result.command.words[-1]
    assert (new.text, new.line, new.column, new.unknown) == ("4", old.line, old.column, ())


@pytest.mark.parametrize(
    ("line", "value", "expected"),
    [
        ("sglang serve m", "1", "A=1 sglang serve m"),
        ("--tp 8", "1 2", "A='1 2' --tp 8"),
        ("A=0 B=2 sglang serve m", "1", "A=1 B=2 sglang serve m"),
        ("A=0 B=2 sglang serve m", UNSET, "B=2 sglang serve m"),
        ("env A='0 0' sglang serve m", "1", "env A=1 sglang serve m"),
        ("export A=0 B=2; sglang serve m", "1", "export A=1 B=2; sglang serve m"),
        ("export A=0 B=2; sglang serve m", UNSET, "export B=2; sglang serve m"),
        ("export A=0; sglang serve m", UNSET, "sglang serve m"),
        ("A=0; export A; sglang serve m", UNSET, "sglang serve m"),
        ("cd /x && export A=0 && sglang serve m", UNSET, "cd /x && sglang serve m"),
        ("sudo -E sglang serve m", "1", "sudo A=1 -E sglang serve m"),
        ("docker run -it img sglang serve m", "1", "docker run -it -e A=1 img sglang serve m"),
        ("docker run -e A=0 img sglang serve m", "1", "docker run -e A=1 img sglang serve m"),
        ("docker run --env=A=0 img sglang serve m", "1", "docker run --env=A=1 img sglang serve m"),
        ("docker run -e A=0 -e B=2 img sglang serve m", UNSET, "docker run -e B=2 img sglang serve m"),
        ("docker run -e A img sglang serve m", UNSET, "docker run img sglang serve m"),
        ("docker run img bash -c 'sglang serve m'", "1", "docker run img bash -c 'A=1 sglang serve m'"),
        ("A=0 bash -c 'sglang serve m'", "1", "A=1 bash -c 'sglang serve m'"),
        ("srun --export=ALL,A=0 sglang serve m", UNSET, "srun --export=ALL sglang serve m"),
        ("srun --export=ALL,A=0,B=2 sglang serve m", "1", "srun --export=ALL,A=1,B=2 sglang serve m"),
        ("sglang serve m", UNSET, "sglang serve m"),
    ],
)
def test_edits_of_the_environment(line, value, expected):
    result = edited(line, env_A=value)
    assert result.text == expected
    [again] = parse_text(result.text).commands
    assert again.env == result.command.env
    assert result.command.env.get("A") == (None if value is UNSET else value)


SHELL = shutil.which("sh")


@pytest.mark.skipif(SHELL is None, reason="compares with a real POSIX shell")
@pytest.mark.parametrize(
    "text",
    [
        "bash -c \"sglang serve '$MODEL' --tp \\$RANK --extra 'a \\\"b\\\" \\\\\\\\ \\`'\"",
        "TP=8; sglang serve \"$MODEL\" --tp $TP --extra 'it'\\''s' \"x\\\"y\"",
    ],
)
def test_a_real_shell_reads_the_line_as_the_one_before(text, tmp_path):
    stub = tmp_path / "sglang"
    stub.write_text('#!/bin/sh\nprintf "<%s>" "$@"\n')
    stub.chmod(0o755)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "MODEL": "a b", "RANK": "3"}

    def run(line):
        return subprocess.run([SHELL, "-c", line], env=env, capture_output=True, text=True, check=True).stdout

    before = run(text)
    assert "<serve><a b><--tp>" in before
    assert run(edited(text).text) == before
    assert run(edited(text, dcp_size=2).text) == before + "<--dcp-size><2>"


VALUE = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), min_size=1, max_size=8)


@given(VALUE, st.sampled_from(["--extra {}", "--extra={}", "--tp 8"]), VALUE)
def test_a_value_that_is_set_is_the_value_that_argparse_reads(old, form, new):
    argv = ["sglang", "serve", "m", *shlex.split(form.format("x"))]
    argv = [word.replace("x", old) if word in ("x", "--extra=x") else word for word in argv]
    if old.startswith("-"):
        argv = argv[:3]
    [command] = parse_argv(argv).commands
    result = edit_command(command, {"extra": new}, spans=spans_of(command.argv), options=OPTIONS)
    parser = argparse.ArgumentParser()
    parser.add_argument("--extra")
    assert parser.parse_known_args(result.words)[0].extra == new
    if "\r\n" not in new + old:
        assert parse_text(result.text).commands[0].argv == result.words
