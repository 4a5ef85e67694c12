"""From the schema's columns to their codecs. A domain comes from the declaration alone: nothing here has seen a value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from graphlib import CycleError, TopologicalSorter
from typing import TypeVar

from mare.errors import PlanError
from mare.schema import Schema
from mare.schema.columns import Boolean, Category, Date, Datetime, Integer, Number, Ordinal
from mare.schema.relative import PREVIOUS_ROW, SAME_ROW, Anchor
from mare.schema.spans import parse_span

from .bins import Bins, bins_from_edges, make_bins
from .boolean import BooleanCodec
from .category import CategoryCodec
from .date import DateScale
from .datetime import DatetimeScale
from .integer import IntegerScale
from .number import NumberScale, decimals_for
from .ordinal import OrdinalCodec
from .relative import RelativeCodec

ColumnCodec = CategoryCodec | BooleanCodec | OrdinalCodec | RelativeCodec
Scale = IntegerScale | NumberScale | DateScale | DatetimeScale
Bound = TypeVar("Bound")


class _NotYet(Exception):
    """Something that the schema may say and the plan may hold, but no codec reads yet."""


@dataclass(frozen=True)
class TableCodec:
    """The codecs of a table's modelled columns, anchors before the columns that are anchored at them."""

    table: str
    columns: Mapping[str, ColumnCodec]

    @property
    def firsts(self) -> dict[str, OrdinalCodec]:
        """The codecs of the first values that live in the context."""
        relative = {name: codec for name, codec in self.columns.items() if isinstance(codec, RelativeCodec)}
        return {name: codec.first for name, codec in relative.items() if codec.first is not None}


def table_codec(schema: Schema, table: str, columns: Iterable[str]) -> TableCodec:
    """The codecs of these columns of a table, or an error that names every column that cannot be fitted yet."""
    described = schema.tables[table].columns
    codecs: dict[str, ColumnCodec] = {}
    refused: list[str] = []
    for name in columns:
        try:
            codecs[name] = _codec(described[name])
        except _NotYet as why:
            refused.append(f"{table}.{name}: {why}")
    anchors = {name: codec.anchor for name, codec in codecs.items() if isinstance(codec, RelativeCodec)}
    for name, anchor in anchors.items():
        if not isinstance(codecs.get(anchor.column), OrdinalCodec | RelativeCodec):
            refused.append(
                f"{table}.{name}: its anchor {anchor.column!r} is not a modelled number, date or time of the same table"
            )
    if refused:
        listed = "\n".join(f"  - {fault}" for fault in refused)
        raise PlanError(f"this schema can be planned, but not yet fitted:\n{listed}")
    return TableCodec(table, {name: codecs[name] for name in _anchors_first(table, codecs, anchors)})


def _anchors_first(table: str, codecs: Mapping[str, ColumnCodec], anchors: Mapping[str, Anchor]) -> list[str]:
    same_row = {name: [anchors[name].column] if name in anchors and anchors[name].scope == SAME_ROW else [] for name in codecs}
    try:
        return list(TopologicalSorter(same_row).static_order())
    except CycleError as error:
        raise PlanError(
            f"table {table!r}: columns are anchored at each other in a circle: {' → '.join(error.args[1])}."
        ) from None


def _codec(column: object) -> ColumnCodec:
    builder = _BUILDERS.get(type(column))
    if builder is None:
        raise _NotYet(f"type {getattr(column, 'type', '?')!r} has no codec yet")
    return builder(column)


def _category(column: object) -> CategoryCodec:
    assert isinstance(column, Category)
    if column.values is None:
        raise _NotYet("its values are to be learned; list them (values: […])")
    extra = () if column.other is None or column.other in column.values else (column.other,)
    return CategoryCodec((*column.values, *extra), column.nullable, column.other)


def _boolean(column: object) -> BooleanCodec:
    assert isinstance(column, Boolean)
    return BooleanCodec(column.nullable, column.true, column.false)


def _integer(column: object) -> OrdinalCodec | RelativeCodec:
    assert isinstance(column, Integer)
    _no_scale_by(column)
    scale = IntegerScale(column.step)
    return _ordered(column, scale, column.min, column.max, scale.tick)


