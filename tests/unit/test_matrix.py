from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest
from click.testing import CliRunner

from mlacheck.cli import cli
from mlacheck.engines import Grammar
from mlacheck.launch import parse_text
from mlacheck.matrix import DIES, REFUSED, UNKNOWN, WORKS, axes, build, settings
from mlacheck.probes.engine import ENGINES, recorded_versions
from mlacheck.probes.target import TargetFlags
from mlacheck.report.matrix import MARKS, text_lines
from mlacheck.report.matrix_html import html_page
from mlacheck.session import Session
from mlacheck.sides import combinations, mismatch

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
BOTH = ["--engine-version", "sglang=0.5.23", "--engine-version", "vllm=0.33.0"]
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def matrix(model="deepseek-ai/DeepSeek-V3", version="0.5.23", gpu="b200", args="--tp-size 8", **given):
    flags = TargetFlags(engine_version=version, gpu=gpu)
    session = Session(flags, model=model, remedies=False, model_beside=True)
    [base] = parse_text(args).commands
    return build(session, base, *axes("sglang", version, given))


@pytest.fixture(scope="module")
def deepseek():
    return matrix()


def state(matrix, row, *column):
    [cell] = [one for one in matrix.cells if (one.row, one.column) == (row, column)]
    return cell.state


def test_cells_say_what_the_rules_say(deepseek):
    assert state(deepseek, "auto", "1", "none", "auto") == WORKS
    assert state(deepseek, "trtllm_mla", "8", "EAGLE", "auto") == REFUSED
    assert state(deepseek, "triton", "8", "none", "auto") == DIES
    assert sum(deepseek.counts.values()) == len(deepseek.cells)
    for cell in deepseek.cells:
        assert bool(cell.reasons) == (cell.state != WORKS)
        assert cell.command.startswith("--tp-size 8")


def test_without_a_model_nothing_is_said_to_work():
    found = matrix(model=None, dcp=["8"], speculation=["none"], kv=["auto"], backend=["auto", "flashmla"])
    assert set(found.counts) <= {UNKNOWN, REFUSED, DIES}
    assert all(cell.reasons for cell in found.cells)


def test_the_table_fits_eighty_columns(deepseek):
    lines = list(text_lines(deepseek, 80, lambda mark, _: mark))
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("speculation") and "EAGLE" in line for line in lines)
    rows = [line for line in lines if line.startswith("trtllm_mla ")]
    assert len(rows[0].split()) == 1 + 12
    assert {mark for line in rows for mark in line.split()[1:]} <= set(MARKS.values())


@pytest.mark.parametrize("rows", [["auto"], ["auto", "trtllm_mla"]])
@pytest.mark.parametrize("kv", [["auto"], ["fp8_e4m3", "fp8_e5m2"]])
@pytest.mark.parametrize("speculation", [["EAGLE"], ["none", "NGRAM"]])
def test_no_name_is_cut(rows, kv, speculation):
    found = matrix(backend=rows, dcp=["8"], speculation=speculation, kv=kv)
    heads = {line.split("  ")[0]: line.split() for line in text_lines(found, 80, lambda mark, _: mark)}
    assert heads["DCP"] == ["DCP", "8"]
    assert heads["speculation"] == ["speculation", *speculation]
    assert heads["KV cache"] == ["KV", "cache", *kv * len(speculation)]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--dcp", "0,x"], "at least 1"),
        (["--dcp", "x"], "whole number"),
        (["--backend", "nosuch"], "trtllm_mla"),
        (["--kv", "auto,zz"], "fp8_e4m3"),
        (["--engine-version", "0.5.18", "--speculation", "EAGLE,foo"], "EAGLE3"),
        (["--engine", "vllm", "--engine-version", "0.33.0", "--kv", "zz"], "fp8"),
        (["--engine", "vllm", "--engine-version", "0.33.0", "--backend", "nosuch"], "FLASHMLA"),
        (["--engine", "vllm", "--speculation", "EAGLE"], "does not take it"),
        ([*BOTH, "--kv", "auto/fp8/x"], "give one value, or 2"),
        ([*BOTH, "--kv", "auto,fp8"], "fp8_e4m3"),
        ([*BOTH, "--args", "trtllm-serve x"], "flags of one launch line"),
        ([*BOTH, "--args", "sglang serve x --tp 8", "--args", "sglang serve x --tp 4"], "of sglang"),
    ],
)
def test_values_that_the_engine_does_not_take_are_bad_usage(arguments, said):
    done = CliRunner().invoke(cli, ["matrix", "--gpu", "b200", *arguments])
    assert done.exit_code == 2
    assert said in done.stderr


def test_a_wide_table_is_broken_by_its_first_axis():
    found = matrix(backend=["auto"], dcp=list("1248"), kv=["auto", "fp8_e4m3", "bfloat16"])
    lines = list(text_lines(found, 80, lambda mark, _: mark))
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith("DCP ") for line in lines) == 4
    assert sum(line.split().count("bfloat16") for line in lines if line.startswith("KV cache")) == 8


