"""What staging reads of each table: its keys, its foreign keys, its order, its modelled columns. Nothing else leaves the source.

Worked out from the schema and its graph, with the caps that will be enforced; before anything is read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from mare.codec.category import pair_sql
from mare.errors import PlanError
from mare.graph.dag import DatasetDag
from mare.graph.groups import ColumnGroup
from mare.schema import Schema, Table
from mare.schema.columns import AnyColumn, Identifier
from mare.schema.layout import going_with, link_cap, public_parts
from mare.schema.links import Parent

Keep = Literal["first", "last", "random"]
LinkKind = Literal["same_entity", "earlier", "owned", "public"]


@dataclass(frozen=True)
class Link:
    """A reference of a table whose row is looked for while staging."""

    name: str
    kind: LinkKind
    table: str
    columns: tuple[str, ...]
    """The columns here."""
    refers: tuple[int, ...] = ()
    """For each of them, the place in that table's ``key``; empty for a public table, whose keys are a vocabulary."""


@dataclass(frozen=True)
class TableNeeds:
    """One table to be staged, with the caps that will be enforced on it."""

    name: str
    parent: str | None
    """None for the entity, and where references own the rows."""
    key: tuple[str, ...]
    """Columns that others refer to; empty where nothing refers to this table."""
    foreign: tuple[str, ...]
    order: tuple[str, ...]
    values: tuple[str, ...]
    """Modelled columns, and those that go with them."""
    described: dict[str, AnyColumn]
    """What the schema says of the columns, where it does."""
    keep: Keep = "random"
    max_rows: int = 1
    """Rows per parent row."""
    max_per_entity: int | None = None
    refers: tuple[int, ...] = ()
    """For each column of the foreign key, the place in the parent's ``key``."""
    uniques: tuple[tuple[int, ...], ...] = ()
    """Of the entity, places in ``key`` that tell one from another: whoever is there twice would count for two."""
    orphans: Literal["drop", "entity"] = "drop"
    via: tuple[str, ...] = ()
    """Associative: the foreign key to the public table."""
    multiplicity: int = 1
    links: tuple[Link, ...] = ()
    present: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Identifiers and references, with their columns, of which nothing is told but whether they are there."""
    owned_by: tuple[tuple[str, str], ...] = ()
    """The (table, reference) pairs that own the rows, where there is no parent."""
    held_by: str | None = None
    """Of an entity by column: the table whose rows tell it apart. It has no rows of its own."""
    beside: Mapping[str, str] = field(default_factory=dict)
    """Of ``values``, those that are read as one text with the one that they go with."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that is read, once."""
        linked = [column for link in self.links for column in link.columns]
        present = [column for _, columns in self.present for column in columns]
        return tuple(dict.fromkeys((*self.key, *self.foreign, *self.order, *self.values, *self.via, *linked, *present)))

    @property
    def found_by(self) -> list[str]:
        """The staged columns that rows are looked for by: their keys, and where their references lead."""
        keys = [f"k{i}" for i in range(len(self.key))]
        return keys + [f"r{n}_{i}" for n, link in enumerate(self.links) for i in range(len(link.columns))]

    @property
    def joins_parent(self) -> str:
        """A row ``r`` that was read belongs to a row ``p`` of the parent."""
        return " AND ".join(f"r.f{i} = p.k{place}" for i, place in enumerate(self.refers))

    def joins_owner(self, reference: str) -> str:
        """A row ``p`` of this table owns a row ``r``, by this reference."""
        at, link = self.link(reference)
        return " AND ".join(f"r.k{place} = p.r{at}_{i}" for i, place in enumerate(link.refers))

    @property
    def owners(self) -> tuple[str, ...]:
        """The tables that the rows belong to: the parent, or one for each reference that owns them."""
        return tuple(table for table, _ in self.owned_by) if self.parent is None else (self.parent,)

    def value_sql(self, name: str) -> str:
        """One of ``values``, of the staged relation."""
        own, of = f"v{self.values.index(name)}", self.beside.get(name)
        return own if of is None else pair_sql(f"v{self.values.index(of)}", own)

    def link(self, name: str) -> tuple[int, Link]:
        """A link by its reference's name, and its number."""
        return next((number, link) for number, link in enumerate(self.links) if link.name == name)


_Refer = Callable[[str, tuple[str, ...]], tuple[int, ...]]
"""Has these columns of a table staged as something to refer to; their places in its key."""


