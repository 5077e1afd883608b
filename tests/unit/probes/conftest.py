from __future__ import annotations

import pytest

from mlacheck.probes.signature import SourceTree


@pytest.fixture
def tree():
    """Give a maker of fake FlashInfer source trees."""

    def make(folder, files):
        root = folder / "flashinfer"
        for name, text in {"__init__.py": "", **files}.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return SourceTree(root)

    return make
