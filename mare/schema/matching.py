"""A schema against a source: what the one names and the other does not hold, and the other way round. For `mare check --from`.

Compares with a `Reflection`, so no row is read. Names match case-insensitively where that is unambiguous.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .columns import Code, Column, Listed
from .faults import CUT_DOWN, Fault, Path, did_you_mean, listed
from .layout import Layout
from .reflection import LeftOut, ReflectedColumn, ReflectedForeignKey, ReflectedTable, Reflection
from .schema import Schema, Table

_NO_RIGHT = "no right to read"
"""How every source begins to say that it was refused."""
_NO_KEYS = ("", "arrow")
"""Dialects without keys: that none is declared says nothing there."""
_SHOWN = 8
"""How many names a message lists before it says how many more there are."""
_PEOPLE = ("entity", "private", "owned")
"""Roles of tables whose rows belong to somebody."""
_COMPARED = ("integer", "string", "uuid", "date", "datetime", "boolean")
"""Stored kinds that never join with one another; of the others, databases compare some."""


def match(schema: Schema, reflection: Reflection) -> tuple[Fault, ...]:
    """Every way in which the source is not what the schema says; without lines, in the order of the schema."""
    layout = Layout(schema)
    tells_nullability = any(not column.nullable for table in reflection for column in table.columns)
    faults: list[Fault] = []
    met: set[str] = set()
    for name, table in schema.tables.items():
        stored = reflection.table(name)
        if stored is not None:
            met.add(stored.name)
        if table.ignore:
            continue
        if stored is None:
            faults.append(_missing_table(name, reflection))
            continue
        faults += _columns(schema, name, table, stored, reflection)
        faults += _keys(name, table, stored)
        faults += _described(name, table, stored, tells_nullability)
        faults += _foreign_keys(layout, name, stored, reflection)
    for name in (table.name for table in reflection if table.name not in met):
        what = f"{reflection.label} holds a table {name} that the schema does not mention"
        remedy = f"Describe it, or write `{name}: {{ignore: true}}` (left out) or `{{public: true}}` (copied verbatim)"
        faults.append(Fault(("tables",), what, remedy, "unsettled"))
    return tuple(faults)


def _missing_table(name: str, reflection: Reflection) -> Fault:
    held = [table.name for table in reflection]
    left = next((left for left in reflection.left_out if left.name.casefold() == name.casefold()), None)
    twins = [table for table in held if table.casefold() == name.casefold()]
    if left is not None:
        what = f"{reflection.label} holds {name}, but it cannot be used: {left.reason}"
        remedy = _granted(left, name) or "Remove it, or write ignore: true"
    elif twins:
        what = f"{name} could be any of {', '.join(twins)} in {reflection.label}"
        remedy = "Write the name exactly as the source has it"
    else:
        what = f"{reflection.label} has no table {name}"
        remedy = f"{did_you_mean(name, held)}The source holds: {listed(sorted(held), _SHOWN)}. "
        remedy += f"Mend the name, or write ignore: true; {CUT_DOWN}"
    return Fault(("tables", name), what, remedy)


def _granted(left: LeftOut, table: str) -> str | None:
    """What is only out of reach is not to be taken out of the schema: the right to read it is missing."""
    if not left.reason.startswith(_NO_RIGHT):
        return None
    return f"Grant SELECT on {table} to the user that mare connects as, or write ignore: true"


def _columns(schema: Schema, name: str, table: Table, stored: ReflectedTable, reflection: Reflection) -> Iterator[Fault]:
    """Names on both sides."""
    missing: set[str] = set()
    for path, column in _mentioned(schema, name, table):
        if stored.column(column) is None and column not in missing:
            missing.add(column)
            yield _missing_column(path, column, stored, reflection)
    if open_columns := unmentioned_columns(schema, name, stored):
        count = "a column that" if len(open_columns) == 1 else f"{len(open_columns)} columns that"
        what = f"{stored.name} has {count} the schema does not mention: {listed(open_columns, _SHOWN)}"
        yield Fault(("tables", name, "columns"), what, "Describe them under columns, or list them in ignore_columns", "unsettled")


def unmentioned_columns(schema: Schema, name: str, stored: ReflectedTable) -> list[str]:
    """What the stored table has and the schema says nothing about."""
    table = schema.tables[name]
    if table.public:
        return []  # copied verbatim, whatever it holds
    named = [*table.ignore_columns, *(column for _, column in _mentioned(schema, name, table))]
    met = {held.name for column in named if (held := stored.column(column)) is not None}
    return [column.name for column in stored.columns if column.name not in met and not column.generated]


def _mentioned(schema: Schema, name: str, table: Table) -> Iterator[tuple[Path, str]]:
    """Every column of the table that the schema names, and where."""
    here: Path = ("tables", name)
    yield from (((*here, "columns", column), column) for column in table.columns)
    yield from (((*here, "key"), column) for column in table.key or ())
    yield from (((*here, "unique", i), column) for i, names in enumerate(table.unique) for column in names)
    for reference in table.references:
        yield from (((*here, "references", reference), column) for column in table.reference_columns(reference))
    if (entity := schema.by_column(name)) is not None:
        yield ("entity", "by"), entity.by
    if table.parent is not None:
        for field in ("column", "order_by", "history_by", "column_via"):
            yield from (((*here, "parent", field), column) for column in getattr(table.parent, field) or ())
    for other, described in schema.tables.items():
        if not described.ignore:
            yield from _named_there(("tables", other), described, name)


def _named_there(there: Path, table: Table, name: str) -> Iterator[tuple[Path, str]]:
    """The columns of a table that another one names: what it refers to, looks up or groups codes by."""
    parent = table.parent
    if parent is not None and parent.table == name:
        yield from (((*there, "parent", "references"), column) for column in parent.references or ())
    if parent is not None and parent.via == name and parent.vocabulary is not None and parent.vocabulary.hierarchy is not None:
        yield (*there, "parent", "vocabulary", "hierarchy"), parent.vocabulary.hierarchy
    for reference, link in table.references.items():
        if link.table == name:
            yield from (((*there, "references", reference, "column"), column) for column in link.column or ())
    for column, described in table.columns.items():
        path: Path = (*there, "columns", column)
        if isinstance(described, Code) and described.vocabulary == name and described.hierarchy is not None:
            yield from (((*path, "hierarchy", "columns"), level) for level in described.hierarchy.columns)
        how = described.determined
        if how is not None and how.lookup is not None and how.lookup.table == name:
            yield (*path, "determined", "lookup", "column"), how.lookup.column


def _missing_column(path: Path, column: str, stored: ReflectedTable, reflection: Reflection) -> Fault:
    held = [c.name for c in stored.columns]
    unseen = {left.name.casefold(): left for left in reflection.left_out}.get(f"{stored.name}.{column}".casefold())
    if unseen is not None:
        what = f"{stored.name} has a column {column}, but it cannot be used: {unseen.reason}"
        return Fault(path, what, unseen.remedy or _granted(unseen, stored.name) or "Remove it, or list it in ignore_columns")
    twins = [c for c in held if c.casefold() == column.casefold()]
    if twins:
        return Fault(
            path, f"{column} could be any of {', '.join(twins)} of {stored.name}", "Write the name exactly as the source has it"
        )
    remedy = f"{did_you_mean(column, held)}It has: {listed(held, _SHOWN)}. Mend the name, or remove it; {CUT_DOWN}"
    return Fault(path, f"{stored.name} has no column {column} in the source", remedy)


def _keys(name: str, table: Table, stored: ReflectedTable) -> Iterator[Fault]:
    if not stored.key:
        unique = any(table.key is not None and _folded(names) <= _folded(table.key) for names in stored.uniques)
        if table.key is not None and stored.dialect not in _NO_KEYS and not unique:
            what = f"the source declares no key of {stored.name}, so nothing there makes {', '.join(table.key)} unique"
            remedy = "Make sure that no two rows have the same: a key that repeats names no row"
            yield Fault(("tables", name, "key"), what, remedy, "info")
        return
    written = f"key: {stored.key[0]}" if len(stored.key) == 1 else f"key: [{', '.join(stored.key)}]"
    if table.key is None:
        what = f"the source declares a key of {stored.name}, the schema does not"
        yield Fault(("tables", name, "key"), what, f"Write {written}", "unsettled")
        return
    mine = _folded(table.key)
    if all(mine != _folded(names) for names in (stored.key, *stored.uniques)):
        what = f"the key is ({', '.join(table.key)}), but in the source it is ({', '.join(stored.key)})"
        yield Fault(("tables", name, "key"), what, f"Write {written}: nothing makes the other columns unique there")


def _described(name: str, table: Table, stored: ReflectedTable, tells_nullability: bool) -> Iterator[Fault]:
    """Types, NULLs and values of the columns that the schema describes."""
    for column, described in table.columns.items():
        held = stored.column(column)
        if held is None or table.public:
            continue
        path: Path = ("tables", name, "columns", column)
        if (clashing := described.clash(held)) is not None:
            what, remedy = clashing
            yield Fault((*path, "type"), what, remedy)
            continue
        yield from _values(path, described, held)
        if tells_nullability:
            # No row of a pool is read, so none is lost there.
            yield from _nulls(path, described, held, never_lost=held.name in stored.key or table.pool is not None)
    for reference, link in table.references.items():
        for column in table.reference_columns(reference):
            held = stored.column(column)
            comes_out_null = link.kind == "broken" or (link.kind == "other_entity" and link.fill == "none")
            if held is not None and not held.nullable and comes_out_null:
                what = f"{column} comes out NULL (kind: {link.kind}), but the source does not allow NULL there"
                remedy = "fill: random" if link.kind == "other_entity" else "another reference of the circle to break"
                yield Fault(("tables", name, "references", reference), what, f"Write {remedy}, or allow NULL in the target")


def _values(path: Path, described: Column, stored: ReflectedColumn) -> Iterator[Fault]:
    if not isinstance(described, Listed) or described.listed is None or stored.values is None or described.outside is not None:
        return
    missing = [str(value) for value in stored.values if value not in described.listed]
    if missing:
        what = f"the source also allows {listed(missing, _SHOWN)}"
        yield Fault((*path, "values"), what, "Add them to values, or write rest: … for everything outside", "unsettled")


def _nulls(path: Path, described: Column, stored: ReflectedColumn, *, never_lost: bool) -> Iterator[Fault]:
    if not (described.is_drawn and described.settled):
        return
    if described.nullable and not stored.nullable:
        what = "it may come out NULL, but the source does not allow NULL there"
        yield Fault((*path, "nullable"), what, "Remove nullable: true")
    elif stored.nullable and not described.nullable and not never_lost:
        what = "the source lets it be NULL, the schema does not"
        yield Fault(
            path, what, "Write nullable: true if there are NULLs; a column that is not nullable never comes out NULL", "info"
        )


# The foreign keys that the source declares. They are the catalogue's own word on whom a row is about: where the schema says
# otherwise (a public table, an ordinary column), what it promises about privacy or about integrity would not hold. So these
# are errors, not notes.


def _foreign_keys(layout: Layout, name: str, stored: ReflectedTable, reflection: Reflection) -> Iterator[Fault]:
    """What the foreign keys of one stored table contradict, and the links of the schema that could not be joined."""
    named = {held.name: table for table in layout.schema.tables if (held := reflection.table(table)) is not None}
    for link in stored.foreign_keys:
        target = reflection.table(link.table)
        there = None if target is None else named.get(target.name)
        if there is None:
            continue  # not described: that is told about the table itself
        if layout.roles[name] == "public":
            yield from _public(layout, name, link, there)
        else:
            yield from _modelled(layout, name, link, there)
            yield from _unmodelled(layout, name, link, there)
    yield from _parent_declared(layout, name, stored, reflection)
    yield from _joined(layout, name, stored, reflection)


def _public(layout: Layout, name: str, link: ReflectedForeignKey, target: str) -> Iterator[Fault]:
    """Also where the column is left out: a row that refers to somebody is about somebody."""
    role, columns = layout.roles[target], ", ".join(link.columns)
    if role in _PEOPLE:
        what = f"{name} is public, so it would be copied verbatim, but refers to people: {columns} is a foreign key to {target}"
        remedy = f"Remove `public` and write `parent: {{table: {target}, column: {columns}}}`, or write `ignore: true`"
        yield Fault(("tables", name, "public"), what, remedy)
    elif role == "pool" and not _folded(link.columns) <= _folded(layout.schema.tables[name].ignore_columns):
        what = f"{name} is public, so it would be copied verbatim, but {columns} refers to {target}, whose rows are made anew"
        yield Fault(("tables", name, "public"), what, f"List {columns} in ignore_columns, or mark {target} public too")


def _modelled(layout: Layout, name: str, link: ReflectedForeignKey, target: str) -> Iterator[Fault]:
    """A key of somebody's row, read as if it were a value: learned and sampled, it would name real rows."""
    role, table = layout.roles[target], layout.schema.tables[name]
    if role not in (*_PEOPLE, "pool"):
        return
    folded, linked = _folded(link.columns), frozenset[str]().union(*_linked(layout, name))
    for column, described in table.columns.items():
        if column.casefold() in folded - linked and described.is_drawn and described.settled:
            what = f"{column} is a foreign key to {target}, but is modelled as a {described.type}: keys of rows are never learned"
            written = f"`{column}: {{table: {target}, kind: …}}`"
            remedy = f"Remove it from columns and write a reference: {written}, {_kinds(layout, name, target)}"
            yield Fault(("tables", name, "columns", column), what, remedy)


