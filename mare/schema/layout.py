"""`Layout`: how the tables of a schema depend on each other, worked out once, also where the schema contradicts itself.

The checks ask it. It never raises: what is missing or circular is theirs to report. And `shared_columns`: those that repeat one
fact in every row below another; `public_parts`: what is drawn of the references to public tables.

And who owns a table's rows, and how many of them one owner may have: the one place that reads caps off a schema. The checks, the
graph's edges, the sensitivities of the plan and the truncation of the stage all ask here, so that what is promised and what is
enforced cannot drift apart.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from mare.errors import InternalError

from .columns import Column, Drift, Integer, Listed
from .faults import Fault, Path, listed
from .links import Parent, Reference
from .schema import Schema, Table


@dataclass(frozen=True)
class Cap:
    """At most this many rows of a table under one row of its parent."""

    rows: int
    why: str
    """Where the number is from: `max_rows`, `key = foreign key`, `40 drugs × 2`."""


def link_cap(schema: Schema, table: str) -> Cap | None:
    """The cap of a table's link to its parent: the lowest that is enforced. None where the schema leaves it open."""
    described = schema.tables[table]
    link = schema.parent(table)
    if link is None:
        raise InternalError(f"table {table!r} has no parent, so its link has no cap")
    foreign = set(link.column or ())
    caps = [Cap(1, "key = foreign key")] if any(foreign >= set(names) for names in described.unique_sets) else []
    if link.max_rows is not None:
        caps.append(Cap(link.max_rows, "max_rows"))
    if link.type == "associative":
        caps += _vocabulary_caps(schema, link)
    if not caps and link.max_per_entity is not None:
        caps.append(Cap(link.max_per_entity, "max_per_entity"))
    return min(caps, key=lambda cap: cap.rows, default=None)


def most_children(schema: Schema, table: str) -> int:
    """How many rows that is under one row of the parent; one where the schema leaves it open."""
    cap = link_cap(schema, table)
    return 1 if cap is None else cap.rows


def link_memory(schema: Schema, table: str) -> int:
    """How many previous rows a row may look at: no more than a parent row can have before it. 0 for what is no sequence."""
    link = schema.parent(table)
    if link is None or link.effective_memory == 0:
        return 0
    cap = link_cap(schema, table)
    return link.effective_memory if cap is None else max(1, min(link.effective_memory, cap.rows - 1))


def _vocabulary_caps(schema: Schema, link: Parent) -> list[Cap]:
    """A public key occurs at most `multiplicity` times under a parent row, so the vocabulary is a cap too."""
    public = schema.tables.get(link.via) if link.via is not None else None
    sizes = []
    if public is not None and public.rows is not None:
        sizes.append(public.rows)
    if link.vocabulary is not None and link.vocabulary.rest == "drop":
        sizes.append(link.vocabulary.select)
    times = f" × {link.multiplicity}" if link.multiplicity > 1 else ""
    return [Cap(size * link.multiplicity, f"{size} {link.via}{times}") for size in sizes]


Role = Literal["ignored", "public", "pool", "entity", "private", "owned", "open"]
"""What a table is. `open`: nothing says yet."""


