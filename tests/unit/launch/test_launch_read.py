from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlacheck.engines import Grammar
from mlacheck.launch import parse_text
from mlacheck.launch.file.decode import MOST_BYTES
from mlacheck.launch.file.read import read_bytes, read_path
from mlacheck.launch.file.walk import files
from mlacheck.line import fitted

SERVE = "sglang serve m --tp 8\n"


def read(text, name="x.sh", **options):
    return read_bytes(text if isinstance(text, bytes) else text.encode(), name, **options)


def argvs(text, name="x.sh", **options):
    return [" ".join(command.argv) for command in read(text, name, **options).commands]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("run.sh", SERVE),
        ("run", "#!/bin/bash\n" + SERVE),
        ("job.sbatch", SERVE),
        ("x.yml", "command: [sglang, serve, m, --tp, '8']"),
        ("-", "command: [sglang, serve, m, --tp, '8']"),
        ("-", "---\nkind: Pod\nspec: {containers: [{command: [sglang, serve, m, --tp, '8']}]}"),
        ("-", '{"command": ["sglang", "serve", "m", "--tp", "8"]}'),
        ("-", "FROM x\nCMD sglang serve m --tp 8"),
        ("-", SERVE),
        ("app.Dockerfile", "FROM x\nCMD sglang serve m --tp 8"),
        ("Dockerfile.gpu", 'FROM x\nCMD ["sglang", "serve", "m", "--tp", "8"]'),
        ("x.yaml.j2", "command: [sglang, serve, m, --tp, '8']"),
        ("x.toml", 'command = ["sglang", "serve", "m", "--tp", "8"]'),
        ("-", "from os import system\nsystem('sglang serve m --tp 8')\n"),
        ("-", "# ours\nimport os, sys\nos.system('sglang serve m --tp 8')\n"),
        ("-", '"""Serves."""\nimport os\nos.system("sglang serve m --tp 8")\n'),
        ("-", "import -window root x.png\nsglang serve m --tp 8\n"),
        ("-", "#!/usr/bin/env python3\nimport os\nos.system('sglang serve m --tp 8')\n"),
    ],
)
def test_kinds_are_told_by_name_or_by_content(name, text):
    assert argvs(text, name) == ["--model-path m --tp 8"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_byte_order_marks_are_read(encoding):
    result = read("command: [sglang, serve, é]".encode(encoding), "x.yaml")
    assert result.commands[0].argv == ("--model-path", "é")
    document = result.document
    assert document.bom + document.text.encode(document.encoding) == "command: [sglang, serve, é]".encode(
        encoding
    )


def test_latin_1_is_read_and_told():
    result = read(b"# \xe9\n" + SERVE.encode())
    assert len(result.commands) == 1
    assert [(one.kind, one.level, one.line, one.column) for one in result.problems] == [
        ("not-utf8", "info", 1, 3)
    ]


@pytest.mark.parametrize(
    ("data", "kind", "level"),
    [
        (b"\0sglang serve x", "not-text", "error"),
        (b"\0\1\2", "not-text", "info"),
        ("command: [sglang, serve, x]".encode("utf-16-le"), "not-text", "error"),
        (b"# sglang serve\n" + b"#" * MOST_BYTES, "too-large", "error"),
        (b"#" * (MOST_BYTES + 1), "too-large", "info"),
        (b"<<<<<<< HEAD\n" + SERVE.encode(), "merge-conflict", "error"),
        (b"sglang serve x\n" + b"if a; then\n" * 3000, "shell-syntax", "error"),
    ],
)
def test_what_cannot_be_read(data, kind, level):
    [problem] = read(data).problems
    assert (problem.kind, problem.level) == (kind, level)
    assert problem.hint


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", "sglang: &a\n  k: *a\n  command: *a\n  <<: *a\n"),
        ("a.yaml", "a: &a [sglang]\n" + "".join(f"b{n}: &a [{'*a,' * 9}]\n" for n in range(20))),
        ("a.yaml", "sglang:\n" + "- " * 5000),
        ("a.json", '{"sglang":' + "[" * 5000),
        ("a.py", "sglang = " + "(" * 5000),
        ("a.sh", "A=sglang\n" + "A=$A$A\n" * 60 + "$A\n"),
        ("a.sh", "f() { f x; f y; sglang serve m; }; f\n"),
        ("a.sh", "\n" * 200_000 + SERVE),
        ("a.yaml", "\n" * 200_000 + "a: sglang serve m --tp 8\n"),
        ("a.sh", "".join(f'if a{n}; then A+=" --f{n}"; fi\n' for n in range(40)) + "sglang serve m $A\n"),
    ],
)
def test_bombs_are_bounded(name, text):
    result = read(text, name)
    assert len(result.commands) <= 40


