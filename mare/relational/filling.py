"""How each column of an output table gets its values: by a model, from the row above, fresh, or by rule.

Known from the schema alone. The sampler follows it; the fit reads it first, to refuse what cannot come out before any
budget is spent. And which sets of columns have to be kept apart when rows are drawn (`distinct_sets`).

And the same in words (`column_origins`): where the values of every column come from, the list that the one who signs reads. Only
the columns of public tables are those that the source turned out to have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from mare.errors import PlanError
from mare.planning.domains import is_learned
from mare.privacy.pages import bullets, paragraph, table
from mare.schema import Schema
from mare.schema.checks.tables import counts_up
from mare.schema.columns import Column, Identifier, Position, Text
from mare.schema.columns.unmodelled import FakeKind
from mare.schema.layout import Layout, link_cap, public_parts
from mare.schema.links import Reference
from mare.schema.reflection import ReflectedTable


@dataclass(frozen=True)
class Modelled:
    """Decoded from what the group's model generated."""


@dataclass(frozen=True)
class Faked:
    """Made up, and maybe the same in several rows: a name, a street."""

    kind: FakeKind
    locale: str


@dataclass(frozen=True)
class Fresh:
    """A fresh, unique value: never read from the source."""

    generate: Literal["sequence", "uuid", "pattern", "fake"] | None = None
    """None: whatever suits the stored type."""
    start: int = 1
    pattern: str | None = None
    fake: Faked | None = None


@dataclass(frozen=True)
class FromAbove:
    """The value of a column of the row's parent or of a further ancestor."""

    table: str
    column: str


@dataclass(frozen=True)
class Numbered:
    """The position among siblings."""

    start: int


@dataclass(frozen=True)
class Constant:
    """The same for every row; None is NULL."""

    value: str | None


Way = Literal["via", "public", "position", "interval", "earlier", "owned", "pool", "other_entity"]
"""How the row is found: the public key of an association; a modelled public key; a modelled position; the time; so many rows
back; the row made for this one; any row of a pool; any row of another entity."""

VIA = ""
"""In place of a reference's name: the association itself."""


@dataclass(frozen=True)
class Linked:
    """The value of a column of the row that a reference leads to; NULL where it leads nowhere."""

    way: Way
    reference: str
    table: str
    column: str
    nullable: bool = False


@dataclass(frozen=True)
class WorkedOut:
    """Worked out from other values: a determined column, a text template, a position that is counted anew."""

    column: Column


Filling = Modelled | Fresh | Faked | FromAbove | Numbered | Constant | Linked | WorkedOut


def fillings(schema: Schema, table: str) -> dict[str, Filling]:
    """Column → how it is filled, for every column that comes out; or an error that names all that cannot be yet."""
    described = schema.table(table)
    filled: dict[str, Filling] = {}
    refused: list[str] = []
    for name in described.key or ():
        filled[name] = Fresh()
    for name, column in described.columns.items():
        if name in described.ignore_columns:
            continue
        if column.determined is not None:
            filled[name] = WorkedOut(column)
        elif isinstance(column, Identifier):
            filled[name] = Fresh(column.generate, column.start, column.pattern)
        elif isinstance(column, Position):
            filled[name] = Numbered(column.start) if column.within is None else WorkedOut(column)
        elif isinstance(column, Text) and column.fake is not None:
            faked = Faked(column.fake, column.locale)
            filled[name] = Fresh("fake", fake=faked) if column.is_unique else faked
        elif isinstance(column, Text):
            empty = None if column.nullable else ""
            constant = Constant(column.value if column.fill == "constant" else empty)
            filled[name] = WorkedOut(column) if column.fill == "template" else constant
        else:
            filled[name] = Modelled()
    _references(schema, table, filled, refused)
    _parent(schema, table, filled, refused)
    if refused:
        listed = "\n".join(f"  - {fault}" for fault in refused)
        raise PlanError(f"this schema can be planned, but not yet fitted:\n{listed}")
    return filled


def _parent(schema: Schema, table: str, filled: dict[str, Filling], refused: list[str]) -> None:
    link = schema.parent(table)
    if link is None or (parent := link.table) is None:
        return
    foreign, referred = link.column or (), link.references or schema.table(parent).key or ()
    if len(foreign) != len(referred):
        refused.append(f"{table}: its foreign key ({', '.join(foreign)}) does not match the key of {parent}")
    for name, column in zip(foreign, referred, strict=False):
        if isinstance(filled.get(name), Linked):
            refused.append(f"{table}.{name}: it refers to the parent, and is part of another reference that would move it")
        filled[name] = FromAbove(parent, column)


