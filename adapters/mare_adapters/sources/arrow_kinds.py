"""Arrow on its way in: the kind of an Arrow type, and arrays brought to the one Arrow type that each kind is read in.

Parquet files and DuckDB speak Arrow themselves; `columnar` does the same for rows of Python values.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mare.schema.reflection import ReflectedColumn, StorageKind

from .columnar import Unread, arrow_type, read_values

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


def conformed(
    batch: pa.RecordBatch, columns: Sequence[ReflectedColumn], names: Sequence[str], table: str, unread: Unread | None = None
) -> pa.RecordBatch:
    """The batch, whose columns stand in this order, under these names and in the types of their kinds. One whose type was
    inferred comes in that type where every value fits, otherwise as it is: the stage spells its values whatever their type."""
    import pyarrow as pa

    arrays = []
    for array, column in zip(batch.columns, columns, strict=True):
        fitting, missed = _conformed(array, column)
        arrays.append(fitting)
        if missed and unread is not None:
            unread[f"{table}.{column.name}"] += missed
    return pa.RecordBatch.from_arrays(arrays, names=list(names))


def _conformed(array: pa.Array, column: ReflectedColumn) -> tuple[pa.Array, int]:
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = arrow_type(column)
    if array.type == wanted:
        return (array, 0) if not pa.types.is_string(wanted) else (_letters(array), 0)
    if column.kind in ("other", "uuid", "json") and not column.inferred:
        return pa.array([None if value is None else _written(value) for value in array.to_pylist()], type=wanted), 0
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    try:
        # Nanoseconds are cut to microseconds: a clinical time is no finer. Everything else must fit.
        return pc.cast(array, options=pc.CastOptions(target_type=wanted, allow_time_truncate=True)), 0
    except pa.ArrowException:
        # A value beyond the type is among them: each is looked at by itself.
        return (array, 0) if column.inferred else read_values([_value(scalar) for scalar in array], column)


def _letters(array: pa.Array) -> pa.Array:
    """Texts as Unicode: a file may call any bytes a text."""
    import pyarrow as pa

    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        raw = array.cast(pa.binary()).to_pylist()
        return pa.array([None if value is None else value.decode("utf-8", "replace") for value in raw], type=pa.string())
    return array


def _value(scalar: pa.Scalar) -> object:
    """As Python has it; a moment beyond Python's years as the text of its number, which says nothing."""
    try:
        return scalar.as_py()
    except (ValueError, OverflowError):
        return str(scalar.value)


def _written(value: object) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, default=str, ensure_ascii=False) if isinstance(value, (list, dict, tuple)) else str(value)
