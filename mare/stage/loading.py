"""From Arrow batches to a staged table whose types come from the schema, never from the data.

Columns get neutral names (k0, f0, o0, v0; a0 for an association's key, r0_0 for a reference, e0_0 for whether one is there): no
name of the source is ever part of a statement, so `order` and quotes in names are as good as any. What does not fit a declared
type becomes NULL here, and the codec clamps it.

Where the schema says how the source writes values (`NA`, `m` for M, 3,5), each text is first put as its type reads it (p0).

Bytes that are no letters have a sign each, by which keys differ. In values and in keys of public tables, which come out, a mark
stands for any of them.

Where the type of a column was inferred from its values (frames), each value is first spelled as a text: in whatever type a column
happens to come, because of another entity's value, a row is staged as the same row.

Keys and references are asked for as their source compares them: two texts that it takes for one key (`p1` and `P1`) are the same
text in the form of its collation. A reference is asked for in the form of the column that it refers to, a key in its own, so that
both sides meet. The form is worked out of each value alone: no row is ever looked up to read another.

How a stored value becomes what the schema declares is said by its column type, as SQL (`AnyColumn.read_sql`): never an error.
Text stays text where the schema says that there are words among the numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from mare.codec import is_kept_as_text
from mare.codec.natural import natural_sql
from mare.codec.parsing import count_undecoded, is_text_type, marked
from mare.ports import compared
from mare.schema.columns import AnyColumn, Datetime, Identifier, Raw
from mare.schema.reflection import Reflection

from .needs import TableNeeds


def sql_type(declared: AnyColumn | None, *, for_value: bool) -> str:
    """The staged type of a column of which the source has no row."""
    if declared is None or (for_value and is_kept_as_text(declared)):
        return "VARCHAR"
    return declared.staged_type


def typed(column: str, declared: AnyColumn | None, raw: pa.DataType, *, for_value: bool, spelled: bool = False) -> str:
    """The column as declared; ``for_value`` keeps words among numbers, an order has no place for them. A text that was
    ``spelled`` may be a moment, though the schema says how texts write it."""
    if declared is None:
        return as_text(column, raw)
    if for_value and is_kept_as_text(declared):
        return declared.kept_text_sql(as_text(column, raw))
    return declared.read_sql(column, _kind(raw), spelled=spelled) or as_text(column, raw)


def is_as_declared(declared: AnyColumn | None, raw: pa.DataType, *, for_value: bool) -> bool:
    """Whether `typed` would change nothing: a text that stays one, a moment that no format says how to read."""
    if isinstance(declared, Datetime) and declared.format is None and not (for_value and is_kept_as_text(declared)):
        return bool(raw == pa.timestamp("us"))  # which sources give from the year 1 to 9999: none is infinite
    return bool(raw == pa.string()) and typed("c", declared, raw, for_value=for_value) == as_text("c", raw)


def says_its_text(declared: AnyColumn, raw: pa.DataType) -> bool:
    """Whether a stored value and its text are read as the same, whatever it is: then the text need not be made."""
    return not is_kept_as_text(declared) and declared.says_its_text(_kind(raw))


def _kind(raw: pa.DataType) -> Raw:
    if is_text_type(raw):
        return "text"
    if pa.types.is_integer(raw):
        return "integer"
    if pa.types.is_floating(raw):
        return "floating"
    return "timestamp" if pa.types.is_timestamp(raw) else "other"


def as_text(column: str, raw: pa.DataType) -> str:
    """As text, a whole number without decimals: a key stored as 12.0 refers to one stored as 12."""
    whole = f"CASE WHEN {column} = trunc({column}) THEN CAST(TRY_CAST({column} AS BIGINT) AS VARCHAR) END"
    if pa.types.is_floating(raw):
        return f"coalesce({whole}, CAST({column} AS VARCHAR))"
    if pa.types.is_decimal(raw):
        # Without zeros at its end: how many decimals a type has may follow from another value.
        text = f"CAST({column} AS VARCHAR)"
        return f"coalesce({whole}, CASE WHEN contains({text}, '.') THEN rtrim(rtrim({text}, '0'), '.') ELSE {text} END)"
    return f"CAST({column} AS VARCHAR)"


_NUMBER = r"[-+]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][-+]?[0-9]+)?"


def order_number(column: str, raw: pa.DataType) -> str:
    """An order column that the schema does not describe: numbers as numbers, times as times; of a text, the number that it says.

    A file tells no types. What a text says is decided by the value itself, never by the column: another entity's value could
    decide it.
    """
    if _tells_order(raw):
        return column
    text = f"CAST({column} AS VARCHAR)"
    number = f"WHEN regexp_full_match({text}, '{_NUMBER}') THEN TRY_CAST({text} AS DOUBLE)"
    return f"CASE {number} WHEN {column} IS NOT NULL THEN 'infinity'::DOUBLE END"  # words stand after the numbers


def order_text(column: str, raw: pa.DataType) -> str:
    """What stands after the number: the text, whole numbers filled up with zeros so that long ones stand in their place."""
    if _tells_order(raw):
        return "CAST(NULL AS VARCHAR)"
    text = f"CAST({column} AS VARCHAR)"
    return f"CASE WHEN regexp_full_match({text}, '[0-9]{{1,38}}') THEN lpad({text}, 38, '0') ELSE {natural_sql(text)} END"


def _tells_order(raw: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_integer(raw) or types.is_floating(raw) or types.is_temporal(raw) or types.is_decimal(raw))


STRETCH = 1 << 19
"""Rows that go into the staging database at a time."""

Collations = Mapping[str, Sequence[str]]
"""Of the public columns that somebody refers to, the collations, by who does: `prescriptions`, `labs.itemid`."""


@dataclass(frozen=True)
class Odd:
    """By column, how many of its values are odd: true numbers, hence secret."""

    unread: Mapping[str, int]
    """They say nothing that it can hold: text in a number column."""
    undecoded: Mapping[str, int]
    """They hold bytes that are no letters."""


@dataclass(frozen=True)
class Reading:
    """How the columns of one table are asked for, and what is known of their types."""

    forms: Mapping[str, str] = field(default_factory=dict)
    """By staged name, how a column is asked for that is compared in a form of its own (`mare.ports.compared`)."""
    inferred: frozenset[str] = frozenset()
    """Columns whose types somebody inferred from the values."""

    def columns(self, needs: TableNeeds) -> tuple[str, ...]:
        """What to ask the source for, everything once."""
        return tuple(dict.fromkeys(self.forms.get(staged, name) for staged, name, _ in staged_columns(needs)))


def reading_of(needs: TableNeeds, tables: Sequence[TableNeeds], reflection: Reflection, public: Collations) -> Reading:
    """How to read a table of the entity from the source that reflects so."""
    stored = reflection.table(needs.name)
    if stored is None:
        return Reading()  # the source itself says best what it does not have
    forms = {staged: compared(name, rule) for staged, name, rule in _collated(needs, tables, reflection, public) if rule}
    columns = {name: stored.column(name) for name in needs.columns}
    return Reading(forms, frozenset(name for name, column in columns.items() if column is not None and column.inferred))


def _collated(
    needs: TableNeeds, tables: Sequence[TableNeeds], reflection: Reflection, public: Collations
) -> Iterator[tuple[str, str, str]]:
    """(staged name, column, collation) of everything that is compared."""
    by_name = {table.name: table for table in tables}

    def collation(table: str, column: str) -> str:
        described = by_name.get(table)
        stored = reflection.table(described.held_by or table if described is not None else table)
        referred = None if stored is None else stored.column(column)
        return "" if referred is None else referred.collation

    for i, name in enumerate(needs.key):
        yield f"k{i}", name, collation(needs.name, name)
    for i, name in enumerate(needs.foreign):
        parent = by_name[needs.parent or needs.name]
        yield f"f{i}", name, collation(parent.name, parent.key[needs.refers[i]])
    for i, name in enumerate(needs.via):
        yield f"a{i}", name, public.get(needs.name, ("",) * len(needs.via))[i]
    for number, link in enumerate(needs.links):
        if link.kind == "public":
            rules: Sequence[str] = public.get(f"{needs.name}.{link.name}", ("",) * len(link.columns))
        else:
            rules = [collation(link.table, by_name[link.table].key[place]) for place in link.refers]
        for i, name in enumerate(link.columns):
            yield f"r{number}_{i}", name, rules[i]


def order_columns(needs: TableNeeds) -> list[str]:
    """The staged columns by which siblings stand: an order that the schema does not describe is a number, and then a text."""
    return [staged for staged, _, _ in _orders(needs)]


def _orders(needs: TableNeeds) -> list[tuple[str, str, AnyColumn | None]]:
    orders: list[tuple[str, str, AnyColumn | None]] = []
    for i, name in enumerate(needs.order):
        declared = needs.described.get(name)
        if declared is None or isinstance(declared, Identifier):
            orders += [(f"o{i}", name, None), (f"ot{i}", name, None)]
        else:
            orders.append((f"o{i}", name, declared))
    return orders


def staged_columns(needs: TableNeeds) -> list[tuple[str, str, AnyColumn | None]]:
    """(staged name, source name, declaration) of every staged column; keys and foreign keys are compared as text."""
    keys = [(f"k{i}", name, None) for i, name in enumerate(needs.key)]
    foreign = [(f"f{i}", name, None) for i, name in enumerate(needs.foreign)]
    values = [(f"v{i}", name, needs.described[name]) for i, name in enumerate(needs.values)]
    via = [(f"a{i}", name, None) for i, name in enumerate(needs.via)]
    linked = [(f"r{n}_{i}", name, None) for n, link in enumerate(needs.links) for i, name in enumerate(link.columns)]
    present = [(f"e{n}_{i}", name, None) for n, (_, columns) in enumerate(needs.present) for i, name in enumerate(columns)]
    return [*keys, *foreign, *_orders(needs), *values, *via, *linked, *present]


def load_rows(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    needs: TableNeeds,
    batches: Iterable[pa.RecordBatch],
    key: bytes = b"",
    reading: Reading | None = None,
) -> Odd:
    """Stage the batches, which hold what ``reading`` asks for, as ``table``; an empty source gives an empty table.

    Each row gets a hash ``h`` of everything that is staged of it, under ``key``.
    """
    names = [staged for staged, _, _ in staged_columns(needs)]
    created = False
    unread, undecoded = Counter[str](), Counter[str]()
    # Hashed twice: the first hash ends in an exclusive or with the last column, by which some values would always win.
    hash_of = f"hash(hash({', '.join(['$1', *names])}))"
    for stretch in typed_stretches(needs, batches, reading or Reading()):
        connection.register("batch", stretch.rows)
        verb = f"INSERT INTO {table}" if created else f"CREATE TABLE {table} AS"
        select = ", ".join(f"{expression} AS {staged}" for staged, expression in stretch.columns.items()) or "0 AS nothing"
        connection.execute(f"{verb} SELECT *, {hash_of} AS h FROM (SELECT {select} FROM {stretch.relation})", [key.hex()])
        unread.update(stretch.count_unread(connection))
        undecoded.update(stretch.undecoded)
        connection.unregister("batch")
        created = True
    if not created:
        columns = [f"{staged} {kind}" for staged, kind in empty_columns(needs)]
        connection.execute(f"CREATE TABLE {table} ({', '.join([*columns, 'h UBIGINT'])})")
    return Odd(unread, undecoded)


def load_by_column(connection: duckdb.DuckDBPyConnection, holder: str, table: str, key: bytes) -> None:
    """The entities that no table holds, as a table: a row for each value of the foreign key of the rows that tell them apart."""
    values = f"SELECT DISTINCT f0 AS k0 FROM {holder} WHERE f0 IS NOT NULL"
    connection.execute(f"CREATE TABLE {table} AS SELECT k0, hash($1, k0) AS h FROM ({values})", [key.hex()])


def empty_columns(needs: TableNeeds) -> list[tuple[str, str]]:
    """The staged columns of a source without rows, and their types."""
    types = [(staged, sql_type(declared, for_value=staged[0] == "v")) for staged, _, declared in staged_columns(needs)]
    return [(staged, "BOOLEAN" if staged[0] == "e" else kind) for staged, kind in types] or [("nothing", "INTEGER")]


@dataclass(frozen=True)
class Stretch:
    """Some rows as the source gave them, and what is staged of them."""

    rows: pa.Table
    relation: str
    """What the expressions are of, once the rows are registered as ``batch``."""
    columns: Mapping[str, str]
    """By staged name, the expression."""
    given: Mapping[str, str]
    """Of those whose expression changes nothing, the column of the rows."""
    whole_keys: Mapping[str, str]
    """Of keys whose texts are those of whole numbers, the column that has the numbers."""
    unread: Mapping[str, str]
    """By name, the expression that counts what its type cannot hold."""
    undecoded: Mapping[str, int]

    def count_unread(self, connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
        if not self.unread:
            return {}
        (row,) = connection.execute(f"SELECT {', '.join(self.unread.values())} FROM {self.relation}").fetchall()
        return dict(zip(self.unread, map(int, row), strict=True))


def typed_stretches(needs: TableNeeds, batches: Iterable[pa.RecordBatch], reading: Reading) -> Iterator[Stretch]:
    """The batches, which hold what ``reading`` asks for, some at a time."""
    columns = list(reading.columns(needs))
    place = {name: f"c{i}" for i, name in enumerate(columns)}
    spelled = {place[name] for name in columns if name in reading.inferred}
    renamed = (_plain(batch.select(columns).rename_columns(list(place.values())), spelled) for batch in batches)
    for rows in _stretches(renamed):
        rows, lettered, garbled = _lettered(rows, place)
        held = _held(needs, lettered, rows.schema, reading)
        rewritten = "".join(f", {column.plain} AS {column.name}" for column in held.values() if column.plain is not None)
        expressions, given, whole_keys = _expressions(needs, place, lettered, rows.schema, reading, held)
        yield Stretch(
            rows=rows,
            relation=f"(SELECT *{rewritten} FROM batch)" if rewritten else "batch",
            columns=expressions,
            given=given,
            whole_keys=whole_keys,
            unread=_unread(needs, held),
            undecoded={name: count for name, count in garbled.items() if name in needs.columns},
        )


def _stretches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches of one type, taken together: a statement for each small one would cost more than its rows, on one thread."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        if held and (batch.schema != held[0].schema or sum(len(b) for b in held) >= STRETCH):
            yield pa.Table.from_batches(held)
            held = []
        held.append(batch)
    if held:
        yield pa.Table.from_batches(held)


@dataclass(frozen=True)
class _Held:
    """A described column of a batch."""

    name: str
    """The column to read it from, or an expression of it."""
    raw: pa.DataType
    spelled: bool
    plain: str | None = None
    """The expression that the column is, where it is none of the batch: texts put as the type reads them."""


def _held(needs: TableNeeds, place: dict[str, str], arrow: pa.Schema, reading: Reading) -> dict[str, _Held]:
    """The columns that the schema describes, by name."""
    held: dict[str, _Held] = {}
    for staged, name, declared in staged_columns(needs):
        if declared is None or name in held:
            continue
        spell = name in reading.inferred
        column, raw = _as_read(place[reading.forms.get(staged, name)], arrow, declared, spell=spell)
        plain = declared.plain_sql(as_text(column, raw), stored_text=is_text_type(raw))
        if plain is None:
            held[name] = _Held(column, raw, spell)
        else:
            # What had a type of its own says itself, whatever the schema says of texts.
            held[name] = _Held(f"p{len(held)}", pa.string(), spell or not is_text_type(raw), plain)
    return held


def _unread(needs: TableNeeds, held: Mapping[str, _Held]) -> dict[str, str]:
    """Only text may say nothing: everything else has a type already."""
    unread = {}
    for name in needs.values:
        column = held[name]
        cast = typed(column.name, needs.described[name], column.raw, for_value=True, spelled=column.spelled)
        if is_text_type(column.raw) and cast != as_text(column.name, column.raw):
            unread[name] = f"count({column.name}) - count({cast})"
    return unread


def _lettered(batch: pa.Table, place: dict[str, str]) -> tuple[pa.Table, dict[str, str], dict[str, int]]:
    """The batch, texts with bytes that are no letters once more as they may come out; where each column is that may; and how many
    such texts there are."""
    lettered, garbled = dict(place), dict[str, int]()
    for name, column in place.items():
        if count := count_undecoded(batch[column]):
            garbled[name], lettered[name] = count, f"m{column}"
            batch = batch.append_column(lettered[name], marked(batch[column]))
    return batch, lettered, garbled


def _expressions(
    needs: TableNeeds,
    place: dict[str, str],
    lettered: dict[str, str],
    arrow: pa.Schema,
    reading: Reading,
    held: Mapping[str, _Held],
) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """By staged name what it is of the rows; where that is a column as it stands there, which; and of keys that are the texts of
    whole numbers, the column that has these."""
    expressions, given, whole_keys = dict[str, str](), dict[str, str](), dict[str, str]()
    public = {f"r{n}_{i}" for n, link in enumerate(needs.links) if link.kind == "public" for i in range(len(link.columns))}
    public |= {f"a{i}" for i in range(len(needs.via))}
    for staged, name, declared in staged_columns(needs):
        if declared is not None:
            column, raw, for_value = held[name].name, held[name].raw, staged[0] == "v"
            expression = typed(column, declared, raw, for_value=for_value, spelled=held[name].spelled)
            unchanged = is_as_declared(declared, raw, for_value=for_value)
            if staged[0] == "o" and declared.staged_type == "VARCHAR":
                expression, unchanged = natural_sql(expression), False
        else:
            places = lettered if staged in public else place
            column, raw = _as_read(places[reading.forms.get(staged, name)], arrow, None, spell=name in reading.inferred)
            order = order_text if staged.startswith("ot") else order_number
            expression = order(column, raw) if staged[0] == "o" else as_text(column, raw)
            expression = f"{expression} IS NOT NULL" if staged[0] == "e" else expression
            unchanged = staged[0] not in "oe" and is_as_declared(None, raw, for_value=False)
            if staged[0] in "kfr" and raw == pa.int64() and column in arrow.names:
                whole_keys[staged] = column
        expressions[staged] = expression
        if unchanged and column in arrow.names:
            given[staged] = column
    return expressions, given, whole_keys


def _as_read(column: str, arrow: pa.Schema, declared: AnyColumn | None, *, spell: bool) -> tuple[str, pa.DataType]:
    """A column of the batch and its type; as text where its type was inferred, unless its text would say the same."""
    raw = arrow.field(column).type
    alike = is_text_type(raw) or (declared is not None and says_its_text(declared, raw))
    return (as_text(column, raw), pa.string()) if spell and not alike else (column, raw)


def _plain(batch: pa.RecordBatch, spelled: Collection[str] = ()) -> pa.RecordBatch:
    """Types that DuckDB would need an extension for, as their plain forms: moments with a zone become UTC. A length of time that
    is to be spelled says what it counts."""
    arrays, fields = [], []
    for named, array in zip(batch.schema, batch.columns, strict=True):
        kind = named.type
        if pa.types.is_dictionary(kind):
            array, kind = array.dictionary_decode(), kind.value_type
        if pa.types.is_timestamp(kind) and kind.tz is not None:
            kind = pa.timestamp("us")
            array = array.cast(pa.timestamp("us", tz="UTC"), safe=False).cast(kind)
        if pa.types.is_duration(kind):
            kind = pa.int64()
            array = array.cast(pa.duration("us"), safe=False).cast(kind)
            if named.name in spelled:
                kind = pa.string()
                array = pc.binary_join_element_wise(array.cast(kind), "microseconds", " ")
        arrays.append(array)
        fields.append(pa.field(named.name, kind))
    return pa.record_batch(arrays, schema=pa.schema(fields))
