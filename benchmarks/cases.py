"""Measure how many cases a second one core checks, on the recorded cases of one version.

python benchmarks/cases.py [VERSION]
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from conformance import case_of, rows_of  # noqa: E402 - from the folder above

from mlacheck.cases import Cases  # noqa: E402 - same
from mlacheck.report.json_ import to_json  # noqa: E402 - same

LEAST: Final = 2000


def main() -> int:
    """Print cases a second of CPU time, reading and writing JSON included; fail below the limit."""
    version = sys.argv[1] if len(sys.argv) > 1 else "0.5.23"
    folder = ROOT / "tests" / "conformance"
    rows = list(rows_of(folder / "recorded" / f"{version}.jsonl.gz"))
    lines = [json.dumps(case_of(row, version, folder / "models")) for row in rows]
    cases = Cases()
    list(cases.check(lines[:20]))  # the program and the models are loaded once
    lines *= -(-2000 // len(lines))
    began = time.process_time()
    for result in cases.check(lines):
        to_json(result)  # type: ignore[arg-type]  # recorded cases are well formed
    seconds = time.process_time() - began
    rate = len(lines) / seconds
    print(f"{len(lines)} cases in {seconds:.2f} s of one core: {rate:.0f} a second (at least {LEAST})")
    return int(rate < LEAST)


if __name__ == "__main__":
    sys.exit(main())
