"""Pools: so many made-up rows from declared domains, the same for all blocks. Nothing in them was learned.

Every value is drawn evenly over its column's domain: a pool says who could be there, not who is. It has no more rows than there
will be references to it, as far as the noisy sizes tell: a schema written for a large hospital would give a small one, or a small
sample, a staff that nobody ever meets.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from mare.codec import LearnedDomain, LearnedValues, TableCodec, evenly, table_codec
from mare.domain import CodeArray, numbered_keys, purpose_of, smallest_dtype
from mare.errors import InternalError
from mare.relational.filling import Modelled
from mare.relational.placing import Placed, PlacedTables
from mare.relational.public import PublicTables
from mare.release import Release
from mare.schema import Schema
from mare.schema.columns import Code
from mare.schema.reflection import ReflectedTable

from .fitted_tables import Chunk
from .randomness import stream
from .writing import ChunkValues, Writer


def pool_sizes(release: Release, pools: Sequence[str], entities: int | None) -> dict[str, int]:
    """Rows of every pool in a sample of so many entities; all that are declared where that is not known.

    ``pools`` come as they are made: those that are referred to before those that refer to them. A smaller pool holds the first
    rows of a larger one.
    """
    schema, sizes = release.schema, dict[str, int]()
    for pool in reversed(pools):
        declared = schema.tables[pool].pool
        if declared is None:
            raise InternalError(f"{pool!r} is no pool")
        uses = None if entities is None else _uses(release, pool, entities, sizes)
        sizes[pool] = declared.rows if uses is None else max(1, min(declared.rows, uses))
    return sizes


def _uses(release: Release, pool: str, entities: int, sizes: Mapping[str, int]) -> int | None:
    """How many references to a pool there will be, from noisy numbers alone; None where that does not bound its rows."""
    expected: list[float] = []
    for name, table in release.schema.tables.items():
        columns = [c for label, link in table.references.items() if link.table == pool for c in table.reference_columns(label)]
        if not columns:
            continue
        if any(set(columns) & set(names) for names in table.unique_sets):
            return None  # rows are told apart by it, so that a row less may be one too few
        rows = [
            settled.rows for settled in release.plan.groups if settled.group.table == name and settled.group.part != "context"
        ]
        if name in sizes:
            expected.append(sizes[name])
        elif rows:
            expected.append(max(rows) * entities / max(1, release.plan.entities))
        else:
            return None  # nothing of it is modelled, so how many rows it has is not known beforehand
    return math.ceil(sum(expected)) if expected else None


def make_pools(
    schema: Schema, writer: Writer, tables: tuple[ReflectedTable, ...], seed: int, sizes: Mapping[str, int]
) -> tuple[dict[str, dict[str, pa.Array]], dict[str, pa.RecordBatch]]:
    """The columns of every pool by the schema's names, and the batches to write. Pools may refer to each other."""
    codecs = {table.name: _codec(schema, writer, table.name) for table in tables}
    placed = {table.name: _rows(schema, codecs[table.name], table.name, seed, sizes[table.name]) for table in tables}
    own = replace(
        writer, tables=tables, order=tuple(placed), codecs=codecs, related={}, distinct={}, finders={}, owned_by={}, pools={}
    )
    keys = {name: numbered_keys(purpose_of(f"pool {name} of seed {seed}"), np.arange(rows.rows)) for name, rows in placed.items()}
    placed_pools = PlacedTables(dict.fromkeys(placed, ()), placed)
    block = ChunkValues(own, Chunk(placed_pools, keys, np.zeros(0, dtype=np.int64)), {}, seed)
    batches = block.batches()
    return {name: {column: block.column(name, column) for column in writer.fillings[name]} for name in placed}, batches


def _codec(schema: Schema, writer: Writer, table: str) -> TableCodec:
    columns = [name for name, filling in writer.fillings[table].items() if isinstance(filling, Modelled)]
    return evenly(table_codec(schema, table, columns, _vocabularies(schema, writer.public, table)))


def _vocabularies(schema: Schema, public: PublicTables, table: str) -> Mapping[str, LearnedDomain]:
    """All codes of a public table may occur."""
    return {
        f"{table}.{name}": LearnedValues(tuple(key[0] for key in public[column.vocabulary_table].vocabulary().keys))
        for name, column in schema.tables[table].columns.items()
        if isinstance(column, Code) and column.values is None and column.vocabulary_table is not None
    }


def _rows(schema: Schema, codec: TableCodec, table: str, seed: int, size: int) -> Placed:
    pool = schema.tables[table].pool
    if pool is None:
        raise InternalError(f"{table!r} is no pool")
    rng = stream(seed, f"pool {table}", 0)
    codes: dict[str, CodeArray] = {}
    for name, column in codec.columns.items():
        # All of them are drawn, whatever the size: a row is the same in a large sample and in a small one.
        rest = getattr(column, "rest", None)  # nothing of a pool is outside its lists
        most = column.size if rest is None else rest.code
        codes[name] = rng.integers(0, most, size=pool.rows)[:size].astype(smallest_dtype(column.size))
    everyone = np.arange(size, dtype=np.int64)
    return Placed(
        size, everyone, np.zeros(size, dtype=np.int64), np.ones(size, dtype=np.int64),
        {"rows": codes, "head": {}, "context": {}},
    )  # fmt: skip
