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


def typed(column: str, declared: AnyColumn | None, raw: pa.DataType, *, for_value: bool, spelled: bool = False) -> str:
    """The column as declared; ``for_value`` keeps words among numbers, an order has no place for them. A text that was
    ``spelled`` may be a moment, though the schema says how texts write it."""
    if declared is None or isinstance(declared, Category | Boolean | Code) or (for_value and is_kept_as_text(declared)):
        return as_text(column, raw)
    if isinstance(declared, Integer | Position):
        return _whole(column, raw)
    if isinstance(declared, Number):
        return f"TRY_CAST({column} AS DOUBLE) + 0.0"  # a zero below nothing is zero, as its text says
    if isinstance(declared, Date | Datetime):
        moment = _parsed(column, declared.format, raw, "TIMESTAMP", spelled)
        moment = f"CASE WHEN isfinite({moment}) THEN {moment} END"
        return f"TRY_CAST({moment} AS DATE)" if isinstance(declared, Date) else moment
    if isinstance(declared, Time):
        return f"TRY_CAST({_parsed(column, declared.format, raw, 'TIME', spelled)} AS TIME)"
    if isinstance(declared, Duration):
        return _length(column, declared, raw)
    return as_text(column, raw)


_FIRST, _LAST = -(2**63), 2**63 - 1
_FAR = "9.223372036854775e18"
"""Just within 64 bits, as a double has it."""


def says_its_text(declared: AnyColumn, raw: pa.DataType) -> bool:
    """Whether a stored value and its text are read as the same, whatever it is: then the text need not be made."""
    import pyarrow as pa

    if is_kept_as_text(declared):
        return False
    if isinstance(declared, Integer | Position):
        return bool(pa.types.is_integer(raw))
    if isinstance(declared, Number):
        return bool(pa.types.is_integer(raw) or pa.types.is_floating(raw))
    return isinstance(declared, Date | Datetime) and declared.format is None and bool(pa.types.is_timestamp(raw))


def _whole(column: str, raw: pa.DataType) -> str:
    """A whole number; one with decimals is rounded, one beyond 64 bits is the last within. In a text as in a number."""
    import pyarrow as pa

    if pa.types.is_integer(raw):
        return f"coalesce(TRY_CAST({column} AS BIGINT), CASE WHEN {column} > 0 THEN {_LAST} END)"
    number = f"TRY_CAST({column} AS DOUBLE)"
    rounded = (
        f"CASE WHEN {number} >= {_FAR} THEN {_LAST} WHEN {number} <= -{_FAR} THEN {_FIRST} ELSE TRY_CAST({number} AS BIGINT) END"
    )
    if not is_text(raw):
        return f"CASE WHEN isnan({number}) THEN NULL ELSE coalesce({_exactly(column)}, {rounded}) END"
    digits = f"CASE WHEN regexp_full_match(trim({column}), '[-+]?[0-9]+') THEN TRY_CAST({column} AS BIGINT) END"
    words = f"CASE {column} WHEN 'true' THEN 1 WHEN 'false' THEN 0 END"
    return f"coalesce({digits}, CASE WHEN NOT isnan({number}) THEN {rounded} END, {words})"


def _exactly(column: str) -> str:
    return f"CASE WHEN {column} = trunc({column}) THEN TRY_CAST({column} AS BIGINT) END"


def _parsed(column: str, form: str | None, raw: pa.DataType, target: str, spelled: bool) -> str:
    import pyarrow as pa

    if form is None or not (is_text(raw) or pa.types.is_integer(raw)):
        return f"TRY_CAST({column} AS {target})"
    escaped = form.replace("'", "''")
    written = f"try_strptime(CAST({column} AS VARCHAR), '{escaped}')"
    if spelled and target == "TIME":
        return f"coalesce(TRY_CAST({written} AS TIME), TRY_CAST({column} AS TIME))"
    return f"coalesce({written}, TRY_CAST({column} AS TIMESTAMP))" if spelled else written


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
    import pyarrow as pa

    types = pa.types
    return bool(types.is_integer(raw) or types.is_floating(raw) or types.is_temporal(raw) or types.is_decimal(raw))


def is_text(raw: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(raw) or pa.types.is_large_string(raw) or pa.types.is_string_view(raw))
