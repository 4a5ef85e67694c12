"""From the tables of a release to what a target is asked to create: every engine plans the same, then words it its own way.

A foreign key that no engine can declare (it refers to columns that are no key, or to a table that is not written) is left
out with a note, and so is what this engine has no words for. A column that refers to another takes that column's type: its
values come from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mare.errors import InternalError, SinkError
from mare.ports import SinkTable
from mare.schema.reflection import ReflectedColumn, ReflectedForeignKey, ReflectedTable

from .wording import default_words, is_harmless


@dataclass(frozen=True)
class Limits:
    """What an engine takes for a name."""

    engine: str
    """For messages: ``PostgreSQL``."""
    length: int | None = None
    """Longest name, in what ``measure`` counts."""
    measure: Callable[[str], int] = len
    unit: str = "characters"
    folds_case: bool = False
    """Whether names that differ only by case are one."""
    dialect: str = ""
    """Whose expressions it understands; empty for what knows none."""
    actions: frozenset[str] = frozenset()
    """What its foreign keys can do, in the first words: ON DELETE CASCADE, DEFERRABLE."""
    looks_at_nulls: bool = False
    """Whether it refuses SET NULL where a column may not be NULL, as MySQL does."""
    comments: bool = True
    booleans: tuple[str, str] = ("FALSE", "TRUE")


@dataclass(frozen=True)
class TargetTables:
    """All tables of a write, parents before children where there is such an order, and what was left out of them."""

    tables: tuple[ReflectedTable, ...]
    notes: tuple[str, ...] = field(default=())
    about: tuple[str, ...] = field(default=())
    """The table that each of the notes is about."""

    def notes_on(self, tables: Iterable[str]) -> tuple[str, ...]:
        """Those about tables that are made: one that was there already keeps its own constraints."""
        made = set(tables)
        return tuple(note for note, table in zip(self.notes, self.about, strict=True) if table in made)

    def table(self, name: str) -> ReflectedTable:
        laid = next((table for table in self.tables if table.name == name), None)
        if laid is None:
            raise InternalError(f"rows came for a table {name!r} that was not created")
        return laid


def target_tables(tables: Sequence[SinkTable], limits: Limits) -> TargetTables:
    """Check the names, align the types of references, and leave out what cannot be declared."""
    wanted = [given.table for given in tables]
    check_names(wanted, limits)
    by_name = {table.name: table for table in wanted}
    notes, about = list[str](), list[str]()
    laid: list[ReflectedTable] = []
    for table in wanted:
        notes += [f"{table.name}: {text} (a constraint of the source) was left out" for text in table.unread_checks]
        notes += [f"{table.name}: {text}" for text in table.left_out]
        table = _definitions(table, limits, notes)
        kept = [foreign for foreign in table.foreign_keys if foreign.declared and _declarable(table, foreign, by_name, notes)]
        orders = [order for order in table.orders if _of_one_kind(table, order.before, order.after, notes)]
        columns = tuple(_as_referred(table, column, by_name) for column in table.columns)
        notes += [
            f"{table.name}.{made.name} is {made.sql_type}, as what it refers to; in the source, it is {column.sql_type}"
            for column, made in zip(table.columns, columns, strict=True)
            if table.dialect == limits.dialect and made.sql_type and made.sql_type != column.sql_type
        ]
        uniques = tuple(unique for unique in dict.fromkeys(table.uniques) if set(unique) != set(table.key))
        there = {column.name for column in (*table.columns, *(column for _, column in table.computed))}
        wanted_indexes = [index for index in dict.fromkeys(table.indexes) if index not in (table.key, *uniques)]
        plain = tuple(index for index in wanted_indexes if set(index) <= there)
        notes += [
            f"{table.name}: INDEX {table.name_of(i)} ({', '.join(i)}) was left out: a column of it is not made"
            for i in wanted_indexes
            if i not in plain
        ]
        kept = [replace(foreign, actions=_possible(table, foreign, limits, notes)) for foreign in kept]
        about += [table.name] * (len(notes) - len(about))
        laid.append(
            replace(table, columns=columns, foreign_keys=tuple(kept), orders=tuple(orders), uniques=uniques, indexes=plain)
        )
    return TargetTables(tuple(laid), tuple(notes), tuple(about))


def _definitions(table: ReflectedTable, limits: Limits, notes: list[str]) -> ReflectedTable:
    """The table with the defaults, generated columns, indexes and comments that the target can be given, and the columns that the
    schema leaves out, where the target has words for their types; told either way."""
    own = bool(limits.dialect) and table.dialect == limits.dialect
    notes += [f"{table.name}: {text}" for text in table.unmade if own]
    untold = [column for _, column in table.computed if not column.expression]
    given = {c.name for c in untold if own and default_words(c, table, limits.dialect, limits.booleans) is not None}
    empty = {c.name for c in untold if own and c.nullable} - given
    # Without its default, what may not be NULL cannot be left out of a row.
    lost = {c.name for c in untold} - given - empty
    for names, how in ((given, ", which come out as their default"), (empty, ", which come out empty"), (lost, "")):
        if names:
            notes.append(f"{table.name}: the schema leaves out {', '.join(sorted(names))}{how}")
    if not limits.dialect:
        return table
    held = {column.name for column in table.columns} | {column.name for _, column in table.computed}
    computed, gone = list[tuple[int, ReflectedColumn]](), 0
    for at, column in table.computed:
        if column.name in lost:
            gone += 1
        elif not column.expression:
            computed.append((at - gone, _defined(table, column, limits, notes)))
        elif own and is_harmless(column.expression, held, limits.dialect):
            computed.append((at - gone, column))
        elif table.column(column.name) is None:
            gone += 1
            notes.append(f"{table.name}.{column.name}, computed as {column.expression}, was not made: {_why(own, limits)}")
        else:
            notes.append(f"{table.name}.{column.name} holds what the source computes as {column.expression}: {_why(own, limits)}")
    made = {column.name for _, column in computed}
    columns = [_defined(table, column, limits, notes) for column in table.columns if column.name not in made]
    special = []
    for index in table.special_indexes:
        usable = own and index.kind in ("", "FULLTEXT", "SPATIAL") and lost.isdisjoint(index.columns)
        if usable and is_harmless(index.definition, held, limits.dialect):
            special.append(index)
        else:
            notes.append(f"{table.name}: INDEX {index.name} {index.definition} was left out: {_why(own, limits)}")
    if not limits.comments and (table.comment or any(column.comment for column in table.columns)):
        notes.append(f"{table.name}: its comments were left out: {limits.engine} has none")
    return replace(
        table,
        columns=tuple(columns),
        computed=tuple(computed),
        special_indexes=tuple(special),
        checks=table.checks if own else (),
        names=tuple((at, name) for at, name in table.names if limits.length is None or limits.measure(name) <= limits.length),
        comment=table.comment if limits.comments else None,
    )


def _defined(table: ReflectedTable, column: ReflectedColumn, limits: Limits, notes: list[str]) -> ReflectedColumn:
    """A column with the default, the counter and the comment that the target can be given."""
    own = table.dialect == limits.dialect
    default = default_words(column, table, limits.dialect, limits.booleans)
    if default is None and column.default is not None:
        notes.append(f"{table.name}.{column.name}: DEFAULT {column.default} was left out: {_why(own, limits)}")
    counter = column.counter if column.kind == "integer" else None
    comment = column.comment if limits.comments else None
    return replace(column, default=default, counter=counter, comment=comment, domain=column.domain if own else None)


def _why(own: bool, limits: Limits) -> str:
    return "it is more than constants, columns and common functions" if own else f"{limits.engine} has other words for it"


def _possible(table: ReflectedTable, foreign: ReflectedForeignKey, limits: Limits, notes: list[str]) -> tuple[str, ...]:
    """What the foreign key does, as far as the target's can."""
    if not limits.dialect:
        return ()
    filled = {column.name for column in table.columns if not column.nullable or column.name in table.key}
    refused = limits.looks_at_nulls and bool(filled & set(foreign.columns))
    able = tuple(word for word in foreign.actions if word in limits.actions and not (refused and word.endswith("SET NULL")))
    if left := [word for word in foreign.actions if word not in able]:
        here = f"{table.name} ({', '.join(foreign.columns)})"
        notes.append(f"{here}: {', '.join(left)} of the foreign key was left out: {limits.engine} has no such")
    return able


