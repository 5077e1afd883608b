from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig

import pytest

MARKED = "# not a launch line\necho python3 is a program\n"


@pytest.fixture
def run(environ, tmp_path):
    def run(*words, cwd, **env):
        return subprocess.run(
            [sys.executable, "-m", "pre_commit", *words],
            cwd=cwd,
            env={**environ, "PRE_COMMIT_HOME": str(tmp_path / "pre-commit"), **env},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    return run


def configured(hook, repository, **more):
    """Give the text of a pre-commit configuration that takes a hook from a repository's first commit."""
    lines = [f"{key}: {value}" for key, value in {"id": hook, **more}.items()]
    return f"repos:\n- repo: {repository}\n  rev: HEAD\n  hooks:\n  - " + "\n    ".join(lines) + "\n"


@pytest.mark.parametrize("hook", ["mlacheck", "mlacheck-system"])
def test_the_manifest_is_one_that_pre_commit_accepts(run, root, hook, hooks):
    assert run("validate-manifest", str(root / ".pre-commit-hooks.yaml"), cwd=root).returncode == 0
    assert "--allow-empty" in hooks[hook]["entry"].split()
    assert hooks[hook]["language"] == {"mlacheck": "python", "mlacheck-system": "system"}[hook]


def test_the_system_hook_stops_a_commit_that_holds_a_refused_line(run, root, repository, environ, good, bad):
    source = repository("hooks", **{".pre-commit-hooks.yaml": (root / ".pre-commit-hooks.yaml").read_text()})
    work = repository(
        "work",
        **{
            ".pre-commit-config.yaml": configured("mlacheck-system", source),
            "plain.sh": MARKED,
            "notes.txt": bad,
        },
    )
    assert run("install", cwd=work).returncode == 0

    def commit(name, text):
        (work / name).write_text(text)
        subprocess.run(["git", "add", name], cwd=work, check=True, env=environ)
        return subprocess.run(
            ["git", "commit", "-m", name],
            cwd=work,
            env={**environ, "PRE_COMMIT_HOME": str(work.parent / "pre-commit")},
            capture_output=True,
            text=True,
            check=False,
        )

    refused = commit("deploy.sh", f"#!/bin/bash\n{bad}")
    assert refused.returncode == 1
    assert "deploy.sh:2" in refused.stdout + refused.stderr
    assert "error[MLA194]" in refused.stdout + refused.stderr
    passed = commit("deploy.sh", f"#!/bin/bash\n{good}")
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert commit("plain.sh", f"{MARKED}echo more\n").returncode == 0  # no launch line in it
    assert commit("notes.txt", f"{bad} again").returncode == 0  # not a file that is looked at


def test_the_isolated_hook_built_from_this_checkout_without_the_network(
    run, root, repository, environ, good, bad, tmp_path
):
    """The environment is built for real, from this checkout; what it needs is taken from this interpreter."""
    source = tmp_path / "source"
    ignore = shutil.ignore_patterns(".git", "_compiled", "__pycache__", ".venv", "conformance", ".*_cache")
    shutil.copytree(root, source, ignore=ignore)
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"]):
        subprocess.run(["git", *words], cwd=source, check=True, env=environ)
    work = repository(
        "work",
        **{
            ".pre-commit-config.yaml": configured("mlacheck", source),
            "bad.yaml": f"command: [bash, -c, '{bad.strip()}']\n",
            "good.sh": good,
        },
    )
    installed = sysconfig.get_paths()["purelib"]
    offline = {
        "PIP_NO_INDEX": "1",
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip reads this one the wrong way round: off
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PYTHONPATH": installed,
        "VIRTUALENV_NO_PERIODIC_UPDATE": "1",
    }
    done = run("run", "--all-files", "--verbose", cwd=work, **offline)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "bad.yaml:1" in done.stdout, done.stdout + done.stderr
    assert re.search(r"error\[MLA194\]", done.stdout)
    environment = next((tmp_path / "pre-commit").glob("repo*/py_env-*/bin/mlacheck"))
    assert environment.is_file()
    (work / "bad.yaml").unlink()
    subprocess.run(["git", "rm", "-q", "--cached", "bad.yaml"], cwd=work, check=True, env=environ)
    again = run("run", "--all-files", cwd=work, **offline)
    assert again.returncode == 0, again.stdout + again.stderr


@pytest.mark.parametrize(
    ("name", "looked_at"),
    [
        ("run.sh", True),
        ("deploy/job.slurm", True),
        ("job.sbatch", True),
        ("k8s/engine.yaml", True),
        ("compose.yml", True),
        ("Dockerfile", True),
        ("docker/Dockerfile.cuda", True),
        ("serve.dockerfile", True),
        ("x/Containerfile", True),
        ("launch.py", True),
        ("args.json", True),
        ("README.md", False),
        ("Dockerfiles.txt", False),
        ("a.shx", False),
    ],
)
def test_which_files_the_hooks_look_at(hooks, name, looked_at):
    for hook in hooks.values():
        assert (re.search(hook["files"], name) is not None) is looked_at
