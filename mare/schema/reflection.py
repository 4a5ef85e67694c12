"""`Reflection`: what a source tells about itself without a single row being read.

Catalogue facts (types, enums, checks, nullability, keys, defaults, comments) count as public. Values, statistics and
dictionaries are data and have no place here, nor has where a counter has got to; what was peeked at stands apart in `Peek`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Literal, TypeVar

from .strict import Value

StorageKind = Literal[
    "boolean", "integer", "number", "string", "date", "datetime", "time", "duration", "uuid", "binary", "json", "other", "unknown"
]
"""The neutral kind of a stored type. `unknown`: the source does not tell (CSV)."""

Bound = int | float | date | datetime


@dataclass(frozen=True)
class Counting:
    """How a column counts by itself. Where it has got to, and where it began, are left out: both may tell of rows."""

    way: Literal["always", "by default", "sequence", "auto", "row number"]
    """An identity of either kind, a DEFAULT that takes the next of a sequence, the engine's own (AUTO_INCREMENT), or SQLite's
    number of the row, which counts unasked."""
    sequence: str = ""
    """Its name, where the column names one."""
    step: int = 1
    narrow: Literal["", "smallint", "integer"] = ""
    """What the sequence counts in, where that is less than 64 bits: `serial` makes such."""


@dataclass(frozen=True)
class Check:
    """A CHECK that was understood wholly: as written, and what the source calls it."""

    text: str
    name: str = ""


@dataclass(frozen=True)
class StoredDomain:
    """A named type with checks of its own (PostgreSQL), all of them understood."""

    name: str
    base: str
    """The type under it, in the source's words."""
    checks: tuple[Check, ...] = ()
    filled: bool = False
    """Whether it demands a value."""


@dataclass(frozen=True)
class ReflectedColumn:
    """One column as the catalogue describes it."""

    name: str
    kind: StorageKind
    sql_type: str = ""
    """The source's own word for it, for messages and for the sink."""
    nullable: bool = True
    values: tuple[Value, ...] | None = None
    """An enum, a domain or a CHECK … IN lists them."""
    min: Bound | None = None
    """From a CHECK constraint."""
    max: Bound | None = None
    precision: int | None = None
    """Decimals of a numeric type."""
    digits: int | None = None
    """All digits of a numeric type that declares them: ``NUMERIC(10, 2)`` has 10."""
    max_length: int | None = None
    autoincrement: bool = False
    generated: bool = False
    """Computed by the database from the row's other columns: nothing to model, nothing to write."""
    comment: str | None = None
    collation: str = ""
    """The rule by which the source takes two texts for one key (`p1` and `P1`), in its own words. Empty: letter by letter."""
    inferred: bool = False
    """Whether the type was inferred from the values, by pandas or whoever wrote a file with it: one value may have decided it. A
    draft may propose it; nothing that is released, ordered or compared may depend on it (`Reflection.declared`)."""
    lowest: Bound | None = None
    """The least value that the stored type itself holds, where its kind goes further: a `smallint` ends at -32768."""
    highest: Bound | None = None
    default: str | None = None
    """What an INSERT that does not name the column stores, in the source's words. What only counts is a `Counting`."""
    counter: Counting | None = None
    expression: str = ""
    """Of a generated column, what it is computed from, in the source's words."""
    looked_at: bool = False
    """Whether its kind was told by its values, on request: a text among these is no date, whatever it is called."""
    binary: bool = False
    """Whether it was seen to hold 0 and 1 alone, and both."""
    virtual: bool = False
    """Of a generated column: computed when it is read, not when it is stored."""
    domain: StoredDomain | None = None


@dataclass(frozen=True)
class ReflectedForeignKey:
    """A foreign key that the source declares."""

    columns: tuple[str, ...]
    table: str
    references: tuple[str, ...]
    name: str | None = None
    actions: tuple[str, ...] = ()
    """What it does, and when it is checked: ON DELETE CASCADE, DEFERRABLE, in the words that all engines share."""
    declared: bool = True
    """Of a table that comes out: whether the target is told, or its source does not say so either."""


@dataclass(frozen=True)
class ReflectedIndex:
    """An index that is more than columns in a row: a method of its own, an expression, a condition."""

    name: str
    definition: str
    """What stands after the name of the table, in the source's words: ``USING gin (words)``."""
    kind: str = ""
    """A word before INDEX: FULLTEXT."""
    columns: tuple[str, ...] = ()
    """Those of them that are plain columns."""


@dataclass(frozen=True)
class ColumnOrder:
    """A CHECK that says ``before <= after`` (or ``<`` when strict) for two columns of one row."""

    before: str
    after: str
    strict: bool = False
    seen: bool = False
    """No CHECK says so: all rows that were looked at do."""


