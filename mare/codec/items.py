"""From the declaration of a number that depends on another column to a scale for each of that column's values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from mare.schema.columns import Integer, Number, NumericRange

from .bins import Bins, OpenBins, Scale, bins_from_edges
from .category import canonical
from .integer import IntegerScale
from .learned import LearnedOrder, LearnedScales
from .number import NumberScale
from .ordered import cut, edges_of, rescaled
from .scaled import ItemScale, ScaledCodec
from .scales import open_scale, range_scale
from .slots import Slots


@dataclass(frozen=True)
class _Range:
    """What the schema says of one item."""

    low: float | None
    high: float | None
    precision: int | None
    scale: Scale


def scaled_codec(
    column: Integer | Number, by: tuple[str, ...], labels: Sequence[Sequence[str | None]], known: LearnedScales | None
) -> ScaledCodec:
    """The codec of a number whose scale depends on other columns; ``labels`` are what the codes of each of them mean."""
    listed = {canonical(value): limits for value, limits in (column.ranges or {}).items()}
    items = []
    for number, values in enumerate(product(*labels)):
        told = listed.get(values[0]) if len(values) == 1 and values[0] is not None else None
        learned = known.items[number] if known is not None and number < len(known.items) else LearnedOrder()
        items.append(_item(column, _range(column, told), learned))
    return ScaledCodec(by, tuple(len(values) for values in labels), tuple(items), Slots(column.specials, column.nullable))


def _range(column: Integer | Number, told: NumericRange | None) -> _Range:
    precision = column.precision if isinstance(column, Number) else None
    if told is not None:
        return _Range(told.min, told.max, precision if told.precision is None else told.precision, told.scale)
    if column.ranges and (column.min is None or column.max is None) and not column.learn:
        # An item that is not listed lies somewhere in the range of all.
        limits = column.ranges.values()
        return _Range(min(r.min for r in limits), max(r.max for r in limits), precision, column.scale)
    return _Range(column.min, column.max, precision, column.scale)


def _item(column: Integer | Number, told: _Range, known: LearnedOrder) -> ItemScale:
    scale = _scale(column, told, known)
    if known.bins is not None:
        return ItemScale(scale, known.bins)
    most, wanted = column.most_bins, column.bins if isinstance(column.bins, int) else None
    low = scale.tick(told.low, up=True) if told.low is not None else _learned(known.low, told.precision, scale)
    high = scale.tick(told.high) if told.high is not None else _learned(known.high, told.precision, scale)
    if low is None or high is None:
        return ItemScale(scale, OpenBins(low, high, told.scale, most, wanted))
    low = min(low, high)
    placed: Bins | OpenBins = cut(low, high, wanted, told.scale, most)
    if isinstance(column.bins, tuple):
        placed = bins_from_edges(low, high, edges_of(scale, column.bins))
    return ItemScale(scale, placed)


def _learned(bound: int | None, precision: int | None, scale: IntegerScale | NumberScale) -> int | None:
    return None if bound is None else rescaled(bound, precision, scale)


def _scale(column: Integer | Number, told: _Range, known: LearnedOrder) -> IntegerScale | NumberScale:
    if isinstance(column, Integer):
        return IntegerScale(column.step)
    unit = open_scale(told.precision).unit
    low = told.low if told.low is not None else None if known.low is None else float(known.low * unit)
    high = told.high if told.high is not None else None if known.high is None else float(known.high * unit)
    return open_scale(told.precision) if low is None or high is None else range_scale(low, high, told.precision)
