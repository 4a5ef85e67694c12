"""Whole numbers and numbers with decimals. A tick is one step, or the last decimal that comes back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from mare.schema.faults import Fault, Path, listed, no_column, unsettled
from mare.schema.reflection import StorageKind
from mare.schema.strict import Names, Strict, Value

from .category import Listed
from .column import Raw
from .ordinal import Ordinal, compared_number
from .ticks import FURTHEST, OPEN_DECIMALS, AnyTicks, DecimalTicks, Order, WholeTicks, open_ticks, range_ticks
from .written import WrittenNumber

if TYPE_CHECKING:
    from mare.schema.layout import Layout


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


class Quantity(WrittenNumber, Ordinal):
    """A number whose scale may depend on another column: lab value by test, dose by drug."""

    by: Names | None = None
    """The column (or columns) of the same row that set the scale."""
    ranges: dict[Value, NumericRange] | None = None
    """With `by`: the range for each value of that column. Values left out are learned, or clamped to `min` and `max`."""

    if TYPE_CHECKING:
        min: float | None
        max: float | None

    order: ClassVar[Order | None] = "number"
    zero: ClassVar[object] = 0

    @property
    def left_as_written(self) -> dict[str, str]:
        return {special: special for special in self.specials if isinstance(special, str)}

    @property
    def depends_on_items(self) -> bool:
        return self.by is not None

    def item_ticks(self, low: float | None, high: float | None, precision: int | None) -> WholeTicks | DecimalTicks:
        """The ticks that it has for one item, whose range this is; None where it is not known yet."""
        ticks = open_ticks(precision) if low is None or high is None else range_ticks(low, high, precision)
        return replace(ticks, form=self.form)

    @property
    def steps(self) -> int | None:
        return None if self.by is not None else super().steps

    def compared(self, value: Value) -> float:
        return compared_number(value)

    def faults(self, layout: Layout, table: str, path: Path) -> Iterator[Fault]:
        yield from super().faults(layout, table, path)
        yield from self.number_faults(path, self.specials)
        yield from self._by_faults(layout, table, path)
        if self.ranges is not None:
            yield from self._range_list_faults(layout, table, self.ranges, (*path, "ranges"))

    @property
    def decimal_mark(self) -> str:
        return self.form.decimal

    def tells(self, stored: StorageKind) -> bool:
        return super().tells(stored) or (stored == "string" and self.decimal is not None)

    def hint(self, stored: StorageKind) -> str:
        return super().hint(stored) + (', or say how numbers are written: decimal: "."' if stored == "string" else "")

    def range_faults(self, path: Path) -> Iterator[Fault]:
        if not (self.ranges and self.min is None and self.max is None):
            yield from super().range_faults(path)

    def bin_faults(self, path: Path) -> Iterator[Fault]:
        if not isinstance(self.bins, tuple):
            yield from super().bin_faults(path)
            return
        here, edges, low, high = (*path, "bins"), self.bins, self.min, self.max
        if not edges:
            yield Fault(here, "no bin edges", "List the inner edges, or write a number: `bins: 20`")
        if any(a >= b for a, b in pairwise(edges)):
            yield Fault(here, "bin edges grow from left to right", f"Write {listed(f'{e:g}' for e in sorted(set(edges)))}")
        outside = [e for e in edges if (low is not None and e <= low) or (high is not None and e > high)]
        if outside and not self.anchors:
            remedy = f"Inner edges lie above {low} and up to {high}: remove the others"
            yield Fault(here, f"{listed(f'{e:g}' for e in outside)} lies outside min and max", remedy)

    def log_faults(self, path: Path) -> Iterator[Fault]:
        if self.min is not None and self.min < 0 and not self.anchors:
            yield _no_negatives((*path, "scale"), self.min)

    def _by_faults(self, layout: Layout, table: str, path: Path) -> Iterator[Fault]:
        known = layout.columns(table)
        scales = [c for c in known if c != path[-1] and layout.tells_items_apart(table, c, "public")]
        for name in self.by or ():
            if name not in known:
                yield no_column((*path, "by"), name, table, scales)
            elif name not in scales:
                what = f"{name} does not tell scales apart"
                yield Fault((*path, "by"), what, f"Name a category, a code or a reference to a public table: {listed(scales)}")
        bounded = self.min is not None and self.max is not None
        if self.by is not None and not self.ranges and not bounded and not self.learn and self.determined is None:
            remedy = "Write `ranges:` for each value, `min` and `max` for all, or `learn: true`"
            yield unsettled((*path, "ranges"), f"nothing says which scale it has for each {listed(self.by)}", remedy)

    def _range_list_faults(self, layout: Layout, table: str, ranges: dict[Value, NumericRange], path: Path) -> Iterator[Fault]:
        if not ranges:
            yield Fault(path, "no ranges", "Write {value: {min: …, max: …}}, or remove it")
        if self.by is None:
            yield Fault(path, "ranges of nothing", "Write `by:` with the column whose values these are")
        elif len(self.by) > 1:
            yield Fault(path, "ranges are listed by one column", f"Write `by:` with one of {listed(self.by)}, or `learn: true`")
        by = layout.columns(table).get(self.by[0]) if self.by else None
        values = by.listed if isinstance(by, Listed) else None
        for value, scale in ranges.items():
            here = (*path, value if isinstance(value, int) else str(value))
            if scale.min > scale.max:
                what = f"min {scale.min:g} is more than max {scale.max:g}"
                yield Fault((*here, "min"), what, "Exchange them, or mend one of them")
            if scale.scale == "log" and scale.min < 0:
                yield _no_negatives((*here, "scale"), scale.min)
            if values is not None and value not in values:
                remedy = f"Its values: {listed(str(v) for v in values)}"
                yield Fault(here, f"{value} is not a value of {listed(self.by or ())}", remedy)


class Drift(Strict):
    """How a value that is drawn once (`same_for`) moves on from the first row to later ones: an age, as the dates go on."""

    by: str
    """The date or datetime of the row that tells how much time has passed."""
    unit: Literal["years", "months", "days"] = "years"
    """What it is counted in. A year has 365.25 days."""


class Integer(Quantity):
    """A whole number."""

    type: Literal["integer"]
    min: int | None = None
    """Smallest value; smaller ones are clamped. None is further from zero than 2^60, about 10^18."""
    max: int | None = None
    """Largest value; larger ones are clamped."""
    step: int = Field(1, ge=1, le=FURTHEST)
    """Values are multiples of this."""
    drift: Drift | None = None
    """With `same_for`: the first row's value is drawn, and later rows have so many units more as have passed since."""

    fits: ClassVar[tuple[StorageKind, ...]] = ("integer", "number")
    staged_type: ClassVar[str] = "BIGINT"

    def faults(self, layout: Layout, table: str, path: Path) -> Iterator[Fault]:
        yield from super().faults(layout, table, path)
        ranges = {(*path, "ranges", str(value)): (own.min, own.max) for value, own in (self.ranges or {}).items()}
        for here, (low, high) in {path: (self.min, self.max), **ranges}.items():
            if (low or 0) > FURTHEST or (high or 0) < -FURTHEST:
                what = f"all of its values are further from zero than {FURTHEST:,} (2^60), and are no longer told apart"
                end = "min" if (low or 0) > 0 else "max"
                yield Fault((*here, end), what, "Count in larger units, or write `type: identifier`")

    def ticks(self, learned: Sequence[float] = ()) -> AnyTicks:
        return WholeTicks(self.step, self.form)

    def item_ticks(self, low: float | None, high: float | None, precision: int | None) -> WholeTicks | DecimalTicks:
        return WholeTicks(self.step, self.form)

    def read_sql(self, column: str, raw: Raw, *, spelled: bool) -> str | None:
        return whole_sql(column, raw)

    def says_its_text(self, raw: Raw) -> bool:
        return raw == "integer" and not self.is_rewritten