def test_what_no_branch_settles_is_open_when_there_are_too_many():
    text = "".join(f'if a{n}; then A="$A --f{n}"; fi\n' for n in range(10)) + "sglang serve m $A\n"
    [command] = read(text).commands
    assert command.unknown[2] == ("A",)


def test_a_script_that_the_grammar_stumbles_over_is_read_around_that_place():
    result = read('f() {\n  [ "$OP" "$L" ] || return\n}\n' + SERVE)
    assert [command.argv for command in result.commands] == [("--model-path", "m", "--tp", "8")]
    assert {problem.level for problem in result.problems} <= {"info"}


@pytest.mark.parametrize(
    "text",
    [
        "MODE=b\nif [ $MODE = a ]; then sglang serve a; else sglang serve b; fi\n",
        "MODE=b\n[ $MODE = a ] && sglang serve a\n[ $MODE = b ] && sglang serve b\n",
        "case b in a) sglang serve a;; b) sglang serve b;; esac\n",
        "exec sglang serve a\nsglang serve b\n",
        "f() { sglang serve a; return; sglang serve b; }\nf\n",
    ],
)
def test_a_launch_that_is_never_reached_is_one_all_the_same(text):
    assert sorted(argvs(text)) == ["--model-path a", "--model-path b"]


def test_templates_are_told_to_be_rendered():
    [problem] = read("args:\n  {{- range .Values.x }}\n  - sglang serve\n  {{- end }}", "x.yaml").problems
    assert (problem.kind, problem.line) == ("template", 2)
    assert "helm template" in problem.hint


def test_a_template_value_is_a_named_unknown():
    [command] = read("command: [sglang, serve, '{{ .Values.model }}', --tp, '8']", "x.yaml").commands
    assert command.unknown == {1: ("{{ .Values.model }}",)}


def test_the_callers_environment_settles_variables():
    assert argvs("sglang serve $M --tp ${TP:-8}", env={"M": "a", "TP": "4"}) == ["--model-path a --tp 4"]
    assert parse_text("sglang serve $M", env={"M": "a"}).commands[0].argv == ("--model-path", "a")


def test_a_default_is_taken_and_told():
    [command] = read("TP=${TP:-8}\nsglang serve m --tp $TP").commands
    assert command.argv == ("--model-path", "m", "--tp", "8")
    assert command.assumed == ("TP=8",)


def test_config_files_stand_before_the_words(tmp_path):
    (tmp_path / "c.yaml").write_text("tp-size: 8\ntrust-remote-code: true\nlog-level: null\n")
    launch = tmp_path / "run.sh"
    launch.write_text("sglang serve m --config c.yaml --tp-size 4\n")
    [command] = read_path(str(launch)).commands
    assert " ".join(command.argv) == (
        "--model-path m --tp-size 8 --trust-remote-code --log-level None --tp-size 4"
    )
    assert not command.words[2].editable
    (tmp_path / "c.yaml").write_text("model-path: n\n")
    [command] = read_path(str(launch)).commands
    assert command.argv == ("--model-path", "n", "--model-path", "m", "--tp-size", "4")


def test_a_config_file_that_is_not_there_is_open(tmp_path):
    launch = tmp_path / "run.sh"
    launch.write_text("sglang serve m --config missing.yaml\n")
    result = read_path(str(launch))
    [command] = result.commands
    assert command.words[0].raw == "--config missing.yaml"
    assert command.loose == (0,)
    [problem] = result.problems
    assert (problem.kind, problem.line, problem.column) == ("config-unread", 1, 25)
    assert "missing.yaml: there is no such file" in problem.message


