"""Pools: so many made-up rows from declared domains, the same for all blocks. Nothing in them was learned.

Every value is drawn evenly over its column's domain: a pool says who could be there, not who is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mare.codec import LearnedDomain, LearnedValues, TableCodec, evenly, table_codec
from mare.domain import CodeArray, numbered_keys, purpose_of, smallest_dtype
from mare.errors import InternalError
from mare.release.filling import Modelled
from mare.release.placing import Placed, Rooms
from mare.release.public import PublicTables
from mare.schema import Schema
from mare.schema.columns import Code
from mare.schema.reflection import ReflectedTable

from .generator import Chunk
from .randomness import stream
from .writing import ChunkValues, Writer

if TYPE_CHECKING:
    import pyarrow as pa


def make_pools(
    schema: Schema, writer: Writer, tables: tuple[ReflectedTable, ...], seed: int
) -> tuple[dict[str, dict[str, pa.Array]], dict[str, pa.RecordBatch]]:
    """The columns of every pool by the schema's names, and the batches to write. Pools may refer to each other."""
    codecs = {table.name: _codec(schema, writer, table.name) for table in tables}
    placed = {table.name: _rows(schema, codecs[table.name], table.name, seed) for table in tables}
    own = replace(
        writer, tables=tables, order=tuple(placed), codecs=codecs, related={}, distinct={}, finders={}, owned_by={}, pools={}
    )
    keys = {name: numbered_keys(purpose_of(f"pool {name} of seed {seed}"), np.arange(rows.rows)) for name, rows in placed.items()}
    rooms = Rooms(dict.fromkeys(placed, ()), placed)
    block = ChunkValues(own, Chunk(rooms, keys, np.zeros(0, dtype=np.int64)), {}, seed)
    batches = block.batches()
    return {name: {column: block.column(name, column) for column in writer.fillings[name]} for name in placed}, batches


def _codec(schema: Schema, writer: Writer, table: str) -> TableCodec:
    columns = [name for name, filling in writer.fillings[table].items() if isinstance(filling, Modelled)]
    return evenly(table_codec(schema, table, columns, _vocabularies(schema, writer.public, table)))


def _vocabularies(schema: Schema, public: PublicTables, table: str) -> Mapping[str, LearnedDomain]:
    """All codes of a public table may occur."""
    return {
        f"{table}.{name}": LearnedValues(tuple(key[0] for key in public[column.vocabulary].vocabulary().keys))
        for name, column in schema.tables[table].columns.items()
        if isinstance(column, Code) and column.values is None and column.vocabulary is not None
    }


def _rows(schema: Schema, codec: TableCodec, table: str, seed: int) -> Placed:
    pool = schema.tables[table].pool
    if pool is None:
        raise InternalError(f"{table!r} is no pool")
    rng = stream(seed, f"pool {table}", 0)
    codes: dict[str, CodeArray] = {}
    for name, one in codec.columns.items():
        codes[name] = rng.integers(0, one.size, size=pool.rows).astype(smallest_dtype(one.size))
    everyone = np.arange(pool.rows, dtype=np.int64)
    return Placed(
        pool.rows, everyone, np.zeros(pool.rows, dtype=np.int64), np.ones(pool.rows, dtype=np.int64),
        {"rows": codes, "head": {}, "context": {}},
    )  # fmt: skip
