from __future__ import annotations

import os

import pytest

from mlacheck.launch.envfile import variables
from mlacheck.launch.file.beside import Beside
from mlacheck.launch.file.read import read_path

LAUNCH = 'sglang serve m --tp "$TP"\n'


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Writes files in a folder of their own, with a working folder that is elsewhere."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    root = tmp_path / "root"

    def write(**files):
        for name, text in files.items():
            path = root / name.replace("__", "/").replace("_sh", ".sh").replace("_env", ".env")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return root

    return write


def one(path):
    [command] = read_path(str(path)).commands
    return command


@pytest.mark.parametrize(
    "read",
    [
        "source ./lib/settings.sh",
        ". lib/settings.sh",
        'source "$(dirname "$0")/lib/settings.sh"',
        'source "${BASH_SOURCE%/*}/lib/settings.sh"',
        'HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"\nsource "$HERE/lib/settings.sh"',
        'UP="$(cd "$(dirname "$0")/.." && pwd)"\nsource "$UP/root/lib/settings.sh"',
        "[ -f lib/settings.sh ] && . lib/settings.sh",
        "if [[ -f lib/settings.sh ]]; then source lib/settings.sh; fi",
        "export $(grep -v '^#' lib/settings.sh | xargs)",
    ],
)
def test_a_file_beside_the_script_settles_its_variables(tree, monkeypatch, read):
    root = tree(run_sh=f"{read}\n{LAUNCH}", lib__settings_sh="# settings\nTP=8\n")
    monkeypatch.chdir(root.parent)
    command = one(root / "run.sh")
    assert command.argv == ("--model-path", "m", "--tp", "8")
    assert command.variant == ()
    assert not command.words[-1].editable


def test_functions_and_exports_come_along_and_nothing_is_found_twice(tree):
    root = tree(
        run_sh="set -a\nsource lib.sh\nset +a\nB=2\nstart 8\n",
        lib_sh='A=1\nstart() { sglang serve m --tp "$1"; }\nunused() { sglang serve other; }\n',
    )
    (root / "run.sh").write_text("# sglang\n" + (root / "run.sh").read_text())
    command = one(root / "run.sh")
    assert command.argv[-1] == "8"
    assert dict(command.env) == {"A": "1"}


def test_what_is_set_later_counts(tree):
    root = tree(run_sh=f"TP=2\nsource a.sh\n{LAUNCH}", a_sh="TP=4\nsource b.sh\n", b_sh="TP=8\nreturn 0\n")
    assert one(root / "run.sh").argv[-1] == "8"


def test_files_that_read_each_other_end(tree):
    root = tree(
        run_sh=f"source a.sh\n{LAUNCH}", a_sh="source b.sh\nTP=8\n", b_sh="source a.sh\nsource run.sh\n"
    )
    assert one(root / "run.sh").argv[-1] == "8"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("gone.sh", "there is no such file"),
        ("/etc/passwd", "there is no such file beside"),
        ("../secret.sh", "there is no such file beside"),
        ("out.sh", "there is no such file beside"),
        ("loop.sh", "there is no such file"),
        ("folder", "there is no such file"),
        ("pipe", "there is no such file"),
        ("broken.sh", "it cannot be read as shell"),
        ("binary.sh", "it is no text"),
        ("big.sh", "more than 1,000,000 bytes"),
        ("$WHERE/x.sh", "its name is not settled"),
    ],
)
def test_what_cannot_be_read_is_named_and_leaves_its_variables_open(tree, name, why):
    root = tree(run_sh=f"source {name}\n{LAUNCH}", broken_sh="TP='8\n", big_sh="TP=8\n" + "#" * 1_000_001)
    (root.parent / "secret.sh").write_text("TP=8\n")
    (root / "out.sh").symlink_to(root.parent / "secret.sh")
    (root / "loop.sh").symlink_to(root / "loop.sh")
    (root / "binary.sh").write_bytes(b"TP=8\0\n")
    (root / "folder").mkdir()
    os.mkfifo(root / "pipe")
    result = read_path(str(root / "run.sh"))
    [problem] = result.problems
    assert (problem.kind, problem.line, problem.level) == ("sourced-file", 1, "info")
    assert why in problem.message
    assert result.commands[0].unknown == {3: ("TP",)}


def test_a_virtual_environment_is_no_news(tree):
    result = read_path(str(tree(run_sh="source .venv/bin/activate\nsglang serve m\n") / "run.sh"))
    assert result.problems == ()


COMPOSE = """\
services:
  a:
    image: lmsysorg/sglang:${TAG:-v0.5.17}
    env_file: [a.env, {path: gone.env, required: false}]
    environment: {B: "3"}
    command: sglang serve m --tp ${TP:-4}
"""


def test_compose_reads_its_env_files(tree):
    root = tree(compose="", _env="TAG=v0.5.18\nTP='8' # all\n", a_env='A="x y"\nB=2\nC\nD=$A\n')
    (root / "compose.yaml").write_text(COMPOSE)
    result = read_path(str(root / "compose.yaml"))
    [command] = result.commands
    assert (command.image, command.argv[-1]) == ("lmsysorg/sglang:v0.5.18", "8")
    assert (dict(command.env), list(command.unknown_env)) == ({"B": "3", "A": "x y"}, ["C", "D"])
    [problem] = result.problems
    assert (problem.kind, problem.line) == ("env-file-not-read", 4)


def test_docker_reads_its_env_file_without_quotes(tree):
    root = tree(run_sh="docker run --env-file a.env -e B=3 x sglang serve m\n", a_env='A="x"\nB=2\n')
    assert dict(one(root / "run.sh").env) == {"A": '"x"', "B": "3"}


def test_config_maps_of_the_same_file_are_read(tree):
    root = tree()
    root.mkdir()
    (root / "pod.yaml").write_text(
        "kind: Pod\nspec:\n  containers:\n  - envFrom: [{configMapRef: {name: a}, prefix: P_}]\n"
        "    env: [{name: TP, valueFrom: {configMapKeyRef: {name: a, key: tp}}}]\n"
        "    command: [sglang, serve, $(P_M), --tp, $(TP)]\n"
        "---\nkind: ConfigMap\nmetadata: {name: a}\ndata: {tp: '8', M: m}\n"
    )
    assert one(root / "pod.yaml").argv == ("--model-path", "m", "--tp", "8")


def test_the_working_folder_is_the_tree_of_what_lies_in_it(tree, monkeypatch):
    root = tree(scripts__run_sh=f"source ../common.sh\n{LAUNCH}", common_sh="TP=8\n")
    assert one(root / "scripts" / "run.sh").unknown
    monkeypatch.chdir(root)
    assert one("scripts/run.sh").argv[-1] == "8"


def test_names_that_no_file_can_have_are_no_files(tmp_path):
    beside = Beside(str(tmp_path))
    for name in ("\0", "x" * 5000, ""):
        assert beside.text(name)[0] is None


def test_env_files_are_read_as_their_readers_do():
    text = "# c\nexport A=1\nB = 'x # y'\nC=\"a\\nb\" # c\nD=x # y\nE=$A\nF\n=1\nG=\n"
    assert variables(text) == {
        "A": "1",
        "B": "x # y",
        "C": "a\nb",
        "D": "x",
        "E": None,
        "F": None,
        "G": "",
    }
    assert variables("A='1' # 2\n", quotes=False) == {"A": "'1' # 2"}
