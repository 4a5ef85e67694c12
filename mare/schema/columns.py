"""The column types, one class each. A field that a type does not have is refused by name."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .determined import Determined
from .moments import Clock, Day, Moment
from .relative import Relative
from .spans import Span
from .strict import Names, Strict, Value

DEFAULT_MAX_VALUES = 100
"""How many values a learned domain may have when the schema does not say."""

Resolution = Literal["day", "hour", "minute", "second", "millisecond", "microsecond"]


class AnyColumn(Strict):
    """What every column may say."""

    description: str | None = None
    """For people; shown in the plan and kept in the release."""
    nullable: bool = False
    """NULL is a value of its own. A column that is not nullable never comes out NULL."""
    determined: Determined | None = None
    """Worked out from other values instead of modelled."""
    peeked: bool = False
    """Something here was filled in by looking at the data. `fit` refuses until a person has reviewed it and removed the mark."""


class LearnedDomain(Strict):
    """A domain is declared, or learned with budget; it is never silently taken from the data."""

    learn: bool = False
    """Learn the domain from the data, and pay for it."""


class Category(LearnedDomain, AnyColumn):
    """One of a few values."""

    type: Literal["category"]
    values: tuple[Value, ...] | None = None
    """All allowed values. A value outside becomes `other`, or is dropped to NULL where the column is nullable."""
    max_values: int | None = Field(None, ge=1)
    """With `learn`: keep at most this many values."""
    other: Value | None = None
    """The value that stands for everything outside the domain."""


class Boolean(AnyColumn):
    """True or false."""

    type: Literal["boolean"]
    true: Value | None = None
    """How true is stored, where it is not a boolean (`Y`, `1`)."""
    false: Value | None = None
    """How false is stored."""


class NumericRange(Strict):
    """The scale of a number for one value of the column it depends on."""

    min: float
    """Smallest value."""
    max: float
    """Largest value."""
    precision: int | None = Field(None, ge=0, le=15)
    """Decimals."""
    scale: Literal["linear", "log"] = "linear"
    """`log` where values span orders of magnitude."""


class Ordinal(LearnedDomain, AnyColumn, Relative):
    """What has an order and is binned to be counted."""

    bins: int | tuple[float, ...] | None = None
    """How many bins, or their inner edges. Left out: noisy quantiles, paid for from the learning share."""
    scale: Literal["linear", "log"] = "linear"
    """`log` for what spans orders of magnitude (lengths of stay, doses, small parts of the time that is left)."""
    specials: tuple[Value, ...] = ()
    """Values that are no quantities (`"> 89"`, `-1`, `N`): kept as categories of their own."""


class Quantity(Ordinal):
    """A number whose scale may depend on another column: lab value by test, dose by drug."""

    by: Names | None = None
    """The column (or columns) of the same row that set the scale."""
    ranges: dict[Value, NumericRange] | None = None
    """With `by`: the range for each value of that column. Values left out are learned, or clamped to `min` and `max`."""
    unit: str | None = None
    """For people: mg, mmol/L."""


class Integer(Quantity):
    """A whole number."""

    type: Literal["integer"]
    min: int | None = None
    """Smallest value; smaller ones are clamped."""
    max: int | None = None
    """Largest value; larger ones are clamped."""
    step: int = Field(1, ge=1)
    """Values are multiples of this."""


class Number(Quantity):
    """A number with decimals."""

    type: Literal["number"]
    min: float | None = None
    """Smallest value; smaller ones are clamped."""
    max: float | None = None
    """Largest value; larger ones are clamped."""
    precision: int | None = Field(None, ge=0, le=15)
    """Decimals that come back."""


class Date(Ordinal):
    """A calendar date."""

    type: Literal["date"]
    min: Day | None = None
    """Earliest date."""
    max: Day | None = None
    """Latest date."""
    format: str | None = None
    """strptime format, where dates are stored as text (`%Y%m%d`)."""


class Datetime(Ordinal):
    """A date with a time of day."""

    type: Literal["datetime"]
    min: Moment | None = None
    """Earliest moment."""
    max: Moment | None = None
    """Latest moment."""
    resolution: Resolution = "second"
    """What values are rounded to when they come back."""
    format: str | None = None
    """strptime format, where moments are stored as text."""


class Time(Ordinal):
    """A time of day. The whole day unless bounded."""

    type: Literal["time"]
    min: Clock | None = None
    """Earliest time of day."""
    max: Clock | None = None
    """Latest time of day."""
    resolution: Resolution = "second"
    """What values are rounded to."""
    format: str | None = None
    """strptime format, where times of day are stored as text (`%H:%M`)."""


class Duration(Ordinal):
    """A length of time."""

    type: Literal["duration"]
    min: Span | None = None
    """Shortest, as a span: `0s`."""
    max: Span | None = None
    """Longest, as a span: `365d`."""
    stored_as: Literal["interval", "seconds", "minutes", "hours", "days"] = "interval"
    """How the source stores it: its own interval type, or a number of these."""


class Hierarchy(Strict):
    """A public coarsening of codes: by prefixes of the code itself, or by columns of the vocabulary table."""

    prefix: tuple[int, ...] = ()
    """Lengths of the prefixes that are levels: `[1, 3]` for ICD-10 chapter letter and three-character category."""
    columns: tuple[str, ...] = ()
    """Columns of the vocabulary table, coarse to fine: `[chapter, block]`."""
    by: str | None = None
    """A column of the same row that tells vocabularies apart (`icd_version`): the coarsest level."""


class Code(LearnedDomain, AnyColumn):
    """A code of a large vocabulary with a public hierarchy: ICD, ATC, LOINC."""

    type: Literal["code"]
    vocabulary: str | None = None
    """The public table whose key lists the codes."""
    values: tuple[Value, ...] | None = None
    """All codes, where there is no such table."""
    max_values: int | None = Field(None, ge=1)
    """Keep at most this many codes; the rest are drawn within their level of the hierarchy."""
    hierarchy: Hierarchy | None = None
    """How codes coarsen."""


class Position(AnyColumn):
    """The position of a row within its parent (`seq_num`): known from the order, costs nothing."""

    type: Literal["position"]
    start: int = 1
    """The number of the first row."""
    within: Names | None = None
    """Count anew for each value of these columns of the same parent."""


class Identifier(AnyColumn):
    """A name without meaning: regenerated, never read into a model."""

    type: Literal["identifier"]
    generate: Literal["sequence", "uuid", "pattern"] = "sequence"
    """How fresh ones are made."""
    start: int = 1
    """First number of a sequence."""
    pattern: str | None = None
    """With `generate: pattern`: a format with `{n}`, as in `P{n:08d}`."""


class Text(AnyColumn):
    """Free text: it cannot be made private, so it is not kept."""

    type: Literal["text"]
    fill: Literal["drop", "constant", "template"] = "drop"
    """`drop` (NULL, or the empty string), a `constant`, or a `template`."""
    value: str | None = None
    """The constant."""
    template: str | None = None
    """Text with columns of the same row in braces: `{gender}, {age} years`."""


class Unknown(AnyColumn):
    """A type that nobody has settled yet (a CSV header does not tell). `check` and `plan` ask for it."""

    type: Literal["unknown"]


Column = Annotated[
    Category | Boolean | Integer | Number | Date | Datetime | Time | Duration | Code | Position | Identifier | Text | Unknown,
    Field(discriminator="type"),
]
"""A column of a table: `type` says which of these it is."""
