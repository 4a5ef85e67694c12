"""Arrow on its way in: the kind of an Arrow type, and arrays brought to the one Arrow type that each kind is read in.

Parquet files and DuckDB speak Arrow themselves; `columnar` does the same for rows of Python values.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from mare.codec.parsing import UNDECODED
from mare.schema.reflection import ReflectedColumn, StorageKind
from mare_adapters.letters import LONGEST, letters, spelled_values

from .catalogue import whole_number_ends
from .columnar import Unread, arrow_type, read_values


def reflected_field(field: pa.Field) -> ReflectedColumn:
    """A column from the schema of a Parquet file. Nothing else of the file is looked at: statistics and dictionaries are data."""
    stored = field.type
    decimal = pa.types.is_decimal(stored)
    word = str(stored.value_type if pa.types.is_dictionary(stored) else stored)
    lowest, highest = whole_number_ends(word, _WHOLE_NUMBER_BYTES)
    return ReflectedColumn(
        name=field.name,
        kind=kind_of_arrow(stored),
        sql_type=word,
        nullable=field.nullable,
        precision=stored.scale if decimal else None,
        digits=stored.precision if decimal else 20 if stored == pa.uint64() else None,
        lowest=lowest,
        highest=highest,
    )


_WHOLE_NUMBER_BYTES = {"int8": 1, "int16": 2, "int32": 4, "uint8": 1, "uint16": 2, "uint32": 4}
"""Of those that are narrower than 64 bits."""


def kind_of_arrow(stored: pa.DataType) -> StorageKind:
    """The kind of an Arrow type."""
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
    inferred comes in the widest type of its own kind: the stage spells its values, whatever their type."""
    arrays = []
    for array, column in zip(batch.columns, columns, strict=True):
        fitting, missed = conformed_array(array, column)
        arrays.append(fitting)
        if missed and unread is not None:
            unread[f"{table}.{column.name}"] += missed
    return pa.RecordBatch.from_arrays(arrays, names=list(names))


def conformed_array(array: pa.Array, column: ReflectedColumn) -> tuple[pa.Array, int]:
    """In the type of its kind, and how many values became NULL because they say nothing it can hold."""
    wanted = arrow_type(column)
    if pa.types.is_dictionary(array.type):
        array = _written_out(array)
    if pa.types.is_time(array.type):
        array = _within_a_day(array)
    if pa.types.is_timestamp(array.type) or pa.types.is_duration(array.type):
        array = _within_reach(array)
    if kind_of_arrow(array.type) == "string":
        array = texts_of(array)
    if column.inferred:
        return _natural(array), 0
    if array.type == wanted:
        return array, 0
    if column.kind in ("other", "uuid", "json"):
        return pa.array([None if value is None else _written(value) for value in _values(array)], type=wanted), 0
    try:
        # Nanoseconds are cut to microseconds: a clinical time is no finer. Everything else must fit.
        return pc.cast(array, options=pc.CastOptions(target_type=wanted, allow_time_truncate=True)), 0
    except pa.ArrowException:
        # A value beyond the type is among them: each is looked at by itself.
        return read_values(_values(array), column)


def _written_out(array: pa.DictionaryArray) -> pa.Array:
    """The values that a dictionary's codes stand for. Arrow looks nothing up among views of texts, as polars has them."""
    if array.dictionary.type == pa.string_view():
        array = pa.DictionaryArray.from_arrays(array.indices, array.dictionary.cast(pa.large_string()))
    return array.dictionary_decode()


def _natural(array: pa.Array) -> pa.Array:
    """A column whose type was inferred, in the widest type of its own kind; what no such type holds, spelled value by value."""
    kind = kind_of_arrow(array.type)
    wanted = arrow_type(ReflectedColumn("", kind))
    try:
        # Down to the microsecond, as pandas spells a moment: Arrow would cut towards 1970.
        if array.type == pa.duration("ns"):
            ticks = array.cast(pa.int64())
            return pc.floor(pc.divide(ticks.cast(pa.decimal128(19, 0)), pa.scalar(1000))).cast(pa.int64()).cast(wanted)
        if pa.types.is_timestamp(array.type) and array.type.unit == "ns":
            array = pc.floor_temporal(array, unit="microsecond")
        if pa.types.is_decimal(array.type) and array.type.scale < 0:
            return spelled_values(_values(array))  # no database knows such
        return array if pa.types.is_decimal(array.type) and array.type.bit_width <= 128 else pc.cast(array, wanted)
    except pa.ArrowException:
        return spelled_values(_values(array))


def _values(array: pa.Array) -> list[object]:
    """As Python has them; what is beyond Python (a year after 9999, half a letter within a list) as none."""
    try:
        values: list[object] = array.to_pylist()
        return values
    except (ValueError, OverflowError):
        return [_value(scalar) for scalar in array]


def _value(scalar: pa.Scalar) -> object:
    try:
        return scalar.as_py()
    except (ValueError, OverflowError):
        return None


def _within_a_day(array: pa.Array) -> pa.Array:
    """Times of day as a clock shows them: a file may call any number of microseconds a time."""
    width = pa.int32() if pa.types.is_time32(array.type) else pa.int64()
    return _between(array.cast(width), 0, 86_400 * _TICKS[array.type.unit] - 1).cast(array.type)


def _within_reach(array: pa.Array) -> pa.Array:
    """Moments and lengths of time in seconds, milliseconds or microseconds, no further off than they are read: moments from the
    year 1 to 9999, as databases give them (`within_reach`), lengths as long as whole seconds go in 64 bits of microseconds,
    whatever their unit: another row may decide it."""
    unit = array.type.unit
    if unit == "ns":  # which reaches from 1677 to 2262
        return array
    times, moment = 1_000_000 // _TICKS[unit], pa.types.is_timestamp(array.type)
    low, high = (_FIRST - times, _LAST + times) if moment else (-LONGEST, LONGEST)
    micros = pc.multiply(_between(array.cast(pa.int64()), -(-low // times), high // times), times)
    if not moment:
        return micros.cast(pa.duration("us"))
    return _between(micros, _FIRST, _LAST).cast(pa.timestamp("us"))


def _between(numbers: pa.Array, low: int, high: int) -> pa.Array:
    raised = pc.max_element_wise(numbers, pa.scalar(low, numbers.type), skip_nulls=False)
    return pc.min_element_wise(raised, pa.scalar(high, numbers.type), skip_nulls=False)


_FIRST, _LAST = -62_135_596_800_000_000, 253_402_300_799_999_999
"""The first and the last microsecond of the years 1 and 9999."""
_TICKS = {"s": 1, "ms": 1000, "us": 1_000_000, "ns": 1_000_000_000}
"""Of a second."""


def texts_of(array: pa.Array) -> pa.Array:
    """Texts as Unicode: a file may call any bytes a text."""
    if not pa.types.is_string_view(array.type) and pc.all(pc.string_is_ascii(array)).as_py() is not False:
        return array.cast(pa.string())  # nearly all texts: nothing in them can be wrong
    try:
        array.validate(full=True)
        plain = array.cast(pa.string())
        if not pc.any(pc.match_substring_regex(plain, UNDECODED)).as_py():
            return plain
    except pa.ArrowException:
        pass
    raw = array.cast(pa.binary_view() if pa.types.is_string_view(array.type) else pa.large_binary()).to_pylist()
    return pa.array([None if value is None else letters(value) for value in raw], type=pa.string())


def _written(value: object) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, default=str, ensure_ascii=False) if isinstance(value, (list, dict, tuple)) else str(value)
