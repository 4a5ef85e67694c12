"""Expressions of determined columns, evaluated over whole columns. A closed set of operations; nothing is ever run.

NULL propagates, and whatever is no number (a division by zero, the root of a negative number) is NULL too.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mare.errors import InternalError
from mare.schema.condition_grammar import Condition
from mare.schema.determined import CHOICE, Expression, named

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


class Operands(Protocol):
    """The rows that an expression is worked out for."""

    @property
    def rows(self) -> int: ...

    def number(self, name: str) -> Column:
        """A column by the name that the expression has for it."""
        ...

    def holds(self, condition: Condition) -> Mask:
        """Where a condition is true."""
        ...


def evaluate(expression: Expression, operands: Operands) -> Column:
    """The value of an expression for each row."""
    with np.errstate(all="ignore"):
        return _known(_value(expression.body, expression, operands))


def _value(node: ast.expr, expression: Expression, operands: Operands) -> Column:
    def value(part: ast.expr) -> Column:
        return _value(part, expression, operands)

    if (name := named(node)) is not None:
        return operands.number(name)
    match node:
        case ast.Constant(value=int() | float() as number):
            return Column(np.full(operands.rows, float(number)), np.zeros(operands.rows, dtype=np.bool_))
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            column = value(inner)
            return Column(-column.values, column.nulls)
        case ast.UnaryOp(op=ast.UAdd(), operand=inner):
            return value(inner)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            a, b = value(left), value(right)
            return _known(Column(_BINARY[type(op)](a.values, b.values), a.nulls | b.nulls))
        case ast.Call(func=ast.Name(id=called), args=[ast.Constant(value=int() as number), yes, no]) if called == CHOICE:
            a, b, true = value(yes), value(no), operands.holds(expression.conditions[number])
            return Column(np.where(true, a.values, b.values), np.where(true, a.nulls, b.nulls))
        case ast.Call(func=ast.Name(id=called), args=arguments):
            return _known(_call(called, [value(argument) for argument in arguments]))
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
