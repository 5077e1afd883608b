"""The decode check: believes an MLA decode kernel only after it has decoded; importing it never imports torch."""

from __future__ import annotations

from mlacheck.decode.launch import decode_check
from mlacheck.decode.problem import DecodeProblem, ProblemError
from mlacheck.decode.process import run
from mlacheck.decode.row import DecodeReport, Row

__all__ = ["DecodeProblem", "DecodeReport", "ProblemError", "Row", "decode_check", "run"]