CONFIG_WORDS = (
    "--model a --tensor_parallel_size 8 --enable-expert-parallel --served-model-name x y "
    '--compilation-config {"mode": 3}'
)


@pytest.mark.parametrize(
    ("line", "rest"),
    [("vllm serve --config c.yaml -tp 4", "-tp 4"), ("vllm serve m --config c.yaml", "--model m")],
)
def test_vllm_reads_its_config_file_in_its_own_way(tmp_path, line, rest):
    (tmp_path / "c.yaml").write_text(
        "model: a\ntensor_parallel_size: 8\nenable-expert-parallel: true\nenable-prefix-caching: false\n"
        "served-model-name: [x, y]\ncompilation-config: {mode: 3}\n"
    )
    launch = tmp_path / "run.sh"
    launch.write_text(line + "\n")
    result = read_path(str(launch))
    assert [" ".join(command.argv) for command in result.commands] == [f"{CONFIG_WORDS} {rest}"]
    assert not result.problems


def test_what_vllm_versions_make_of_false_is_open_where_it_matters(tmp_path):
    (tmp_path / "c.yaml").write_text(
        "enable-prefix-caching: false\nenforce-eager: false\nasync_scheduling: false\n"
    )
    launch = tmp_path / "run.sh"
    launch.write_text("python -m vllm.entrypoints.openai.api_server --model m --config c.yaml\n")
    [command] = read_path(str(launch)).commands
    assert command.argv == ("--no-enable-prefix-caching", "--model", "m")
    assert command.loose == (0,)
    assert [fitted(command, Grammar.load("vllm", one)).argv for one in ("0.22.1", "0.28.0")] == [
        ("--model", "m"),
        ("--no-enable-prefix-caching", "--model", "m"),
    ]
    assert fitted(command, Grammar.load("vllm", "0.33.0")).loose == ()


