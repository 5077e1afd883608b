from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig

import pytest
import yaml


@pytest.fixture
def action(root):
    return yaml.safe_load((root / "action.yml").read_text(encoding="utf-8"))


@pytest.fixture
def check(action, environ, tmp_path):
    """Run the action's check as the runner would: its script under bash, its inputs in the environment."""
    step = action["runs"]["steps"][1]
    summary = tmp_path / "summary.md"

    def check(folder, **inputs):
        values = {name: str(one["default"]) for name, one in action["inputs"].items()}
        values |= inputs
        env = {
            name: values[text.split("inputs.")[1].split()[0]]
            for name, text in step["env"].items()
            if "inputs." in text
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=folder,
            env={**environ, **env, "GITHUB_STEP_SUMMARY": str(summary)},
            capture_output=True,
            text=True,
            check=False,
        )
        return done, summary.read_text(encoding="utf-8") if summary.exists() else ""

    return check


def test_the_action_is_valid_against_githubs_schema(root):
    words = ["--builtin-schema", "vendor.github-actions", str(root / "action.yml")]
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_no_input_is_pasted_into_a_script(action):
    for step in action["runs"]["steps"]:
        assert "${{" not in step["run"]


def test_a_refused_line_is_annotated_summed_up_and_fails(check, repository, bad, good):
    folder = repository(**{"deploy/a.sh": f"#!/bin/bash\n{bad}", "b.sh": good, "c.txt": bad})
    done, summary = check(folder, sarif="x.sarif")
    assert done.returncode == 1, done.stderr
    assert "::error file=deploy/a.sh,line=2,col=" in done.stdout
    assert "title=MLA194" in done.stdout
    assert "c.txt" not in done.stdout
    assert summary.startswith("### mlacheck")
    assert "deploy/a.sh:2" in summary
    assert "deploy/a.sh" in (folder / "x.sarif").read_text()


def test_lines_that_pass_pass_and_unknown_ones_do_not(check, repository, good):
    assert check(repository("one", **{"a.sh": good}))[0].returncode == 0
    done, _ = check(repository("two", **{"a.sh": good.replace("meta-llama/", "nobody/knows-")}))
    assert done.returncode == 1
    assert "verdict unknown" in done.stdout


def test_nothing_to_check_passes(check, repository):
    assert check(repository("one", **{"a.sh": "echo hello\n"}))[0].returncode == 0
    done, _ = check(repository("two"), files="*.nothing")
    assert done.returncode == 0
    assert "no file matches" in done.stdout


def test_inputs_are_words_whatever_they_hold(check, repository, bad, good):
    config = "[profiles.'a $(touch hacked)']\ngpu = 'b200'\nengine-version = '0.5.18'\n"
    folder = repository(**{"mlacheck.toml": config, "my file.sh": bad, "x.sh": good})
    done, _ = check(folder, profile="a $(touch hacked)", options="--ignore\nMLA194\n", files="my*\n")
    assert done.returncode == 0, done.stderr
    assert not (folder / "hacked").exists()


def test_the_install_step_puts_a_whole_mlacheck_on_the_path(action, root, tmp_path, bad):
    """What it needs to build and run is taken from this environment, so that no index is asked."""
    step = action["runs"]["steps"][0]
    path = tmp_path / "path"
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "RUNNER_TEMP": str(tmp_path / "temp of it"),
        "GITHUB_PATH": str(path),
        "PYTHON": sys.executable,
        "SOURCE": str(root),
        "PIP_NO_INDEX": "1",
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip's way to say that there is none
        "PYTHONPATH": sysconfig.get_path("purelib"),
    }
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    folder = path.read_text(encoding="utf-8").strip()
    for name in ("mlacheck", "mlacheck-entrypoint"):
        assert shutil.which(name, path=folder)
    (tmp_path / "a.sh").write_text(bad, encoding="utf-8")
    words = [f"{folder}/mlacheck", "validate", "--gpu", "b200", "--engine-version", "0.5.18", "a.sh"]
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "MLA194" in done.stdout
    where = "import mlacheck.data as data; print(data.rules_root())"
    python = f"{folder}/python"
    done = subprocess.run(
        [python, "-c", where], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(env["RUNNER_TEMP"])
