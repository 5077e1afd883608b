from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from mlacheck.cli import cli
from mlacheck.decode.problem import DecodeProblem
from mlacheck.decode.row import DecodeReport, Row

LINE = "--model-path deepseek-ai/DeepSeek-V3 --tp-size 8 --dcp-size 8 --attention-backend flashinfer"
PASSING = (Row("runs", "passes"), Row("lse base", "passes", "2", "2"), Row("merged", "passes", 0.004, 0.01))


def kept(tmp_path, rows=PASSING, **changes):
    """A report as `decode-check --format json` writes it, of the line above on an H200."""
    problem = DecodeProblem(128, 512, 64, 0.1352337788608801, page_size=1, dcp_size=8)
    values = {
        "backend": "flashinfer",
        "backend_version": "0.6.17",
        "distribution": "flashinfer-python",
        "device": "NVIDIA H200",
        "sm": 90,
        "problem": problem.to_dict(),
        "environment": {"date": "2026-11-29", "packages": {"flashinfer-python": "0.6.17"}, "driver": "580.1"},
    }
    path = tmp_path / "kept.json"
    path.write_text(json.dumps(DecodeReport(rows=rows, **(values | changes)).to_dict()), encoding="utf-8")
    return path


def validate(*evidence, line=LINE, gpu="h200"):
    options = [word for path in evidence for word in ("--evidence", str(path))]
    command = ["validate", "--args", line, "--gpu", gpu, "--engine-version", "0.5.18", *options]
    result = CliRunner().invoke(cli, [*command, "--format", "json", "--no-remedies", "--no-config"])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def about_evidence(result):
    return [one for one in json.loads(result.stdout)["findings"] if "evidence" in one["slug"]]


def test_evidence_that_matches_is_information(tmp_path):
    path = kept(tmp_path)
    result = validate(path)
    (finding,) = about_evidence(result)
    assert (finding["id"], finding["level"]) == ("MLA596", "info")
    assert (
        "3 of 3 rows pass: flashinfer of flashinfer-python 0.6.17 on NVIDIA H200, 2026-11-29"
        in finding["message"]
    )
    assert result.exit_code == validate().exit_code == 0


@pytest.mark.parametrize(
    ("line", "gpu", "words"),
    [
        (LINE, "h100", "GPU NVIDIA H200, the line's is h100"),
        (LINE.replace("dcp-size 8", "dcp-size 4"), "h200", "dcp_size 8, the line has 4"),
        (
            LINE.replace("flashinfer", "flashmla"),
            "h200",
            "backend flashinfer, the line decodes with flashmla",
        ),
        (f"{LINE} --page-size 64", "h200", None),  # the kernel sees pages of one token all the same
    ],
)
def test_what_does_not_match_is_said(tmp_path, line, gpu, words):
    (finding,) = about_evidence(validate(kept(tmp_path), line=line, gpu=gpu))
    assert finding["level"] == "info"
    assert finding["id"] == ("MLA597" if words else "MLA596")
    assert (words or "3 of 3 rows pass") in finding["message"]


def test_other_versions_are_said(tmp_path):
    environment = {"date": "2026-11-29", "packages": {"flashinfer-python": "0.7.2"}}
    (finding,) = about_evidence(validate(kept(tmp_path, environment=environment)))
    assert finding["message"].endswith(
        "is about something else: flashinfer-python 0.7.2, the line has 0.6.17"
    )


def test_a_kernel_that_was_wrong_is_an_error(tmp_path):
    rows = (*PASSING, Row("padding", "wrong", 0.5, 0.01))
    result = validate(kept(tmp_path, rows=rows))
    (finding,) = about_evidence(result)
    assert (finding["id"], finding["level"], finding["phase"]) == ("MLA595", "error", "silent")
    assert json.loads(result.stdout)["verdict"] == "error"
    assert result.exit_code == 1


def test_a_line_that_the_engine_refuses_has_no_decode(tmp_path):
    (finding,) = about_evidence(validate(kept(tmp_path), line=f"{LINE} --dcp-size nine"))
    assert "says nothing of this line: the engine refuses it (MLA004)" in finding["message"]


def test_rows_of_a_validate_report_are_evidence_too(tmp_path):
    rows = DecodeReport(
        **{
            name: value
            for name, value in json.loads(kept(tmp_path).read_text()).items()
            if name in DecodeReport.__dataclass_fields__ and name != "rows"
        },
        rows=PASSING,
    ).to_list()
    path = tmp_path / "validate.json"
    path.write_text(json.dumps({"verdict": "ok", "decode": rows}), encoding="utf-8")
    (finding,) = about_evidence(validate(path))
    assert finding["id"] == "MLA596"


@pytest.mark.parametrize("text", ["", "{}", '{"rows": [1], "evidence": {"schema_version": 1}}'])
def test_malformed_evidence_is_bad_usage(tmp_path, text):
    path = tmp_path / "kept.json"
    path.write_text(text, encoding="utf-8")
    result = validate(path)
    assert result.exit_code == 2
    assert str(path) in result.stderr
    assert validate(tmp_path / "nothing.json").exit_code == 2