def _unmodelled(layout: Layout, name: str, link: ReflectedForeignKey, target: str) -> Iterator[Fault]:
    """A foreign key to rows of nobody that comes out as ordinary columns: nothing keeps it."""
    table, folded = layout.schema.tables[name], _folded(link.columns)
    linked = _linked(layout, name)
    ignored = _folded(table.ignore_columns)
    if layout.roles[target] in (*_PEOPLE, "pool", "ignored") or folded in linked or folded & ignored:
        return
    if not folded <= _folded([*table.columns, *(column for columns in linked for column in columns)]):
        return  # what the schema does not mention is told elsewhere
    columns = ", ".join(link.columns)
    what = f"the source's foreign key from {columns} to {target} is not modelled: what comes out may name rows that are not there"
    kind = layout.roles[target] if layout.roles[target] == "public" else "…"
    remedy = (
        f"To keep it, remove {columns} from columns and write a reference: `{link.columns[0]}: {{table: {target}, kind: {kind}}}`"
    )
    yield Fault(("tables", name), what, remedy, "info")


def _linked(layout: Layout, name: str) -> list[frozenset[str]]:
    """The columns of each link that the schema describes."""
    table = layout.schema.tables[name]
    links = (layout.schema.parent_columns(name), layout.via_columns(name), *map(table.reference_columns, table.references))
    return [_folded(columns) for columns in links]


