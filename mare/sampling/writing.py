"""From coded rows to the values of the output tables: decoded, with fresh keys and with foreign keys that hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import UUID

import numpy as np

from mare.codec import Siblings, TableCodec, decode_table
from mare.errors import InternalError
from mare.release.filling import Constant, Filling, Fresh, FromAbove, Modelled, Numbered
from mare.release.placing import Placed, Rooms
from mare.schema.reflection import ReflectedColumn, ReflectedTable

from .randomness import stream

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass
class Counters:
    """How many rows of each table were written: fresh keys go on from there, block after block."""

    rows: dict[str, int] = field(default_factory=dict)


def write_block(
    rooms: Rooms,
    tables: tuple[ReflectedTable, ...],
    fillings: Mapping[str, Mapping[str, Filling]],
    codecs: Mapping[str, TableCodec],
    counters: Counters,
    seed: int,
    block: int,
) -> dict[str, pa.RecordBatch]:
    """The rows of one block, table by table, parents first."""
    import pyarrow as pa

    values: dict[str, dict[str, pa.Array]] = {}
    batches: dict[str, pa.RecordBatch] = {}
    for table in tables:
        placed = rooms.tables[table.name]
        firsts = {name: placed.codes["context"][f"first({name})"] for name in codecs[table.name].firsts}
        above = rooms.tables[rooms.owners[table.name][0]].rows if rooms.owners[table.name] else placed.rows
        siblings = Siblings(above, placed.parent, placed.position)
        decoded = decode_table(
            codecs[table.name], placed.codes["rows"], firsts, siblings, stream(seed, f"decode {table.name}", block)
        )
        start = counters.rows.get(table.name, 0)
        rng = stream(seed, f"keys {table.name}", block)
        filled: dict[str, pa.Array] = {}
        for name, filling in fillings[table.name].items():
            stored = table.column(name)
            if stored is None:
                raise InternalError(f"{table.name}.{name} is generated, but no column was made for it")
            filled[name] = _fill(filling, name, stored, table.name, placed, decoded.values, values, rooms, start, rng)
        counters.rows[table.name] = start + placed.rows
        values[table.name] = filled
        by_stored = {_stored_name(table, name): array for name, array in filled.items()}
        batches[table.name] = pa.record_batch({c.name: by_stored[c.name] for c in table.columns})
    return batches


def _stored_name(table: ReflectedTable, name: str) -> str:
    column = table.column(name)
    return column.name if column is not None else name


def _fill(
    filling: Filling,
    name: str,
    stored: ReflectedColumn,
    table: str,
    placed: Placed,
    decoded: Mapping[str, pa.Array],
    values: Mapping[str, Mapping[str, pa.Array]],
    rooms: Rooms,
    start: int,
    rng: np.random.Generator,
) -> pa.Array:
    import pyarrow as pa

    match filling:
        case Modelled():
            return decoded[name]
        case Fresh():
            return _fresh(filling, stored, start, placed.rows, rng)
        case FromAbove(above, column):
            index = rooms.climb(np.arange(placed.rows, dtype=np.int64), table, above)
            return values[above][column].take(pa.array(index))
        case Numbered(first):
            return pa.array(placed.position + first)
        case Constant(value):
            return pa.array([value] * placed.rows, type=pa.string())


def _fresh(filling: Fresh, stored: ReflectedColumn, start: int, rows: int, rng: np.random.Generator) -> pa.Array:
    """Unique by construction: numbers go up; a uuid has 122 random bits of its own stream."""
    import pyarrow as pa

    generate = filling.generate or ("uuid" if stored.kind == "uuid" else "sequence")
    numbers = np.arange(rows, dtype=np.int64) + start + filling.start
    if generate == "pattern" and filling.pattern is not None:
        return pa.array([filling.pattern.format(n=int(n)) for n in numbers], type=pa.string())
    if generate == "uuid":
        return pa.array([str(UUID(bytes=rng.bytes(16), version=4)) for _ in range(rows)], type=pa.string())
    if stored.kind in ("string", "json", "other"):
        return pa.array([str(n) for n in numbers], type=pa.string())
    return pa.array(numbers)
