from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def path(tmp_path):
    script = tmp_path / "mlacheck"
    script.write_text(f"#!/bin/sh\nPYTHONPATH='{ROOT}' exec '{sys.executable}' -m mlacheck \"$@\"\n")
    script.chmod(0o755)
    return f"{tmp_path}:{os.environ['PATH']}"


def completed(path, folder, line):
    """Complete a line in a real bash that has read the documented script."""
    words = line.split(" ")
    script = f"""
        eval "$(_MLACHECK_COMPLETE=bash_source mlacheck)"
        COMP_WORDS=({line if words[-1] else line + "''"}); COMP_CWORD={len(words) - 1}; COMPREPLY=()
        _mlacheck_completion mlacheck
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "-c", script],
        env={"PATH": path, "HOME": str(folder)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.stderr, done.stderr
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="completes in a real bash")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("mlacheck val", ["validate"]),
        ("mlacheck validate --write", ["--write-baseline"]),
        ("mlacheck validate --format sa", ["sarif"]),
        ("mlacheck validate --gpu gb2", ["gb200"]),
        ("mlacheck validate --profile pr", ["prod", "preview"]),
    ],
)
def test_bash_completes_commands_flags_and_values(path, tmp_path, line, offered):
    (tmp_path / "mlacheck.toml").write_text("[profiles.prod]\n[profiles.preview]\n[profiles.lab]\n")
    assert completed(path, tmp_path, line) == offered


def test_a_broken_configuration_offers_nothing(path, tmp_path):
    (tmp_path / "mlacheck.toml").write_text("gpus = 1\n")
    assert completed(path, tmp_path, "mlacheck validate --profile p") == []


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_a_script(path, tmp_path, shell):
    done = subprocess.run(
        ["mlacheck"],
        env={"PATH": path, "_MLACHECK_COMPLETE": f"{shell}_source"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"_MLACHECK_COMPLETE={shell}_complete" in done.stdout
