from __future__ import annotations

import os
import stat

import pytest
from click.testing import CliRunner

from mlacheck.cli import cli

TARGET = ["--gpu", "b200", "--engine-version", "0.5.18"]
SHELL = """#!/bin/bash
# launches the thing
python -m sglang.launch_server \\
  --model-path deepseek-ai/DeepSeek-V3 \\
  --tp-size 8 --dcp-size 8 \\
  --attention-backend 'trtllm_mla' \\
  --speculative-algorithm EAGLE \\
  --host 0.0.0.0   # keep this
echo done
"""
MANIFEST = """kind: Pod
metadata: {name: x}   # comment
spec:
  containers:
    - name: a
      command: ["python3", "-m", "sglang.launch_server"]
      args:
        - --model-path
        - deepseek-ai/DeepSeek-V3
        - --tp-size
        - "8"
        - "--attention-backend"   # why
        - fa3
        - --host
        - '0.0.0.0'
"""
BLOCK = """spec:
  command: [bash, -c]
  args:
    - |
      python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 \\
        --tp-size 8 --dcpsize 8 \\
        --attention-backend flashinfer
"""
DOCKER = """FROM lmsysorg/sglang:v0.5.18
CMD ["python3", "-m", "sglang.launch_server", "--model-path", "deepseek-ai/DeepSeek-V3", "--tp_size", "8"]
"""
JSON = """{
  "cmd": ["python3", "-m", "sglang.launch_server", "--model-path", "deepseek-ai/DeepSeek-V3",
          "--tp-size", "8",
          "--attention-backend", "fa3"],
  "x": 1
}
"""
CONFIG = """# the server's own file
model-path: deepseek-ai/DeepSeek-V3
tp-size: 8
attention-backend: fa3   # why
host: 0.0.0.0
"""
WRAPPED = (
    'srun bash -c "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp-size 8 '
    '--attention-backend fa3" > log\n'
)


def fix(path, *more):
    target = [] if "--engine-version" in more else TARGET
    return CliRunner().invoke(cli, ["fix", str(path), *target, *more])


def validated(path):
    return CliRunner().invoke(cli, ["validate", str(path), *TARGET])


FILES = {
    "serve.sh": SHELL,
    "pod.yaml": MANIFEST,
    "block.yaml": BLOCK,
    "Dockerfile": DOCKER,
    "launch.json": JSON,
    "config.yaml": CONFIG,
    "job.sh": WRAPPED,
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_mended_in_place_and_passes_afterwards(tmp_path, name):
    path = tmp_path / name
    path.write_text(FILES[name])
    assert validated(path).exit_code == 1
    shown = fix(path)
    assert shown.exit_code == 1
    assert shown.stdout.startswith(f"--- a/{str(path).lstrip('/')}\n")
    assert path.read_text() == FILES[name]
    assert fix(path, "--write").exit_code == 0
    assert validated(path).exit_code == 0
    assert fix(path).exit_code == 0
    # Nothing but lines with a flag of the change is touched.
    before, after = FILES[name].splitlines(), path.read_text().splitlines()
    touched = [line for line in before if line not in after]
    assert 1 <= len(touched) <= 3
    assert all("-" in line or "fa3" in line for line in touched)
    assert [line for line in after if "#" in line and line.lstrip().startswith("#")] == [
        line for line in before if line.lstrip().startswith("#")
    ]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("pod.yaml", "        - fa3\n", "        - flashinfer\n"),
        ("block.yaml", "--dcpsize 8 \\\n", "--dcp-size 8 \\\n"),
        ("Dockerfile", '"--tp_size"', '"--tp-size"'),
        ("launch.json", '"fa3"]', '"flashinfer"]'),
        ("config.yaml", "attention-backend: fa3   # why", "attention-backend: flashinfer   # why"),
        ("job.sh", "--attention-backend fa3", "--attention-backend flashinfer"),
    ],
)
def test_the_change_is_the_smallest(tmp_path, name, old, new):
    path = tmp_path / name
    path.write_text(FILES[name])
    fix(path, "--write")
    text = path.read_text()
    expected = FILES[name].replace(old, new)
    # Several backends are as good as each other; only the place of the change matters here.
    for backend in ("triton", "trtllm_mla", "cutedsl_mla", "flashmla"):
        if backend in text and backend not in expected:
            expected = FILES[name].replace(old, new.replace("flashinfer", backend))
    assert text == expected