class Page(HTMLParser):
    """Counts cells and collects everything that a browser would fetch or run."""

    def __init__(self):
        super().__init__()
        self.tags, self.fetched, self.texts = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.fetched += [value for name, value in attrs if name in {"src", "href", "srcset", "action"}]
        self.fetched += [name for name, _ in attrs if name.startswith("on")]

    def handle_data(self, data):
        self.texts.append(data)


def test_the_page_asks_for_nothing_and_has_a_reason_in_each_cell(deepseek):
    text = html_page([deepseek], "mlacheck 0")
    page = Page()
    page.feed(text)
    assert page.fetched == []
    assert "script" not in page.tags
    assert page.tags.count("td") == page.tags.count("details") == len(deepseek.cells)
    assert not re.search(r"url\(|@import", text)
    assert "prefers-color-scheme:dark" in text
    for cell in deepseek.cells:
        assert all(reason.id in text for reason in cell.reasons[:1])


def test_what_comes_from_the_line_is_escaped():
    hostile = "<script>alert(1)</script>"
    found = matrix(args=f"--tp-size 8 --served-model-name '{hostile}'", backend=["auto"], dcp=["1"])
    assert hostile not in html_page([found], hostile)


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_a_real_browser_shows_the_page(deepseek, tmp_path):
    page = tmp_path / "matrix.html"
    page.write_text(html_page([deepseek], "mlacheck 0"), encoding="utf-8")
    shot = tmp_path / "shot.png"

    def run(*more):
        profile = f"--user-data-dir={tmp_path / 'profile'}"
        return subprocess.run(
            [BROWSER, *FLAGS, profile, *more, page.as_uri()],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )

    shown = Page()
    shown.feed(run("--dump-dom").stdout)
    assert shown.tags.count("td") == len(deepseek.cells)
    assert any("DeepSeek-V3 on b200" in text for text in shown.texts)
    run(f"--screenshot={shot}", "--window-size=1200,900")
    assert shot.stat().st_size > 20_000  # an empty page is smaller


@pytest.mark.parametrize(
    ("engine", "version"), [(engine, one) for engine in ENGINES for one in recorded_versions(engine)]
)
def test_the_settings_fit_every_version(engine, version):
    known = settings(engine)
    options = Grammar.load(engine, version).options
    assert known["row"] in options
    for one in known["columns"]:
        assert one["argument"] in options
    every = set()
    for other in recorded_versions(engine):
        every.update(Grammar.load(engine, other).option(known["row"]).choices or ())
    assert set(known["elsewhere"]) <= every


def test_the_columns_of_all_engines_can_stand_side_by_side():
    columns = [
        [(one["option"], one["name"], len(one["values"])) for one in settings(engine)["columns"]]
        for engine in ENGINES
    ]
    assert all(one == columns[0] for one in columns)


SMALL = ["--dcp", "1,8", "--speculation", "none,EAGLE/mtp", "--kv", "auto,fp8_e4m3/fp8"]
TARGET = ["--model", "deepseek-ai/DeepSeek-V3", "--gpu", "b200"]


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    page = tmp_path_factory.mktemp("page") / "both.html"
    backends = ["--backend", "auto,cutedsl_mla/FLASHMLA"]
    done = CliRunner().invoke(cli, ["matrix", *TARGET, *BOTH, *SMALL, *backends, "--html", str(page)])
    assert done.exit_code == 0, done.output
    return done.stdout, page


def test_engines_stand_side_by_side(both):
    text, _ = both
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    head = next(at for at, line in enumerate(lines) if line.endswith("vllm 0.33.0"))
    rows = [line.split() for line in lines[head + 1 : head + 9]]
    assert [row[:3] for row in rows[:3]] == [
        ["1", "none", "auto"],
        ["1", "none", "fp8_e4m3/fp8"],
        ["1", "EAGLE/mtp", "auto"],
    ]
    # SGLang's own choice refuses DCP with speculation; vLLM's has a kernel that verifies under DCP.
    assert rows[6] == ["8", "EAGLE/mtp", "auto", "no", "0/1", "ok", "FLASHINFER_MLA", "0/1"]
    assert sum(line.startswith("auto ") for line in lines) == 2