@pytest.mark.parametrize("line", ["sglang serve m", "vllm serve m"])
def test_a_second_config_file_is_refused(tmp_path, line):
    (tmp_path / "a.yaml").write_text("port: 1\n")
    launch = tmp_path / "run.sh"
    launch.write_text(f"{line} --config a.yaml --config b.yaml --dtype auto\n")
    result = read_path(str(launch))
    [problem] = result.problems
    assert (problem.kind, problem.column) == ("config-refused", launch.read_text().rindex("--config") + 1)
    assert "config file" in problem.said
    assert result.commands[0].argv[-2:] == ("--dtype", "auto")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.json", "{}"),
        ("c.YAML", "model: m\n"),
        ("c.yaml", "- m\n"),
        ("c.yaml", "a: [\n"),
        ("c.yaml", "port: 1\n"),
        ("c.yaml", ""),
        ("c.yaml", "model: m\n---\nmodel: n\n"),
    ],
)
def test_a_config_file_that_vllm_refuses(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    launch = tmp_path / "run.sh"
    launch.write_text(f"vllm serve --config {name}\n")
    result = read_path(str(launch))
    [problem] = result.problems
    assert (problem.kind, problem.level) == ("config-refused", "error")
    assert problem.said
    assert result.commands[0].loose


def test_a_glued_config_file_is_not_read_by_the_engine(tmp_path):
    launch = tmp_path / "run.sh"
    launch.write_text("sglang serve m --config=c.yaml\n")
    [problem] = read_path(str(launch)).problems
    assert (problem.kind, problem.level, problem.line, problem.column) == (
        "config-not-read",
        "warning",
        1,
        16,
    )


def test_paths_that_cannot_be_read(tmp_path):
    loop = tmp_path / "loop.sh"
    loop.symlink_to(loop)
    pipe = tmp_path / "pipe.sh"
    os.mkfifo(pipe)
    for path, kind in ((loop, "cannot-read"), (pipe, "not-a-file"), (tmp_path / "gone", "cannot-read")):
        [problem] = read_path(str(path)).problems
        assert (problem.kind, problem.level) == (kind, "info")


def test_folders_are_searched_by_name_and_links_are_not_followed(tmp_path):
    for name in (
        "b/run.sh",
        "a/Dockerfile",
        "a/x.yaml",
        "a/x.txt",
        "a/README.md",
        ".git/x.sh",
        "node_modules/x.sh",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(SERVE)
    (tmp_path / "b" / "again").symlink_to(tmp_path)
    found = [os.path.relpath(path, tmp_path) for path in files([str(tmp_path), str(tmp_path / "b/run.sh")])]
    assert found == ["a/Dockerfile", "a/x.yaml", "b/run.sh"]


def test_nothing_is_run(tmp_path):
    made = tmp_path / "made"
    text = f"A=$(touch {made})\nsglang serve m --x `touch {made}` --y $(touch {made})\n"
    read(text)
    read(f"import os\nos.system('sglang serve m; touch {made}')\nopen('{made}', 'w')\n", "x.py")
    assert not made.exists()


PARTS = st.sampled_from(
    [
        *"\"'()[]{},#\t\0\né",
        *("sglang serve m ", "--tp 8 ", "python3 -m sglang.launch_server ", "$A ", "\\\n", "A=(", "{{ x }}"),
        *(
            "if x; then ",
            "fi\n",
            "done\n",
            "EOF\n",
            "for i in a b; do ",
            "<<EOF\n",
            "$(",
            "${A:-",
            "- ",
            ": ",
        ),
        *("&a ", "*a ", ">\n  ", "command", "\r\n", "FROM x\n"),
    ]
)
NAMES = st.sampled_from(["x.sh", "x.yaml", "x.json", "x.toml", "x.py", "x.md", "Dockerfile", "x"])


@settings(max_examples=150, deadline=None)
@given(st.lists(PARTS, max_size=25).map("".join), NAMES)
def test_any_text_is_read_without_a_crash(text, name):
    result = read(text, name)
    for command in result.commands:
        for word in command.words:
            assert word.line >= 1
            assert word.start < 0 or word.start <= word.end <= len(result.document.text)


@pytest.mark.parametrize(
    "text",
    [
        "cat >run.sh <<EOF\nexec sglang serve m --tp $B\nEOF",
        "ssh h <<EOF\nsglang serve m --tp $B\nEOF",
        "cat <<EOF | tee run.sh\nsglang serve m --tp $B\nEOF",
        "for i in 1; do\nbash <<EOF\nsglang serve m --tp $B\nEOF\ndone",
        'read -r -d "" T <<EOF\nsglang serve m --tp $B\nEOF\nbash -c "$T"',
    ],
)
@pytest.mark.parametrize(
    "branch", ['B=1; if [ "$X" = 1 ]; then B=2; fi', "case $X in a) B=2;; *) B=1;; esac"]
)
def test_a_here_document_has_the_variants_of_what_it_expands(branch, text):
    commands = read(f"{branch}\n{text}\n").commands
    assert sorted(command.argv[-1] for command in commands) == ["1", "2"]
    assert all(command.variant for command in commands)


def test_an_open_value_stands_where_it_is_read():
    text = "# one\nread A\nif [ $X ]; then A=3; fi\n#\nsglang serve m --tp $A --dp ${A}\n"
    words = [word for command in read(text).commands for word in command.words if word.unknown]
    assert [(word.line, word.column) for word in words] == [(5, 21), (5, 29)]


@pytest.mark.parametrize(
    "call",
    [
        'run(["sglang", "serve", "m", "--tp", str(tp), "--attention-backend", b])',
        'run(f"sglang serve m --tp {tp} --attention-backend {b}", shell=True)',
    ],
)
def test_plain_values_of_python_names_are_followed(call):
    text = f'tp = 8\nb: str = "fa3"\n{call}\n'
    assert argvs(text, "x.py") == ["--model-path m --tp 8 --attention-backend fa3"]


RUN = 'run(["sglang", "serve", "m", "--tp", str(tp)])'


@pytest.mark.parametrize(
    ("text", "tp"),
    [
        (f"tp = 8\ntp = 4\n{RUN}", "4"),
        (f"tp = 8\nfor tp in (1, 2): pass\n{RUN}", "2"),
        (f"tp = 8\ndef f(tp): pass\n{RUN}", "8"),
        (f"tp = 8\ntp += 1\n{RUN}", "str(tp)"),
        (f"tp = 8\ntp, x = 4, 2\n{RUN}", "str(tp)"),
        (f"tp = 8\ntp = 4\ndef f():\n    {RUN}", "str(tp)"),
        (f"tp = 8\ndef f(tp):\n    {RUN}", "str(tp)"),
        (f"tp = 8\nfor tp in range(3): pass\n{RUN}", "str(tp)"),
    ],
)
def test_a_python_name_has_the_value_that_it_has_there(text, tp):
    [command] = read(text, "x.py").commands
    assert command.argv == ("--model-path", "m", "--tp", tp)
    assert command.unknown == ({} if tp.isdigit() else {3: (tp,)})


@pytest.mark.parametrize("environment", ["{B: fa3}", "[B=fa3]"])
@pytest.mark.parametrize("name", ["$$B", "$${B}"])
@pytest.mark.parametrize(
    "command",
    [
        "sh -c 'sglang serve m --attention-backend NAME'",
        "[bash, -c, 'sglang serve m --attention-backend NAME']",
    ],
)
def test_two_dollars_in_compose_are_the_shells_own(environment, name, command):
    text = f"services:\n  a:\n    environment: {environment}\n    command: {command.replace('NAME', name)}\n"
    assert argvs(text, "docker-compose.yaml") == ["--model-path m --attention-backend fa3"]


def test_variants_of_a_generated_text_are_told_apart_where_one_is_open():
    text = "case $X in a) B=1;; b) B=2;; esac\nssh h <<EOF\nsglang serve m --tp $B\nEOF\n"
    assert [len(command.variant) for command in read(text).commands] == [1, 1, 1]


def test_hundreds_of_branches_are_bounded_and_told():
    arms = "".join(
        f'if [ "$A{n}" = 1 ]; then X="$X --f{n} {n}"; elif [ "$A{n}" = 2 ]; then X="$X --g{n}"; fi\n'
        for n in range(150)
    )
    result = read(f"X=''\n{arms}sglang serve m --tp 8 $X\n")
    [command] = result.commands
    # Told once where it stands, and the rest of the line is known.
    assert (command.argv[2:4], command.words[-1].unknown) == (("--tp", "8"), ("X",))
    assert command.argv.count("${X}") == 1
    assert [(one.kind, one.level) for one in result.problems] == [("many-branches", "info")]
    assert 2 < result.problems[0].line < 150


@pytest.mark.parametrize("count", [5, 8, 12, 20])
def test_what_grows_in_branches_is_open_once(count):
    arms = "".join(f'[ "$A{n}" = 1 ] && X="$X --f{n}"\n' for n in range(count))
    found = read(f"X='--first 1'\n{arms}sglang serve m $X\n").commands
    assert 0 < len(found) <= 16
    for command in found:
        assert command.argv[:4] == ("--model-path", "m", "--first", "1")
        assert command.argv.count("${X}") == 1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            'if [ "$X" ]; then set -- sglang serve m --a; else set -- sglang serve m --b; fi\nexec "$@"',
            ["--model-path m --a", "--model-path m --b"],
        ),
        (
            '[ "$X" ] && set -- sglang serve "$@"\n[ "$1" = s ] && set -- sglang serve m "$@"\n"$@"',
            ["--model-path $@", "--model-path m $@"],
        ),
        ('set -- --a "$@"\nexec sglang serve m "$@"', ["--model-path m --a $@"]),
        ('set -- "$@" --a\nsglang serve m --b "$2"', ["--model-path m --b $2"]),
        ('set -- "$@" --a\nshift\nsglang serve m "$@"', ["--model-path m $@ --a"]),
        ('f() { set -- --b; }\nset -- --a\nf\nsglang serve m "$@"', ["--model-path m --a"]),
    ],
)
def test_positional_words_are_those_of_the_branch(text, found):
    assert sorted(argvs(text + "\n")) == sorted(found)


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("uvx vllm@0.28.0 serve m --tp 2", "--model m --tp 2"),
        ("uvx 'vllm[flashinfer]@0.28.0' serve m --tp 2", "--model m --tp 2"),
        ("uvx --from vllm==0.28.0 vllm serve m --tp 2", "--model m --tp 2"),
        ("uv tool run sglang@0.5.23 serve m --tp 2", "--model-path m --tp 2"),
        ("pipx run vllm serve m --tp 2", "--model m --tp 2"),
    ],
)
def test_a_package_that_is_run_by_its_version(command, found):
    assert argvs(command + "\n") == [found]