def _number(column: object) -> OrdinalCodec | RelativeCodec:
    assert isinstance(column, Number)
    _no_scale_by(column)
    far = column.first.max if column.first is not None and isinstance(column.first.max, int | float) else column.within
    reach = float(far) if isinstance(far, int | float) else 1.0
    low, high = (column.min, column.max) if column.min is not None and column.max is not None else (-reach, reach)
    scale = NumberScale(decimals_for(low, high, column.precision))
    return _ordered(column, scale, column.min, column.max, scale.tick)


def _date(column: object) -> OrdinalCodec | RelativeCodec:
    assert isinstance(column, Date)
    scale = DateScale()
    return _ordered(column, scale, column.min, column.max, scale.tick)


def _datetime(column: object) -> OrdinalCodec | RelativeCodec:
    assert isinstance(column, Datetime)
    scale = DatetimeScale(column.resolution)
    return _ordered(column, scale, column.min, column.max, scale.tick)


def _no_scale_by(column: Integer | Number) -> None:
    if column.by is not None or column.ranges is not None:
        raise _NotYet("a scale that depends on another column (by, ranges) has no codec yet")


def _ordered(
    column: Ordinal, scale: Scale, low: Bound | None, high: Bound | None, tick: Callable[[Bound], int]
) -> OrdinalCodec | RelativeCodec:
    if column.specials:
        raise _NotYet("special values among numbers have no codec yet")
    if column.before is not None or column.during is not None:
        raise _NotYet("values between two anchors (before, during) have no codec yet")
    if column.after is not None:
        return _relative(column, scale, Anchor.parse(column.after))
    if low is None or high is None:
        raise _NotYet("its bounds are to be learned; declare min and max")
    return OrdinalCodec(scale, _bins(column, scale, tick(low), tick(high)), column.nullable)


def _bins(column: Ordinal, scale: Scale, low: int, high: int) -> Bins:
    if isinstance(column.bins, tuple):
        if not isinstance(scale, IntegerScale | NumberScale):
            raise _NotYet("listed bin edges of dates and times have no codec yet; give their number (bins: 20)")
        return bins_from_edges(low, high, [scale.tick(edge) for edge in column.bins])
    return make_bins(low, high, column.bins, column.scale)


def _relative(column: Ordinal, scale: Scale, anchor: Anchor) -> RelativeCodec:
    if anchor.scope not in (SAME_ROW, PREVIOUS_ROW):
        raise _NotYet("only `after: column` and `after: previous.column` have a codec yet")
    if column.within is None:
        raise _NotYet("how far from its anchor it may lie is to be learned; declare within")
    first: OrdinalCodec | None = None
    if anchor.scope == PREVIOUS_ROW:
        if column.first is None or column.first.min is None or column.first.max is None:
            raise _NotYet("the first value of its sequence has no bounds of its own; declare first: {min: …, max: …}")
        low, high = _bound_tick(scale, column.first.min), _bound_tick(scale, column.first.max)
        # Nullable: the extra code says that the parent has no row, so there is no first value.
        first = OrdinalCodec(scale, make_bins(low, high, None, "linear"), nullable=True)
    return RelativeCodec(
        scale, _bins(column, scale, int(column.strict), _reach(scale, column.within)), anchor, column.nullable, first
    )


def _bound_tick(scale: Scale, bound: object) -> int:
    if isinstance(scale, IntegerScale | NumberScale) and isinstance(bound, int | float):
        return scale.tick(bound)
    if isinstance(scale, DateScale | DatetimeScale) and isinstance(bound, date):
        return scale.tick(bound)
    raise _NotYet(f"the bounds of its first value are of another type ({type(bound).__name__})")


def _reach(scale: Scale, within: str | int | float) -> int:
    """The furthest distance from the anchor, in ticks: never less than one."""
    if isinstance(scale, IntegerScale | NumberScale):
        if isinstance(within, str):
            raise _NotYet("the distance of a number is a number, not a span")
        return max(1, scale.tick(within))
    if not isinstance(within, str):
        raise _NotYet("the distance of a date or time is a span, such as 20y or 30min")
    span = parse_span(within)
    return max(1, (span.days * 86_400 + span.seconds) * 1_000_000 // scale.microseconds)


_BUILDERS: dict[type, Callable[[object], ColumnCodec]] = {
    Category: _category,
    Boolean: _boolean,
    Integer: _integer,
    Number: _number,
    Date: _date,
    Datetime: _datetime,
}
