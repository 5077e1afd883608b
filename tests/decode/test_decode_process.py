"""The parent's side: every way a child can end becomes a row; nothing here needs torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mlacheck.decode import conversation, decode_check, run
from mlacheck.decode.contract import row_names
from mlacheck.decode.problem import DecodeProblem
from mlacheck.decode.row import DecodeReport, Row

PROBLEM = DecodeProblem(heads=2, latent_dim=8, rope_dim=4, softmax_scale=0.3, dcp_size=2, page_size=4)


def run_child(code: str, *, time_limit: float = 30.0, **options: object) -> DecodeReport:
    """Run Python code in place of the child."""
    command = [sys.executable, "-c", code]
    return run(PROBLEM.to_dict(), "reference", time_limit, command=command, **options)


def say(**event: object) -> str:
    return f"print({json.dumps(json.dumps(event))}, flush=True)\n"


RUNS = say(row=Row("runs", "passes").to_dict()) + say(started="one-rank decode")


def test_importing_the_package_imports_no_torch():
    code = "import sys, mlacheck.decode; sys.exit('torch' in sys.modules or 'flashinfer' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_rows_progress_and_noise():
    told: list[str] = []
    report = run_child(
        say(progress="working")
        + "print('noise of a compiler')\n"
        + RUNS
        + say(device="Some GPU", sm=90, version="1")
        + say(done=1),
        on_progress=told.append,
    )
    assert [row.name for row in report.rows] == ["runs"]
    assert (report.device, report.sm, report.backend_version) == ("Some GPU", 90, "1")
    assert told == ["working"]
    assert report.ok
    assert not report.could_not_run


def test_a_crash_is_the_row_that_was_running():
    report = run_child(RUNS + "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert [row.name for row in report.rows] == list(row_names(PROBLEM))
    assert report.rows[1].state == "fails"
    assert "SIGSEGV" in report.rows[1].detail
    assert {row.state for row in report.rows[2:]} == {"not run"}
    assert report.bad == (report.rows[1],)


def test_an_exit_tells_the_last_words():
    report = run_child("import sys; sys.stderr.write('mlacheck: progress\\nno space left\\n'); sys.exit(3)")
    assert report.rows[0] == Row(
        "runs", "fails", detail="the child process exited with status 3; its last words: no space left"
    )


def test_a_crash_after_the_last_row_is_nothing():
    report = run_child(RUNS + say(done=True) + "import os; os._exit(9)")
    assert report.ok


def test_silence_is_a_failure():
    assert run_child("pass").rows[0].detail == "the child process said nothing"


def test_a_hang_ends_at_the_time_limit_with_all_that_it_started(tmp_path):
    mark = tmp_path / "pid"
    sleeper = "import subprocess, time; p = subprocess.Popen(['sleep', '60'])\n"
    sleeper += f"open({str(mark)!r}, 'w').write(str(p.pid))\n"
    began = time.monotonic()
    report = run_child(RUNS + sleeper + "time.sleep(60)", time_limit=1.5)
    assert time.monotonic() - began < 20
    assert report.rows[1].detail == "no end after the time limit of 1.5 s"
    assert report.rows[1].state == "fails"
    pid = int(mark.read_text())
    for _ in range(50):
        if not _runs(pid):
            break
        time.sleep(0.1)
    assert not _runs(pid)


def _runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:  # noqa: PTH123
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        return not os.path.exists("/proc")  # noqa: PTH110


def test_a_child_that_does_not_start():
    report = run(PROBLEM.to_dict(), "reference", 5, command=["/nonexistent/python"])
    assert "did not start" in report.rows[0].detail


def test_missing_torch_is_not_run_with_the_next_step():
    report = run_child(
        "import sys; sys.modules['torch'] = None\nfrom mlacheck.decode import child; sys.exit(child.main())"
    )
    assert report.rows == (
        Row("runs", "not run", detail="torch is not installed; pip install 'mlacheck[gpu]'"),
    )
    assert report.could_not_run


def test_unknown_backend_and_bad_problem():
    assert "adapters exist for reference, flashinfer" in run(PROBLEM.to_dict(), "abacus").rows[0].detail
    assert "at least 1" in run({**PROBLEM.to_dict(), "heads": 0}, "reference").rows[0].detail
    assert "no kv_lora_rank" in decode_check({}, backend="reference").rows[0].detail


def test_reports_are_json():
    rows = (Row("merged", "wrong", float("inf"), 0.01, 0.0, values={"merged": float("inf")}),)
    report = DecodeReport(rows, "reference", problem=PROBLEM.to_dict())
    text = json.dumps([report.to_dict(), report.to_list()], allow_nan=False)
    assert '"measured": "inf"' in text
    assert report.to_list()[0]["backend"] == "reference"


@pytest.mark.parametrize("state", ["fails", "wrong", "unsupported by the kernel"])
def test_bad_rows(state):
    report = DecodeReport((Row("runs", "passes"), Row("merged", state)), "reference")
    assert [row.name for row in report.bad] == ["merged"]
    assert not report.ok


FAKE = Path(__file__).with_name("fake_child.py")
SMALL = DecodeProblem(
    heads=1, latent_dim=64, rope_dim=16, softmax_scale=0.2, dcp_size=4, page_size=4, context_lengths=(40, 33)
)
KINDS = {
    "hang": "no end after the time limit of 4 s",
    "crash": "the child process was ended by SIGSEGV; its last words: Fatal: the kernel library gave up",
    "illegal-access": "RuntimeError: CUDA error: an illegal memory access was encountered",
    "out-of-memory": "out of GPU memory: CUDA out of memory. Tried to allocate 90.00 GiB",
    "build-failure": 'the kernel does not compile here: x.cu(7): error: identifier "foo" is undefined',
    "download": "the kernel package tried to download from kernels.example",
    "exception": "ValueError: num_heads must be a multiple of 16",
}


def run_fake(kind, **options):
    pytest.importorskip("torch", reason="torch is not installed: the decode check itself needs it")
    return run(SMALL.to_dict(), "reference", 120, command=[sys.executable, str(FAKE), kind], **options)


@pytest.mark.parametrize(("kind", "cause"), KINDS.items())
def test_a_bad_row_is_a_finding_and_the_next_row_still_runs(kind, cause):
    told: list[str] = []
    report = run_fake(kind, row_limit_s=4, on_progress=told.append)
    assert [row.name for row in report.rows] == list(row_names(SMALL))
    rows = {row.name: row for row in report.rows if row.needed}
    assert rows["empty ranks"].state == "fails"
    assert rows["empty ranks"].detail.startswith(cause)
    assert {row.state for name, row in rows.items() if name != "empty ranks"} == {"passes"}
    assert report.outcome == "reference fails: empty ranks"
    assert any("compiles the kernel" in line for line in told)
    fresh = kind in {"hang", "crash", "illegal-access"}
    assert any("going on with 'page table' in a new process" in line for line in told) == fresh


@pytest.mark.parametrize("kind", ["crash", "build-failure", "download"])
def test_a_kernel_that_fails_at_once_is_not_tried_again(kind):
    report = run_fake(f"{kind}-at-once")
    assert report.rows[0].state == "fails"
    assert report.rows[0].detail.startswith(KINDS[kind])
    assert {row.state for row in report.rows[1:]} == {"not run"}


def test_a_long_row_gives_signs_of_life(monkeypatch):
    monkeypatch.setattr(conversation, "_HEARTBEAT_S", 0.3)
    told: list[str] = []
    run_child(
        say(started="runs") + "import time; time.sleep(1)\n" + RUNS + say(done=1), on_progress=told.append
    )
    assert any(line.startswith("still in runs after ") for line in told)


def test_what_a_report_says_of_the_kernel():
    def outcome(*states):
        return DecodeReport(tuple(Row(f"r{i}", state) for i, state in enumerate(states)), "x").outcome

    assert outcome("passes", "passes") == "kernel verified"
    assert outcome("passes", "not run") == "kernel verified, without r1"
    assert outcome("passes", "wrong", "fails") == "kernel wrong: r1"
    assert outcome("passes", "fails", "unsupported by the kernel") == "kernel fails: r1, r2"
    assert DecodeReport((Row("runs", "not run", detail="no GPU"),), "x").outcome == "not run: no GPU"
    rows = (Row("runs", "passes"), Row("cuda graph", "not run", needed=False))
    report = DecodeReport(rows, "x")
    assert report.outcome == "kernel verified, without cuda graph"
    assert report.ok
    assert not report.could_not_run