def test_tables_of_one_name_are_all_read():
    text = (
        '[tasks]\na = "sglang serve a/m --a"\n[tool.pixi.tasks]\nb = "sglang serve a/m --b"\n'
        '[[job]]\ncommand = ["sglang", "serve", "m", "--c"]\n'
        '[[job]]\ncommand = ["sglang", "serve", "m", "--d"]\n'
        'run.cmd = "sglang serve a/m --e"\n[x."y.z"]\ng = { run.cmd = "sglang serve a/m --f" }\n'
    )
    assert sorted(line[-3:] for line in argvs(text, "x.toml")) == ["--a", "--b", "--c", "--d", "--e", "--f"]


def test_a_word_of_a_unit_that_is_a_variable_is_split():
    text = (
        "[Service]\nEnvironment=\"FLAGS=--tp 8 --x 'a b'\" ONE=c\n"
        "ExecStart=/usr/bin/sglang serve m $FLAGS --y ${FLAGS} --z $ONE\n"
    )
    [command] = read(text, "x.service").commands
    assert command.argv == (
        "--model-path",
        "m",
        "--tp",
        "8",
        "--x",
        "a b",
        "--y",
        "--tp 8 --x 'a b'",
        "--z",
        "c",
    )


@pytest.mark.parametrize("key", ["community.docker.docker_container", "docker_container"])
def test_a_command_of_flags_alone_is_what_the_image_starts_with(key):
    text = f"- name: x\n  {key}:\n    image: vllm/vllm-openai:v0.28.0\n    command: --model {{{{ m }}}} --a\n"
    [command] = read(text, "play.yml").commands
    assert (command.engine, command.argv[0], command.argv[-1]) == ("vllm", "--model", "--a")


