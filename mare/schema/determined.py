"""Values that depend on others. Determined columns: filled in after sampling, never modelled, never charged.

Worked out from the same row, the rows above, the row before it in its sequence, or the rows below; by arithmetic that is parsed,
never run: names of columns, numbers, a few functions, and `if`. `if(type = 'credit', amount, -amount)` holds a condition in the
words of `--where`. It is cut out before the rest is read as arithmetic, and a number stands in its place.

And values that are generated relative to others (`Relative`), so that order holds by construction (design.md, Schema). An anchor
is written ``column`` (same row), ``previous.column`` (the row before it in the sequence), ``parent.column``, or ``table.column``
(any ancestor). ``.a.b`` is a column ``a.b`` of the same row: a table puts the dot before what is the name of one of its own
columns as a whole, so that `a.b` alone is understood too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from pydantic import Field, model_validator

from .condition_grammar import Condition, comparisons_in, parse_condition
from .strict import Names, OrderedValue, Span, Strict, Value

SAME_ROW, PREVIOUS_ROW, PARENT_ROW = "", "previous", "parent"


@dataclass(frozen=True)
class Anchor:
    """A parsed anchor: ``scope`` is ``""``, ``"previous"``, ``"parent"`` or the name of an ancestor."""

    scope: str
    column: str

    @classmethod
    def parse(cls, text: str) -> Anchor:
        if text.startswith("."):
            return cls(SAME_ROW, text[1:])
        first, dot, rest = text.partition(".")
        if dot and first in (PREVIOUS_ROW, PARENT_ROW):
            return cls(first, rest)  # whatever the column is called; a table may have a dot in its name, too
        scope, dot, column = text.rpartition(".")
        return cls(scope if dot else SAME_ROW, column)

    def __str__(self) -> str:
        """As the schema writes it."""
        if self.scope == SAME_ROW:
            return f".{self.column}" if "." in self.column else self.column
        return f"{self.scope}.{self.column}"


class FirstValue(Strict):
    """The first value of a sequence, kept in the context: later ones are gaps from their anchor.

    Absolute (`min` and `max`: a patient's first admission), or relative to a row above (`after`, `before` or both, with
    `within`: the first transfer begins around its admission).
    """

    min: OrderedValue | None = None
    """Smallest first value."""
    max: OrderedValue | None = None
    """Largest first value."""
    after: str | None = None
    """Never before this anchor: `parent.column` or `ancestor.column`."""
    before: str | None = None
    """Never after this anchor: `parent.column` or `ancestor.column`."""
    within: Span | int | float | None = None
    """Furthest distance from that anchor (of two, from `after`): a span (`2d`) for dates and times, a number for numbers."""

    @model_validator(mode="after")
    def _absolute_or_relative(self) -> FirstValue:
        absolute = self.min is not None and self.max is not None and self.within is None
        relative = self.within is not None and self.min is None and self.max is None
        anchors = (self.after is not None) + (self.before is not None)
        if not (absolute and anchors == 0) and not (relative and anchors > 0):
            raise ValueError("say min and max, or after, before or both together with within")
        return self


class Relative(Strict):
    """The fields of a column that may be tied to another. They are about order: integers, numbers, dates and times."""

    after: str | None = None
    """Never before this anchor: `column`, `previous.column`, `parent.column` or `ancestor.column`."""
    before: str | None = None
    """Never after this anchor, the first row of a sequence included.
    With `after` and `within` (or `learn`), the value is the distance from `after`; without, a fraction of the time between."""
    during: tuple[str, str] | None = None
    """Shorthand for `after` and `before`: stays within the interval between these two anchors."""
    around: str | None = None
    """Before or after this anchor, or equal to it, at most `within` away: times of one row that come in no known order."""
    within: Span | int | float | None = None
    """Furthest distance from the anchor: a span (`20y`) for dates and times, a number for numbers."""
    first: FirstValue | None = None
    """Where `after` names the previous row: bounds of the sequence's first value."""
    strict: bool = False
    """Never equal to the anchor either. A strict order makes a key of it."""

    @property
    def follows_previous(self) -> bool:
        """Whether it depends on the row before it in the sequence."""
        return self.first is not None or any(anchor.scope == PREVIOUS_ROW for anchor in self.anchors.values())

    @property
    def anchors(self) -> dict[str, Anchor]:
        """Field name → parsed anchor, for every anchor that is written."""
        written: dict[str, str | None] = {"after": self.after, "before": self.before, "around": self.around}
        if self.during is not None:
            written |= {"during.0": self.during[0], "during.1": self.during[1]}
        if self.first is not None:
            written |= {"first.after": self.first.after, "first.before": self.first.before}
        return {name: Anchor.parse(text) for name, text in written.items() if text is not None}


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
    while (opening := _IF.search(text, at)) is not None:
        end = _end_of_condition(text, opening.end())
        parts += [text[at : opening.start()], f"{CHOICE}({len(conditions)}"]
        conditions.append(text[opening.end() : end])
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


class Formula(Strict):
    """A result that is worked out, where a plain value would be a constant."""

    copy_of: str | None = None
    """The same value as another."""
    expression: str | None = None
    """Arithmetic."""

    @model_validator(mode="after")
    def _exactly_one(self) -> Formula:
        if (self.copy_of is None) == (self.expression is None):
            raise ValueError("say exactly one of copy_of, expression")
        return self


class Case(Strict):
    """One case: its result counts where the condition is true and that of no earlier case was."""

    if_: str = Field(alias="if")
    """The condition, in the words of `--where`: `bmi >= 30 and sex = 'F'`. Also about `previous.column` and `parent.column`."""
    then: Value | Formula | None
    """A constant (`obese`, `null`), or what is worked out: `{expression: "amount * 2"}`, `{copy_of: shipped}`."""


