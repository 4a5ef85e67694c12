"""The arithmetic of determined columns: parsed, never run. Names of columns, numbers, a few functions, and `if`.

`if(type = 'credit', amount, -amount)` holds a condition in the words of `--where`. It is cut out before the rest is read as
arithmetic, and a number stands in its place.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from .condition_grammar import Condition, parse_condition

FUNCTIONS = ("if", "round", "abs", "min", "max", "floor", "ceil", "log", "exp", "sqrt", "coalesce")
"""What an expression may call."""

CHOICE = "_if"
"""What `if` is called while it is parsed: Python has the word for itself. Its first argument is the number of a condition."""

_NODES = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.Call, ast.Constant, ast.Name, ast.Attribute, ast.Load, ast.Add, ast.Sub,
    ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.USub, ast.UAdd,
)  # fmt: skip
_IF = re.compile(r"(?<![\w.])if\s*\(")


@dataclass(frozen=True, eq=False)
class Expression:
    """An expression that was read."""

    body: ast.expr
    conditions: tuple[Condition, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that the arithmetic uses, in order: `amount`, `previous.balance`, `parent.rate`."""
        return tuple(dict.fromkeys(_names(self.body)))

    @property
    def bare(self) -> tuple[str, ...]:
        """Those of them that make the result NULL where they are: all that stand in no `coalesce`."""
        return tuple(dict.fromkeys(_names(self.body, "coalesce")))


def parse_expression(text: str) -> Expression:
    """An expression, or a `ValueError` that says what is not allowed in it."""
    arithmetic, conditions = _without_conditions(text.strip())
    try:
        tree = ast.parse(arithmetic, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError("it is not an arithmetic expression") from None
    for node in ast.walk(tree):
        _refuse_foreign(node)
    return Expression(tree.body, tuple(parse_condition(condition) for condition in conditions))


def named(node: ast.expr) -> str | None:
    """The column that a node of an expression names."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=scope), attr=name):
            return f"{scope}.{name}"
    return None


def _refuse_foreign(node: ast.AST) -> None:
    if not isinstance(node, _NODES) or (isinstance(node, ast.Attribute) and named(node) is None):
        shown = ast.unparse(node) if isinstance(node, ast.expr) else "an operator"
        raise ValueError(f"it holds {shown}, which is not allowed")
    if isinstance(node, ast.Constant) and (isinstance(node.value, bool) or not isinstance(node.value, int | float)):
        raise ValueError(f"it holds {node.value!r}, which is not a number")
    if not isinstance(node, ast.Call):
        return
    called = node.func.id if isinstance(node.func, ast.Name) else None
    if called not in (*FUNCTIONS, CHOICE) or node.keywords:
        raise ValueError(f"it calls {ast.unparse(node.func)}")
    if not node.args:
        raise ValueError(f"it calls {called} with nothing")
    if called == CHOICE and len(node.args) != 3:
        raise ValueError("`if` has a condition and two results: if(type = 'credit', amount, -amount)")


def _names(node: ast.expr, without: str | None = None) -> Iterator[str]:
    """The names in a node, and none of those inside calls of the function that is left out."""
    if (name := named(node)) is not None:
        yield name
        return
    parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
    if isinstance(node, ast.Call):
        parts = [] if named(node.func) == without else node.args
    for part in parts:
        yield from _names(part, without)


def _without_conditions(text: str) -> tuple[str, list[str]]:
    """The text with a number in place of each condition, and the conditions."""
    if re.search(rf"(?<!\w){CHOICE}\s*\(", text):
        raise ValueError(f"it calls {CHOICE}")
    parts, conditions, at = [], list[str](), 0
    while (found := _IF.search(text, at)) is not None:
        end = _end_of_condition(text, found.end())
        parts += [text[at : found.start()], f"{CHOICE}({len(conditions)}"]
        conditions.append(text[found.end() : end])
        at = end
    return "".join([*parts, text[at:]]), conditions


def _end_of_condition(text: str, start: int) -> int:
    """Where the first comma stands that is in no text and no parentheses."""
    depth, quote = 0, ""
    for at in range(start, len(text)):
        letter = text[at]
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter == "," and not depth:
            return at
        else:
            depth += (letter == "(") - (letter == ")")
    raise ValueError("`if` has a condition and two results: if(type = 'credit', amount, -amount)")
