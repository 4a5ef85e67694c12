"""The tables that come out, as a sink creates them: the source's own types, the schema's keys and foreign keys.

Types, names, nullability, enums and checks are facts of the catalogue, hence public; they travel in the release so that
sampling needs no source. Of the source's constraints those stay that the synthetic rows are bound to pass: a CHECK that a row
might break would cost the whole target, after the budget is spent. So what the schema does not promise is left out here, before
the fit, and reported in words.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import networkx as nx

from mare.errors import SourceError
from mare.relational.filling import Constant, Faked, Filling, Fresh, FromAbove, Linked, Modelled, Numbered, WorkedOut, fillings
from mare.schema import Schema
from mare.schema.columns import Column, Ordinal
from mare.schema.determined import SAME_ROW
from mare.schema.faults import CUT_DOWN
from mare.schema.reflection import (
    Bound,
    ColumnOrder,
    ReflectedColumn,
    ReflectedForeignKey,
    ReflectedTable,
    Reflection,
    StorageKind,
)


def output_tables(schema: Schema, reflection: Reflection) -> tuple[ReflectedTable, ...]:
    """What to create, referred before referring. Column order is the source's; the schema says which columns there are, and
    their types where the source's were inferred from values."""
    reflection = reflection.declared([name for name, table in schema.tables.items() if table.public])
    made = {
        name: _public(schema, reflection, name) if table.public else _output(schema, reflection, name)
        for name, table in schema.tables.items()
        if not table.ignore
    }
    return tuple(made[name] for name in _referred_first(made))


def left_tables(schema: Schema, reflection: Reflection, *, scripted: bool = False) -> tuple[str, ...]:
    """What of the source is not made at all, in words. ``scripted``: its views are written into a file."""
    made = {name.casefold() for name, table in schema.tables.items() if not table.ignore}
    tables = [table.name for table in reflection if table.name.casefold() not in made]
    views = [left.name for left in reflection.left_out if left.reason.startswith(("a view", "a materialised view"))]
    others: dict[str, list[str]] = {}
    for left in reflection.left_out:
        if left.name not in views:
            others.setdefault(left.reason, []).append(left.name)
    return (
        *([f"the schema leaves out {', '.join(tables)}"] if tables else ()),
        *([f"views: {', '.join(views)}; --ddl FILE writes them"] if views and not scripted else ()),
        *(f"{', '.join(names)}: {reason}" for reason, names in others.items()),
    )


def without_links(tables: tuple[ReflectedTable, ...], schema: Schema, references: Collection[str]) -> tuple[ReflectedTable, ...]:
    """The same tables without the foreign keys of these references (`table.reference`): they may lead to keys that the public
    table does not have, as they do in the source."""
    loose = {
        (name, tuple(column.casefold() for column in table.reference_columns(reference)))
        for name, table in schema.tables.items()
        for reference in table.references
        if f"{name}.{reference}" in references
    }

    def holds(table: str, key: ReflectedForeignKey) -> bool:
        return (table, tuple(column.casefold() for column in key.columns)) not in loose

    return tuple(replace(t, foreign_keys=tuple(key for key in t.foreign_keys if holds(t.name, key))) for t in tables)


def _referred_first(tables: Mapping[str, ReflectedTable]) -> Iterator[str]:
    """An order in which foreign keys point back; where they go round in a circle, the one that closes it points on."""
    referred: dict[str, Iterable[str]] = {name: [key.table for key in table.foreign_keys] for name, table in tables.items()}
    return nx.dfs_postorder_nodes(nx.DiGraph(referred))