_DOING = ("CASCADE", "SET NULL", "RESTRICT", "SET DEFAULT")
EVERY_ACTION = frozenset(f"ON {event} {doing}" for event in ("DELETE", "UPDATE") for doing in _DOING)
WAITING = frozenset({"DEFERRABLE", "DEFERRABLE INITIALLY DEFERRED"})


def unfit(table: ReflectedTable, held: Sequence[str], needs: Sequence[str], writable: Sequence[str]) -> Iterator[str]:
    """Why a table that is there could not be filled: ``held`` are its columns, ``needs`` those that demand a value and have none
    of their own, ``writable`` those that this user may write."""
    names = [column.name for column in table.columns]
    if missing := [name for name in names if name not in held]:
        yield f"{table.name} has no column {', '.join(missing)}"
    if demanding := [name for name in needs if name not in names]:
        yield f"{table.name} demands a value for {', '.join(demanding)} (NOT NULL, no default), which the schema does not make"
    if closed := [name for name in names if name in held and name not in writable]:
        yield f"{table.name} does not take values of this user for {', '.join(closed)}: no right to INSERT, or a generated column"


def check_names(tables: Iterable[ReflectedTable], limits: Limits) -> None:
    """Refuse names that the engine would cut off or take for one another; all of them at once."""
    faults: list[str] = []
    listed = list(tables)
    groups = [("table", "", [table.name for table in listed])]
    groups += [("column", f"{table.name}.", [column.name for column in table.columns]) for table in listed]
    for what, prefix, names in groups:
        seen: dict[str, str] = {}
        for name in names:
            if not name or "\0" in name:
                faults.append(f"the {what} {prefix}{name!r} has no name that a database takes")
            if limits.length is not None and limits.measure(name) > limits.length:
                faults.append(f"the name of {what} {prefix}{name} is longer than {limits.length} {limits.unit}")
            folded = name.casefold() if limits.folds_case else name
            if folded in seen:
                faults.append(f"the {what}s {prefix}{seen[folded]} and {prefix}{name} are one name")
            seen[folded] = name
    if faults:
        raise SinkError(f"{limits.engine} cannot hold these names: {'; '.join(faults)}. Write to another kind of target.")


