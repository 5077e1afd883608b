from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

import extract_flashinfer as tool
import pytest

ROOT = Path(__file__).parents[3]


def release(folder, version, parameters):
    files = {
        "flashinfer/__init__.py": "",
        "flashinfer/decode.py": f"def trtllm_batch_decode_with_kv_cache_mla({parameters}): ...\n",
        "flashinfer/kernel.cu": "not python",
        f"flashinfer_python-{version}.dist-info/METADATA": f"Name: flashinfer-python\nVersion: {version}\n",
    }
    path = folder / f"flashinfer_python-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
    return path


def test_only_changes_are_written(tmp_path, monkeypatch, capsys):
    wheels = [
        release(tmp_path, "0.6.10", "q, lse=None"),
        release(tmp_path, "0.6.9", "q"),
        release(tmp_path, "0.6.11", "q, lse=None"),
    ]
    out = tmp_path / "signatures.json"
    monkeypatch.setattr(sys, "argv", ["tool", "--out", str(out), *map(str, wheels)])
    assert tool.main() == 0
    assert "3 versions, 0.6.9 to 0.6.11" in capsys.readouterr().out
    data = json.loads(out.read_text(encoding="utf-8"))
    assert data["versions"] == ["0.6.9", "0.6.10", "0.6.11"]
    assert data["callables"][data["decode"]] == [["0.6.9", ["q"]], ["0.6.10", ["q", "lse=None"]]]
    assert data["callables"]["mla.BatchMLAPagedAttentionWrapper.run"] == [["0.6.9", None]]
    assert data["present"]["comm.dcp_alltoall"] == [["0.6.9", False]]


def test_unzipped_tree_and_wheel_agree(tmp_path):
    wheel = release(tmp_path, "0.6.17", "q, enable_dcp=False")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "tree")
    assert tool.read_release(wheel) == tool.read_release(tmp_path / "tree")


@pytest.mark.parametrize("content", [None, b"not a wheel"])
def test_unreadable_release(tmp_path, monkeypatch, capsys, content):
    path = tmp_path / "x.whl"
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setattr(sys, "argv", ["tool", str(path)])
    assert tool.main() == 1
    assert str(path) in capsys.readouterr().err


def test_recorded_table_is_what_the_tool_writes():
    path = ROOT / "rules" / "flashinfer" / "signatures.json"
    text = path.read_text(encoding="utf-8")
    assert tool.render(json.loads(text)) == text