def _public(schema: Schema, reflection: Reflection, name: str) -> ReflectedTable:
    """A public table as the source has it, without what is left out; it refers to nothing but public tables."""
    source, described = _source_table(reflection, name), schema.tables[name]
    left_out = {c.name for c in map(source.column, described.ignore_columns) if c is not None}
    columns = tuple(replace(_plain(c, c.nullable), kind=_public_kind(c)) for c in source.columns)
    kept = {c.name for c in columns} - left_out
    unwritten = _unwritten(source, kept)
    there = kept | {column.name for _, column in unwritten}
    key = tuple(c.name for c in map(source.column, described.key or source.key) if c is not None)
    publics = {other for other, table in schema.tables.items() if table.public and not table.ignore}
    foreign = tuple(f for f in source.foreign_keys if f.table in publics and set(f.columns) <= kept)
    return replace(
        source,
        name=name,
        columns=tuple(c for c in columns if c.name in kept),
        key=key if set(key) <= kept else (),
        foreign_keys=foreign,
        uniques=tuple(u for u in source.uniques if set(u) <= kept),
        indexes=tuple(i for i in source.indexes if set(i) <= there),
        special_indexes=tuple(i for i in source.special_indexes if set(i.columns) <= there),
        computed=unwritten,
        orders=tuple(o for o in source.orders if {o.before, o.after} <= kept),
        left_out=(*_left_columns(source, kept), *_left_indexes(source, kept, there), *_left_keys(source, there, foreign)),
        verbatim=True,
    )


def _public_kind(column: ReflectedColumn) -> StorageKind:
    """As it is stored. Where the source tells no types (CSV), its values are texts."""
    return "string" if column.kind == "unknown" else column.kind


def _source_table(reflection: Reflection, name: str) -> ReflectedTable:
    table = reflection.table(name)
    if table is None:
        held = ", ".join(t.name for t in reflection) or "none"
        raise SourceError(f"{reflection.label} has no table {name!r}. It has: {held}. {CUT_DOWN}.")
    return table


def _output(schema: Schema, reflection: Reflection, name: str) -> ReflectedTable:
    source = _source_table(reflection, name)
    filled = fillings(schema, name)
    stored = {logical: column for logical in filled if (column := source.column(logical)) is not None}
    missing = [logical for logical in filled if logical not in stored]
    if missing:
        held = ", ".join(c.name for c in source.columns)
        lost = {f"{source.name}.{column}" for column in missing}
        why = "".join(f" {left.name}: {left.reason}. {left.remedy}." for left in reflection.left_out if left.name in lost)
        raise SourceError(f"table {name!r} has no column {', '.join(missing)}.{why} It has: {held}. {CUT_DOWN}.")
    order = [c.name for c in source.columns]
    bound, unbound = _bound_columns(schema, name, filled, stored)
    columns = sorted(bound.items(), key=lambda item: order.index(item[1].name))
    orders, unordered = _held_orders(schema, name, source, stored)
    uniques, repeated = _held_uniques(schema, name, source, filled, stored)
    foreign = tuple(_as_declared(key, source) for key in _foreign_keys(schema, reflection, name, stored))
    kept = {column.name for column in stored.values()}
    unwritten = _unwritten(source, kept)
    there = kept | {column.name for _, column in unwritten}
    return replace(
        source,
        name=name,
        columns=tuple(_written(schema, reflection, name, logical, filled[logical], column) for logical, column in columns),
        key=_names(stored, schema.tables[name].key or ()),
        foreign_keys=foreign,
        # What the schema calls unique is kept so, also where the source does not say it.
        uniques=_with_own(uniques, [_names(stored, names) for names in schema.tables[name].unique]),
        indexes=tuple(index for index in source.indexes if set(index) <= there),
        special_indexes=tuple(index for index in source.special_indexes if set(index.columns) <= there),
        computed=tuple((place, column) for place, column in unwritten if column.name not in kept),
        orders=orders,
        unread_checks=(*source.unread_checks, *unbound, *unordered, *repeated),
        left_out=(*_left_columns(source, kept), *_left_indexes(source, kept, there), *_left_keys(source, there, foreign)),
    )


def _unwritten(source: ReflectedTable, kept: Collection[str]) -> tuple[tuple[int, ReflectedColumn], ...]:
    """The columns that nobody writes, which a target of the source's family has all the same: what the source computes itself,
    over the synthetic rows; and, empty or at its default, what the schema leaves out, so that an application finds it."""
    made = [column for column in source.columns if column.name in kept or _is_unwritten(source, column, kept)]
    return tuple((place, column) for place, column in enumerate(made) if _is_unwritten(source, column, kept))