def _kinds(layout: Layout, name: str, target: str) -> str:
    if layout.roles[target] == "pool":
        return "with kind pool"
    if target in layout.ancestors(name):
        return "with kind ancestor if it names the row above, same_entity or other_entity if it may name another"
    return "with kind other_entity if it may belong to somebody else, same_entity if it never does"


def _parent_declared(layout: Layout, name: str, stored: ReflectedTable, reflection: Reflection) -> Iterator[Fault]:
    """A parent that the source knows nothing of: worth a word where it declares other foreign keys."""
    parent = layout.parent_name(name)
    target = reflection.table(parent) if parent is not None and layout.roles[name] == "private" else None
    if target is None or not any(table.foreign_keys for table in reflection):
        return
    columns = _folded(layout.schema.parent_columns(name))
    links = [link for link in stored.foreign_keys if link.table.casefold() == target.name.casefold()]
    if not any(_folded(link.columns) == columns for link in links):
        what = f"the source declares no foreign key from {stored.name} to {target.name}"
        remedy = "Make sure that the columns do refer to it: rows whose parent is missing are dropped (or orphans: entity)"
        yield Fault(("tables", name, "parent"), what, remedy, "info")


def _joined(layout: Layout, name: str, stored: ReflectedTable, reflection: Reflection) -> Iterator[Fault]:
    """Columns that the schema joins: text never equals a number, so every row would be without its parent."""
    tables = layout.schema.tables
    joins: list[tuple[Path, tuple[str, ...], str, tuple[str, ...]]] = []
    link, parent = layout.schema.parent(name), layout.parent_name(name)
    if link is not None and parent in tables:
        there = link.references or tables[parent].key or ()
        joins.append((("tables", name, "parent", "column"), layout.schema.parent_columns(name), parent, there))
    for label, reference in tables[name].references.items():
        if reference.table in tables and reference.kind != "broken":
            there = reference.column or tables[reference.table].key or ()
            path: Path = ("tables", name, "references", label)
            joins.append((path, tables[name].reference_columns(label), reference.table, there))
    declared = {(_folded(link.columns), link.table.casefold()) for link in stored.foreign_keys}
    for path, here, other, there in joins:
        target = None if layout.roles[other] == "ignored" else reflection.table(other)
        if target is not None and (_folded(here), target.name.casefold()) in declared:
            continue  # the source itself says that they match
        for mine, theirs in zip(here, there, strict=False):
            left, right = stored.column(mine), None if target is None else target.column(theirs)
            if left is None or right is None or left.kind == right.kind:
                continue
            if left.kind in _COMPARED and right.kind in _COMPARED:
                what = f"{mine} is stored as {left.sql_type or left.kind}, but {other}.{theirs}, which it refers to, as "
                what += right.sql_type or right.kind
                yield Fault(path, what, "Name the columns that do refer to each other, or store both alike: they never match")


def _folded(names: Sequence[str]) -> frozenset[str]:
    return frozenset(name.casefold() for name in names)
