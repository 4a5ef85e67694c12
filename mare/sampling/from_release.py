"""From a release to what sampling works with: models and codecs loaded, columns' fillings known, pools made.

Done once a sample, before the first block. Nothing here draws but the pools, which every block refers to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from mare.codec import TableCodec, table_codec
from mare.graph.dag import DatasetDag
from mare.relational.filling import distinct_sets, fillings
from mare.relational.relations import Relations, TableRelations, reference_labels, relations
from mare.release import Release
from mare.schema import Schema
from mare.schema.caps import link_cap
from mare.schema.links import SameEntityReference
from mare.schema.reflection import ReflectedColumn, ReflectedTable

from .ending import endings
from .fitted_tables import Decoder, FittedTables
from .pools import make_pools, pool_sizes
from .writing import Writer


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
