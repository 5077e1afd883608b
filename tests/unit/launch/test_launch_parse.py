from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlacheck.launch import parse_argv, parse_bytes, parse_text
from mlacheck.launch.parse import MOST_CHARACTERS

SGL = "python3 -m sglang.launch_server"


def one(text, **options):
    result = parse_text(text, **options)
    assert not result.problems, result.problems
    [command] = result.commands
    return command


def kinds(text, **options):
    return [problem.kind for problem in parse_text(text, **options).problems]


@pytest.mark.parametrize(
    ("text", "engine", "entry"),
    [
        ("--model-path x --tp 8", "sglang", "flags"),
        ("... --model-path x --tp 8", "sglang", "flags"),
        ("… --model-path x --tp 8 …", "sglang", "flags"),
        ("A=b --model-path x --tp 8", "sglang", "flags"),
        ("--model-path x\n# comment\n--tp 8\n", "sglang", "flags"),
        ("--model-path x \\\n--tp 8 \\\n", "sglang", "flags"),
        ("--model-path x \\\r\n--tp 8\r\n", "sglang", "flags"),
        ("python -m sglang.launch_server --model-path x --tp 8", "sglang", "sglang.launch_server"),
        ("python3.11 -u -m sglang.launch_server --model-path x --tp 8", "sglang", "sglang.launch_server"),
        (
            "/opt/venv/bin/python -msglang.launch_server --model-path x --tp 8",
            "sglang",
            "sglang.launch_server",
        ),
        ('"$PY" -m sglang.launch_server --model-path x --tp 8', "sglang", "sglang.launch_server"),
        ("sglang serve --model-path x --tp 8", "sglang", "sglang serve"),
        ("sglang serve x --tp 8", "sglang", "sglang serve"),
        ("sglang serve --model-type llm x --tp 8", "sglang", "sglang serve"),
        ("sglang serve x --tp 8 --model-type=auto", "sglang", "sglang serve"),
        ("/usr/local/bin/sglang serve --model-path x --tp 8", "sglang", "sglang serve"),
        ("exec sglang serve \\\n  --model-path x --tp 8", "sglang", "sglang serve"),
        (
            "A=b C='d e' python -m sglang.launch_server --model-path x --tp 8",
            "sglang",
            "sglang.launch_server",
        ),
        ("PORT=${P:-8081} \\\npython3 -m dynamo.sglang --model-path x --tp 8", "sglang", "dynamo.sglang"),
        (
            "env -u X A=b nohup python -m sglang.launch_server --model-path x --tp 8 &",
            "sglang",
            "sglang.launch_server",
        ),
        (
            "nohup time exec python -m sglang.launch_server --model-path x --tp 8",
            "sglang",
            "sglang.launch_server",
        ),
        (
            "numactl -m 0 -N 0 python -m sglang.launch_server --model-path x --tp 8",
            "sglang",
            "sglang.launch_server",
        ),
        (
            "nsys profile -o r -- python -m sglang.launch_server --model-path x --tp 8",
            "sglang",
            "sglang.launch_server",
        ),
        (
            "torchrun --nnodes 2 -m sglang.launch_server --model-path x --tp 8",
            "sglang",
            "sglang.launch_server",
        ),
        ("srun -N 2 python -m sglang.launch_server --model-path x --tp 8", "sglang", "sglang.launch_server"),
        ("sudo -E python -m sglang.launch_server --model-path x --tp 8", "sglang", "sglang.launch_server"),
        (
            "sudo docker run img python -m sglang.launch_server --model-path x --tp 8",
            "sglang",
            "sglang.launch_server",
        ),
        ("bash -lc 'python -m sglang.launch_server --model-path x --tp 8'", "sglang", "sglang.launch_server"),
        ("bash -o pipefail -ec 'cd /x; sglang serve --model-path x --tp 8'", "sglang", "sglang serve"),
        (
            "ssh node1 'python -m sglang.launch_server --model-path x --tp 8'",
            "sglang",
            "sglang.launch_server",
        ),
        ("tmux new -d -s a 'sglang serve x --tp 8'", "sglang", "sglang serve"),
        ("if true; then\n sglang serve x --tp 8\nfi", "sglang", "sglang serve"),
        ("run() {\n sglang serve x --tp 8\n}\nrun", "sglang", "sglang serve"),
        ("(cd /x && sglang serve x --tp 8)", "sglang", "sglang serve"),
        ("pip install x && sglang serve x --tp 8 || exit 1", "sglang", "sglang serve"),
        ("yes | sglang serve x --tp 8 2>&1 | tee log", "sglang", "sglang serve"),
        ("sglang serve > log x --tp 8 2> err < /dev/null", "sglang", "sglang serve"),
        ("case $X in a) sglang serve x --tp 8;; esac", "sglang", "sglang serve"),
    ],
)
def test_forms_of_sglang_launches(text, engine, entry):
    command = one(text)
    assert (command.engine, command.entry) == (engine, entry)
    assert command.argv == ("--model-path", "x", "--tp", "8")


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("vllm serve x --tp 8", "vllm serve"),
        ("python -m vllm.entrypoints.cli.main serve x --tp 8", "vllm serve"),
        (
            "python -m vllm.entrypoints.openai.api_server --model x --tp 8",
            "vllm.entrypoints.openai.api_server",
        ),
        ("docker run --gpus all -v $M:/m vllm/vllm-openai:v0.11.0 --model x --tp 8", "vllm serve"),
        ("docker run --entrypoint vllm img serve x --tp 8", "vllm serve"),
        ('docker run --entrypoint bash img -c "vllm serve x --tp 8"', "vllm serve"),
    ],
)
def test_forms_of_vllm_launches(text, entry):
    command = one(text)
    assert (command.engine, command.entry, command.argv) == ("vllm", entry, ("--model", "x", "--tp", "8"))


