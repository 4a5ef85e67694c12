"""From a release to what sampling works with: models and codecs loaded, columns' fillings known, pools made.

Done once a sample, before the first block. Nothing here draws but the pools, which every block refers to: so many made-up rows
from declared domains. Nothing in them was learned, every value is drawn evenly over its column's domain: a pool says who could be
there, not who is. It has no more rows than there will be references to it, as far as the noisy sizes tell: a schema written for a
large hospital would give a small one, or a small sample, a staff that nobody ever meets.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from mare.codec import LearnedDomain, LearnedValues, TableCodec, evenly, table_codec
from mare.domain import CodeArray, numbered_keys, purpose_of, smallest_dtype
from mare.errors import InternalError
from mare.graph.dag import DatasetDag
from mare.relational.filling import Modelled, distinct_sets, fillings
from mare.relational.placing import Placed, PlacedTables
from mare.relational.public import PublicTables
from mare.relational.relations import Relations, TableRelations, reference_labels, relations
from mare.release import Release
from mare.schema import Schema
from mare.schema.columns import Code
from mare.schema.layout import link_cap
from mare.schema.links import SameEntityReference
from mare.schema.reflection import ReflectedColumn, ReflectedTable

from .dropping import endings
from .fitted_tables import Chunk, Decoder, FittedTables
from .run import stream
from .writing import ChunkValues, Writer


@dataclass(frozen=True, eq=False)
class Ready:
    """A release, ready to be sampled from."""

    fitted: FittedTables
    writer: Writer
    apart: Mapping[str, pa.RecordBatch]
    """Tables that come out before any entity: public ones as they are, pools; referred before referring."""


def get_ready(release: Release, seed: int, entities: int | None = None) -> Ready:
    """Load the models, build the codecs, make the pools.

    ``entities`` is how many there will be, where that is known: pools are no larger than they have to be then.
    """
    schema = release.schema
    dag = DatasetDag.of(schema)
    own = [name for name in dag.generation_order() if dag.node(name).role in ("entity", "private", "owned")]
    pools = [name for name in dag.generation_order() if dag.node(name).role == "pool"]
    order = tuple(dict.fromkeys([dag.entity.name, *own]))
    related = relations(schema, release.public, release.plan.chosen, release.plan.counts, release.plan.learned)
    codecs = table_codecs(release, order, related)
    owned_by = {
        name: tuple((edge.child, edge.name) for edge in dag.owners(name)) for name in own if dag.node(name).role == "owned"
    }
    owners = {name: tuple(e.child if e.kind == "owned" else e.parent for e in dag.owners(name)) for name in order}
    apart = {name: distinct_sets(schema, name) for name in own}
    for name, sets in apart.items():
        if name in codecs:
            codecs[name] = replace(codecs[name], apart=tuple(wanted.drawn for wanted in sets if wanted.by_model))
    links = {name: link for name in own if (link := schema.parent(name)) is not None}
    decoder = Decoder(
        order=order,
        codecs=codecs,
        related=related,
        owned_by=owned_by,
        ordered_by={name: link.order_by for name, link in links.items() if link.type == "sequential" and link.order_by},
    )
    fitted = FittedTables(
        release.plan,
        owners,
        {settled.name: release.model(settled.name) for settled in release.plan.groups},
        {name: cap.rows for name in dag.tables("private") if (cap := link_cap(schema, name)) is not None},
        {name: most for name, link in links.items() if (most := link.max_per_entity) is not None},
        apart,
        frozenset([schema.entity_holder] if schema.entity_holder is not None else []),
        **vars(decoder),
    )
    by_name = {table.name: table for table in release.tables}
    writer = Writer(
        schema=schema,
        tables=tuple(table for table in release.tables if table.name in own),
        fillings={name: fillings(schema, name) for name in (*order, *pools)},
        stored=_stored(schema, by_name, (*order, *pools)),
        public=release.public,
        distinct={name: [d.columns for d in sets if not fitted.keeps_apart(name, d)] for name, sets in apart.items() if sets},
        endings=endings(schema),
        finders=_finders(schema, own),
        **vars(decoder),
    )
    made, batches = make_pools(schema, writer, tuple(by_name[name] for name in pools), seed, pool_sizes(release, pools, entities))
    public = {name: _whole(release, by_name[name]) for name in by_name if name in release.public}
    first = {name: public.get(name, batches.get(name)) for name in by_name if name in public or name in batches}
    return Ready(fitted, replace(writer, pools=made), {n: batch for n, batch in first.items() if batch is not None})


def table_codecs(release: Release, tables: Iterable[str], related: Relations) -> dict[str, TableCodec]:
    """The very codecs that the fit has used."""
    columns: dict[str, list[str]] = {table: [] for table in tables}
    for settled in release.plan.groups:
        for column in settled.group.columns:
            home, name = column.table or settled.group.table, column.column
            described, held = release.schema.tables[home], columns[home]
            if column.role in ("value", "first", "same", "derived") and name is not None and name not in held:
                held += [name] if name in described.columns and name not in described.references else []
    codecs = {}
    for table, names in columns.items():
        labels = reference_labels(related.get(table, TableRelations()))
        known = release.plan.learned
        codecs[table] = table_codec(release.schema, table, names, known, labels) if names else TableCodec(table, {})
    return codecs


def _stored(schema: Schema, tables: Mapping[str, ReflectedTable], names: Iterable[str]) -> dict[tuple[str, str], ReflectedColumn]:
    columns = {}
    for name in names:
        # What an entity by column is told apart by is stored in the table that holds it.
        home = name if name in tables else schema.entity_holder or name
        for column in fillings(schema, name):
            if (stored := tables[home].column(column)) is not None:
                columns[name, column] = stored
    return columns


def _finders(schema: Schema, tables: Iterable[str]) -> dict[tuple[str, str], tuple[str, tuple[str, str]]]:
    return {
        (table, name): (reference.time, reference.interval)
        for table in tables
        for name, reference in schema.tables[table].references.items()
        if isinstance(reference, SameEntityReference) and reference.time is not None and reference.interval is not None
    }


def _whole(release: Release, table: ReflectedTable) -> pa.RecordBatch:
    """A public table as one batch: its rows may refer to each other."""
    rows = release.public[table.name].rows.select([column.name for column in table.columns]).combine_chunks()
    batches = rows.to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=rows.schema)


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
