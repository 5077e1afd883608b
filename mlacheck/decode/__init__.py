"""The decode check: a kernel is believed after it has decoded; importing this never imports torch."""

from __future__ import annotations

from mlacheck.decode.convention import Convention
from mlacheck.decode.launch import Overrides, check_backend, check_launch, decode_check
from mlacheck.decode.problem import DecodeProblem, ProblemError
from mlacheck.decode.process import run
from mlacheck.decode.row import DecodeReport, Row

__all__ = [
    "Convention",
    "DecodeProblem",
    "DecodeReport",
    "Overrides",
    "ProblemError",
    "Row",
    "check_backend",
    "check_launch",
    "decode_check",
    "run",
]
