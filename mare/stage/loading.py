"""From Arrow batches to a staged table whose types come from the schema, never from the data.

Columns get neutral names (k0, f0, o0, v0; a0 for an association's key, r0_0 for a reference): no name of the source is ever
part of a statement, so `order` and quotes in names are as good as any. What does not fit a declared type becomes NULL here,
and the codec clamps it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mare.schema.columns import AnyColumn, Boolean, Category, Code, Date, Datetime, Identifier, Integer, Number, Position

from .needs import TableNeeds

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


def staged_columns(needs: TableNeeds) -> list[tuple[str, str, AnyColumn | None]]:
    """(staged name, source name, declaration) of every staged column; keys and foreign keys are compared as text."""
    keys = [(f"k{i}", name, None) for i, name in enumerate(needs.key)]
    foreign = [(f"f{i}", name, None) for i, name in enumerate(needs.foreign)]
    described = {name: None if isinstance(says, Identifier) else says for name, says in needs.described.items()}
    order = [(f"o{i}", name, described.get(name)) for i, name in enumerate(needs.order)]
    values = [(f"v{i}", name, needs.described[name]) for i, name in enumerate(needs.values)]
    via = [(f"a{i}", name, None) for i, name in enumerate(needs.via)]
    linked = [(f"r{n}_{i}", name, None) for n, link in enumerate(needs.links) for i, name in enumerate(link.columns)]
    return [*keys, *foreign, *order, *values, *via, *linked]


def load_rows(connection: duckdb.DuckDBPyConnection, table: str, needs: TableNeeds, batches: Iterable[pa.RecordBatch]) -> None:
    """Stage the batches as ``table``. An empty source gives an empty table."""
    import pyarrow as pa

    place = {name: f"c{i}" for i, name in enumerate(needs.columns)}
    created = False
    for batch in batches:
        renamed = _plain(batch.select(list(needs.columns)).rename_columns(list(place.values())))
        select = _select(needs, place, renamed.schema)
        connection.register("batch", pa.table(renamed))
        verb = f"INSERT INTO {table}" if created else f"CREATE TABLE {table} AS"
        connection.execute(f"{verb} SELECT {select} FROM batch")
        connection.unregister("batch")
        created = True
    if not created:
        columns = ", ".join(f"{staged} {_sql_type(declared, staged)}" for staged, _, declared in staged_columns(needs))
        connection.execute(f"CREATE TABLE {table} ({columns or 'nothing INTEGER'})")


def _select(needs: TableNeeds, place: dict[str, str], arrow: pa.Schema) -> str:
    parts = []
    for staged, name, declared in staged_columns(needs):
        column = place[name]
        raw = arrow.field(column).type
        expression = _ordered(column, raw) if staged[0] == "o" and declared is None else _typed(column, declared, raw)
        parts.append(f"{expression} AS {staged}")
    return ", ".join(parts) or "0 AS nothing"


def _plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Types that DuckDB would need an extension for, as their plain forms: moments with a zone become UTC."""
    import pyarrow as pa

    arrays, fields = [], []
    for field, array in zip(batch.schema, batch.columns, strict=True):
        kind = field.type
        if pa.types.is_dictionary(kind):
            array, kind = array.dictionary_decode(), kind.value_type
        if pa.types.is_timestamp(kind) and kind.tz is not None:
            kind = pa.timestamp("us")
            array = array.cast(pa.timestamp("us", tz="UTC"), safe=False).cast(kind)
        arrays.append(array)
        fields.append(pa.field(field.name, kind))
    return pa.record_batch(arrays, schema=pa.schema(fields))


def _sql_type(declared: AnyColumn | None, staged: str) -> str:
    if isinstance(declared, Integer | Position):
        return "BIGINT"
    if isinstance(declared, Number):
        return "DOUBLE"
    if isinstance(declared, Date):
        return "DATE"
    if isinstance(declared, Datetime):
        return "TIMESTAMP"
    return "VARCHAR"


def _typed(column: str, declared: AnyColumn | None, raw: pa.DataType) -> str:
    import pyarrow as pa

    if declared is None or isinstance(declared, Category | Boolean | Code):
        return _text(column, raw)
    if isinstance(declared, Integer | Position):
        if pa.types.is_integer(raw):
            return f"TRY_CAST({column} AS BIGINT)"
        return f"coalesce(TRY_CAST({column} AS BIGINT), TRY_CAST(TRY_CAST({column} AS DOUBLE) AS BIGINT))"
    if isinstance(declared, Number):
        return f"TRY_CAST({column} AS DOUBLE)"
    if isinstance(declared, Date | Datetime):
        moment = f"TRY_CAST({column} AS TIMESTAMP)"
        if declared.format is not None and _is_text(raw):
            escaped = declared.format.replace("'", "''")
            moment = f"try_strptime({column}, '{escaped}')"
        moment = f"CASE WHEN isfinite({moment}) THEN {moment} END"
        return f"TRY_CAST({moment} AS DATE)" if isinstance(declared, Date) else moment
    return _text(column, raw)


def _text(column: str, raw: pa.DataType) -> str:
    """As text, a whole number without decimals: a key stored as 12.0 refers to one stored as 12."""
    import pyarrow as pa

    if pa.types.is_floating(raw) or pa.types.is_decimal(raw):
        whole = f"CASE WHEN {column} = trunc({column}) THEN CAST(TRY_CAST({column} AS BIGINT) AS VARCHAR) END"
        return f"coalesce({whole}, CAST({column} AS VARCHAR))"
    return f"CAST({column} AS VARCHAR)"


def _ordered(column: str, raw: pa.DataType) -> str:
    """An order column that the schema does not describe: numbers as numbers, times as times, the rest as text."""
    import pyarrow as pa

    if pa.types.is_integer(raw) or pa.types.is_floating(raw) or pa.types.is_temporal(raw) or pa.types.is_decimal(raw):
        return column
    return f"CAST({column} AS VARCHAR)"


def _is_text(raw: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(raw) or pa.types.is_large_string(raw) or pa.types.is_string_view(raw))
