"""How much is worked out for a run, counted: what costs time must not come back unnoticed."""

import subprocess
import sys
from pathlib import Path

import pytest

from mlacheck.launch import parse_text
from mlacheck.probes.target import TargetFlags
from mlacheck.ruleset import expression, load, machine
from mlacheck.ruleset.load import load_program
from mlacheck.session import Session

STRANGE = "--model-path somebody/model-nobody-knows --tp-size 8"
FAILING = (
    "--model-path deepseek-ai/DeepSeek-V3 --tp-size 8 --dcp-size 8 --attention-backend trtllm_mla "
    "--speculative-algorithm EAGLE"
)


def command(text):
    return parse_text(text, default_engine="sglang").commands[0]


@pytest.fixture
def worked(monkeypatch):
    """Names of the rules that were worked out three-valued."""
    slugs = []

    def counted(work):
        return lambda step, now: slugs.append(step.slug) or work(step, now)

    for name in ("_decide", "_choose"):
        monkeypatch.setattr(machine, name, counted(getattr(machine, name)))
    load_program.cache_clear()  # with what the rules came to in other tests
    return slugs


def test_open_facts_of_one_kind_are_worked_out_once(worked):
    session = Session(TargetFlags(engine_version="0.5.23"))
    session.check(command(STRANGE))
    # Of seven GPUs each is worked out for the rules that read what it changes.
    assert 0 < len(worked) < 1200
    worked.clear()
    session.check(command(f"{STRANGE} --served-model-name chat --port 8000"))
    assert len(worked) < 10
    session.check(command(f"{STRANGE} --mem-fraction-static 0.8"))
    assert len(worked) < 30


def test_hits_of_a_search_are_not_written_out(monkeypatch):
    written = []
    message = machine.Run._message
    monkeypatch.setattr(
        machine.Run, "_message", lambda self, step, f: written.append(step.slug) or message(self, step, f)
    )
    session = Session(TargetFlags(engine_version="0.5.18", gpu="b200"))
    report = session.check(command(FAILING))
    assert any(finding.remedies for finding in report.findings)
    assert 0 < len(written) <= 6


def test_a_search_takes_few_runs_and_parses_few_expressions(monkeypatch):
    work = {"run": 0, "parse": 0}

    def counted(name, made):
        def count(*given, **named):
            work[name] += 1
            return made(*given, **named)

        return count

    monkeypatch.setattr(load.Compiled, "apply", counted("run", load.Compiled.apply))
    monkeypatch.setattr(expression, "parse", counted("parse", expression.parse))
    load_program.cache_clear()  # with what other tests parsed
    report = Session(TargetFlags(engine_version="0.5.18", gpu="b200")).check(command(FAILING))
    assert any(finding.remedies for finding in report.findings)
    assert 0 < work["run"] <= 70
    assert 0 < work["parse"] <= 25


# Each takes longer to import than all the rules take to run.
SLOW = ("importlib.metadata", "email", "yaml", "pydantic", "rich", "torch", "difflib", "tempfile")


@pytest.mark.parametrize(
    "words", [["--gpu", "b200", "--engine-version", "0.5.23"], []], ids=["named", "nothing named"]
)
def test_a_line_that_passes_imports_nothing_slow(words, tmp_path):
    line = "python -m sglang.launch_server --model-path Qwen/Qwen3-8B"
    code = (
        "import sys\nfrom mlacheck.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    print(end.code, *sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "validate", "--args", line, *words],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(Path(__file__).parents[2])},
    )
    code, *modules = done.stdout.splitlines()[-1].split()
    assert code == "0"
    assert "mlacheck.validate" in modules
    assert [name for name in SLOW if name in modules] == []
