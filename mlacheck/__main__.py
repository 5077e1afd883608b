"""`python -m mlacheck`."""

from mlacheck.cli import main

main()