@dataclass(frozen=True)
class WriteOrder:
    """Which tables come before which, and which foreign keys lead to rows of later batches all the same."""

    place: Mapping[str, int]
    later: Mapping[str, frozenset[frozenset[str]]]
    """Per table, the columns of such keys."""

    @classmethod
    def of(cls, tables: Sequence[SinkTable]) -> WriteOrder:
        return cls(
            {given.table.name: number for number, given in enumerate(tables)},
            {given.table.name: frozenset(map(frozenset, given.later)) for given in tables},
        )

    def leads_ahead(self, table: str, columns: Iterable[str], referred: str) -> bool:
        """Whether a foreign key may lead to a row that is written after the one that refers: of its own table, of a later
        table, or of another entity. False for what leads to a table that is not written."""
        if table not in self.place or referred not in self.place:
            return False
        return self.place[referred] >= self.place[table] or frozenset(columns) in self.later[table]


def _declarable(
    table: ReflectedTable, foreign: ReflectedForeignKey, by_name: dict[str, ReflectedTable], notes: list[str]
) -> bool:
    referred = by_name.get(foreign.table)
    here = f"{table.name} ({', '.join(foreign.columns)})"
    if referred is None:
        notes.append(f"{here} refers to {foreign.table}, which is not written: no foreign key was made")
        return False
    if set(foreign.references) not in [set(unique) for unique in (referred.key, *referred.uniques) if unique]:
        there = f"{foreign.table} ({', '.join(foreign.references)})"
        notes.append(f"{here} refers to {there}, which is no key: no foreign key was made")
        return False
    return True


def _of_one_kind(table: ReflectedTable, before: str, after: str, notes: list[str]) -> bool:
    """A date and a moment are compared in another way by every engine."""
    first, second = table.column(before), table.column(after)
    if first is not None and second is not None and first.kind == second.kind:
        return True
    notes.append(f"{table.name}: {before} <= {after} was left out: the two are not of one type")
    return False


def _as_referred(table: ReflectedTable, column: ReflectedColumn, by_name: dict[str, ReflectedTable]) -> ReflectedColumn:
    at, seen = (table.name, column.name), set[tuple[str, str]]()
    while at not in seen:
        seen.add(at)
        step = _referred(by_name[at[0]], at[1], by_name)
        if step is None:
            break
        at = step
    target = by_name[at[0]].column(at[1])
    if target is None or at == (table.name, column.name):
        return column
    same_words = by_name[at[0]].dialect == table.dialect
    return replace(
        column,
        kind=target.kind,
        sql_type=target.sql_type if same_words else "",
        precision=target.precision,
        digits=target.digits,
        max_length=target.max_length,
        values=target.values,
    )


def _referred(table: ReflectedTable, column: str, by_name: dict[str, ReflectedTable]) -> tuple[str, str] | None:
    for foreign in table.foreign_keys:
        if column in foreign.columns and foreign.table in by_name:
            return foreign.table, foreign.references[foreign.columns.index(column)]
    return None