class Number(Quantity):
    """A number with decimals."""

    type: Literal["number"]
    min: float | None = None
    """Smallest value; smaller ones are clamped."""
    max: float | None = None
    """Largest value; larger ones are clamped."""
    precision: int | None = Field(None, ge=0, le=15)
    """Decimals that come back."""

    fits: ClassVar[tuple[StorageKind, ...]] = ("number", "integer")
    staged_type: ClassVar[str] = "DOUBLE"

    def ticks(self, learned: Sequence[float] = ()) -> AnyTicks:
        """Those of an open number while nothing is known of its range."""
        first = self.first
        declared = [self.min, self.max, self.within]
        declared += [] if first is None else [first.min, first.max, first.within]  # type: ignore[list-item]
        ends = [*(float(end) for end in declared if isinstance(end, int | float)), *learned]
        near = bool(self.anchors) and self.within is not None
        if not learned and not near and (self.min is None or self.max is None):
            return replace(open_ticks(self.precision), form=self.form)
        ticks = range_ticks(min(ends), max(ends), self.precision)
        if self.anchors and self.precision is None:
            # A short distance may be that of large numbers: on a unit as fine as itself, these would not fit.
            ticks = replace(ticks, decimals=min(ticks.decimals, OPEN_DECIMALS))
        return replace(ticks, form=self.form)

    @property
    def decimals(self) -> int | None:
        return self.precision

    @property
    def steps(self) -> int | None:
        return None if self.precision is None else super().steps

    @property
    def first_steps(self) -> int | None:
        return None if self.precision is None else super().first_steps

    def read_sql(self, column: str, raw: Raw, *, spelled: bool) -> str | None:
        return f"TRY_CAST({column} AS DOUBLE) + 0.0"  # a zero below nothing is zero, as its text says

    def says_its_text(self, raw: Raw) -> bool:
        return raw in ("integer", "floating") and not self.is_rewritten

    @property
    def number_text(self) -> str | None:
        return None if self.precision is None or self.by is not None else f"{{:.{self.precision}f}}"


