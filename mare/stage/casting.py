"""From what a source stores to what the schema declares, as SQL: never an error, what does not fit becomes NULL.

Each column type says itself how it is read (`AnyColumn.read_sql`). The codec clamps it then. Text stays text where the schema
says that there are words among the numbers.
"""

from __future__ import annotations

import pyarrow as pa

from mare.codec import is_kept_as_text
from mare.codec.parsing import is_text_type
from mare.schema.columns import AnyColumn, Datetime, Raw


def sql_type(declared: AnyColumn | None, *, for_value: bool) -> str:
    """The staged type of a column of which the source has no row."""
    if declared is None or (for_value and is_kept_as_text(declared)):
        return "VARCHAR"
    return declared.staged_type


def typed(column: str, declared: AnyColumn | None, raw: pa.DataType, *, for_value: bool, spelled: bool = False) -> str:
    """The column as declared; ``for_value`` keeps words among numbers, an order has no place for them. A text that was
    ``spelled`` may be a moment, though the schema says how texts write it."""
    if declared is None:
        return as_text(column, raw)
    if for_value and is_kept_as_text(declared):
        return declared.kept_text_sql(as_text(column, raw))
    return declared.read_sql(column, _kind(raw), spelled=spelled) or as_text(column, raw)


def is_as_declared(declared: AnyColumn | None, raw: pa.DataType, *, for_value: bool) -> bool:
    """Whether `typed` would change nothing: a text that stays one, a moment that no format says how to read."""
    if isinstance(declared, Datetime) and declared.format is None and not (for_value and is_kept_as_text(declared)):
        return bool(raw == pa.timestamp("us"))  # which sources give from the year 1 to 9999: none is infinite
    return bool(raw == pa.string()) and typed("c", declared, raw, for_value=for_value) == as_text("c", raw)


def says_its_text(declared: AnyColumn, raw: pa.DataType) -> bool:
    """Whether a stored value and its text are read as the same, whatever it is: then the text need not be made."""
    return not is_kept_as_text(declared) and declared.says_its_text(_kind(raw))


def _kind(raw: pa.DataType) -> Raw:
    if is_text_type(raw):
        return "text"
    if pa.types.is_integer(raw):
        return "integer"
    if pa.types.is_floating(raw):
        return "floating"
    return "timestamp" if pa.types.is_timestamp(raw) else "other"


def as_text(column: str, raw: pa.DataType) -> str:
    """As text, a whole number without decimals: a key stored as 12.0 refers to one stored as 12."""
    whole = f"CASE WHEN {column} = trunc({column}) THEN CAST(TRY_CAST({column} AS BIGINT) AS VARCHAR) END"
    if pa.types.is_floating(raw):
        return f"coalesce({whole}, CAST({column} AS VARCHAR))"
    if pa.types.is_decimal(raw):
        # Without zeros at its end: how many decimals a type has may follow from another value.
        text = f"CAST({column} AS VARCHAR)"
        return f"coalesce({whole}, CASE WHEN contains({text}, '.') THEN rtrim(rtrim({text}, '0'), '.') ELSE {text} END)"
    return f"CAST({column} AS VARCHAR)"


_NUMBER = r"[-+]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][-+]?[0-9]+)?"


def order_number(column: str, raw: pa.DataType) -> str:
    """An order column that the schema does not describe: numbers as numbers, times as times; of a text, the number that it says.

    A file tells no types. What a text says is decided by the value itself, never by the column: another entity's value could
    decide it.
    """
    if _tells_order(raw):
        return column
    text = f"CAST({column} AS VARCHAR)"
    number = f"WHEN regexp_full_match({text}, '{_NUMBER}') THEN TRY_CAST({text} AS DOUBLE)"
    return f"CASE {number} WHEN {column} IS NOT NULL THEN 'infinity'::DOUBLE END"  # words stand after the numbers


def order_text(column: str, raw: pa.DataType) -> str:
    """What stands after the number: the text, whole numbers filled up with zeros so that long ones stand in their place."""
    if _tells_order(raw):
        return "CAST(NULL AS VARCHAR)"
    text = f"CAST({column} AS VARCHAR)"
    return f"CASE WHEN regexp_full_match({text}, '[0-9]{{1,38}}') THEN lpad({text}, 38, '0') ELSE {text} END"


def _tells_order(raw: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_integer(raw) or types.is_floating(raw) or types.is_temporal(raw) or types.is_decimal(raw))