@dataclass(frozen=True)
class Layout:
    """Questions about the tables of one schema."""

    schema: Schema
    _ancestors: dict[str, tuple[str, ...]] = field(default_factory=dict, init=False, compare=False)

    @cached_property
    def roles(self) -> dict[str, Role]:
        return {name: self._role(name, table) for name, table in self.schema.tables.items()}

    def _role(self, name: str, table: Table) -> Role:
        if table.ignore:
            return "ignored"
        if table.public:
            return "public"
        if table.pool is not None:
            return "pool"
        if self.schema.entity == name:
            return "entity"
        if self.schema.parent(name) is not None:
            return "private"
        return "owned" if name in self.owners else "open"

    @cached_property
    def owners(self) -> dict[str, list[tuple[str, str]]]:
        """Table → the (table, reference) pairs that own its rows."""
        pairs: dict[str, list[tuple[str, str]]] = {}
        for name, table in self.schema.tables.items():
            for reference, link in {} if table.ignore else table.references.items():
                if link.kind == "owned":
                    pairs.setdefault(link.table, []).append((name, reference))
        return pairs

    def of_role(self, role: Role) -> list[str]:
        """The tables that are such."""
        return [name for name, held in self.roles.items() if held == role]

    def not_public(self, path: Path, table: str, *, so: str = "", else_: str = "") -> Fault:
        """A table that only a public one can stand for."""
        remedy = f"Mark it `public: true` if it holds nothing about anybody, or name one of {listed(self.of_role('public'))}"
        return Fault(path, f"{table} is not public{so}", f"{remedy}{else_}")

    @property
    def described(self) -> list[tuple[str, Table]]:
        """The tables whose rows mare makes up: all but the ignored and the public ones."""
        return [(name, table) for name, table in self.schema.tables.items() if self.roles[name] not in ("ignored", "public")]

    @property
    def described_columns(self) -> Iterator[tuple[str, str, Column, Path]]:
        """Their columns: table, column, what is said of it, and where."""
        for name, table in self.described:
            for column, described in table.columns.items():
                yield name, column, described, ("tables", name, "columns", column)

    def parent_name(self, table: str) -> str | None:
        """The parent's name: a table, or the entity by column."""
        return self.schema.parent_name(table) if table in self.schema.tables else None

    def children(self, table: str) -> tuple[str, ...]:
        """The tables that name this one as their parent."""
        return tuple(name for name in self.schema.tables if self.parent_name(name) == table)

    def ancestors(self, table: str) -> tuple[str, ...]:
        """The rows above one row, nearest first, up to the entity. An owned table continues with its owners: where it has
        several, with what all of them share, for only that is above every one of its rows."""
        if table not in self._ancestors:
            self._ancestors[table] = self._chain(table, ())
        return self._ancestors[table]

    def _chain(self, table: str, below: tuple[str, ...]) -> tuple[str, ...]:
        """Within a circle, which the checks refuse, up to where it closes."""
        below = (*below, table)
        owners = self._owning(table) if table in self.schema.tables else ()
        chains = [(owner, *self._chain(owner, below)) for owner in owners if owner not in below]
        return tuple(name for name in chains[0] if all(name in chain for chain in chains)) if chains else ()

    def _owning(self, table: str) -> tuple[str, ...]:
        """Whose rows a table's rows are: its parent's, or those of the tables that own it."""
        above = self.parent_name(table)
        if above is not None:
            return (above,)
        owned = table in self.owners and self.roles.get(table) == "owned"
        return tuple(dict.fromkeys(owner for owner, _ in self.owners[table])) if owned else ()

    def via_columns(self, table: str) -> tuple[str, ...]:
        link = self.schema.parent(table)
        return link.column_via or () if link is not None and link.type == "associative" else ()

    def columns(self, table: str) -> dict[str, Column | None]:
        """Every column that a table is known to have; None where it is a key or foreign key that needs no description."""
        here = self.schema.tables[table]
        names: dict[str, Column | None] = dict(here.columns)
        for name in [*(here.key or ()), *self.schema.parent_columns(table), *self.via_columns(table)]:
            names.setdefault(name, None)
        for reference in here.references:
            for name in here.reference_columns(reference):
                names.setdefault(name, None)
        return {name: column for name, column in names.items() if name not in here.ignore_columns}

    def reference_of(self, table: str, column: str) -> Reference | None:
        """The reference that this column is part of."""
        here = self.schema.tables[table]
        return None if (name := here.reference_of(column)) is None else here.references[name]

    def tells_items_apart(self, table: str, column: str, *kinds: str) -> bool:
        """Whether a column says what a row is about: one of a list, the key of an association, a reference of these kinds."""
        described, reference = self.columns(table)[column], self.reference_of(table, column)
        if described is not None and (isinstance(described, Listed) or not described.settled):
            return True
        return column in self.via_columns(table) or (reference is not None and reference.kind in kinds)

    def is_unique(self, table: str, columns: Sequence[str]) -> bool:
        """Whether the schema says that these columns name at most one row: they hold its key, or one of its `unique` sets."""
        return any(set(names) <= set(columns) for names in self.schema.tables[table].unique_sets)

    def is_sequence(self, table: str) -> bool:
        link = self.schema.parent(table)
        return link is not None and link.type == "sequential"

    def row_cap(self, table: str) -> int | None:
        """The most rows that a parent row may have, as far as the schema says."""
        cap = None if self.schema.parent(table) is None else link_cap(self.schema, table)
        return None if cap is None else cap.rows


# Columns that repeat one fact in every row (`same_for`). It is known with the list that the rows stand in: in the context of the
# table directly below the row that it is about, on the way down to the column. So it has a value for each row above, and every
# row below may look at it.

ENTITY, PARENT = "entity", "parent"


@dataclass(frozen=True)
class Shared:
    """A column that has one value for each row of a table above."""

    table: str
    column: str
    above: str
    """The table above, or the entity: for each of its rows there is one value."""
    holder: str
    """The table whose context holds that value: directly below, the column's own or one on the way to it."""
    drift: Drift | None = None

    @property
    def name(self) -> str:
        """What it is called in the context."""
        return f"same({self.column})" if self.table == self.holder else f"same({self.table}.{self.column})"


