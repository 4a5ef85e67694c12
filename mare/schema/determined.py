"""Determined columns: filled in from other values after sampling, never modelled, never charged.

Their expressions are parsed, never run: arithmetic over columns of the same row, and a few functions.
"""

from __future__ import annotations

import ast
from typing import Literal

from pydantic import model_validator

from .strict import Names, Strict


class DatePart(Strict):
    """A part of a date or time of the same row or of a row above."""

    of: str
    """The date or datetime: `column`, `parent.column` or `ancestor.column`."""
    unit: Literal["year", "quarter", "month", "week", "day", "weekday", "hour", "minute", "date", "time"]
    """Which part."""


class Lookup(Strict):
    """A description by code: a column of a public table, found by a code column of this row."""

    table: str
    """The public table."""
    column: str
    """The column of it that is copied."""
    by: Names
    """The column of this row that holds the code, or the columns (code and version): matched with the public table's key."""


class Elapsed(Strict):
    """A length of time as a number (`los` in days): between two times of the same row or of rows above."""

    since: str
    """The earlier time: `column`, `parent.column` or `ancestor.column`."""
    until: str
    """The later time."""
    unit: Literal["seconds", "minutes", "hours", "days", "years"] = "days"
    """What is counted; fractions are kept where the column has decimals."""


class Determined(Strict):
    """Exactly one way to work the value out."""

    copy_of: str | None = None
    """The same value as another: `column`, `parent.column` or `ancestor.column`."""
    expression: str | None = None
    """Arithmetic: `weight / (height / 100) ** 2`; also round, abs, min, max, floor, ceil, log, exp, sqrt, coalesce."""
    part: DatePart | None = None
    """A part of a date: `{of: admittime, unit: year}`."""
    lookup: Lookup | None = None
    """A description by code: `{table: d_icd, column: long_title, by: icd_code}`."""
    next: str | None = None
    """The next row's value of this column (`outtime` is the next `intime`); NULL on the last row."""
    elapsed: Elapsed | None = None
    """The time between two others: `{since: intime, until: outtime, unit: days}`."""

    @model_validator(mode="after")
    def _exactly_one(self) -> Determined:
        chosen = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(chosen) != 1:
            raise ValueError(
                "say exactly one of copy_of, expression, part, lookup, next, elapsed"
                + (f" (found {' and '.join(chosen)})" if chosen else "")
            )
        return self


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