def test_flags_only_are_of_the_default_engine():
    assert one("--model x", default_engine="vllm").engine == "vllm"


def test_positions_are_those_of_the_words_in_the_text():
    command = one(f"A=b {SGL} --model-path M \\\n   --tp '8'\\\n --x\ty", line=10, column=5)
    places = {word.text: (word.line, word.column) for word in command.words}
    assert places == {
        "--model-path": (10, 41),
        "M": (10, 54),
        "--tp": (11, 4),
        "8": (11, 9),
        "--x": (12, 2),
        "y": (12, 6),
    }
    assert (command.source.line, command.source.column) == (10, 5)


def test_positions_inside_a_string_are_those_of_the_outer_text():
    text = 'srun bash -c "cd x\n ' + SGL + " \\\n   --path '$MODEL' --rank \\$RANK\" &"
    command = one(text)
    lines = text.split("\n")
    for word, expected in zip(command.words, ("--path", "'$MODEL'", "--rank", "$RANK"), strict=True):
        assert lines[word.line - 1][word.column - 1 :].startswith(expected)
    assert [word.unknown for word in command.words] == [(), ("MODEL",), (), ("RANK",)]
    assert (command.source.line, command.source.column) == (1, 1)


@given(
    st.lists(
        st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=8), max_size=5
    )
)
def test_argv_and_its_quoted_text_read_the_same(words):
    argv = ["python", "-m", "sglang.launch_server", "--x", *words]
    given_argv, given_text = parse_argv(argv), parse_text(shlex.join(argv).replace("\r\n", "\n"))
    assert given_argv.commands[0].argv == tuple(argv[3:])
    if not any("\r\n" in word for word in words):
        assert given_argv.commands[0].argv == given_text.commands[0].argv


def test_argv_is_taken_literally():
    [command] = parse_argv(["A=b", "sglang", "serve", "$M", "--x", "a b", "|", "tee"]).commands
    assert command.argv == ("--model-path", "$M", "--x", "a b", "|", "tee")
    assert command.env == {"A": "b"}
    assert all(not word.unknown for word in command.words)