@pytest.mark.parametrize(
    ("text", "default", "engine"),
    [
        ("model: a/m\ntensor-parallel-size: 2\nmax-model-len: 8192\n", "sglang", "vllm"),
        ("model: a/m\ntensor-parallel-size: 2\ncontext-length: 8192\n", "vllm", "sglang"),
        ("model: a/m\ntensor-parallel-size: 2\nport: 1\n", "sglang", "sglang"),
        ("model: a/m\ntensor-parallel-size: 2\nport: 1\n", "vllm", "vllm"),
    ],
)
def test_a_config_is_the_engines_that_has_most_of_its_flags(text, default, engine):
    [command] = read(text, "cfg.yaml", engine=default).commands
    assert (command.engine, command.entry) == (engine, "config")


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("model-path: a/m\ntp-size: 2\nwrong-key: 1\n", 1),
        ("model: a/m\ntensor_parallel_size: 2\nmax_model_len: 1\n", 1),  # all of them one engine's own
        ("model: a/m\ntensor_parallel_size: 2\nmax_model_len: 1\nmax_num_seqs: 1\nrun_name: x\n", 0),
        ("model_path: a/m\ntp_size: 2\noutput_dir: x\n", 0),
        ("model: a/m\nport: 1\nname: x\n", 0),
    ],
)
def test_a_few_flags_are_told_from_other_settings(text, count):
    assert len(read(text, "cfg.yaml").commands) == count


