"""Batches on their way out: every column in the Arrow type of its kind, so that each sink meets thirteen kinds and no others."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from mare.errors import SinkError
from mare.schema.reflection import ReflectedColumn, ReflectedTable
from mare_adapters.sources.columnar import arrow_type

TypeOf = Callable[[ReflectedColumn], "pa.DataType"]


def fitted(batch: pa.RecordBatch, table: ReflectedTable, type_of: TypeOf = arrow_type) -> pa.RecordBatch:
    """The batch in the table's own order and types. A value that does not fit, or is missing, is refused by its column's name."""
    arrays, fields = [], []
    for column in table.columns:
        place = batch.schema.get_field_index(column.name)
        if place < 0:
            raise SinkError(f"{table.name}: no values came for the column {column.name}. The target was left as it was.")
        required = not column.nullable or column.name in table.key
        array = _cast(batch.column(place), column, type_of(column), table.name)
        if required and array.null_count:
            raise SinkError(
                f"{table.name}.{column.name}: a value is missing where none may be. The target was left as it was. "
                "Say nullable: true in the schema, or declare the column so in the source."
            )
        arrays.append(array)
        fields.append(pa.field(column.name, array.type, nullable=not required))
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def _cast(array: pa.Array, column: ReflectedColumn, wanted: pa.DataType, table: str) -> pa.Array:
    if array.type == wanted:
        return array
    if isinstance(array, pa.DictionaryArray):
        array = array.dictionary_decode()
    try:
        if pa.types.is_decimal(wanted) and pa.types.is_integer(array.type):
            # Arrow makes room for any int64 first, and looks at the values afterwards.
            array = pc.cast(array, pa.decimal128(min(38, 19 + wanted.scale), wanted.scale))
        # Moments are rounded where the target's are coarser. Everything else must fit.
        return pc.cast(array, options=pc.CastOptions(target_type=wanted, allow_time_truncate=True))
    except pa.ArrowException:
        raise SinkError(
            f"{table}.{column.name}: a synthetic value ({array.type}) does not fit the column's type "
            f"({column.sql_type or column.kind}). The target was left as it was. Describe the column in the schema as stored."
        ) from None


def seconds(array: pa.Array) -> pa.Array:
    """Durations as an exact number of seconds, for targets that have no type for them."""
    whole = pc.cast(pc.cast(pc.cast(array, pa.duration("us")), pa.int64()), pa.decimal128(19, 0))
    return pc.multiply(whole, pa.scalar(Decimal("0.000001"), pa.decimal128(6, 6)))


def csv_rows(batch: pa.RecordBatch) -> bytes:
    """Rows as CSV: NULL is nothing between the commas, a text always stands in quotes, bytes are ``\\x`` and hexadecimal."""
    columns = [_written(column) for column in batch.columns]
    sink = pa.BufferOutputStream()
    plain = pa.table(columns, names=[f"c{number}" for number in range(len(columns))])
    arrow_csv.write_csv(plain, sink, arrow_csv.WriteOptions(include_header=False))
    return cast(bytes, sink.getvalue().to_pybytes())


def _written(column: pa.Array) -> pa.Array:
    if pa.types.is_duration(column.type):
        return seconds(column)
    if pa.types.is_binary(column.type):
        return pa.array([None if value is None else f"\\x{value.hex()}" for value in column.to_pylist()], type=pa.string())
    return column