def test_an_argv_of_one_word_with_blanks_is_a_text():
    assert parse_argv(["sglang serve x --tp 8"]).commands[0].argv == ("--model-path", "x", "--tp", "8")


def test_argv_may_hold_a_shell_string():
    [command] = parse_argv(["bash", "-c", "A=1 sglang serve x"]).commands
    assert (command.argv, command.env) == (("--model-path", "x"), {"A": "1"})


@pytest.mark.parametrize("argv", [[], [""], ["ls", "-l"]])
def test_argv_without_launch(argv):
    [problem] = parse_argv(argv).problems
    assert problem.kind in ("empty", "no-launch-command")


@pytest.mark.parametrize(
    ("text", "env", "unknown"),
    [
        (f"A=b {SGL} --x", {"A": "b"}, {}),
        (f"A=$B C=1 {SGL} --x", {"C": "1"}, {"A": ("B",)}),
        (f"A=1; {SGL} --x", {}, {}),
        (f"A=1; export A; {SGL} --x", {"A": "1"}, {}),
        (f"export A=1 B='2 3'\n{SGL} --x", {"A": "1", "B": "2 3"}, {}),
        (f"export A=1; A=2; {SGL} --x", {"A": "2"}, {}),
        (f"export A=1; unset A; {SGL} --x", {}, {}),
        (f"export A=1; env -u A {SGL} --x", {}, {}),
        (f"export A=1; env -i B=2 {SGL} --x", {"B": "2"}, {}),
        (f"declare -x A=1; {SGL} --x", {"A": "1"}, {}),
        (f"declare A=1; {SGL} --x", {}, {}),
        (f"export A=$(nproc); {SGL} --x", {}, {"A": ("$(nproc)",)}),
        (f"export A; {SGL} --x", {}, {"A": ("A",)}),
        (f"A=1; A+=2; export A; {SGL} --x", {"A": "12"}, {}),
        (f"cd /x && export A=1 && {SGL} --x", {"A": "1"}, {}),
        (f"[[ $X ]] && export A=1\n{SGL} --x", {}, {"A": ("A",)}),
        (f"if x; then export A=1; fi\n{SGL} --x", {}, {"A": ("A",)}),
        (f"env A=1 B=$C {SGL} --x", {"A": "1"}, {"B": ("C",)}),
        (f"sudo A=1 {SGL} --x", {"A": "1"}, {}),
        (f"srun --export=ALL,A=1 {SGL} --x", {"A": "1"}, {}),
        (f"export A=1; bash -c 'B=2 {SGL} --x'", {"A": "1", "B": "2"}, {}),
        (
            f"docker run -e A=1 -eB=2 --env C=3 --env=D=4 -e E img {SGL} --x",
            {"A": "1", "B": "2", "C": "3", "D": "4"},
            {"E": ("E",)},
        ),
        (f"export A=1 B=2; docker run -e A img {SGL} --x", {"A": "1"}, {}),
        (f"docker run -e A=$B img {SGL} --x", {}, {"A": ("B",)}),
    ],
)
def test_environment(text, env, unknown):
    command = one(text)
    assert command.env == env
    assert command.unknown_env == unknown


@pytest.mark.parametrize(
    ("text", "argv", "unknown"),
    [
        ("TP=8; sglang serve --tp $TP", ("--tp", "8"), {}),
        ("TP=8 sglang serve --tp $TP", ("--tp", "$TP"), {1: ("TP",)}),
        ("X='--tp 8'; sglang serve $X", ("--tp", "8"), {}),
        ("X=; sglang serve --a $X", ("--a",), {}),
        ("A=1; B=$A; sglang serve --a $B", ("--a", "1"), {}),
        ("TP=$N; sglang serve --tp $TP", ("--tp", "$N"), {1: ("N",)}),
        ("TP=1; read TP; sglang serve --tp $TP", ("--tp", "${TP}"), {1: ("TP",)}),
        ('sglang serve --tp=${TP:-8} "${PAR[@]}"', ("--tp=8", "${PAR[@]}"), {1: ("PAR[@]",)}),
        ("CMD='sglang serve --tp 8'; eval $CMD", ("--tp", "8"), {}),
        ("CMD='sglang serve --tp 8'; bash -c \"$CMD\"", ("--tp", "8"), {}),
        ("sglang serve $MODEL --tp 8", ("--model-path", "$MODEL", "--tp", "8"), {1: ("MODEL",)}),
        ("sglang serve $ARGS --model-path m", ("$ARGS", "--model-path", "m"), {0: ("ARGS",)}),
    ],
)
def test_variables(text, argv, unknown):
    command = one(text)
    assert command.argv == argv
    assert command.unknown == unknown


