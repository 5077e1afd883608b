"""Install the CPU build of torch that the decode tests use, or say that they will be skipped."""

from __future__ import annotations

import subprocess
import sys


def main() -> int:
    """Install torch; its absence is not an error, the decode tests then say why they were skipped."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*pip, "torch==2.13.0", "numpy"], check=False)  # noqa: S603 - our own interpreter
    if done.returncode:
        print("torch could not be installed: the decode tests will be skipped", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
