"""From what a source stores to what the schema declares, as SQL: never an error, what does not fit becomes NULL.

The codec clamps it then. Text stays text where the schema says that there are words among the numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mare.codec import is_kept_as_text
from mare.schema.columns import AnyColumn, Boolean, Category, Code, Date, Datetime, Duration, Integer, Number, Position, Time

if TYPE_CHECKING:
    import pyarrow as pa


def sql_type(declared: AnyColumn | None, *, for_value: bool) -> str:
    """The staged type of a column that no row told the type of."""
    if for_value and declared is not None and is_kept_as_text(declared):
        return "VARCHAR"
    if isinstance(declared, Integer | Position):
        return "BIGINT"
    if isinstance(declared, Number):
        return "DOUBLE"
    if isinstance(declared, Date):
        return "DATE"
    if isinstance(declared, Datetime):
        return "TIMESTAMP"
    if isinstance(declared, Time):
        return "TIME"
    if isinstance(declared, Duration):
        return "BIGINT" if declared.stored_as == "interval" else "DOUBLE"
    return "VARCHAR"


def typed(column: str, declared: AnyColumn | None, raw: pa.DataType, *, for_value: bool) -> str:
    """The column as declared; ``for_value`` keeps words among numbers, an order has no place for them."""
    if declared is None or isinstance(declared, Category | Boolean | Code) or (for_value and is_kept_as_text(declared)):
        return as_text(column, raw)
    if isinstance(declared, Integer | Position):
        return _whole(column, raw)
    if isinstance(declared, Number):
        return f"TRY_CAST({column} AS DOUBLE)"
    if isinstance(declared, Date | Datetime):
        moment = _parsed(column, declared.format, raw, "TIMESTAMP")
        moment = f"CASE WHEN isfinite({moment}) THEN {moment} END"
        return f"TRY_CAST({moment} AS DATE)" if isinstance(declared, Date) else moment
    if isinstance(declared, Time):
        return f"TRY_CAST({_parsed(column, declared.format, raw, 'TIME')} AS TIME)"
    if isinstance(declared, Duration):
        return _length(column, declared, raw)
    return as_text(column, raw)


def _whole(column: str, raw: pa.DataType) -> str:
    import pyarrow as pa

    if pa.types.is_integer(raw):
        return f"TRY_CAST({column} AS BIGINT)"
    return f"coalesce(TRY_CAST({column} AS BIGINT), TRY_CAST(TRY_CAST({column} AS DOUBLE) AS BIGINT))"


def _parsed(column: str, form: str | None, raw: pa.DataType, target: str) -> str:
    import pyarrow as pa

    if form is None or not (is_text(raw) or pa.types.is_integer(raw)):
        return f"TRY_CAST({column} AS {target})"
    escaped = form.replace("'", "''")
    return f"try_strptime(CAST({column} AS VARCHAR), '{escaped}')"


def _length(column: str, declared: Duration, raw: pa.DataType) -> str:
    """An interval in microseconds (a month is 30 days), or the number of units that the source stores."""
    import pyarrow as pa

    if declared.stored_as != "interval":
        return f"TRY_CAST({column} AS DOUBLE)"
    if pa.types.is_integer(raw):
        return f"TRY_CAST({column} AS BIGINT)"
    return f"TRY_CAST(round(epoch(TRY_CAST({column} AS INTERVAL)) * 1000000) AS BIGINT)"


def as_text(column: str, raw: pa.DataType) -> str:
    """As text, a whole number without decimals: a key stored as 12.0 refers to one stored as 12."""
    import pyarrow as pa

    if pa.types.is_floating(raw) or pa.types.is_decimal(raw):
        whole = f"CASE WHEN {column} = trunc({column}) THEN CAST(TRY_CAST({column} AS BIGINT) AS VARCHAR) END"
        return f"coalesce({whole}, CAST({column} AS VARCHAR))"
    return f"CAST({column} AS VARCHAR)"


def ordered(column: str, raw: pa.DataType) -> str:
    """An order column that the schema does not describe: numbers as numbers, times as times, the rest as text.

    A file tells no types: there a whole number is a text of digits, which stands in its place when zeros fill it up. That is
    decided by the value itself, never by the column: another entity's value could decide it.
    """
    import pyarrow as pa

    if pa.types.is_integer(raw) or pa.types.is_floating(raw) or pa.types.is_temporal(raw) or pa.types.is_decimal(raw):
        return column
    text = f"CAST({column} AS VARCHAR)"
    return f"CASE WHEN regexp_full_match({text}, '[0-9]{{1,38}}') THEN lpad({text}, 38, '0') ELSE {text} END"


def is_text(raw: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(raw) or pa.types.is_large_string(raw) or pa.types.is_string_view(raw))
