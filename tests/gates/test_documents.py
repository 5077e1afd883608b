from __future__ import annotations

import json
import subprocess
import sys

import pytest
import yaml


def schema(name, path):
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", name, str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("heading", "name", "file"),
    [
        ("GitHub", "vendor.github-workflows", "workflow.yml"),
        ("GitLab", "vendor.gitlab-ci", ".gitlab-ci.yml"),
    ],
)
def test_documented_jobs_are_valid_against_their_schema(blocks, tmp_path, heading, name, file):
    (tmp_path / file).write_text(blocks[heading])
    assert schema(name, tmp_path / file)[0] == 0, schema(name, tmp_path / file)[1]


def test_the_documented_action_takes_inputs_that_exist(blocks, root):
    inputs = yaml.safe_load((root / "action.yml").read_text())["inputs"]
    steps = yaml.safe_load(blocks["GitHub"])["jobs"]["mlacheck"]["steps"]
    used = next(step for step in steps if "mlacheck@" in step["uses"])
    assert set(used["with"]) <= set(inputs)


def test_the_documented_hook_exists(blocks, hooks, tmp_path):
    config = yaml.safe_load(blocks["pre-commit"])
    assert config["repos"][0]["hooks"][0]["id"] in hooks
    path = tmp_path / "config.yaml"
    path.write_text(blocks["pre-commit"])
    words = [sys.executable, "-m", "pre_commit", "validate-config", str(path)]
    assert subprocess.run(words, check=False).returncode == 0


def test_the_documented_gitlab_job_runs(blocks, repository, environ, bad):
    folder = repository(**{"deploy/a.sh": bad})
    job = yaml.safe_load(blocks["GitLab"])["mlacheck"]
    script = "\n".join(line for line in job["script"] if "pip install" not in line)
    done = subprocess.run(
        ["bash", "-e", "-c", script], cwd=folder, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "MLA194" in (folder / job["artifacts"]["reports"]["junit"]).read_text()


def test_the_documented_pod_is_one_and_its_line_is_found_once(blocks, tmp_path, environ):
    (pod,) = yaml.safe_load_all(blocks["Kubernetes"])
    assert pod["kind"] == "Pod"
    init, engine = pod["spec"]["initContainers"][0], pod["spec"]["containers"][0]
    assert init["args"] == engine["command"]
    (tmp_path / "pod.yaml").write_text(blocks["Kubernetes"])
    words = ["mlacheck", "validate", "--format", "json", "--gpu", "h200", "pod.yaml"]
    done = subprocess.run(words, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    reports = json.loads(done.stdout)
    reports = reports if isinstance(reports, list) else [reports]
    assert {report["engine"]["version"] for report in reports} == {"0.5.18"}
    assert all("--tp-size 8" in report["command"] for report in reports)


def test_the_documented_init_container_checks_the_line(blocks, tmp_path, environ):
    """What the kubelet would run, without the decode check, which needs its GPU."""
    init = yaml.safe_load(blocks["Kubernetes"])["spec"]["initContainers"][0]
    words = [word for word in init["command"] if word != "--decode-check"]
    words[2:2] = ["--gpu", "h200", "--engine-version", "0.5.18"]
    done = subprocess.run(
        [*words, *init["args"]], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_wrapper_that_the_image_starts_is_shipped(blocks, root):
    assert 'ENTRYPOINT ["mlacheck-entrypoint"]' in blocks["Container entrypoint"]
    project = (root / "pyproject.toml").read_text()
    assert '"gates/mlacheck-entrypoint" = "mlacheck-entrypoint"' in project