def _references(schema: Schema, table: str, filled: dict[str, Filling], refused: list[str]) -> None:
    described = schema.table(table)
    for name, reference in described.references.items():
        columns = described.reference_columns(name)
        if reference.kind == "ancestor":
            referred = reference.column or schema.table(reference.table).key or ()
            for column, other in zip(columns, referred, strict=False):
                filled[column] = FromAbove(reference.table, other)
        elif reference.kind == "broken" or (reference.kind == "other_entity" and reference.fill == "none"):
            for column in columns:
                filled[column] = Constant(None)
    filled |= linked_columns(schema, table)
    _random_keys(schema, table, filled, refused)
    for name in described.ignore_columns:
        filled.pop(name, None)


def _random_keys(schema: Schema, table: str, filled: dict[str, Filling], refused: list[str]) -> None:
    """Rows whose key is drawn at random may have to go when keys come out alike: then nobody can refer to them at random."""
    random = {name for name, filling in filled.items() if isinstance(filling, Linked) and filling.way == "other_entity"}
    drawn = [key for key in schema.table(table).unique_sets if random & set(key)]
    if all(any(isinstance(filled.get(c), Fresh) for c in key) for key in drawn):
        return
    for name, other in schema.tables.items():
        for reference, link in other.references.items():
            if link.kind == "other_entity" and link.fill == "random" and link.table in (table, *_below(schema, table)):
                refused.append(
                    f"{name}.{reference}: it leads at random to {link.table}, the rows of which depend on keys that are random "
                    f"themselves ({table}). Give {table} a key of its own, or say fill: none"
                )


def _below(schema: Schema, table: str) -> list[str]:
    layout, below, waiting = Layout(schema), list[str](), [table]
    while waiting:
        children = [name for name in layout.children(waiting.pop()) if name not in below]
        below += children
        waiting += children
    return below


def linked_columns(schema: Schema, table: str) -> dict[str, Linked]:
    """Column → the link that fills it, for every reference that is neither to an ancestor nor left NULL."""
    described, link = schema.table(table), schema.parent(table)
    linked: dict[str, Linked] = {}
    for part in public_parts(schema, table):
        public = described.references[part.reference]
        for column, other in zip(part.columns, part.there, strict=False):
            linked[column] = Linked("public", part.name, public.table, other, public.nullable)
    for name, reference in described.references.items():
        way = _way(reference)
        if way is None or way == "public":
            continue
        there = reference.column or schema.tables[reference.table].key or ()
        for column, other in zip(described.reference_columns(name), there, strict=False):
            linked[column] = Linked(way, name, reference.table, other, reference.nullable)
    if link is not None and link.type == "associative" and link.via is not None:
        for column, other in zip(link.column_via or (), schema.tables[link.via].key or (), strict=False):
            linked[column] = Linked("via", VIA, link.via, other)
    return linked


def _way(reference: Reference) -> Way | None:
    if reference.kind == "same_entity":
        return reference.by
    if reference.kind == "other_entity":
        return None if reference.fill == "none" else "other_entity"
    if reference.kind == "ancestor" or reference.kind == "broken":
        return None
    return reference.kind


# Most keys are unique by construction: fresh identifiers, positions, strict orders, associations, one row a parent. What is left
# are keys with modelled parts (`[subject_id, year]`): those are drawn again within the parent, and at last moved apart.


@dataclass(frozen=True)
class Distinct:
    """Columns whose values differ between the rows of one parent."""

    columns: tuple[str, ...]
    """Without the foreign key."""
    drawn: tuple[str, ...]
    """What a model draws for them: columns and references by name. A column that none of these fills is not among them."""
    by_model: bool
    """Whether every one of the columns is drawn by a model."""


def distinct_sets(schema: Schema, table: str) -> tuple[Distinct, ...]:
    """The sets of a table that need care."""
    sets = dict.fromkeys(schema.tables[table].unique_sets)
    return tuple(distinct for names in sets if (distinct := _set(schema, table, names)) is not None)


