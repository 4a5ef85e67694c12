"""Arrow on its way in: the kind of an Arrow type, and arrays brought to the one Arrow type that each kind is read in.

Parquet files and DuckDB speak Arrow themselves; `columnar` does the same for rows of Python values.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mare.errors import SourceError
from mare.schema.reflection import ReflectedColumn, StorageKind

from .columnar import arrow_type

if TYPE_CHECKING:
    import pyarrow as pa


def reflected_field(field: pa.Field) -> ReflectedColumn:
    """A column from the schema of a Parquet file. Nothing else of the file is looked at: statistics and dictionaries are data."""
    import pyarrow as pa

    stored = field.type
    decimal = pa.types.is_decimal(stored)
    return ReflectedColumn(
        name=field.name,
        kind=kind_of_arrow(stored),
        sql_type=str(stored.value_type if pa.types.is_dictionary(stored) else stored),
        nullable=field.nullable,
        precision=stored.scale if decimal else None,
        digits=stored.precision if decimal else 20 if stored == pa.uint64() else None,
    )


def kind_of_arrow(stored: pa.DataType) -> StorageKind:
    """The kind of an Arrow type."""
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(stored):  # how the writer packed it; what it lists is data
        return kind_of_arrow(stored.value_type)
    if isinstance(stored, pa.BaseExtensionType):
        return {"arrow.uuid": "uuid", "arrow.json": "json"}.get(stored.extension_name, "other")  # type: ignore[return-value]
    if types.is_decimal(stored):
        return "integer" if stored.scale == 0 else "number"
    tests: tuple[tuple[StorageKind, tuple[object, ...]], ...] = (
        ("boolean", (types.is_boolean,)),
        ("integer", (types.is_integer,)),
        ("number", (types.is_floating,)),
        ("string", (types.is_string, types.is_large_string, types.is_string_view)),
        ("date", (types.is_date,)),
        ("datetime", (types.is_timestamp,)),
        ("time", (types.is_time,)),
        ("duration", (types.is_duration,)),
        ("binary", (types.is_binary, types.is_large_binary, types.is_fixed_size_binary, types.is_binary_view)),
        ("unknown", (types.is_null,)),
    )
    return next((kind for kind, known in tests if any(callable(test) and test(stored) for test in known)), "other")


def conformed(batch: pa.RecordBatch, columns: Sequence[ReflectedColumn], names: Sequence[str], table: str) -> pa.RecordBatch:
    """The batch, whose columns stand in this order, under these names and in the types of their kinds."""
    import pyarrow as pa

    arrays = [_conformed(array, column, table) for array, column in zip(batch.columns, columns, strict=True)]
    fields = [pa.field(name, arrow_type(column)) for name, column in zip(names, columns, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def _conformed(array: pa.Array, column: ReflectedColumn, table: str) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = arrow_type(column)
    if array.type == wanted:
        return array
    if column.kind in ("other", "uuid", "json"):
        return pa.array([None if value is None else _written(value) for value in array.to_pylist()], type=wanted)
    try:
        # Nanoseconds are cut to microseconds: a clinical time is no finer. Everything else must fit.
        return pc.cast(array, options=pc.CastOptions(target_type=wanted, allow_time_truncate=True))
    except pa.ArrowException:
        remedy = "Store the column in a narrower type."
        if kind_of_arrow(array.type) != column.kind:
            remedy = f"One of the table's files stores it as {array.type}: write all of them alike."
        raise SourceError(
            f"{table}.{column.name}: a stored value does not fit into {wanted}, in which mare reads {column.sql_type}. {remedy}"
        ) from None


def _written(value: object) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, default=str, ensure_ascii=False) if isinstance(value, (list, dict, tuple)) else str(value)
