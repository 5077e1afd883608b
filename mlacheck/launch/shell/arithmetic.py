"""Whole numbers as a shell computes them, for the operators that launch files use."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_NAME: Final = re.compile(r"\$?\{?([A-Za-z_][A-Za-z0-9_]*)\}?")
_ALLOWED: Final = re.compile(r"[0-9+\-*/%() \t]+")
_LONGEST: Final = 200
_LARGEST: Final = 2**63


def compute(text: str, read: Callable[[str], str | None], names: list[str]) -> int | None:
    """Give the value of an arithmetic expression, None when a variable in it is open or it is not plain.

    The variables that it reads are added to `names`.
    """
    if len(text) > _LONGEST:
        return None
    known = True

    def value(match: re.Match[str]) -> str:
        nonlocal known
        names.append(match[1])
        held = read(match[1])
        if held is None or not re.fullmatch(r"-?(0|[1-9][0-9]{0,17})", held):
            known = False
            return "0"
        return f"({held})"

    plain = _NAME.sub(value, text)
    if not known or not _ALLOWED.fullmatch(plain) or "**" in plain or "//" in plain:
        return None
    try:
        return _evaluate(ast.parse(plain.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _evaluate(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = _evaluate(node.operand)
        return -value if isinstance(node.op, ast.USub) else value
    if not isinstance(node, ast.BinOp):
        raise ValueError(ast.dump(node))  # noqa: TRY004 - the text is wrong, not a type
    left, right = _evaluate(node.left), _evaluate(node.right)
    if isinstance(node.op, ast.Add):
        result = left + right
    elif isinstance(node.op, ast.Sub):
        result = left - right
    elif isinstance(node.op, ast.Mult):
        result = left * right
    else:
        if right == 0:
            raise ValueError("division by zero")
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)  # towards nought
        result = quotient if isinstance(node.op, ast.Div) else left - quotient * right
    if abs(result) >= _LARGEST:
        raise ValueError("overflow")
    return result