class Determined(Strict):
    """Exactly one way to work the value out."""

    copy_of: str | None = None
    """The same value as another: `column`, `parent.column`, `ancestor.column` or `previous.column`."""
    expression: str | None = None
    """Arithmetic: `weight / (height / 100) ** 2`, `previous.balance + if(type = 'credit', amount, -amount)`; also round, abs,
    min, max, floor, ceil, log, exp, sqrt, coalesce."""
    when: tuple[Case, ...] | None = Field(None, min_length=1)
    """Case by case, the first that holds: `[{if: "bmi >= 30", then: obese}, …]`."""
    else_: Value | Formula | None = Field(None, alias="else")
    """With `when`: the result where no case holds. NULL if left out."""
    first: Value | Formula | None = None
    """Where the previous row is looked at: what the first row of a sequence has. A number or another constant; a text names a
    column (`copy_of`) or is arithmetic (`expression`). Beside `when`, as a result of it: `{expression: …}`, `{copy_of: …}`."""
    part: DatePart | None = None
    """A part of a date: `{of: admittime, unit: year}`."""
    lookup: Lookup | None = None
    """A description by code: `{table: d_icd, column: long_title, by: icd_code}`."""
    goes_with: str | None = None
    """What stands beside that column's value in the rows, as a name beside its code: `drug_name` goes with `drug_code`."""
    next: str | None = None
    """The next row's value of this column (`outtime` is the next `intime`); NULL on the last row."""
    elapsed: Elapsed | None = None
    """The time between two others: `{since: intime, until: outtime, unit: days}`."""
    count: str | None = None
    """How many rows a table below has under this row: `lines`."""
    sum: str | None = None
    """The sum over the rows of a table below: `lines.amount`. NULLs do not count; without a row it is 0."""
    mean: str | None = None
    """Their mean. Without a row it is NULL, as with the four that follow."""
    min: str | None = None
    """The smallest of them: numbers, dates, times."""
    max: str | None = None
    """The largest of them."""
    first_of: str | None = None
    """The value in the first row of a sequence below: `visits.date`."""
    last_of: str | None = None
    """The value in its last row."""

    @model_validator(mode="after")
    def _exactly_one(self) -> Determined:
        chosen = [name for name in WAYS if getattr(self, name) is not None]
        if len(chosen) != 1:
            raise ValueError(f"say exactly one of {', '.join(WAYS)}" + (f" (found {' and '.join(chosen)})" if chosen else ""))
        if self.else_ is not None and self.when is None:
            raise ValueError("`else` is the result where no case of `when` holds; write `when:`, or remove it")
        return self

    @property
    def total(self) -> tuple[str, str, str | None] | None:
        """How rows of a table below are taken together, which table, and which column; None where it does nothing of the kind."""
        for how in TOTALS:
            if (written := getattr(self, how)) is not None:
                table, _, column = written.rpartition(".") if how != "count" else (written, "", "")
                return how, table, column or None
        return None

    @property
    def results(self) -> tuple[Formula, ...]:
        """Whatever may become the value, where it is worked out: of all cases and of the first row."""
        own = Formula(copy_of=self.copy_of, expression=self.expression) if self.copy_of or self.expression else None
        cases = [case.then for case in self.when or ()]
        return tuple(result for result in (own, *cases, self.else_, self.begins) if isinstance(result, Formula))

    @property
    def begins(self) -> Value | Formula | None:
        """What the first row of a sequence has, where `first` says so."""
        if not isinstance(self.first, str) or self.when is not None:
            return self.first
        return Formula(copy_of=self.first) if self.copy_of is not None else Formula(expression=self.first)

    def looks_at(self, own: Collection[str]) -> tuple[Anchor, ...]:
        """The values of the row, of the one before and of those above that have to be known before this one.

        ``own`` are the columns of the table: one of them may have a dot in its name. A `ValueError` says what cannot be read.
        """
        return tuple(dict.fromkeys(self._anchors(own)))

    def _anchors(self, own: Collection[str]) -> Iterator[Anchor]:
        conditions = [parse_condition(case.if_) for case in self.when or ()]
        for result in self.results:
            if result.copy_of is not None:
                yield Anchor.parse(result.copy_of)
            if result.expression is not None:
                parsed = parse_expression(result.expression)
                yield from map(Anchor.parse, parsed.names)
                conditions += parsed.conditions
        yield from (tested_anchor(test.column, own) for condition in conditions for test in comparisons_in(condition))
        if self.part is not None:
            yield Anchor.parse(self.part.of)
        if self.elapsed is not None:
            yield from map(Anchor.parse, (self.elapsed.since, self.elapsed.until))
        if self.lookup is not None:
            yield from (Anchor(SAME_ROW, name) for name in self.lookup.by)
        if self.goes_with is not None:
            yield Anchor(SAME_ROW, self.goes_with)

    def looks_back(self, own: Collection[str]) -> bool:
        """Whether the row before it has a say."""
        return any(anchor.scope == PREVIOUS_ROW for anchor in self.looks_at(own))


TOTALS = ("count", "sum", "mean", "min", "max", "first_of", "last_of")
"""Ways to take the rows of a table below together."""
WAYS = ("copy_of", "expression", "when", "part", "lookup", "goes_with", "next", "elapsed", *TOTALS)


def tested_anchor(column: str, own: Collection[str]) -> Anchor:
    """The column that a condition is about: one of the row's own, dots and all, or one of another row."""
    return Anchor(SAME_ROW, column) if column in own else Anchor.parse(column)