def _set(schema: Schema, table: str, names: tuple[str, ...]) -> Distinct | None:
    described, filled = schema.tables[table], fillings(schema, table)
    link = schema.parent(table)
    if link is None or link.table is None or any(isinstance(filled.get(name), Fresh) for name in names):
        return None
    if any(isinstance(filling := filled.get(name), Linked) and filling.way == "owned" for name in names):
        return None
    foreign = schema.parent_columns(table)
    cap, rest = link_cap(schema, table), [name for name in names if name not in foreign]
    via = set(link.column_via or ()) if link.type == "associative" else set()
    if (
        not rest
        or (cap is not None and cap.rows == 1)
        or any(counts_up(name, described.columns.get(name), names) for name in rest)
    ):
        return None
    if via and via <= set(names) and link.multiplicity == 1:
        return None
    drawn = []
    for name in rest:
        reference = next(
            (part.name for part in public_parts(schema, table) if name in part.columns), described.reference_of(name)
        )
        at_random = reference in described.references and described.references[reference].kind in ("pool", "other_entity")
        drawn.append(None if at_random else reference or name)
    known = tuple(dict.fromkeys(name for name in drawn if name is not None))
    return Distinct(tuple(rest), known, None not in drawn)


Origin = Literal["learned", "learned with its values", "made up", "worked out", "constant", "copied", "dropped"]

_MEANING: dict[Origin, str] = {
    "learned": "how often each value occurs, and with what, was learned with noise and paid for; which values there can be was "
    "declared in the schema, or is the key of a public table",
    "learned with its values": "which values there can be was learned and paid for too",
    "made up": "fresh keys and identifiers, and references to them; all rows of pools; never read from the source",
    "worked out": "from other columns of the synthetic rows, by a rule of the schema",
    "constant": "the same in every row, as the schema says, or NULL",
    "copied": "as the source has it: the schema declares the table public. Not protected",
    "dropped": "not read, and not in what comes out",
}
_UNNAMED = "what the schema does not name is not read and does not come out; of a public table, all columns do"
_ALL = "the whole table"
_LEARNED_WAYS = ("via", "public", "position", "interval")
"""References whose target a model draws. The others are found by a rule (a place before) or by lot."""
_RULED_WAYS = ("earlier",)


def column_origins(schema: Schema, tables: Sequence[ReflectedTable]) -> dict[str, dict[str, Origin]]:
    """Table → column → where its values come from, for everything that the schema names. ``tables``: those that come out."""
    held = {made.name: [column.name for column in made.columns] for made in tables}
    return {name: _of_table(schema, name, held.get(name, [])) for name in schema.tables}


def render_origins(origins: Mapping[str, Mapping[str, Origin]], width: int = 100) -> str:
    """The list as text for people: per table, the columns of each kind."""
    rows: list[tuple[str, str, str]] = []
    for name, columns in origins.items():
        kinds = [kind for kind in _MEANING if kind in columns.values()]
        for number, kind in enumerate(kinds):
            listed = ", ".join(column for column, origin in columns.items() if origin == kind)
            rows.append((name if number == 0 else "", kind, listed))
    used = {kind for _, kind, _ in rows}
    lines = paragraph("What comes out, column by column, and where it comes from:", width)
    lines += table(("table", "values are", "columns"), rows, width, long=2, right=frozenset())
    legend = [f"{kind}: {meaning}" for kind, meaning in _MEANING.items() if kind in used]
    return "\n".join([*lines, "", "How to read it:", *bullets([*legend, _UNNAMED], width)]) + "\n"


def _of_table(schema: Schema, name: str, held: list[str]) -> dict[str, Origin]:
    described = schema.tables[name]
    if described.ignore:
        return {_ALL: "dropped"}
    dropped: dict[str, Origin] = dict.fromkeys(described.ignore_columns, "dropped")
    if described.public:
        return {**dict.fromkeys(held, "copied"), **dropped}
    origins = {column: _origin(schema, name, column, filling) for column, filling in fillings(schema, name).items()}
    if described.pool is not None:  # nothing is learned there: what a model would draw is drawn by lot
        origins = {column: "made up" if origin.startswith("learned") else origin for column, origin in origins.items()}
    return {**origins, **dropped}


def _origin(schema: Schema, table: str, column: str, filling: Filling) -> Origin:
    match filling:
        case Modelled():
            return "learned with its values" if is_learned(schema, table, column) else "learned"
        case Fresh() | Faked():
            return "made up"
        case FromAbove(above, there):
            return _origin(schema, above, there, fillings(schema, above)[there])
        case Linked(way=way) if way in _LEARNED_WAYS:
            return "learned with its values" if is_learned(schema, table, filling.reference) else "learned"
        case Linked(way=way):
            return "worked out" if way in _RULED_WAYS else "made up"
        case Constant():
            return "constant"
        case _:
            return "worked out"