@dataclass(frozen=True)
class ReflectedTable:
    """One table as the catalogue describes it."""

    name: str
    columns: tuple[ReflectedColumn, ...]
    key: tuple[str, ...] = ()
    foreign_keys: tuple[ReflectedForeignKey, ...] = ()
    uniques: tuple[tuple[str, ...], ...] = ()
    indexes: tuple[tuple[str, ...], ...] = ()
    orders: tuple[ColumnOrder, ...] = ()
    unread_checks: tuple[str, ...] = ()
    """CHECKs that were not understood, as written."""
    comment: str | None = None
    names: tuple[tuple[tuple[str, ...], str], ...] = ()
    """What the source calls its key, its uniques and its plain indexes, by their columns."""
    checks: tuple[Check, ...] = ()
    """The CHECKs that values, bounds and orders follow from."""
    special_indexes: tuple[ReflectedIndex, ...] = ()
    computed: tuple[tuple[int, ReflectedColumn], ...] = ()
    """Of a table that comes out: columns that nobody writes, generated ones and those that the schema leaves empty, and how many
    columns stand before each."""
    left_out: tuple[str, ...] = ()
    """Of a table that comes out: what the source has there and it has not, because of the schema. In words."""
    unmade: tuple[str, ...] = ()
    """What the source has there and no target gets: how rows are stored, rights, comments on indexes. In words."""
    verbatim: bool = False
    """Of a table that comes out: whether its rows are the source's own, so that each value fits its stored type."""
    namespace: str = ""
    """The schema that it stands in, where several are read."""
    dialect: str = ""
    """Whose words `sql_type` are: postgresql, mysql, sqlite, duckdb, arrow. Empty where the source has no types of its own."""

    def declared(self) -> ReflectedTable:
        """The same table, what was inferred of its columns forgotten."""
        return replace(self, columns=tuple(ReflectedColumn(c.name, "unknown") if c.inferred else c for c in self.columns))

    def name_of(self, columns: tuple[str, ...]) -> str:
        """What the source calls the key, unique or index over these columns; empty where it does not say."""
        return dict(self.names).get(columns, "")

    def column(self, name: str) -> ReflectedColumn | None:
        """By name; case does not matter where it is unambiguous."""
        return _named(name, self.columns)


Named = TypeVar("Named", ReflectedColumn, ReflectedTable)


def _named(name: str, things: Sequence[Named]) -> Named | None:
    exact = [thing for thing in things if thing.name == name]
    folded = exact or [thing for thing in things if thing.name.casefold() == name.casefold()]
    return folded[0] if len(folded) == 1 else None


@dataclass(frozen=True)
class LeftOut:
    """Something the source holds that mare does not synthesize, and why."""

    name: str
    reason: str
    remedy: str = ""
    """What makes it usable, where something does."""


_INFERRED = (
    "Types are as pandas found them in all values (whole numbers or not): one person's value may have decided one, so set each "
    "to what is known of such data."
)
"""A schema is public, and a fit forgets such types; a draft has nothing else to go by."""


@dataclass(frozen=True)
class Reflection:
    """A whole source. ``label`` names it for people and holds no password."""

    label: str
    tables: tuple[ReflectedTable, ...]
    left_out: tuple[LeftOut, ...] = field(default=())
    by_headers: bool = False
    """Whether names come from the first lines of files: whoever drafts compares these with the rows below (`ports.Headed`)."""

    @property
    def what_was_read(self) -> str:
        """What a draft has looked at, for people."""
        read = "No value was read."
        if self.by_headers:
            read = "Of CSV files, rows below the header were compared with it, to check that it is one; no value was kept."
        if any(column.inferred for table in self for column in table.columns):
            return f"{read} {_INFERRED}"
        return read

    def __iter__(self) -> Iterator[ReflectedTable]:
        return iter(self.tables)

    def declared(self, public: Collection[str] = ()) -> Reflection:
        """What of this does not depend on a value: inferred types are unknown, but for those of public tables."""
        known = {name.casefold() for name in public}
        tables = (table if table.name.casefold() in known else table.declared() for table in self.tables)
        return replace(self, tables=tuple(tables))

    def table(self, name: str) -> ReflectedTable | None:
        """By name; case does not matter where it is unambiguous."""
        return _named(name, self.tables)


@dataclass(frozen=True)
class Compared:
    """What was seen of a column beside the others of its table, in all rows. Data, not catalogue."""

    same: bool = False
    """It is the same in all rows of a person, of whom many have several, and not in all rows there are."""
    missing: bool = False
    """Many rows have no value of it."""
    repeats: str | None = None
    """It holds what this earlier column holds."""
    follows: str | None = None
    """It is never less than this other column, though it often would be if the two stood in different rows."""
    apart: str | None = None
    """In the rows of a person, in its own order, it is never less than this other column of the row before."""
    counts: bool | None = None
    """It is 1, 2, 3 in the rows of each person, in its own order. None: not looked at."""
    copies: str | None = None
    """It holds what this column of the row above holds."""
    begins: str | None = None
    """It is never less than this column of the row above."""
    ends: str | None = None
    """It is never more than this one."""
    told_by: tuple[str, ...] = ()
    """Each value of these other columns has one of it, beside all rows that hold it: a name beside its code. Coarsest first."""
    own: bool = False
    """Several rows share a value, and no two people do: it names something of theirs (a stay, an order)."""
    strangers: float = 0.0
    """The part of the table's rows that lead to no row above, though they say to which."""
    rows: int | None = None
    """How many were looked at, where these are not all."""


@dataclass(frozen=True)
class Peek:
    """What was read from one column's values, on the user's explicit request. Data, not catalogue."""

    kind: StorageKind | None = None
    values: tuple[Value, ...] | None = None
    min: Bound | None = None
    max: Bound | None = None
    reading: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    """How its texts are written, where that has to be said: fields of the schema (`format`, `decimal`, `nulls`)."""
    repeats: bool | None = None
    """Whether a value stands in two rows. None: not looked at."""
    missing: bool | None = None
    """Whether a row has no value, or none that could be read. None: not looked at."""
    unread: bool = False
    """Whether some texts are neither read so nor words that are told: a few rows' own, or what has no day."""
    few: bool = False
    """Whether there are but a few different values, in whatever number of rows: an id of these is a code."""
    binary: bool = False
    """Whether the values are 0 and 1, and nothing else."""
    compared: Compared = Compared()
