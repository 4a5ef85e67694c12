"""From Arrow batches to a staged table whose types come from the schema, never from the data.

Columns get neutral names (k0, f0, o0, v0; a0 for an association's key, r0_0 for a reference): no name of the source is ever
part of a statement, so `order` and quotes in names are as good as any. What does not fit a declared type becomes NULL here,
and the codec clamps it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from mare.schema.columns import AnyColumn, Identifier

from .casting import as_text, is_text, ordered, sql_type, typed
from .needs import TableNeeds

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

STRETCH = 1 << 19
"""Rows that go into the staging database at a time."""


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


def load_rows(
    connection: duckdb.DuckDBPyConnection, table: str, needs: TableNeeds, batches: Iterable[pa.RecordBatch], key: bytes = b""
) -> dict[str, int]:
    """Stage the batches as ``table``; an empty source gives an empty table. Each row gets a hash ``h`` of everything that is
    staged of it, under ``key``. Of each column, how many values are there that say nothing it can hold (text in a number
    column): true numbers, hence secret."""
    place = {name: f"c{i}" for i, name in enumerate(needs.columns)}
    names = [staged for staged, _, _ in staged_columns(needs)]
    created = False
    unread: dict[str, int] = {}
    renamed = (_plain(batch.select(list(needs.columns)).rename_columns(list(place.values()))) for batch in batches)
    for stretch in _stretches(renamed):
        select = _select(needs, place, stretch.schema)
        connection.register("batch", stretch)
        verb = f"INSERT INTO {table}" if created else f"CREATE TABLE {table} AS"
        # Hashed twice: the first hash ends in an exclusive or with the last column, by which some values would always win.
        hashed = f"hash(hash({', '.join(['$1', *names])}))"
        connection.execute(f"{verb} SELECT *, {hashed} AS h FROM (SELECT {select} FROM batch)", [key.hex()])
        for name, count in _unread(connection, needs, place, stretch.schema).items():
            unread[name] = unread.get(name, 0) + count
        connection.unregister("batch")
        created = True
    if not created:
        types = [(staged, sql_type(says, for_value=staged[0] == "v")) for staged, _, says in staged_columns(needs)]
        columns = [f"{staged} {kind}" for staged, kind in types] or ["nothing INTEGER"]
        connection.execute(f"CREATE TABLE {table} ({', '.join([*columns, 'h UBIGINT'])})")
    return unread


def _stretches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches of one type, taken together: a statement for each small one would cost more than its rows, on one thread."""
    import pyarrow as pa

    held: list[pa.RecordBatch] = []
    for batch in batches:
        if held and (batch.schema != held[0].schema or sum(len(b) for b in held) >= STRETCH):
            yield pa.Table.from_batches(held)
            held = []
        held.append(batch)
    if held:
        yield pa.Table.from_batches(held)


def _unread(connection: duckdb.DuckDBPyConnection, needs: TableNeeds, place: dict[str, str], arrow: pa.Schema) -> dict[str, int]:
    """Only text may say nothing: everything else has a type already."""
    texts = [name for name in needs.values if is_text(arrow.field(place[name]).type)]
    casts = {name: typed(place[name], needs.described[name], arrow.field(place[name]).type, for_value=True) for name in texts}
    told = {name: cast for name, cast in casts.items() if cast != as_text(place[name], arrow.field(place[name]).type)}
    if not told:
        return {}
    counts = ", ".join(f"count({place[name]}) - count({cast})" for name, cast in told.items())
    (row,) = connection.execute(f"SELECT {counts} FROM batch").fetchall()
    return dict(zip(told, map(int, row), strict=True))


def _select(needs: TableNeeds, place: dict[str, str], arrow: pa.Schema) -> str:
    parts = []
    for staged, name, declared in staged_columns(needs):
        column = place[name]
        raw = arrow.field(column).type
        expression = typed(column, declared, raw, for_value=staged[0] == "v")
        if staged[0] == "o" and declared is None:
            expression = ordered(column, raw)
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
        if pa.types.is_duration(kind):
            kind = pa.int64()
            array = array.cast(pa.duration("us"), safe=False).cast(kind)
        arrays.append(array)
        fields.append(pa.field(field.name, kind))
    return pa.record_batch(arrays, schema=pa.schema(fields))
