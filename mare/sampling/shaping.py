"""Worked-out values as a column may hold them: in its own type, precision and bounds, and NULL only where it may be."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mare.codec.category import canonical
from mare.codec.parsing import is_text
from mare.codec.ticks import null_mask
from mare.schema.columns import Column, Quantity, Text
from mare.schema.columns.ticks import WholeTicks

from .storing import as_text


def shaped(values: pa.Array, column: Column) -> pa.Array:
    """What comes out of a column whose values were worked out."""
    return _never_null(_shaped(values, column), column)


def _shaped(values: pa.Array, column: Column) -> pa.Array:
    """In the column's own type, precision and bounds."""
    kind = values.type
    if isinstance(column, Quantity) and (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
        for bound, pick in ((column.min, pc.max_element_wise), (column.max, pc.min_element_wise)):
            if bound is not None and not column.anchors:
                values = pick(values, float(bound), skip_nulls=False)
        doubles, ticks = values.cast(pa.float64()), column.ticks()
        if isinstance(ticks, WholeTicks):
            return pc.round_to_multiple(doubles, float(ticks.step)).cast(pa.int64(), safe=False)
        return doubles if column.decimals is None else _rounded(doubles, column.decimals)
    if column.has_day and pa.types.is_timestamp(kind) and not column.has_clock:
        return pc.floor_temporal(values, unit="day").cast(pa.date32())
    if column.has_day and pa.types.is_date(kind) and column.has_clock:
        return values.cast(pa.timestamp("us"))
    return as_text(values) if isinstance(column, Text) else values


def _rounded(doubles: pa.Array, decimals: int) -> pa.Array:
    """The doubles that are nearest to numbers of so many decimals: what adds up in decimals adds up here. (Arrow's own rounding
    leaves 724.9300000000001 as it is.)"""
    nulls = null_mask(doubles)
    values = np.asarray(doubles.fill_null(0.0), dtype=np.float64)
    scale = 10.0**decimals
    kept = np.abs(values) * scale < 2.0**53
    nearest = np.rint(np.where(kept, values, 0.0) * scale) / scale
    return pa.array(np.where(kept, nearest, values), mask=nulls)


def _never_null(values: pa.Array, column: Column) -> pa.Array:
    """A column that is not nullable never comes out NULL, whatever it was worked out from."""
    if column.nullable or not values.null_count:
        return values
    instead = column.instead_of_null
    return pc.fill_null(values, pa.scalar(canonical(instead) if is_text(values) else instead, type=values.type))