def test_of_an_engine_that_is_named_a_config_of_underscores_is_read():
    text = "model: a/m\ntensor_parallel_size: 2\nmax_model_len: 1\nmax_num_seqs: 1\nrun_name: x\n"
    [command] = read(text, "cfg.yaml", engine="vllm").commands
    assert (command.engine, command.entry) == ("vllm", "config")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "x.ps1",
            '$env:A = "D:\\x"\n& docker run `\n vllm/vllm-openai:v0.28.0 `\n --model $M `\n --tp 2\n',
        ),
        ("x.ps1", "vllm serve --model $M `\r\n  --tp 2\r\nWrite-Host 'vllm serve m --tp 3'\r\n"),
        ("x.bat", "@echo off\r\ncall vllm serve --model %M% ^\r\n  --tp 2\r\necho vllm serve m --tp 3\r\n"),
        ("x.cmd", "@wsl vllm serve --model !M! --tp 2\n"),
    ],
)
def test_windows_scripts_are_read_line_by_line(name, text):
    [command] = read(text, name).commands
    assert command.argv[-2:] == ("--tp", "2")
    assert command.words[-3].unknown == ("M",)
    last = command.words[-1]
    assert text[last.start : last.end] == "2"


BLOCKS = """
```bash
sglang serve a/m \\
  --a 1 \\
  > server.log 2>&1
```

```console
$ sglang serve a/m \\
>    --b 1
INFO sglang serve a/m started
```

> ```sh
> sglang serve a/m \\
>   --c 1
> ```

As a block of its own:

    sglang serve a/m \\
      --d 1

and `sglang serve a/m --no 1`, or prose that goes on
    with sglang serve a/m --no 2
"""


def test_blocks_of_every_form_are_read_without_their_prompts():
    assert argvs(BLOCKS, "x.md") == [f"--model-path a/m --{one} 1" for one in "abcd"]


@pytest.mark.parametrize("name", ["Jenkinsfile", "vars/serve.groovy"])
def test_steps_of_jenkins_are_read(name):
    text = r"""
stage('x') { steps {
  sh '''
    sglang serve a/m \
      --a 1
  '''
  sh "sglang serve ${params.MODEL} --b $TP"
  sh(script: "sglang serve a/m --c", returnStdout: true)
  sh label: 'x', script: 'sglang serve a/m --d'
  echo 'sglang serve a/m --no'
} }
"""
    commands = read(text, name).commands
    assert [command.argv[2] for command in commands] == ["--a", "--b", "--c", "--d"]
    assert commands[1].unknown == {1: ("params.MODEL",), 3: ("TP",)}


def test_a_file_that_a_dockerfile_writes_is_read():
    text = """FROM lmsysorg/sglang:v0.5.18
COPY --chmod=755 <<EOF /start.sh
exec sglang serve m --a
EOF
COPY <<'EOF' /x.py
run(["sglang", "serve", "m", "--b"])
EOF
COPY <<EOF /notes.txt
sglang serve m --no
EOF
"""
    assert argvs(text, "Dockerfile") == ["--model-path m --a", "--model-path m --b"]


@pytest.mark.parametrize(
    ("read_", "found"),
    [
        ('IFS="|" read -r m tp x <<< "a/m|2|--y 3 4"', "--model-path a/m --tp 2 --y 3 4"),
        ('IFS=, read -r m tp x <<< "a/m,2,"', "--model-path a/m --tp 2"),
        ('read m tp x <<< "  a/m  2   --y  3 "', "--model-path a/m --tp 2 --y 3"),
        ('L="a/m 2"; read m tp x <<< "$L"', "--model-path a/m --tp 2"),
        ('read -ra A <<< "a/m 2"; m=${A[0]}; tp=${A[1]}; x=""', "--model-path a/m --tp 2"),
        ('for l in "a/m:2:--y"; do IFS=: read -r m tp x <<< "$l"; done', "--model-path a/m --tp 2 --y"),
        ("read m tp x <<< $UNKNOWN", "--model-path ${m} --tp ${tp} ${x}"),
        ('IFS=:; read m tp x <<< "a/m:2"', "--model-path ${m} --tp ${tp} ${x}"),
    ],
)
def test_a_line_that_is_read_is_split(read_, found):
    assert argvs(f"{read_}\nsglang serve $m --tp $tp $x\n") == [found]