def test_a_sides_backend_is_the_engines_own_choice_or_the_best_named():
    backends = ["auto", "trtllm_mla", "cutedsl_mla"]
    one = matrix(backend=backends, dcp=["8"], speculation=["none", "EAGLE"], kv=["auto"])
    other = matrix(
        backend=backends[1:], dcp=["8"], speculation=["none", "EAGLE"], kv=["auto"], version="0.5.22"
    )
    plain, drafted = combinations([one, other])
    assert plain.values == ("8", "none", "auto")
    assert [(side.state, side.decode) for side in plain.sides] == [
        (WORKS, "trtllm_mla"),
        (WORKS, "trtllm_mla"),
    ]
    assert [side.working for side in plain.sides] == [tuple(backends[1:])] * 2
    assert [(side.state, side.decode, side.working) for side in drafted.sides] == [
        (REFUSED, "", ()),
        (REFUSED, "", ()),
    ]
    assert mismatch([one, other]) is None
    wider = matrix(backend=["auto"], dcp=["1", "8"], speculation=["none", "EAGLE"], kv=["auto"])
    assert mismatch([one, wider]) == "DCP: sglang and sglang have other numbers of values"


def test_versions_of_one_engine_and_lines_of_each_engine_stand_side_by_side():
    small = ["--dcp", "8", "--speculation", "none", "--kv", "auto", "--backend", "auto", "--format", "json"]
    versions = ["--engine-version", "0.5.17", "--engine-version", "0.5.23"]
    data = json.loads(CliRunner().invoke(cli, ["matrix", *TARGET, *versions, *small]).stdout)
    assert [one["version"] for one in data["matrices"]] == ["0.5.17", "0.5.23"]
    assert len(data["side_by_side"]) == 1
    lines = ["--args", "sglang serve --tp 4", "--args", "vllm serve -tp 8"]
    data = json.loads(CliRunner().invoke(cli, ["matrix", *TARGET, *BOTH, *lines, *small]).stdout)
    commands = [one["cells"][0]["command"] for one in data["matrices"]]
    assert commands == [
        "sglang serve --tp 4 --dcp-size 8",
        "vllm serve -tp 8 --decode-context-parallel-size 8",
    ]


def test_the_page_of_both_engines_asks_for_nothing(both):
    page = Page()
    page.feed(both[1].read_text(encoding="utf-8"))
    assert page.fetched == []
    assert page.tags.count("table") == 3
    assert page.tags.count("details") == 2 * 2 * 8
    assert page.tags.count("td") == 2 * 2 * 8 + 2 * 8


def test_the_command_line(tmp_path):
    page = tmp_path / "m.html"
    base = ["matrix", "--model", "deepseek-ai/DeepSeek-V3", "--gpu", "h200", "--engine-version", "0.5.18"]
    small = ["--dcp", "1,8", "--speculation", "none", "--backend", "flashinfer,fa3", "--kv", "auto"]
    done = CliRunner().invoke(cli, [*base, *small, "--html", str(page)])
    assert done.exit_code == 0
    assert "flashinfer" in done.stdout
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    data = json.loads(CliRunner().invoke(cli, [*base, *small, "--format", "json"]).stdout)
    assert len(data["cells"]) == 4
    assert CliRunner().invoke(cli, [*base, *small, "--html", str(tmp_path / "no" / "m.html")]).exit_code == 2
    assert CliRunner().invoke(cli, [*base, "--args", "echo x"]).exit_code == 2


def test_the_model_may_stand_after_flags():
    line = "vllm serve --tensor-parallel-size 8 deepseek-ai/DeepSeek-V3"
    words = ["--gpu", "h200", "--engine-version", "vllm=0.33.0", "--args", line]
    small = ["--backend", "FLASHMLA", "--dcp", "1", "--kv", "auto", "--speculation", "none"]
    done = CliRunner().invoke(cli, ["matrix", "--no-config", *words, *small])
    assert done.exit_code == 0, done.output
    assert "deepseek-ai/DeepSeek-V3" in done.stdout


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--engine-version", "0.5.23"], "a matrix is about one model: name it with --model ID|PATH"),
        (["--engine-version", "vllm=0.33.0"], "a matrix is about one model"),
        (["--engine-version", "0.5.23", "--args", "--model-path /none"], "/none does not exist"),
    ],
)
def test_a_matrix_without_a_known_model_is_bad_usage(flags, said):
    done = CliRunner().invoke(cli, ["matrix", "--no-config", "--gpu", "h200", *flags])
    assert done.exit_code == 2
    assert said in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("versions", [["0.5.18.post1"], ["0.5.18.post1", "0.5.23"]])
def test_a_version_between_recorded_ones_says_which_one_judges(versions, tmp_path):
    page = tmp_path / "m.html"
    given = [word for one in versions for word in ("--engine-version", one)]
    small = ["--dcp", "8", "--speculation", "none", "--backend", "auto", "--kv", "auto", "--html", str(page)]
    done = CliRunner().invoke(cli, ["matrix", "--model", "deepseek-v3", "--gpu", "h200", *given, *small])
    assert "sglang 0.5.18.post1, judged as 0.5.18" in done.stdout
    assert "0.5.23, judged" not in done.stdout
    assert "sglang 0.5.18.post1, judged as 0.5.18" in page.read_text(encoding="utf-8")
