"""What a schema contradicts, and what it leaves open. Runs on every load; reads no data.

One file an idea; each check yields faults from a `Layout`. An `error` keeps a schema from loading. What is `unsettled`
loads, because a draft may leave questions open, but it cannot be planned.
"""

from __future__ import annotations

from collections.abc import Iterator

from mare.errors import SchemaError
from mare.schema.columns import Column
from mare.schema.faults import Fault, describe, listed, unsettled
from mare.schema.layout import Layout
from mare.schema.schema import Schema
from mare.schema.structure import members_of

from . import anchors, determined, links, tables


def _find_in_columns(layout: Layout) -> Iterator[Fault]:
    """What the declaration of each column contradicts or leaves open: its type says so itself (`mare.schema.columns`)."""
    for table, _, described, path in layout.described_columns:
        yield from described.faults(layout, table, path)
        if not described.settled:
            types = [t for t in members_of(Column) if t != described.type]
            remedy = f"Write one of {listed(types)}; `mare init --peek-types` reads values to find out"
            yield unsettled((*path, "type"), "nobody has said what this column holds", remedy)


_CHECKS = (
    tables.find_names,
    tables.find_entity,
    tables.find_owners,
    links.find,
    links.find_ends,
    tables.find_keys,
    links.find_references,
    tables.find_cycles,
    _find_in_columns,
    anchors.find,
    determined.find,
    anchors.find_same,
    tables.find_sees,
)


def find_faults(schema: Schema) -> tuple[Fault, ...]:
    """Every fault of a schema, errors and open questions, in the order of its tables."""
    layout = Layout(schema)
    faults = dict.fromkeys(fault for check in _CHECKS for fault in check(layout))
    order = {name: index for index, name in enumerate(schema.tables)}
    return tuple(sorted(faults, key=lambda f: order.get(str(f.path[1]), -1) if len(f.path) > 1 else -1))


def find_graph_faults(schema: Schema) -> tuple[Fault, ...]:
    """Those without whose mending tables have no order and no owner: no graph can be made of them."""
    layout = Layout(schema)
    checks = (tables.find_entity, tables.find_owners, tables.find_cycles, tables.find_sees)
    return tuple(fault for check in checks for fault in check(layout))


def settled_or_raise(schema: Schema) -> None:
    """Nothing when the schema can be planned; otherwise one error with everything that is wrong or still open."""
    faults = find_faults(schema)
    if faults:
        raise SchemaError(describe(faults, schema.name or "schema"), faults)