def _is_unwritten(source: ReflectedTable, column: ReflectedColumn, kept: Collection[str]) -> bool:
    if column.generated:
        return bool(column.expression)
    # A file or a frame has no catalogue that says what may be NULL, and nobody inserts into one.
    of_database = bool(source.dialect) and column.name not in kept
    goes_without = column.nullable or column.default is not None
    return of_database and goes_without and column.name not in source.key and column.counter is None


def _left_columns(source: ReflectedTable, kept: Collection[str]) -> Iterator[str]:
    """What is not made although the source has it, in words: its columns that the schema leaves out."""
    left = sorted(c.name for c in source.columns if c.name not in kept and not _is_unwritten(source, c, kept))
    if left:
        yield f"the schema leaves out {', '.join(left)}"


def _left_indexes(source: ReflectedTable, kept: Collection[str], there: Collection[str]) -> Iterator[str]:
    """The source's indexes and uniques over columns that are not made; a unique, over what nobody writes either."""
    lost = [("INDEX", f"{i.name} {i.definition}") for i in source.special_indexes if not set(i.columns) <= set(there)]
    for word, listed, made in (("INDEX", source.indexes, there), ("UNIQUE", source.uniques, kept)):
        lost += [(word, f"{source.name_of(i)} ({', '.join(i)})".strip()) for i in listed if not set(i) <= set(made)]
    yield from (f"{word} {text}: the schema leaves out a column of it" for word, text in lost)


def _left_keys(source: ReflectedTable, there: Collection[str], made: Sequence[ReflectedForeignKey]) -> Iterator[str]:
    """The source's foreign keys that the schema does not model, where their columns are made."""
    held = {frozenset(key.columns) for key in made}
    for key in source.foreign_keys:
        if frozenset(key.columns) not in held and set(key.columns) <= set(there):
            word = f"FOREIGN KEY ({', '.join(key.columns)}) REFERENCES {key.table} ({', '.join(key.references)})"
            yield f"{word}: the schema does not model it, so its values may name rows that are not there"


def _as_declared(key: ReflectedForeignKey, source: ReflectedTable) -> ReflectedForeignKey:
    """A foreign key with the name and the actions that the source gives it. One that the schema alone knows holds in the rows: a
    database without it lets an application insert what breaks it, and so does its twin."""
    for own in source.foreign_keys:
        if set(own.columns) == set(key.columns) and own.table.casefold() == key.table.casefold():
            return replace(key, name=own.name, actions=own.actions)
    return replace(key, declared=source.dialect not in _DATABASES)


_DATABASES = frozenset({"postgresql", "mysql", "sqlite", "duckdb"})
"""What would declare a foreign key that it wants held."""


