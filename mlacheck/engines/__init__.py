"""Engines' command lines: argv to arguments, by the grammar of one engine version."""

from __future__ import annotations

from mlacheck.engines.arguments import ArgumentProblem, Arguments, Given, Option
from mlacheck.engines.grammar import Grammar

__all__ = ["ArgumentProblem", "Arguments", "Given", "Grammar", "Option"]
