"""Write the rule pages, docs/rules/*.md, from the rule files; --check only tells whether they are current."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parent.parent))

from mlacheck.explain import explanations
from mlacheck.report.rule_page import rule_pages
from mlacheck.ruleset.load import ruleset

PAGES: Final = Path(__file__).parent.parent / "docs" / "rules"


def stale(folder: Path) -> list[str]:
    """Name the pages that are missing, old or left over."""
    pages = rule_pages(list(explanations(ruleset("sglang"))))
    there = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    return sorted(name for name in pages.keys() | there.keys() if pages.get(name) != there.get(name))


def main() -> int:
    """Write or check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        old = stale(PAGES)
        print(
            "\n".join(f"docs/rules/{name} is not current: run python tools/rule_pages.py" for name in old)
            or "current"
        )
        return 1 if old else 0
    PAGES.mkdir(parents=True, exist_ok=True)
    pages = rule_pages(list(explanations(ruleset("sglang"))))
    for path in PAGES.glob("*.md"):
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        (PAGES / name).write_text(text, encoding="utf-8")
    print(f"{len(pages)} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