def test_what_the_outer_shell_expands_is_not_what_is_set_for_the_inner_one():
    command = one('M=a bash -c "sglang serve $M"')
    assert (command.argv, command.unknown, command.env) == (("--model-path", "$M"), {1: ("M",)}, {"M": "a"})


def test_nothing_is_run(tmp_path):
    target = tmp_path / "made"
    one(f'sglang serve --x $(touch {target}) --y `touch {target}` --z "$(touch {target})"')
    assert not target.exists()


@pytest.mark.parametrize(
    ("options", "image"),
    [
        (
            "-it --rm --gpus all --shm-size 32g -p 30000:30000 -v ~/.cache:/root/.cache",
            "lmsysorg/sglang:v0.5.18-cu130",
        ),
        ("--gpus=all --ipc=host --network=host -e HF_TOKEN=x --name a", "reg.io:5000/a/b@sha256:00"),
        ("-d --privileged -itv /a:/b --ulimit memlock=-1 --env-file=x.env", "img"),
        ("-m 16g -u 0:0 --device /dev/x --init --pull always", "img:1"),
    ],
)
def test_container_images(options, image):
    result = parse_text(f"docker run {options} {image} sglang serve x")
    [command] = result.commands
    assert command.image == image
    assert command.prefix[command.image_at] == image
    assert [(problem.kind, problem.level) for problem in result.problems] == (
        [("env-file-not-read", "info")] if "env-file" in options else []
    )


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ("--gpus 4", 4),
        ("--gpus=2 --rm", 2),
        ("--gpus '\"device=0,1,2,3\"'", 4),
        ("--gpus '\"device=0,1\",capabilities=gpu'", 2),
        ("--gpus device=GPU-3a23", 1),
        ("--gpus count=8,capabilities=gpu", 8),
        ("--gpus all", None),
        ("--gpus device=0,1", None),
        ("--gpus $N", None),
        ("--rm", None),
    ],
)
def test_a_container_gets_some_gpus(options, count):
    assert one(f"docker run {options} img sglang serve x").gpu_count == count
    assert one(f"docker run {options} img bash -c 'sglang serve x'").gpu_count == count


def test_an_image_in_a_variable_is_not_known():
    assert one('docker run "$IMAGE" sglang serve x').image is None


def test_docker_exec_has_no_image():
    assert one("docker exec -it name sglang serve x").image is None


def test_several_commands_in_their_order():
    result = parse_text("sglang serve a &\nsglang serve b --tp 2 &\nwait\necho sglang serve c")
    assert [command.argv[1] for command in result.commands] == ["a", "b"]
    assert [command.source.line for command in result.commands] == [1, 2]
    assert not result.problems


def test_what_stands_after_the_words_is_kept_apart():
    command = one("sglang serve x > $LOG 2>&1 | tee -a b &")
    assert command.argv == ("--model-path", "x")
    assert command.suffix == ("> $LOG", "2>&1", "|", "tee", "-a", "b", "&")