def test_every_command_of_a_file_is_mended(tmp_path):
    path = tmp_path / "two.sh"
    line = "sglang serve deepseek-ai/DeepSeek-V3 --tp-size 8 --attention-backend {}\n"
    path.write_text(line.format("fa3") + line.format("trtllm_mla") + line.format("trtllm-mla"))
    done = fix(path, "--write")
    assert done.exit_code == 0
    lines = path.read_text().splitlines()
    assert lines[1] == line.format("trtllm_mla").strip()
    assert lines[2] == line.format("trtllm_mla").strip()
    assert done.stderr.count("mended") == 2


def test_a_flag_that_comes_through_a_variable_is_left_alone(tmp_path):
    path = tmp_path / "v.sh"
    text = "B=fa3\nsglang serve deepseek-ai/DeepSeek-V3 --tp-size 8 --attention-backend $B\n"
    path.write_text(text)
    done = fix(path, "--write")
    assert done.exit_code == 1
    assert path.read_text() == text
    assert "comes through B" in done.stderr
    assert "line 1" in done.stderr


BRANCHES = """ARGS=(--model-path deepseek-ai/DeepSeek-V3 --tp-size 16 --nnodes 2)
if [[ "${USE_DCP:-0}" == 1 ]]; then
  ARGS+=(--dcp-size 8)
else
  ARGS+=(%s)
fi
for r in 0 1; do
  srun -N1 python -m sglang.launch_server "${ARGS[@]}" --node-rank $r --dist-init-addr h0:5000 &
done
"""


@pytest.mark.parametrize("target", [("h200", "0.5.18"), ("b200", "0.5.18"), ("h200", "0.5.23")])
def test_a_healthy_branch_that_shares_the_words_keeps_what_it_runs(tmp_path, target):
    path = tmp_path / "v.sh"
    healthy = {
        "h200": "--attention-backend flashmla --page-size 64",
        "b200": "--attention-backend trtllm_mla",
    }
    path.write_text(BRANCHES % healthy[target[0]])
    done = fix(path, "--write", "--gpu", target[0], "--engine-version", target[1])
    assert done.exit_code == 1
    assert path.read_text() == BRANCHES % healthy[target[0]]
    assert 'edit by hand for line 2: [[ "${USE_DCP:-0}" == 1 ]]' in done.stderr
    assert "would run with another" in done.stderr


def test_branches_that_fail_alike_are_mended_together(tmp_path):
    path = tmp_path / "v.sh"
    path.write_text(BRANCHES % "--dcp-size 8 --max-running-requests 64")
    done = fix(path, "--write", "--gpu", "h200", "--engine-version", "0.5.18")
    assert done.exit_code == 0, done.output
    assert path.read_text().count("--attention-backend flashinfer &") == 1


def test_bytes_mode_newlines_and_links_stay(tmp_path):
    path, link = tmp_path / "serve.sh", tmp_path / "link.sh"
    data = b"\xef\xbb\xbf# caf\xc3\xa9\r\n" + WRAPPED.replace("\n", "\r\n").encode()
    path.write_bytes(data)
    path.chmod(0o751)
    link.symlink_to(path)
    assert fix(link, "--write").exit_code == 0
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o751
    after = path.read_bytes()
    assert after.startswith(b"\xef\xbb\xbf# caf\xc3\xa9\r\n")
    assert after.count(b"\r\n") == data.count(b"\r\n")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link.sh", "serve.sh"]