def _with_own(uniques: tuple[tuple[str, ...], ...], own: list[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """The source's uniques and the schema's: columns that both name stand in the source's order, once."""
    held = {frozenset(unique) for unique in uniques}
    return (*uniques, *(unique for unique in dict.fromkeys(own) if frozenset(unique) not in held))


def _written(
    schema: Schema, reflection: Reflection, table: str, name: str, filling: Filling, column: ReflectedColumn
) -> ReflectedColumn:
    """A column that comes out. Where the source tells no kind (CSV, frames), the schema's word for the column makes one."""
    described = schema.tables[table].columns.get(name)
    linked = isinstance(filling, Linked) and filling.nullable
    nullable = column.nullable or linked or filling == Constant(None) or (described is not None and described.nullable)
    kind = column.kind if column.kind != "unknown" else _kind_of_filling(schema, reflection, table, name, filling)
    return replace(_plain(column, nullable), kind=kind)


def _plain(column: ReflectedColumn, nullable: bool) -> ReflectedColumn:
    """What a sink needs to create the column, with the values and bounds that are to be checked."""
    demands = column.domain is not None and column.domain.filled
    return replace(
        column,
        nullable=nullable,
        autoincrement=False,
        generated=False,
        expression="",
        virtual=False,
        collation="",
        inferred=False,
        domain=None if demands and nullable else column.domain,
    )


def _kind_of_filling(schema: Schema, reflection: Reflection, table: str, name: str, filling: Filling) -> StorageKind:
    match filling:
        case Linked(table=other, column=column):
            if schema.tables[other].public:
                public = _source_table(reflection, other).column(column)
                return "string" if public is None else _public_kind(public)
            return _kind_of_filling(schema, reflection, other, column, fillings(schema, other)[column])
        case Modelled():
            return schema.tables[table].columns[name].stored_kind
        case Fresh(generate):
            return "uuid" if generate == "uuid" else "string" if generate in ("pattern", "fake") else "integer"
        case FromAbove(above, column):
            return _kind_of_filling(schema, reflection, above, column, fillings(schema, above)[column])
        case Numbered():
            return "integer"
        case Constant() | Faked():
            return "string"
        case WorkedOut(column):
            return column.stored_kind


def _names(stored: dict[str, ReflectedColumn], names: Sequence[str]) -> tuple[str, ...]:
    return tuple(stored[name].name for name in names)


def _foreign_keys(
    schema: Schema, reflection: Reflection, table: str, stored: dict[str, ReflectedColumn]
) -> tuple[ReflectedForeignKey, ...]:
    """All references that come out filled, also where the source declares no foreign key: ours hold by construction."""
    pairs_by_reference: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for column, filling in fillings(schema, table).items():
        if isinstance(filling, FromAbove) and filling.table in schema.tables:
            reference = ""
        elif isinstance(filling, Linked):
            # Each column of a public key is drawn by itself, and brought together with the others of its reference.
            reference = schema.tables[table].reference_of(column) or filling.reference or "via"
        else:
            continue
        referred = _source_table(reflection, filling.table).column(filling.column)
        name = referred.name if referred is not None else filling.column
        pairs_by_reference.setdefault((reference, filling.table), []).append((stored[column].name, name))
    filled = tuple(
        ReflectedForeignKey(tuple(c for c, _ in pairs), other, tuple(r for _, r in pairs))
        for (_, other), pairs in pairs_by_reference.items()
        if _is_key(schema, reflection, other, [r for _, r in pairs])
    )
    return (*filled, *_left_null(schema, reflection, table, stored, filled))


def _left_null(
    schema: Schema,
    reflection: Reflection,
    table: str,
    stored: dict[str, ReflectedColumn],
    filled: Sequence[ReflectedForeignKey],
) -> Iterator[ReflectedForeignKey]:
    """The source's foreign keys over columns that come out NULL (a reference that breaks a cycle): nothing can break them."""
    null = {stored[column].name for column, filling in fillings(schema, table).items() if filling == Constant(None)}
    declared = {key.columns for key in filled}
    for key in _source_table(reflection, table).foreign_keys:
        other = next((name for name in schema.tables if name.casefold() == key.table.casefold()), None)
        if other is None or schema.tables[other].ignore or key.columns in declared or not set(key.columns) <= null:
            continue
        if _is_key(schema, reflection, other, key.references):
            yield replace(key, table=other, name=None)


def _is_key(schema: Schema, reflection: Reflection, table: str, columns: Sequence[str]) -> bool:
    """Whether these stored columns are a key there, or unique: only then a foreign key may refer to them."""
    described, source = schema.tables[table], _source_table(reflection, table)
    stored = [{c.name for c in map(source.column, key) if c is not None} for key in described.unique_sets]
    return set(columns) in stored


def _bound_columns(
    schema: Schema, table: str, filled: dict[str, Filling], stored: dict[str, ReflectedColumn]
) -> tuple[dict[str, ReflectedColumn], tuple[str, ...]]:
    """The stored columns by logical name, with the values and bounds that hold; and those that were left out, in words."""
    kept: dict[str, ReflectedColumn] = {}
    left: list[str] = []
    for name, column in stored.items():
        described = schema.tables[table].columns.get(name)
        held = column
        if column.values is not None and not _within_values(described, filled[name], column):
            held = replace(held, values=None)
            left.append(f"{column.name} is one of {len(column.values)} values: the schema lists others, or none")
        low, high = _least(described, filled[name]), _most(schema, table, described, filled[name])
        if column.min is not None and not _ordered(column.min, low):
            held = replace(held, min=None)
            if column.min != 0 or "unsigned" not in column.sql_type.lower():  # a type of MySQL's says so itself
                left.append(f"{column.name} >= {column.min}: the schema does not promise it")
        if column.max is not None and not _ordered(high, column.max):
            held = replace(held, max=None)
            left.append(f"{column.name} <= {column.max}: the schema does not promise it")
        if column.domain is not None and (held.values, held.min, held.max) != (column.values, column.min, column.max):
            held = replace(held, domain=None)
            left.append(f"the domain {column.domain.name} of {column.name}: the schema does not promise its checks")
        kept[name] = held
    return kept, tuple(left)


def _held_orders(
    schema: Schema, table: str, source: ReflectedTable, stored: dict[str, ReflectedColumn]
) -> tuple[tuple[ColumnOrder, ...], tuple[str, ...]]:
    """The orders of two columns that the schema keeps (`after`, `before`), and the rest, in words."""
    logical = {column.name: name for name, column in stored.items()}
    kept, left = [], []
    for order in source.orders:
        before, after = logical.get(order.before), logical.get(order.after)
        if before is None or after is None:
            continue  # a column that does not come out
        if _keeps_order(schema, table, before, after, order.strict):
            kept.append(order)
        else:
            sign = "<" if order.strict else "<="
            left.append(f"{order.before} {sign} {order.after}: write `after: {before}` at {after} in the schema to keep it")
    return tuple(kept), tuple(left)


def _held_uniques(
    schema: Schema, table: str, source: ReflectedTable, filled: dict[str, Filling], stored: dict[str, ReflectedColumn]
) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """The uniques that hold by construction: with the key, a unique of the schema or a fresh value in them, or a parent and a
    position under it."""
    logical = {column.name: name for name, column in stored.items()}
    promised = [set(names) for names in (schema.tables[table].key or (), *schema.tables[table].unique) if names]
    parent = set(schema.parent_columns(table)) if schema.tables[table].parent is not None else set()
    kept, left = [], []
    for unique in source.uniques:
        if not set(unique) <= set(logical):
            continue
        names = {logical[column] for column in unique}
        fresh = any(isinstance(filled[name], Fresh) for name in names)
        numbered = any(isinstance(filled[name], Numbered) for name in names) and bool(parent) and parent <= names
        if fresh or numbered or any(columns <= names for columns in promised):
            kept.append(unique)
        else:
            left.append(f"UNIQUE ({', '.join(unique)}): the schema does not promise it")
    return tuple(kept), tuple(left)


def _within_values(described: Column | None, filling: Filling, column: ReflectedColumn) -> bool:
    if isinstance(filling, Constant) and filling.value is None:
        return True
    listed = {_text(value) for value in column.values or ()}
    possible = None if described is None or not isinstance(filling, Modelled) else described.possible
    return possible is not None and {_text(value) for value in possible} <= listed


def _text(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _least(described: Column | None, filling: Filling) -> Bound | None:
    if isinstance(filling, Numbered):
        return filling.start
    if isinstance(filling, Fresh) and filling.generate in (None, "sequence"):
        return filling.start
    return None if described is None else described.promised("min")


def _most(schema: Schema, table: str, described: Column | None, filling: Filling) -> Bound | None:
    if isinstance(filling, Numbered):
        link = schema.tables[table].parent
        rows = link.max_rows if link is not None else None
        return filling.start + rows - 1 if isinstance(rows, int) else None
    return described.promised("max") if described is not None and isinstance(filling, Modelled) else None


def _ordered(smaller: Bound | None, larger: Bound | None) -> bool:
    if smaller is None or larger is None:
        return False
    try:
        return bool(smaller <= larger)  # type: ignore[operator]
    except TypeError:  # a date and a moment: not of one kind, so nothing is promised
        return False


def _keeps_order(schema: Schema, table: str, before: str, after: str, strict: bool) -> bool:
    columns = schema.tables[table].columns
    for name, other, fields in ((after, before, ("after", "during.0")), (before, after, ("before", "during.1"))):
        column = columns.get(name)
        if isinstance(column, Ordinal) and (column.strict or not strict):
            anchors = column.anchors
            if any(f in anchors and (anchors[f].scope, anchors[f].column) == (SAME_ROW, other) for f in fields):
                return True
    return False