@pytest.mark.parametrize(
    ("text", "kind", "place"),
    [
        ("", "empty", (1, 1)),
        (" \n", "empty", (1, 1)),
        ("# only a comment", "no-launch-command", (1, 1)),
        ("--tp 8\0", "not-text", (1, 7)),
        ("--tp \ud800", "not-text", (1, 6)),
        ("--tp 8\n--x 'a", "unbalanced-quote", (2, 5)),
        ("--tp $(a", "unbalanced-expansion", (1, 6)),
        ("python train.py --model x", "no-launch-command", (1, 1)),
        ("launch_server.py --model x --tp 8", "no-launch-command", (1, 1)),
        ("true\n$CMD --tp 8", "no-launch-command", (2, 1)),
        ("echo sglang serve x", "no-launch-command", (1, 1)),
        ("pkill -f sglang.launch_server", "no-launch-command", (1, 1)),
        ("bash launch.sh --tp 8", "no-launch-command", (1, 1)),
        ("docker run", "no-launch-command", (1, 1)),
        ("docker run img serve.sh", "no-launch-command", (1, 1)),
        ("ray job submit -- python3 train.py ${ROLLOUT[@]} --sglang-x 1", "no-launch-command", (1, 1)),
        ("python -m sglang serve x", "not-runnable-module", (1, 11)),
        ("python3 -u sglang.launch_server --tp 8", "not-runnable-module", (1, 12)),
        ("sglang.launch_server --tp 8", "not-runnable-module", (1, 1)),
        ("bash -c 'sglang serve \"x'", "unbalanced-quote", (1, 23)),
        ("x" * (MOST_CHARACTERS + 1), "too-large", (1, 1)),
        ("--x " + "$(" * 5000 + "sglang" + ")" * 5000, "nested-too-deep", (1, 1)),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else None,
)
def test_problems_say_where_and_what_next(text, kind, place):
    result = parse_text(text)
    [problem] = result.problems
    assert not result.commands
    assert (problem.kind, (problem.line, problem.column), problem.level) == (kind, place, "error")
    assert problem.message
    assert problem.hint


def test_a_command_in_an_open_variable_is_named():
    [problem] = parse_text("$CMD --tp 8").problems
    assert "$CMD" in problem.message


def test_another_server_type_is_no_launch_of_the_engine():
    result = parse_text("sglang serve x --model-type diffusion")
    assert not result.commands
    assert [problem.kind for problem in result.problems] == ["other-server-type", "no-launch-command"]


def test_a_blank_after_the_backslash_ends_the_command():
    result = parse_text("sglang serve x --tp 8 \\ \n  --y 1\n")
    assert [(p.kind, p.line, p.column) for p in result.problems] == [
        ("broken-continuation", 1, 23),
        ("detached-flags", 2, 3),
    ]
    assert result.commands[0].argv == ("--model-path", "x", "--tp", "8", " ")


def test_a_comment_between_continued_lines_cuts_the_command():
    result = parse_text("sglang serve x \\\n  # --a \\\n  --tp 8\n")
    assert [(p.kind, p.line) for p in result.problems] == [("detached-flags", 3)]
    assert result.commands[0].argv == ("--model-path", "x")


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("sglang serve x \u2013tp 8", "error"),
        ("\u2014tp 8", "error"),
        ("sglang serve x --a\u00a0b", "warning"),
        ("sglang serve x --a \u201cb\u201d", "warning"),
    ],
)
def test_characters_of_word_processors_are_named(text, level):
    assert [(p.kind, p.level) for p in parse_text(text).problems] == [("look-alike", level)]


def test_a_sourced_file_is_not_read():
    result = parse_text("source env.sh && sglang serve x")
    assert [(p.kind, p.level) for p in result.problems] == [("sourced-file", "info")]
    assert len(result.commands) == 1


def test_strings_in_strings_have_an_end():
    text = "sglang serve x"
    for _ in range(5):
        text = shlex.join(["bash", "-c", text])
    assert kinds(text) == ["nested-too-deep"]


@pytest.mark.parametrize(
    ("data", "kind", "place"),
    [(b"--tp 8\n\xff", "not-text", (2, 1)), (b"ab\0\xff", "not-text", (1, 3)), (b"", "empty", (1, 1))],
)
def test_bytes_that_are_no_text(data, kind, place):
    [problem] = parse_bytes(data).problems
    assert (problem.kind, (problem.line, problem.column)) == (kind, place)


