"""Determined columns: filled in from other values after sampling, never modelled, never charged.

Worked out from the same row, the rows above, the row before it in its sequence, or the rows below.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Literal

from pydantic import Field, model_validator

from .condition_grammar import comparisons_in, parse_condition
from .expressions import parse_expression
from .relative import PREVIOUS_ROW, SAME_ROW, Anchor
from .strict import Names, Strict, Value


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