@pytest.mark.parametrize(
    "command",
    [
        "xargs -I% sh -c 'sglang serve a/m --port 800%'",
        "xargs -I % sglang serve a/m --port 800%",
        "xargs -I{} -n1 sglang serve a/m --port 800{}",
        "parallel -I@@ sglang serve a/m --port 800@@ ::: 1 2",
    ],
)
def test_what_stands_for_an_input_is_open(command):
    [found] = read(f"seq 2 | {command}\n").commands
    assert found.words[-1].text.startswith("800")
    assert found.words[-1].unknown


def test_a_pod_that_is_run_by_hand():
    text = "kubectl run x --image=vllm/vllm-openai:v0.28.0 --env=A=1 -- --model a/m --tp 2\n"
    [command] = read(text + "kubectl run y --image=busybox -- sh -c 'sleep 1'\n").commands
    assert (command.image, dict(command.env), command.argv) == (
        "vllm/vllm-openai:v0.28.0",
        {"A": "1"},
        ("--model", "a/m", "--tp", "2"),
    )
    assert argvs("oc run x --image x -- sglang serve a/m --tp 2\n") == ["--model-path a/m --tp 2"]


def test_a_program_of_an_editor_is_the_entry_point():
    text = '{"a": [{"program": "/x/vllm/entrypoints/openai/api_server.py", "args": "--model m --a"}]}'
    assert argvs(text, "launch.json") == ["--model m --a"]


@pytest.mark.parametrize(
    "sets", ["a=2 x=1", "a=2 x=", "x= a=2", "x=\na=2 y=$(date)", 'a=2 x="" # c', "a=2 x=1;"]
)
def test_assignments_on_a_line_of_their_own_are_no_part_of_the_next_command(sets):
    text = f"{sets}\nA=1 sglang serve m --tp $a\n"
    [command] = read(text).commands
    assert (command.argv[-1], dict(command.env)) == ("2", {"A": "1"})
    assert text[command.start : command.end] == "A=1 sglang serve m --tp $a"
    [command] = read("a=2 x=1 \\\n  sglang serve m --tp 1\n").commands
    assert dict(command.env) == {"a": "2", "x": "1"}


@pytest.mark.parametrize("key", ["description", "long_description", "Notes", "help", "meta.usage"])
def test_a_command_in_what_people_read_is_an_example(key):
    assert argvs(f"{key}: sglang serve a/m --tp 2\nrun: sglang serve a/n\n", "x.yaml") == ["--model-path a/n"]
    text = f"{key}: |\n  Start it:\n  ```\n  sglang serve a/m --tp 2\n  ```\n"
    assert argvs(text, "x.yaml") == ["--model-path a/m --tp 2"]


def test_values_that_stand_in_a_manifest_are_read():
    text = "helm:\n  values: |\n    # ours\n    command: [sglang, serve, m, --tp, '2']\n"
    [command] = read(text, "app.yaml").commands
    assert command.argv[-1] == "2"
    assert text[command.words[-1].start : command.words[-1].end] == "'2'"


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("x.sh", "#!/bin/bash\r\nsglang serve m\r\n", (1, 12)),
        ("x.sh", "# note\r\nsglang serve m \\\r\n  --tp 8\n", (2, 17)),
        ("x.sh", "# note\r\n\r\nsglang serve m\n", None),
        ("x.yaml", "script:\r\n- sglang serve m --tp 8\r\n", None),
        ("x.ps1", "sglang serve m --tp 8\r\n", None),
        ("x.sh", "echo done\r\n# sglang\r\n", None),
    ],
)
def test_carriage_returns_are_letters_to_a_shell(name, text, place):
    found = [(one.line, one.column) for one in read(text, name).problems if one.kind == "carriage-returns"]
    assert found == ([] if place is None else [place])