def test_bytes_with_a_byte_order_mark():
    assert parse_bytes(b"\xef\xbb\xbf--tp 8", default_engine="vllm").commands[0].argv == ("--tp", "8")


@given(st.text("sglang erv-'\"\\$`{}()<>|&;#\n=", max_size=60))
def test_any_text_gives_commands_or_problems(text):
    result = parse_text("sglang serve " + text)
    assert result.commands or result.problems


def test_words_say_where_they_stand():
    text = f"x=1\n{SGL} --path 'a b' --tp \"8\" --n=$N"
    command = parse_text(text).commands[0]
    assert [text[word.start : word.end] for word in command.words] == [
        "--path",
        "'a b'",
        "--tp",
        '"8"',
        "--n=$N",
    ]
    assert [word.editable for word in command.words] == [True, True, True, True, False]


@pytest.mark.parametrize("text", ["vllm bench serve --model x", "sglang version", "vllm chat --url u"])
def test_a_subcommand_that_is_no_server_is_no_mistake(text):
    [problem] = parse_text(text).problems
    assert (problem.kind, problem.level) == ("no-launch-command", "info")
    assert f"`{text.partition(' --')[0]}` starts no server" in problem.message


def test_a_json_value_that_names_an_engine_is_no_command():
    draft = '--model m --speculative-config \'{"model": "lmsys/sglang-EAGLE3-x", "method": "eagle3"}\''
    [command] = parse_text(draft, default_engine="vllm").commands
    assert (command.engine, command.argv[0]) == ("vllm", "--model")


@pytest.mark.parametrize("between", ["  # --a \\\n", "\n", " \t\n", "\n\n"])
@pytest.mark.parametrize("flag", ["--tp 8", "-tp 8"])
def test_what_ends_a_continued_command_leaves_the_flags_after_it_alone(between, flag):
    result = parse_text(f"sglang serve x \\\n{between}  {flag}\n")
    assert [p.kind for p in result.problems] == ["detached-flags"]
    assert result.commands[0].argv == ("--model-path", "x")


def test_an_escaped_backslash_before_an_empty_line_is_a_word():
    result = parse_text("sglang serve x --y \\\\\n\necho done\n")
    assert result.commands[0].argv == ("--model-path", "x", "--y", "\\")


@pytest.mark.parametrize("shell", ["bash -c", "srun bash -c", "ssh host", "eval"])
@pytest.mark.parametrize("listed", ["${A[*]}", "$*"])
def test_a_starred_array_in_quotes_is_one_text(shell, listed):
    result = parse_text(f'A=(--tp 2)\nset -- --tp 2\n{shell} "sglang serve x {listed}"\n')
    assert [command.argv for command in result.commands] == [("--model-path", "x", "--tp", "2")]


def test_a_starred_array_is_one_word_joined_by_the_first_separator():
    result = parse_text('A=(1 2)\nIFS=,\nsglang serve x --y "${A[*]}"\nsglang serve x --z "${A[@]}"\n')
    assert [one.argv[2:] for one in result.commands] == [("--y", "1,2"), ("--z", "1", "2")]


def test_ssh_joins_its_words_and_a_shell_splits_them_again():
    result = parse_text("""A=(--tp 2)
ssh -p 22 me@host "sglang serve x ${A[@]}" --y 1
ssh host sglang serve x --z '{"a": 1}'
""")
    assert [one.argv[2:] for one in result.commands] == [("--tp", "2", "--y", "1"), ("--z", "{a:", "1}")]


def test_a_shell_that_gets_the_first_word_alone_is_told():
    for text in ("bash -c sglang serve x", 'ssh host bash -c "sglang serve x"'):
        result = parse_text(text)
        assert not result.commands
        assert result.problems[0].kind == "unquoted-string"


def test_what_is_open_in_a_string_for_a_shell_may_be_any_words_unless_that_shell_quotes_it():
    plain, quoted = parse_text('bash -c "sglang serve x $E"\nbash -c "sglang serve x \\"$E\\""\n').commands
    assert plain.words[-1].splits
    assert not quoted.words[-1].splits