_FIRST, _LAST = -(2**63), 2**63 - 1
_FAR = "9.223372036854775e18"
"""Just within 64 bits, as a double has it."""


def whole_sql(column: str, raw: Raw) -> str:
    """A whole number; one with decimals is rounded, one beyond 64 bits is the last within. In a text as in a number."""
    if raw == "integer":
        return f"coalesce(TRY_CAST({column} AS BIGINT), CASE WHEN {column} > 0 THEN {_LAST} END)"
    number = f"TRY_CAST({column} AS DOUBLE)"
    rounded = (
        f"CASE WHEN {number} >= {_FAR} THEN {_LAST} WHEN {number} <= -{_FAR} THEN {_FIRST} ELSE TRY_CAST({number} AS BIGINT) END"
    )
    if raw != "text":
        exactly = f"CASE WHEN {column} = trunc({column}) THEN TRY_CAST({column} AS BIGINT) END"
        return f"CASE WHEN isnan({number}) THEN NULL ELSE coalesce({exactly}, {rounded}) END"
    digits = f"CASE WHEN regexp_full_match(trim({column}), '[-+]?[0-9]+') THEN TRY_CAST({column} AS BIGINT) END"
    words = f"CASE {column} WHEN 'true' THEN 1 WHEN 'false' THEN 0 END"
    return f"coalesce({digits}, CASE WHEN NOT isnan({number}) THEN {rounded} END, {words})"


def _no_negatives(path: Path, low: float) -> Fault:
    what = f"a logarithmic scale has no place for negative values (min is {low:g})"
    return Fault(path, what, "Raise min to 0 or more, or write `scale: linear`")
