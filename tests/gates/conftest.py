from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
GOOD = "python3 -m sglang.launch_server --model-path meta-llama/Llama-3.1-8B-Instruct --tp-size 1\n"
BAD = (
    "python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp-size 8 --dcp-size 8 "
    "--attention-backend trtllm_mla --speculative-algorithm EAGLE\n"
)
TARGET = "gpu = 'b200'\nengine-version = '0.5.18'\n"


@pytest.fixture
def good():
    return GOOD


@pytest.fixture
def bad():
    return BAD


@pytest.fixture
def root():
    return ROOT


@pytest.fixture
def bin_(tmp_path):
    """A folder with the `mlacheck` of this checkout, as an installation would put it on the PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "mlacheck"
    script.write_text(f"#!/bin/sh\nPYTHONPATH='{ROOT}' exec '{sys.executable}' -m mlacheck \"$@\"\n")
    script.chmod(0o755)
    (folder / "mlacheck-entrypoint").symlink_to(ROOT / "gates" / "mlacheck-entrypoint")
    return folder


@pytest.fixture
def environ(bin_, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    return {
        "PATH": f"{bin_}:{os.environ['PATH']}",
        "HOME": str(home),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.com",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.com",
    }


@pytest.fixture
def repository(tmp_path, environ):
    """A git repository with a target and what else it is given; every file is committed."""

    def make(name="work", **files):
        folder = tmp_path / name
        folder.mkdir()
        subprocess.run(["git", "init", "-q", folder], check=True, env=environ)
        for path, text in {"mlacheck.toml": TARGET, **files}.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        subprocess.run(["git", "add", "-A"], cwd=folder, check=True, env=environ)
        subprocess.run(["git", "commit", "-qm", "x"], cwd=folder, check=True, env=environ)
        return folder

    return make


@pytest.fixture
def blocks():
    """The code blocks of docs/gates.md by their heading."""
    text = (ROOT / "docs" / "gates.md").read_text(encoding="utf-8")
    sections = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)[1:]
    return {
        heading: re.search(r"^```\w+\n(.*?)^```", body, re.MULTILINE | re.DOTALL)[1]
        for heading, body in zip(sections[::2], sections[1::2], strict=True)
    }


@pytest.fixture
def hooks():
    return {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
