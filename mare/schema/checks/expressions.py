"""Expressions of determined columns: parsed, never run. Arithmetic over columns of the same row, and a few functions."""

from __future__ import annotations

import ast

FUNCTIONS = ("round", "abs", "min", "max", "floor", "ceil", "log", "exp", "sqrt", "coalesce")
"""What an expression may call."""

_NODES = (
    ast.Expression,
    ast.BinOp,
    ast.UnaryOp,
    ast.Call,
    ast.Constant,
    ast.Name,
    ast.Load,
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.Div,
    ast.FloorDiv,
    ast.Mod,
    ast.Pow,
    ast.USub,
    ast.UAdd,
)


def names_in(expression: str) -> tuple[str, ...]:
    """The columns that an expression uses, in order. A `ValueError` says what is not allowed in it."""
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError("it is not an arithmetic expression") from None
    called = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    for node in ast.walk(tree):
        if not isinstance(node, _NODES):
            raise ValueError(
                f"it holds {ast.unparse(node) if isinstance(node, ast.expr) else 'an operator'}, which is not allowed"
            )
        if isinstance(node, ast.Constant) and (isinstance(node.value, bool) or not isinstance(node.value, int | float)):
            raise ValueError(f"it holds {node.value!r}, which is not a number")
        if isinstance(node, ast.Call) and (not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS or node.keywords):
            raise ValueError(f"it calls {ast.unparse(node.func)}")
    names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node not in called]
    return tuple(dict.fromkeys(names))
