"""One value for all rows that share it (`same_for`): that of the first of them, moved on as time passes (`drift`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from mare.codec import DecodedTable, OrdinalCodec, TableCodec
from mare.codec.slots import ORDINARY
from mare.codec.ticks import DAY_US, microseconds, null_mask
from mare.domain import CodeArray, Keys, RowDraws, purpose_of
from mare.errors import InternalError
from mare.relational.placing import Index, PlacedTables, first_rows, rows_above
from mare.schema.columns import Drift
from mare.schema.layout import Shared

_UNITS_US = {"days": float(DAY_US), "months": 365.25 / 12 * DAY_US, "years": 365.25 * DAY_US}


def one_value_each(
    codec: TableCodec,
    codes: Mapping[str, CodeArray],
    decoded: DecodedTable,
    placed: PlacedTables,
    keys: Mapping[str, Keys],
) -> DecodedTable:
    """The table with every shared column the same in all rows that share it."""
    for shared in codec.shared:
        above = rows_above(shared, placed)
        firsts = first_rows(above, placed.tables[shared.above].rows)[above]
        decoded = _copied(decoded, shared.column, firsts)
        if shared.drift is not None:
            # How far into its year a value is: drawn once for each row above, so that it never jumps.
            draws = RowDraws(keys[shared.above], purpose_of(f"drift {shared.table}.{shared.column}"))
            begun = draws.at("begun", np.arange(placed.tables[shared.above].rows, dtype=np.int64)).random()[above]
            column = codec.columns[shared.column]
            decoded = _drifted(decoded, shared, shared.drift, column, codes[shared.column], firsts, begun)
    return decoded


def _copied(decoded: DecodedTable, name: str, firsts: Index) -> DecodedTable:
    at, points = pa.array(firsts), dict(decoded.points)
    if name in points:
        points[name] = points[name].take(firsts)
    quantities = {name: decoded.quantities[name].take(at)} if name in decoded.quantities else {}
    values = {**decoded.values, name: decoded.values[name].take(at)}
    return replace(decoded, values=values, points=points, quantities={**decoded.quantities, **quantities})


def _drifted(
    decoded: DecodedTable,
    shared: Shared,
    drift: Drift,
    column: object,
    codes: CodeArray,
    firsts: Index,
    begun: np.ndarray,
) -> DecodedTable:
    """floor(first value + fraction + units since the first row); nothing passes where a time is NULL. Never beyond its bounds."""
    if not isinstance(column, OrdinalCodec):
        raise InternalError(f"{shared.table}.{shared.column} drifts, and is no number that stands for itself")
    passed = _passed(decoded.quantities.get(drift.by, decoded.values[drift.by]), firsts) / _UNITS_US[drift.unit]
    points, name = decoded.points[shared.column], shared.column
    ticks = np.floor(points.lower + begun + passed).astype(np.int64)
    ticks = np.clip(ticks, column.bins.low, column.bins.high)
    kinds = column.slots.kinds_of(codes, column.bins.count)
    quantities = {name: column.scale.to_values(ticks, kinds != ORDINARY)} if name in decoded.quantities else {}
    return replace(
        decoded,
        values={**decoded.values, name: column.values.write(ticks, kinds)},
        quantities={**decoded.quantities, **quantities},
    )


def _passed(times: pa.Array, firsts: Index) -> np.ndarray:
    """Microseconds since the first row."""
    micros, nulls = microseconds(times), null_mask(times)
    return np.where(nulls | nulls[firsts], 0, micros - micros[firsts])
