from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

# Stands in for the engine: same command line, says who it is, and ends when it is told to.
ENGINE = """
import os, signal, sys, time
def stop(number, _):
    os.write(1, b"engine got %d\\n" % number)
    os._exit(7)
signal.signal(signal.SIGTERM, stop)
signal.signal(signal.SIGINT, stop)
print("engine", os.getpid(), sys.argv[1:], flush=True)
if "--exit-now" in sys.argv: sys.exit(3)
time.sleep(60)
"""
# The sleep may not outlive it: it would hold standard error open.
SLOW = "#!/bin/sh\nsleep 30 &\ntrap 'echo check stopped >&2; kill $!; exit 1' TERM\necho checking >&2\nwait\n"


@pytest.fixture
def engine(bin_):
    """Puts a `python3` on the PATH that runs the stand-in instead of an engine."""
    script = bin_ / "python3"
    program = bin_ / "engine.py"
    program.write_text(ENGINE)
    script.write_text(f"#!/bin/sh\nexec '{sys.executable}' '{program}' \"$@\"\n")
    script.chmod(0o755)


@pytest.fixture
def start(environ, engine, tmp_path):  # noqa: ARG001 - the stand-in has to be there
    children = []

    def start(*line, shell=None, program=None, **env):
        options = {"MLACHECK_OPTIONS": "--strict --gpu b200 --engine-version 0.5.18 --no-config"}
        command = [
            *([shell] if shell else []),
            str(program or tmp_path / "bin" / "mlacheck-entrypoint"),
            *line,
        ]
        child = subprocess.Popen(
            command,
            env={**environ, **options, **env},
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        children.append(child)
        return child

    yield start
    for child in children:
        child.kill()
        child.communicate()


@pytest.mark.parametrize("shell", ["sh", "bash"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_line_that_passes_becomes_the_engine_with_its_id_signals_and_exit_code(start, good, shell, number):
    child = start(*good.split(), "--served-model-name", "a b", shell=shell)
    said = child.stdout.readline()
    assert said.startswith(f"engine {child.pid} ")
    assert "'--served-model-name', 'a b'" in said
    child.send_signal(number)
    out, err = child.communicate(timeout=20)
    assert (child.returncode, out) == (7, f"engine got {number.value}\n"), err


@pytest.mark.parametrize("link", [False, True])
def test_its_folder_need_not_be_on_the_path(start, bin_, good, root, tmp_path, link):
    (bin_ / "python3").rename(tmp_path / "python3")
    script = bin_ / "mlacheck-entrypoint"
    if link:  # the real one lies beside mlacheck, the link does not
        script.unlink()
        script.write_text((root / "gates" / "mlacheck-entrypoint").read_text())
        script.chmod(0o755)
        script = tmp_path / "elsewhere"
        script.symlink_to(bin_ / "mlacheck-entrypoint")
    child = start(*good.split(), program=script, PATH=f"{tmp_path}:/usr/bin:/bin")
    assert child.stdout.readline().startswith(f"engine {child.pid} ")


def test_without_mlacheck_nothing_is_started(start, bin_, good, tmp_path):
    (bin_ / "mlacheck").unlink()
    (bin_ / "python3").rename(tmp_path / "python3")
    child = start(*good.split(), PATH=f"{tmp_path}:/usr/bin:/bin")
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (4, "")
    assert "neither beside" in err


def test_a_line_that_does_not_pass_is_not_started(start, bad):
    child = start(*bad.split())
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (1, "")
    assert "error[MLA194]" in err


@pytest.mark.parametrize(("line", "code"), [((), 2), (("nvidia-smi",), 3)])
def test_other_codes_arrive_too(start, line, code):
    child = start(*line)
    child.communicate(timeout=60)
    assert child.returncode == code


def test_what_is_no_launch_line_starts_when_that_is_allowed(start):
    child = start("echo", "hello", MLACHECK_OPTIONS="--allow-empty --no-config")
    out, _ = child.communicate(timeout=60)
    assert (child.returncode, out) == (0, "hello\n")


def test_the_check_can_be_switched_off(start, bad):
    child = start(*bad.split(), "--exit-now", MLACHECK="off")
    out, err = child.communicate(timeout=60)
    assert child.returncode == 3
    assert out.startswith("engine")
    assert "MLA" not in err


def test_the_decode_is_asked_for_by_default(bin_):
    (bin_ / "mlacheck").write_text('#!/bin/sh\necho "$@"\nexit 4\n')
    child = subprocess.run(
        [bin_ / "mlacheck-entrypoint", "a", "b c"],
        env={"PATH": f"{bin_}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (child.returncode, child.stdout) == (4, "")
    assert child.stderr == "validate --strict --decode-check -- a b c\n"


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_signal_during_the_check_ends_it_and_starts_nothing(start, bin_, good, shell):
    (bin_ / "mlacheck").write_text(SLOW)
    child = start(*good.split(), shell=shell)
    assert child.stderr.readline() == "checking\n"
    began = time.monotonic()
    child.send_signal(signal.SIGTERM)
    out, err = child.communicate(timeout=20)
    assert (child.returncode, out) == (143, "")
    assert "check stopped" in err
    assert time.monotonic() - began < 10
