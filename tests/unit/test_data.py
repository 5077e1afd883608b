from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from mlacheck import data

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder of two sources from which something was compiled later."""
    monkeypatch.setattr(data, "COMPILED", tmp_path / "compiled")
    source = tmp_path / "source"
    source.mkdir()
    for name in ("a", "b"):
        (source / name).touch()
    for path in (source / "a", source / "b", source):
        os.utime(path, (1000, 1000))
    load(source)
    return source


def load(folder: Path) -> object:
    files = sorted(folder.iterdir())
    return data.load_compiled("it.json", (folder, *files), lambda: [one.name for one in files])


def test_what_was_compiled_is_kept(folder: Path) -> None:
    assert data.load_compiled("it.json", (folder,), lambda: pytest.fail("made again")) == ["a", "b"]


def test_a_file_that_went_is_left_out(folder: Path) -> None:
    (folder / "a").unlink()
    os.utime(folder, (10**10, 10**10))
    assert load(folder) == ["b"]


def test_a_newer_file_is_read_again(folder: Path) -> None:
    os.utime(folder / "b", (10**10, 10**10))
    assert data.load_compiled("it.json", (folder, folder / "b"), lambda: "again") == "again"


def test_half_a_compiled_file_is_made_again(folder: Path) -> None:
    (data.COMPILED / "it.json").write_text("[")
    assert load(folder) == ["a", "b"]
