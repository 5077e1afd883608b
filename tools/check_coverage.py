"""Hold the pure core to its branch coverage; run after pytest --cov."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

CORE: Final = "mlacheck/facts.py,mlacheck/engines/*,mlacheck/ruleset/*"
LEAST: Final = 95


def main() -> int:
    """Report the core's coverage and fail below the limit."""
    command = [
        sys.executable,
        "-m",
        "coverage",
        "report",
        f"--include={CORE}",
        f"--fail-under={LEAST}",
        "--show-missing",
    ]
    return subprocess.run(command, check=False).returncode  # noqa: S603 - our own interpreter


if __name__ == "__main__":
    sys.exit(main())
