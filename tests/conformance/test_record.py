"""What the recorder keeps of the engine's verdicts."""

from __future__ import annotations

import gzip
import json
import sys

import record


def line(verdict="ok", **result):
    case = {"id": "7", "model": "deepseek-v3", "gpu": "b200", "flashinfer": None, "args": ["--x"], "env": {}}
    return json.dumps({"case": case, "result": {"verdict": verdict, "resolved": {}, **result}})


def test_values_that_no_report_shows_are_dropped():
    values = {"page_size": 64, "model_path": "/home/me/model", "mem_fraction_static": 0.8}
    [row] = record.recorded([line(resolved=values, backends=["a", "b"])], "0.5.20", "random")
    assert row["resolved"] == {"page_size": 64}
    assert (row["id"], row["kind"], row["flashinfer"], row["backends"]) == ("7", "random", None, ["a", "b"])


def test_an_engine_has_its_own_names():
    values = {"block_size": 64, "spec_method": "mtp", "max_num_seqs": 256}
    lines = [line(resolved=values, decode_backend="FLASHMLA", backends=["FLASHMLA"])]
    [row] = record.recorded(lines, "0.33.0", "random", engine="vllm")
    assert row["resolved"] == {"block_size": 64, "spec_method": "mtp"}
    assert row["decode_backend"] == "FLASHMLA"
    assert "backends" not in row


def test_messages_are_short_and_name_no_folders():
    message = "File not found /home/me/models/deepseek-v3/config.json " + "x" * 500
    [row] = record.recorded([line("error", message=message)], "0.5.20", "random")
    assert row["message"].startswith("File not found config.json x")
    assert len(row["message"]) == 160


def test_the_names_of_an_argument_are_no_folders():
    message = "error: argument --ep-size/--expert-parallel-size/--ep: expected one argument"
    [row] = record.recorded([line("error", message=message)], "0.5.20", "random")
    assert row["message"] == message


def test_what_the_recorder_could_not_run_is_dropped():
    lines = [
        line("oracle_fail"),
        line(notes=["environment stage skipped"]),
        line("error", message="left out by the recorder"),
        line(notes=["something else"]),
    ]
    assert len(list(record.recorded(lines, "0.5.20", "random", ["stage skipped", "left out"]))) == 1


def test_the_same_rows_give_the_same_bytes(tmp_path):
    rows = [{"id": "b"}, {"id": "a"}]
    assert record.write(tmp_path / "x.gz", rows) == 2
    assert record.write(tmp_path / "y.gz", reversed(rows)) == 2
    assert (tmp_path / "x.gz").read_bytes() == (tmp_path / "y.gz").read_bytes()
    assert gzip.decompress((tmp_path / "x.gz").read_bytes()) == b'{"id":"a"}\n{"id":"b"}\n'


def test_rows_are_added_to_those_that_a_file_has(tmp_path, monkeypatch):
    out, lines = tmp_path / "0.5.20.jsonl.gz", tmp_path / "lines.jsonl"
    record.write(out, [{"id": "6"}, {"id": "7"}])
    lines.write_text(line("error", message="refused"), encoding="utf-8")
    words = ["record.py", str(lines), "--version", "0.5.20", "--out", str(out), "--add"]
    monkeypatch.setattr(sys, "argv", words)
    assert record.main() == 0
    rows = [json.loads(row) for row in gzip.decompress(out.read_bytes()).splitlines()]
    assert [(row["id"], row.get("message")) for row in rows] == [("6", None), ("7", "refused")]