def test_what_a_comment_accepts_is_left_alone(tmp_path):
    path = tmp_path / "serve.sh"
    line = "sglang serve deepseek-ai/DeepSeek-V3 --tp-size 8 --attention-backend fa3\n"
    path.write_text(f"# mlacheck: ignore[MLA191] a patched engine\n{line}")
    assert fix(path).exit_code == 0
    path.write_text(f"# mlacheck: ignore[MLA250] another rule\n{line}")
    assert fix(path).exit_code == 1


def test_the_target_comes_from_the_configuration(tmp_path, monkeypatch):
    path = tmp_path / "serve.sh"
    path.write_text("sglang serve deepseek-ai/DeepSeek-V3 --tp-size 8 --attention-backend fa3\n")
    (tmp_path / "mlacheck.toml").write_text('[profiles.prod]\ngpu = "h200"\nengine-version = "0.5.18"\n')
    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke
    assert run(cli, ["fix", str(path), "--profile", "prod"]).exit_code == 0
    assert run(cli, ["fix", str(path), "--profile", "prod", "--gpu", "b200"]).exit_code == 1
    assert run(cli, ["fix", str(path), "--profile", "none"]).exit_code == 2
    done = run(cli, ["fix", str(path), "--gpu", "b999"])
    assert done.exit_code == 2
    assert "b999" in done.stderr


def test_exit_codes(tmp_path):
    empty, good = tmp_path / "empty.sh", tmp_path / "good.sh"
    empty.write_text("echo hello\n")
    good.write_text("sglang serve deepseek-ai/DeepSeek-V3 --tp-size 8\n")
    assert fix(empty).exit_code == 3
    assert fix(empty, "--allow-empty").exit_code == 0
    assert fix(good, "--write").exit_code == 0
    assert fix(tmp_path / "none.sh").exit_code == 2
    assert CliRunner().invoke(cli, ["fix", "-", "--write"], input="x").exit_code == 2
    shown = CliRunner().invoke(cli, ["fix", "-", *TARGET], input=WRAPPED)
    assert shown.exit_code == 1
    assert shown.stdout.startswith("--- a/-\n")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_to(tmp_path):
    path = tmp_path / "serve.sh"
    path.write_text(WRAPPED)
    tmp_path.chmod(0o555)
    assert fix(path, "--write").exit_code == 2
    tmp_path.chmod(0o755)