def named_above(layout: Layout, table: str, same_for: str) -> str | None:
    """The table above that `same_for` names; None where it names none."""
    above = layout.ancestors(table)
    home = layout.schema.entity_name if same_for == ENTITY else above[0] if same_for == PARENT and above else same_for
    return home if home in above else None


def shared_columns(schema: Schema, table: str | None = None) -> tuple[Shared, ...]:
    """All of them, or those of one table."""
    described = {name: held for name, held in schema.tables.items() if table in (None, name) and not held.ignore}
    if not any(column.same_for is not None for held in described.values() for column in held.columns.values()):
        return ()
    layout, shared = Layout(schema), list[Shared]()
    for name, held in described.items():
        path = (name, *layout.ancestors(name))
        for column, says in held.columns.items():
            above = None if says.same_for is None else named_above(layout, name, says.same_for)
            if above is not None and column not in held.ignore_columns:
                drift = says.drift if isinstance(says, Integer) else None
                shared.append(Shared(name, column, above, path[path.index(above) - 1], drift))
    return tuple(shared)


def going_with(table: Table, columns: Collection[str]) -> dict[str, str]:
    """Columns that go with one of these (`determined: {goes_with: …}`), and with which."""
    going = {name: of for name, held in table.columns.items() if (of := held.goes_with) is not None}
    return {name: of for name, of in going.items() if of in columns and name not in table.ignore_columns}


# A reference of several columns to a public table is drawn column by column: a model can then see that the station is one of the
# site that the person lives at, which no list of whole keys tells. What comes out is brought together to a key that there is.
# A column that a row has from above, as a part of the foreign key to its parent, is not drawn: it is what it is there.


@dataclass(frozen=True)
class PublicPart:
    """What a model draws of a reference to a public table."""

    name: str
    """What it draws it under: the reference's name; a column's, of several."""
    reference: str
    columns: tuple[str, ...]
    """The columns here."""
    there: tuple[str, ...]
    """The columns of the public table."""


@dataclass(frozen=True)
class Above:
    """A part that is drawn with a row above."""

    table: str
    part: PublicPart


def public_parts(schema: Schema, table: str) -> tuple[PublicPart, ...]:
    """All that is drawn of the references of a table to public ones. A column of two references is drawn with the one that has it
    alone, or with the first."""
    described, parts = schema.table(table), list[PublicPart]()
    wholes = [
        (name, here, there) for name, here, there in _to_public(schema, table) if not _is_split(schema, table, name, here, there)
    ]
    parts += [PublicPart(name, name, here, there) for name, here, there in wholes]
    alone = {here[0] for _, here, _ in wholes if len(here) == 1}
    for name, here, there in _to_public(schema, table):
        for column, other in zip(here, there, strict=True) if _is_split(schema, table, name, here, there) else ():
            if column not in alone and part_above(schema, table, column) is None:
                alone.add(column)
                parts.append(PublicPart(column, name, (column,), (other,)))
    order = list(described.references)
    return tuple(sorted(parts, key=lambda part: order.index(part.reference)))


def _to_public(schema: Schema, table: str) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    described = schema.table(table)
    for name, reference in described.references.items():
        target = schema.tables.get(reference.table)
        if reference.kind == "public":
            yield name, described.reference_columns(name), reference.column or (target.key if target is not None else None) or ()


def _is_split(schema: Schema, table: str, name: str, here: tuple[str, ...], there: tuple[str, ...]) -> bool:
    """Not that of a pool, whose rows are made up, nor what is unrolled with an association, nor where another reference has the
    name of a column."""
    described = schema.table(table)
    whole = described.pool is not None or (described.parent is not None and name in described.parent.derived)
    named = {n for n in described.references if n != name and described.reference_columns(n) != (n,)}
    return len(here) == len(there) > 1 and not whole and not named & set(here)


def part_above(schema: Schema, table: str, column: str) -> Above | None:
    """Where a column has its value from, if that is drawn in a row above as a part of a reference."""
    described = schema.table(table)
    link, up = schema.parent(table), None
    if link is not None and link.table in schema.tables and column in (link.column or ()):
        there = link.references or schema.tables[link.table].key or ()
        up = link.table, dict(zip(link.column or (), there, strict=False)).get(column)
    for name, reference in described.references.items():
        if up is None and reference.kind == "ancestor" and reference.table in schema.tables:
            there = reference.column or schema.tables[reference.table].key or ()
            named = dict(zip(described.reference_columns(name), there, strict=False)).get(column)
            up = (reference.table, named) if named is not None else None
    above, other = up or (table, None)
    if other is None or above == table:
        return None
    part = next((part for part in public_parts(schema, above) if part.columns == (other,)), None)
    return Above(above, part) if part is not None else part_above(schema, above, other)
