"""The decode check: a kernel is believed after it has decoded; importing this never imports torch."""

from __future__ import annotations

from mlacheck.decode.launch import decode_check
from mlacheck.decode.problem import DecodeProblem, ProblemError
from mlacheck.decode.process import run
from mlacheck.decode.row import DecodeReport, Row

__all__ = ["DecodeProblem", "DecodeReport", "ProblemError", "Row", "decode_check", "run"]
