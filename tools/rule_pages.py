"""Write the rule pages, docs/rules/*.md, from the rule files; --check only tells whether they are current."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parent.parent))

from mlacheck.explain import explanations
from mlacheck.probes.engine import ENGINES
from mlacheck.report.rule_page import rule_pages
from mlacheck.ruleset.load import ruleset

PAGES: Final = Path(__file__).parent.parent / "docs" / "rules"
# The first engine's pages, and each other's in a folder of its name.
FOLDERS: Final = {engine: PAGES if engine == ENGINES[0] else PAGES / engine for engine in ENGINES}


def pages_of(engine: str) -> dict[str, str]:
    """Make the pages of an engine, by file name."""
    return rule_pages(list(explanations(ruleset(engine))))


def stale(folder: Path, engine: str = ENGINES[0]) -> list[str]:
    """Name the pages that are missing, old or left over."""
    pages = pages_of(engine)
    there = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    return sorted(name for name in pages.keys() | there.keys() if pages.get(name) != there.get(name))


def main() -> int:
    """Write or check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        old = [f"{folder / name}" for engine, folder in FOLDERS.items() for name in stale(folder, engine)]
        print(
            "\n".join(f"{name} is not current: run python tools/rule_pages.py" for name in old) or "current"
        )
        return 1 if old else 0
    for engine, folder in FOLDERS.items():
        folder.mkdir(parents=True, exist_ok=True)
        pages = pages_of(engine)
        for path in folder.glob("*.md"):
            if path.name not in pages:
                path.unlink()
        for name, text in pages.items():
            (folder / name).write_text(text, encoding="utf-8")
        print(f"{engine}: {len(pages)} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
