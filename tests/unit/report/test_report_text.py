from __future__ import annotations

import io
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from mlacheck.cases import Cases
from mlacheck.cli import cli
from mlacheck.finding import NOT_KNOWN, Location, Problem, Remedy, Resolved, Undecided
from mlacheck.report.text import write_text
from mlacheck.report.writers import Style

ARGS = (
    "--model-path deepseek-ai/DeepSeek-V3 --tp-size 8 --dcp-size 8 --attention-backend trtllm_mla "
    "--speculative-algorithm EAGLE"
)
README = Path(__file__).parents[3] / "README.md"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def written(*reports, stream=None, **options):
    stream = stream or io.StringIO()
    write_text(reports, stream, Style(**options))
    return stream.getvalue()


def words(text):
    return re.sub(r"\s+", " ", text).strip()


@pytest.fixture(scope="module")
def refused():
    case = {"args": ARGS.split(), "gpu": "b200", "engine_version": "0.5.18", "flashinfer": "pin"}
    return Cases(remedies=True).report(case)


def tokens(text):
    """Words, without where lines are broken and how many guards no rule models."""
    head, _, rest = text.partition("not checked:")
    return [*head.replace("\\\n", " ").split(), rest.split()[-6:]]


@pytest.mark.parametrize("columns", ["40", "80", "300"])
@pytest.mark.parametrize("colour", ["NO_COLOR", "FORCE_COLOR"])
def test_the_readmes_example_is_what_is_printed_at_every_width(columns, colour):
    readme = README.read_text(encoding="utf-8")
    line = re.search(r'^    mlacheck (validate --gpu .*?")$', readme, re.MULTILINE | re.DOTALL)[1]
    shown = re.search(r"^```text\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)[1]
    env = {"COLUMNS": columns, "NO_COLOR": None, "FORCE_COLOR": None, colour: "1"}
    printed = CliRunner(env=env).invoke(cli, [*shlex.split(line), "--no-config"], color=True).stdout
    assert ("\x1b[" in printed) == (colour == "FORCE_COLOR")
    assert tokens(re.sub(r"\x1b\[[\d;]*m", "", printed)) == tokens(shown)


def test_colour_only_on_a_terminal_that_wants_it(refused, monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b[" in written(refused, stream=Terminal())
    assert "\x1b[" not in written(refused)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in written(refused, stream=Terminal())


def test_what_is_not_known_is_said(made):
    text = written(made(verdict="unknown", engine_version=None))
    assert "UNKNOWN" in text
    assert "version unknown" in text
    assert "FlashInfer unknown" in text
    assert "unknown GPU" in text
    assert "FlashInfer none" in written(made(target={"flashinfer": "none", "gpu": "none", "sm": 0}))
    assert "8x h200 (SM90)" in written(made(target={"gpu": "h200", "sm": 90, "gpu_count": 8}))


def test_counts_are_told_once_for_all_commands(made, finding):
    assert written().strip() == "checked 0 commands: no findings"
    found = (finding(), finding("warning"), finding("info"), finding("info"))
    waiting = (Undecided("TOY002", "t", "error", ("gpu.sm",)),)
    text = written(made(findings=found, undecided=waiting), made())
    assert text.splitlines()[-1] == "checked 2 commands: 1 error, 1 warning, 2 infos; 1 rule undecided"


def test_problems_and_findings_have_their_place(made, finding):
    report = made(
        file="run.sh",
        location=Location(3, 1),
        problems=(Problem("k", "odd", "do this", Location(4, 2)),),
        findings=(finding(location=Location(5, 6), extrapolated=True, source="s", evidence=("p#1",)),),
    )
    text = written(report)
    assert "run.sh:3" in text
    assert "odd (line 4, column 2)" in text
    assert "do this" in text
    assert "at: run.sh:5:6" in text
    assert "extrapolated" in text
    assert "says nothing" in text
    assert "source: s  p#1" in text


def test_undecided_rules_are_listed_and_cut_short_unless_asked(made):
    waiting = tuple(Undecided(f"TOY{n:03}", "t", "error", ("gpu.sm",)) for n in range(9))
    short, long = written(made(undecided=waiting)), written(made(undecided=waiting), verbose=True)
    assert "and 4 more" in short
    assert "TOY008" not in short
    assert "TOY008" in long
    assert "9 rules wait for the GPU (--gpu NAME)" in short


def test_verbose_shows_every_value_and_what_would_confirm_a_finding(made, finding):
    report = made(
        resolved={"page_size": Resolved(None, "default"), "tp_size": Resolved(8, "--tp-size")},
        findings=(finding(confirm="run it"),),
    )
    assert "tp_size" not in written(report)
    assert "run it" not in written(report)
    assert re.search(r"tp_size\s+8\s+--tp-size", written(report, verbose=True))
    assert "run it" in written(report, verbose=True)


def test_decode_rows_stand_below(made):
    kernel = {"backend": "flashinfer", "outcome": "kernel wrong: merged"}
    rows = (
        {"name": "runs", "state": "passes", **kernel},
        {"name": "merged", "state": "wrong", "measured": 0.1299, "limit": 0.01, "detail": "base e", **kernel},
    )
    text = written(made(decode=rows))
    assert text.count("  decode on flashinfer: kernel wrong: merged\n") == 1
    assert "    runs: passes\n" in text
    assert "    merged: wrong; measured 0.13, limit 0.01; base e\n" in text


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_lines_fit_the_terminal_and_commands_can_be_pasted(refused, monkeypatch, columns, made):
    monkeypatch.setenv("COLUMNS", str(columns))
    text = written(refused, made(verdict="unknown", resolved={"a": Resolved("one of " + "abc, " * 40, "x")}))
    long = [line for line in text.splitlines() if len(line) > columns]
    assert all(len(line.split()) == 1 for line in long)  # a word of its own, such as a path
    commands = re.findall(r"^ +--model-path (?:.*\\\n)*.*", text, re.MULTILINE)
    shown = [shlex.split(command.replace("\\\n", " ")) for command in commands]
    wanted = [shlex.split(one.command) for one in refused.findings[0].remedies if one.command]
    assert wanted
    assert shown == wanted


def test_eighty_columns_where_there_is_no_terminal(refused, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    lengths = [len(line) for line in written(refused).splitlines()]
    assert 60 < max(lengths) <= 80


def test_what_is_not_known_is_not_shown_as_unset(made):
    resolved = {"page_size": Resolved(None, NOT_KNOWN), "kv_cache_dtype": Resolved(None, "default")}
    text = written(made(resolved=resolved))
    assert re.search(r"page_size +unknown", text)
    assert re.search(r"kv_cache_dtype +- +default", text)


def test_values_that_are_not_settled_read_as_a_choice(made):
    def row(names, **options):
        text = written(made(resolved={"page_size": Resolved(f"one of {names}", "depends on x")}), **options)
        return words(next(line for line in text.splitlines() if "page_size" in line)).split(" ", 1)[1]

    assert row("fa3, None") == "fa3 or unset depends on x"
    assert row("a, b, c, d, e, f") == "a, b, c or 3 more depends on x"
    assert row("a, b, c, d, e, f", verbose=True) == "a, b, c, d, e or f depends on x"

    guessed = written(made(resolved={"page_size": Resolved("one of a, b", "page of triton")}))
    assert "page of triton" not in guessed


def test_what_would_decide_is_what_a_caller_can_supply(made):
    needs = ("attention_backend", "target.architecture", "gpu.sm", "version.flashinfer")
    text = words(written(made(undecided=(Undecided("TOY001", "t", "error", needs),))))
    assert (
        "1 rule waits for the model's config (--model PATH), the GPU (--gpu NAME), "
        "FlashInfer (--flashinfer VERSION)"
    ) in text
    text = written(made(undecided=(Undecided("TOY001", "t", "error", ("a", "b")),)))
    assert "1 rule waits for a, b" in text
    text = written(
        made(target={"model": "a/b"}, undecided=(Undecided("TOY001", "t", "error", ("target.backend",)),))
    )
    assert "1 rule waits for target.backend" in text


def test_silenced_findings_are_told_with_who_and_why(made, finding):
    silenced = finding(suppressed=True, suppressed_by="comment", suppressed_reason="until 0.5.24")
    text = written(made(findings=(silenced,)))
    assert "suppressed: error[TOY001] toy-rule by comment: until 0.5.24" in text
    assert text.splitlines()[-1] == "checked 1 command: no findings; 1 suppressed"


def test_quiet_shows_what_was_found_and_nothing_else(made, finding):
    silent = made(assumptions=("a",), not_checked=("memory",))
    assert written(silent, quiet=True) == ""
    loud = made(verdict="error", findings=(finding(because=("x = 1",), remedies=(Remedy("none", "wait"),)),))
    assert written(loud, quiet=True).split("\n")[1:] == ["", "  error[TOY001] m", "", ""]
    assert "UNKNOWN" in written(made(verdict="unknown"), quiet=True)


def test_a_file_that_could_not_be_read_has_a_head_without_a_target(made, finding):
    report = made(command="", file="a.yaml", verdict="error", findings=(finding(phase="input"),))
    text = written(report)
    assert text.splitlines()[0].strip() == "ERROR  a.yaml"
    assert "when:" not in text
    assert text.splitlines()[-1] == "checked 0 commands in 1 file: 1 error"


def test_a_corrected_command_in_a_long_string_of_a_file_is_shown_by_what_writes_it(made, finding):
    string = f"bash -c 'python -m x --dcp-size 8 {'--some-flag value ' * 12}'"
    remedies = (Remedy("edit", "drop --page-size", string), Remedy("edit", "drop --y", f"{string} "))
    text = written(made(file="a b.yaml", findings=(finding(remedies=remedies),)))
    assert (
        "fix: drop --page-size\n      in place: mlacheck fix 'a b.yaml' --diff, with the same options\n"
        in text
    )
    assert "--some-flag" not in text
    assert text.count("in place:") == 1
    # Without a file there is nothing to write into, and what can be broken is.
    assert "--some-flag value --some-flag" in written(made(findings=(finding(remedies=remedies),)))
    broken = (Remedy("edit", "drop --page-size", string.replace("'", "")),)
    assert "--some-flag" in written(made(file="a.sh", findings=(finding(remedies=broken),)))


def test_a_terminal_is_handed_no_control_characters_of_a_line():
    args = [
        "--model-path",
        "a\x1b[31mb",
        "--tp-size",
        "2",
        "--served-model-name",
        "\x9b31m\x07",
        "--tq",
        "\x1b[2J",
    ]
    case = {"args": args, "gpu": "b200", "engine_version": "0.5.18", "flashinfer": "pin"}
    text = written(Cases(remedies=True).report(case), verbose=True)
    assert "--tq" in text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