VARIABLE = "SGLANG_ENABLE_DP_SPEC_PREFILL_COORDINATION"
IMAGE = "lmsysorg/sglang:v0.5.22"
SERVE = "sglang serve deepseek-ai/DeepSeek-V3 --tp-size 8"
SETTINGS = {
    "a.sh": f"# export {VARIABLE}=1\nexport A=1\n|export {VARIABLE}=1\n|{SERVE}\n",
    "b.sh": f"|{VARIABLE}=1 |A=2 {SERVE}\n",
    "c.sh": f"env A=2| {VARIABLE}='1'| {SERVE}\n",
    "d.sh": f"docker run -e A=1 |-e {VARIABLE}=true |--gpus all {IMAGE} {SERVE}\n",
    "e.sh": f"set -a\n{VARIABLE}=1 # why\nset +a\n{SERVE}\n",
    "Dockerfile": f"FROM {IMAGE}\nENV A=1| {VARIABLE}=1|\nCMD {SERVE}\n",
    "compose.yaml": (
        f"services:\n  a:\n    image: {IMAGE}\n    environment:\n      A: 1\n|      {VARIABLE}: '1'\n|"
        f"    command: {SERVE}\n"
    ),
    "pod.yaml": (
        f"kind: Pod\nspec:\n  containers:\n  - image: {IMAGE}\n    env:\n    - {{name: A, value: x}}\n"
        f'|    - name: {VARIABLE}\n      value: "1"\n|'
        f"    command: [sglang, serve, deepseek-ai/DeepSeek-V3, --tp-size, '8']\n"
    ),
    "flow.yaml": (
        f"kind: Pod\nspec:\n  containers:\n  - image: {IMAGE}\n"
        f"    env: [|{{name: {VARIABLE}, value: 'true'}}, |{{name: A, value: x}}]\n"
        f"    command: [sglang, serve, deepseek-ai/DeepSeek-V3, --tp-size, '8']\n"
    ),
    "engine.service": f"[Service]\nEnvironment=A=1| {VARIABLE}=1|\nExecStart=/usr/bin/{SERVE}\n",
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_variable_is_taken_out_where_the_file_sets_it(tmp_path, name):
    path = tmp_path / name
    kept = SETTINGS[name].split("|")[::2]
    path.write_text(SETTINGS[name].replace("|", ""))
    done = fix(path, "--write", "--gpu", "h200", "--engine-version", "0.5.22")
    assert done.exit_code == 0, done.output
    assert path.read_text() == ("".join(kept) if len(kept) > 1 else kept[0].replace(f"{VARIABLE}=1 ", ""))


def test_a_variable_is_set_to_another_value_in_its_quotes(tmp_path):
    path = tmp_path / "v.sh"
    text = (
        "export SGLANG_RAGGED_VERIFY_MODE={}\nsglang serve deepseek-ai/DeepSeek-V3 --tp-size 8 --dp-size 8 "
        "--enable-dp-attention --enable-dp-lm-head --moe-a2a-backend megamoe --speculative-algorithm DSPARK "
        "--speculative-draft-model-path draft\n"
    )
    path.write_text(text.format('"compact"'))
    done = fix(path, "--write", "--gpu", "b200", "--engine-version", "0.5.19")
    assert path.read_text() == text.format('"static"'), done.output


def test_a_variable_that_comes_from_elsewhere_is_left_alone(tmp_path):
    (tmp_path / "settings.sh").write_text(f"export {VARIABLE}=1\n")
    path = tmp_path / "v.sh"
    path.write_text(f"source settings.sh\n{SERVE}\n")
    done = fix(path, "--gpu", "h200", "--engine-version", "0.5.22")
    assert done.exit_code == 1
    assert "the file does not settle where the variable is set" in done.stderr


@pytest.mark.parametrize("mark", [">", ">-", ""])
def test_a_flag_alone_on_its_line_of_a_folded_text_goes_with_its_line(tmp_path, mark):
    path = tmp_path / "compose.yaml"
    path.write_text(
        "services:\n  a:\n    image: lmsysorg/sglang:v0.5.18\n"
        "    environment:\n      - HF_TOKEN=${HF_TOKEN}\n"
        f"    command: {mark}\n"
        '      bash -c "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3\n'
        "      --tp-size 8\n"
        "      --dcp-size 8\n"
        '      --attention-backend trtllm_mla --speculative-algorithm EAGLE"\n'
    )
    before = path.read_text()
    assert fix(path, "--write").exit_code == 0
    assert path.read_text() == before.replace("      --dcp-size 8\n", "")


PYTHON = '''\
import subprocess
MODEL = "deepseek-ai/DeepSeek-V3"
cmd = ["sglang", "serve", MODEL, "--tp-size", "8"]
cmd += ["--attention-backend", "trtllm_mla"]
subprocess.Popen(cmd)
subprocess.run(f"""
sglang serve {MODEL} \\\\
  --tp-size 8 \\\\
  --attention-backend trtllm_mla
""", shell=True)
'''


def test_python_is_mended_where_the_words_are_written(tmp_path):
    path = tmp_path / "serve.py"
    path.write_text(PYTHON)
    done = fix(path, "--write", "--gpu", "h200", "--engine-version", "0.5.22")
    assert done.exit_code == 0, done.output
    changed = [line for line in path.read_text().splitlines() if line not in PYTHON.splitlines()]
    assert changed == ["cmd += []", "  --tp-size 8"]
    compile(path.read_text(), "serve.py", "exec")


MORE = " --decode-attention-backend flashinfer"
LINE = "sglang serve deepseek-ai/DeepSeek-V3 --tp-size 8 --dcp-size 8 --attention-backend trtllm_mla"


@pytest.mark.parametrize(
    ("words", "exit_code", "printed", "said"),
    [
        (
            ["--args", f"A=1 {LINE} # x"],
            0,
            f"A=1 {LINE}{MORE} # x",
            "MLA250 mended",
        ),
        (
            ["--", *LINE.split()],
            0,
            LINE + MORE,
            "--:1: MLA250 mended: set",
        ),
        (["--args", "--model-path deepseek-ai/DeepSeek-V3 --tp 8"], 0, None, "nothing to mend"),
        (["--args", f"X=8 bash -c '{LINE[:56]} $X'"], 1, None, "edit by hand on line 1"),
        (["--args", "echo hi"], 3, "", "starts no engine"),
        (["--args", "sglang serve 'x"], 2, "", "never closed"),
        (["--args", LINE, "a.sh"], 2, "", "exactly one of"),
        ([], 2, "", "exactly one of FILE..., --args TEXT and -- COMMAND..."),
        (["--write", "--args", LINE], 2, "", "cannot be written back"),
    ],
)
def test_a_line_of_the_command_line_is_printed_corrected(words, exit_code, printed, said):
    target = ["--no-config", "--gpu", "b200", "--engine-version", "0.5.18"]
    done = CliRunner().invoke(cli, ["fix", *target, *words])
    assert said in done.stderr
    assert done.exit_code == exit_code
    assert done.stdout.rstrip("\n") == (words[-1] if printed is None else printed)


@pytest.mark.parametrize(
    ("name", "text", "after"),
    [
        ("x.ps1", "sglang serve a/m `\n  --bogus `\n  --port 1\n", "sglang serve a/m `\n  --port 1\n"),
        ("x.bat", "sglang serve a/m ^\n  --bogus\n", "sglang serve a/m\n"),
        ("x.sh", 'sglang serve a/m --bogus "$@"\n', 'sglang serve a/m "$@"\n'),
        ("x.sh", "sglang serve a/m --bogus $EXTRA --port 1\n", "sglang serve a/m $EXTRA --port 1\n"),
    ],
)
def test_only_the_words_of_a_flag_go(tmp_path, name, text, after):
    path = tmp_path / name
    path.write_text(text)
    fix(path, "--write", "--gpu", "h200", "--engine-version", "0.5.22")
    assert path.read_text() == after


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ('CMD ["sglang", "serve", "a/m", \\\n     "--bogus"]\n', 'CMD ["sglang", "serve", "a/m"]\n'),
        (
            'CMD ["sglang", \\\n "serve", "a/m", \\\n "--bogus", \\\n "--port", "1"]\n',
            'CMD ["sglang", \\\n "serve", "a/m", \\\n "--port", "1"]\n',
        ),
        (
            'ENTRYPOINT ["sh", "-c", "exec sglang serve a/m --bogus \\"$@\\"", "--"]\n',
            'ENTRYPOINT ["sh", "-c", "exec sglang serve a/m \\"$@\\"", "--"]\n',
        ),
    ],
)
def test_the_lists_of_a_dockerfile_stay_lists(tmp_path, text, after):
    path = tmp_path / "Dockerfile"
    path.write_text(f"FROM x\n{text}")
    fix(path, "--write", "--gpu", "h200", "--engine-version", "0.5.22")
    assert path.read_text() == f"FROM x\n{after}"


@pytest.mark.parametrize("given", ["serve", "vllm serve"])
def test_what_an_image_starts_itself_is_dropped_and_not_the_model(given):
    line = f"docker run vllm/vllm-openai:v0.33.0 {given} Qwen/Qwen3-8B -tp 3"
    done = CliRunner().invoke(
        cli, ["fix", "--no-config", "--gpu", "h200", "--engine-version", "0.33.0", "--args", line]
    )
    assert done.stdout == "docker run vllm/vllm-openai:v0.33.0 Qwen/Qwen3-8B -tp 8\n"
