"""Expressions of determined columns, evaluated over whole columns. A closed set of operations; nothing is ever run.

NULL propagates, and whatever is no number (a division by zero, the root of a negative number) is NULL too.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mare.errors import InternalError

Numbers = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Column:
    """Numbers, and where they are NULL."""

    values: Numbers
    nulls: Mask


_BINARY: dict[type, Callable[[Numbers, Numbers], Numbers]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.FloorDiv: np.floor_divide,
    ast.Mod: np.mod,
    ast.Pow: np.power,
}
_UNARY: dict[str, Callable[[Numbers], Numbers]] = {
    "abs": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "exp": np.exp,
    "sqrt": np.sqrt,
}


def evaluate(expression: str, columns: Mapping[str, Column], rows: int) -> Column:
    """The value of an expression for each row."""
    tree = ast.parse(expression.strip(), mode="eval")
    with np.errstate(all="ignore"):
        return _known(_value(tree.body, columns, rows))


def _value(node: ast.expr, columns: Mapping[str, Column], rows: int) -> Column:
    match node:
        case ast.Constant(value=int() | float() as number):
            return Column(np.full(rows, float(number)), np.zeros(rows, dtype=np.bool_))
        case ast.Name(id=name):
            return columns[name]
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            column = _value(inner, columns, rows)
            return Column(-column.values, column.nulls)
        case ast.UnaryOp(op=ast.UAdd(), operand=inner):
            return _value(inner, columns, rows)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            a, b = _value(left, columns, rows), _value(right, columns, rows)
            return _known(Column(_BINARY[type(op)](a.values, b.values), a.nulls | b.nulls))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _known(_call(name, [_value(argument, columns, rows) for argument in arguments]))
    raise InternalError(f"an expression holds {type(node).__name__}, which the schema's checks do not let pass")


def _known(column: Column) -> Column:
    """What is no number is NULL from here on, so that coalesce sees it."""
    return Column(column.values, column.nulls | ~np.isfinite(column.values))


def _call(name: str, given: list[Column]) -> Column:
    if not given:
        raise InternalError(f"an expression calls {name} with nothing")
    first, nulls = given[0], np.logical_or.reduce([column.nulls for column in given])
    if name in _UNARY:
        return Column(_UNARY[name](first.values), first.nulls)
    if name == "log":
        base = np.log(given[1].values) if len(given) > 1 else 1.0
        return Column(np.log(first.values) / base, nulls)
    if name == "round":
        digits = given[1].values if len(given) > 1 else np.zeros(len(first.values))
        scale = np.power(10.0, np.rint(digits))
        return Column(np.rint(first.values * scale) / scale, nulls)
    if name in ("min", "max"):
        pick = np.minimum if name == "min" else np.maximum
        return Column(pick.reduce([column.values for column in given]), nulls)
    if name == "coalesce":
        values, missing = first.values.copy(), first.nulls.copy()
        for other in given[1:]:
            values = np.where(missing, other.values, values)
            missing = missing & other.nulls
        return Column(values, missing)
    raise InternalError(f"an expression calls {name}, which the schema's checks do not let pass")