def needs(schema: Schema, groups: Sequence[ColumnGroup]) -> tuple[TableNeeds, ...]:
    """The tables of the entity, owners before what they own; an entity by column comes first."""
    dag = DatasetDag.of(schema)
    names = [name for name in dag.generation_order() if dag.node(name).role in ("entity", "private", "owned")]
    keys: dict[str, list[str]] = {name: [] for name in (dag.entity.name, *names)}
    referred: set[tuple[str, ...]] = set()

    def refer(table: str, columns: tuple[str, ...]) -> tuple[int, ...]:
        if table not in keys:
            raise PlanError(f"{table!r} is referred to, but is no table of the entity.")
        keys[table] += [column for column in columns if column not in keys[table]]
        if table == dag.entity.name:
            referred.add(columns)
        return tuple(keys[table].index(column) for column in columns)

    drafts = [_table(schema, dag, name, groups, refer) for name in names]
    if key := schema.table(dag.entity.name).key:
        # The key tells whether or not another table refers to it; where there is none, what others refer to has to.
        refer(dag.entity.name, tuple(key))
        referred = {tuple(key)}
    if schema.entity_holder is not None:
        drafts.insert(0, TableNeeds(dag.entity.name, None, (), (), (), (), {}, held_by=schema.entity_holder))
    return tuple(_with_keys(draft, keys[draft.name], () if draft.owners else referred) for draft in drafts)


def _with_keys(draft: TableNeeds, key: Sequence[str], uniques: Collection[tuple[str, ...]]) -> TableNeeds:
    places = sorted(tuple(key.index(column) for column in columns) for columns in uniques)
    return replace(draft, key=tuple(key), uniques=tuple(places))


def _table(schema: Schema, dag: DatasetDag, name: str, groups: Sequence[ColumnGroup], refer: _Refer) -> TableNeeds:
    table = schema.tables[name]
    link = schema.parent(name)
    held = [c for g in groups for c in g.columns if (c.table or g.table) == name]
    modelled = [c.column for c in held if c.role in ("value", "first", "same", "derived")]
    modelled = list(dict.fromkeys(c for c in modelled if c is not None))
    values = tuple(c for c in modelled if c in table.columns and c not in table.references)
    beside = going_with(table, values)
    values += tuple(beside)
    links, present = tuple(_links(schema, name, refer)), tuple(_present(table, name, groups))
    described: dict[str, AnyColumn] = dict(table.columns)
    if link is None or (parent := link.table) is None or dag.node(name).role != "private":
        owned_by = tuple((edge.child, edge.name) for edge in dag.owners(name))
        return TableNeeds(
            name, None, (), (), (), values, described, links=links, present=present, owned_by=owned_by, beside=beside
        )
    cap = link_cap(schema, name)
    rows = [n for n in (cap.rows if cap is not None else None, link.max_per_entity) if n is not None]
    associative = link.type == "associative"
    return TableNeeds(
        name,
        parent,
        (),
        tuple(link.column or ()),
        _order(schema, name, link),
        values,
        described,
        link.effective_keep,
        min(rows),
        link.max_per_entity,
        refers=refer(parent, _referred(schema, parent, link.references)),
        orphans=link.orphans,
        via=tuple(link.column_via or ()) if associative else (),
        multiplicity=link.multiplicity if associative else 1,
        links=links,
        present=present,
        beside=beside,
    )


def _links(schema: Schema, name: str, refer: _Refer) -> list[Link]:
    table, links = schema.tables[name], list[Link]()
    for reference, declared in table.references.items():
        columns = table.reference_columns(reference)
        if declared.kind == "public":
            parts = [part for part in public_parts(schema, name) if part.reference == reference]
            links += [Link(part.name, "public", declared.table, part.columns) for part in parts]
        elif declared.kind in ("earlier", "owned", "same_entity"):
            there = refer(declared.table, _referred(schema, declared.table, declared.column))
            links.append(Link(reference, declared.kind, declared.table, columns, there))
    return links


def _present(table: Table, name: str, groups: Sequence[ColumnGroup]) -> Iterator[tuple[str, tuple[str, ...]]]:
    own = [c.column for g in groups if g.table == name and g.part != "context" for c in g.columns if c.role == "exists"]
    for column in own:
        reference = table.references.get(column or "")
        if column is not None and (reference is None or reference.kind == "pool"):
            yield column, (column,) if reference is None else table.reference_columns(column)


def _referred(schema: Schema, table: str, columns: tuple[str, ...] | None) -> tuple[str, ...]:
    """The columns that a foreign key to a table names: those that are written, or its key."""
    referred = columns or schema.table(table).key
    if not referred:
        raise PlanError(f"table {table!r} is referred to, but has no key. Write `key:` under it.")
    return tuple(referred)


def _order(schema: Schema, name: str, link: Parent) -> tuple[str, ...]:
    """How siblings stand. In a sequence ties go by the table's own key: what was entered first has the smaller number, and from
    an order by chance a model would learn chance. Before that, they go by what rows may share: what belongs together stands
    together."""
    # A position column orders a sequence that names no other order.
    positions = [column for column, described in schema.tables[name].columns.items() if described.type == "position"]
    order = tuple(link.order_by or positions[:1])
    if link.type != "sequential" or not order:
        return order
    own = [column for column, kind in schema.tables[name].columns.items() if isinstance(kind, Identifier) and kind.runs]
    own += [column for column in schema.tables[name].key or () if column not in (link.column or ())]
    return tuple(dict.fromkeys((*order, *own)))
