from __future__ import annotations

import sys

import pytest

from mlacheck.probes.child import ask
from mlacheck.probes.flashinfer import read_installed
from mlacheck.probes.importing import ImportProbe, disagreement, probe_import

FUNCTION = "def trtllm_batch_decode_with_kv_cache_mla(query, enable_dcp=False): ...\n"


def python(folder, site):
    """Write an interpreter that sees `site`, as an environment's own would."""
    script = folder / "python"
    script.write_text(f'#!/bin/sh\nPYTHONPATH={site} exec {sys.executable} "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return str(script)


@pytest.fixture
def probe(tree, tmp_path):
    """Give a function that compares the source of a decode module with its import."""

    def run(decode, **kwargs):
        source = tree(tmp_path / "site", {"decode.py": decode})
        imported = probe_import(python(tmp_path, tmp_path / "site"), **kwargs)
        return imported, disagreement(read_installed(source.root, None), imported)

    return run


def test_import_that_agrees(probe):
    imported, broken = probe("print('a banner')\n" + FUNCTION)
    assert imported == ImportProbe(("query", "enable_dcp"))
    assert broken is None


def test_import_that_fails(probe):
    imported, broken = probe(FUNCTION + "raise ImportError('libcudart.so.13: cannot open')\n")
    assert imported.parameters is None
    assert "libcudart.so.13" in imported.failure
    assert "cannot be imported" in broken.message


def test_import_that_differs(probe):
    text = FUNCTION + "globals()['trtllm_batch_decode_with_kv_cache_mla'] = lambda query, extra: None\n"
    _, broken = probe(text)
    assert "only the import has extra" in broken.message
    assert "only the source has enable_dcp" in broken.message


def test_import_that_hangs(probe):
    imported, _ = probe("import time\ntime.sleep(60)\n", timeout_s=0.5)
    assert imported.failure == "no answer within 0.5 s"


def test_nothing_to_compare(probe):
    imported, broken = probe("x = 1\n")
    assert imported.parameters is None
    assert broken is None


@pytest.mark.parametrize(
    ("code", "failure"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "killed by SIGSEGV"),
        ("raise SystemExit(3)", "exit status 3 without a message"),
        ("raise ValueError('x')", "ValueError: x"),
        ("pass", "exit status 0 without a message"),
    ],
)
def test_a_child_that_dies_is_an_answer(code, failure):
    assert ask(code).failure == failure


def test_the_working_folder_shadows_nothing(tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text("raise SystemExit('shadowed')\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert ask("answer(1)").value == 1


def test_no_such_interpreter(tmp_path):
    assert "cannot be started" in ask("answer(1)", python=str(tmp_path / "no-python")).failure
