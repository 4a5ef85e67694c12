"""What a fit would meet in the rows, before it is paid: for `mare check --read-rows`. True numbers, hence internal, not private.

    schema, source ─► stage (as a fit does it) ─► **what does not read, lies outside, is cut or leads nowhere** ─► the screen

Nothing is measured, nothing is released, no budget is touched. What texts probably mean that a
column does not read is guessed: it is tried with other fields, and those that read most are offered (`guesses`). Words of the
data are shown only where many entities hold them.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mare.codec import OrdinalCodec, ReadTable, RelativeCodec, ScaledCodec, TableCodec, table_codec
from mare.codec.category import CategoryCodec, CodeCodec
from mare.finding import Location, open_source
from mare.fitting.vocabularies import compared_keys, read_public, stage_vocabularies, undecoded_values
from mare.graph.pdag import column_groups
from mare.ports import Source
from mare.relational.relations import relations
from mare.schema import Schema
from mare.schema.columns import AnyColumn, Listed, Quantity, TimeColumn
from mare.schema.columns.category import canonical
from mare.schema.columns.written import quoted
from mare.stage import LocalNotes, Staged, needs, stage
from mare.stage.intake import staging_database
from mare.stage.loading import Reading, as_text, reading_of, typed
from mare.stage.staged_tables import StagedTable

Kind = Literal["unreadable", "outside", "null", "nowhere"]
"""It says nothing that its type can hold; it is none of the values declared; it is NULL and may not be; it refers to nothing."""


@dataclass(frozen=True)
class Guess:
    """What may be written so that more values are read, and words that still say nothing."""

    write: str = ""
    words: tuple[tuple[str, int], ...] = ()
    """With how many rows hold them."""
    days: tuple[tuple[str, int], ...] = ()
    """Days far from all others that many hold, likewise."""
    serial: bool = False
    """Most that does not read looks like days that a spreadsheet has counted."""


NO_GUESS = Guess()


@dataclass(frozen=True)
class Met:
    """Something that a fit would meet in one column or reference."""

    table: str
    column: str
    kind: Kind
    rows: int
    of: int
    """Rows that hold something there; for NULL, all rows."""
    below: int = 0
    """Of those outside a declared range, how many lie before it."""
    guess: Guess = NO_GUESS


@dataclass(frozen=True)
class RowsMet:
    """All that a fit would meet. Internal, not private."""

    met: tuple[Met, ...]
    notes: LocalNotes
    """Rows that are cut or belong to nobody, as a fit notes them."""


def meet_rows(schema: Schema, source: Location) -> RowsMet:
    """Read the rows as a fit would. The schema has no open question."""
    tables = needs(schema, column_groups(schema))
    with open_source(source) as reader:
        reflection = reader.reflect()
        public = read_public(schema, reader, reflection)
        keys, collations = compared_keys(stage_vocabularies(tables, schema, public), reader, reflection)
        # Which of several rows beyond a cap would stay is left to chance, as in a fit.
        with stage(reader, tables, secrets.token_bytes(32), vocabularies=keys, collations=collations) as staged:
            related = relations(schema, public, {})
            met: list[Met] = []
            for name, table in staged.tables.items():
                codec = table_codec(schema, name, table.needs.values) if table.needs.values else TableCodec(name, {})
                staged.read(name, codec, related.get(name))
                if table.needs.held_by is None:
                    met_here = [*_columns(staged, table, codec), *_references(staged, table)]
                    reading = reading_of(table.needs, tables, reflection, collations)
                    met += _guessed(reader, table, met_here, _whose(staged, table, reading))
            undecoded = {**undecoded_values(public), **staged.notes.undecoded}
            return RowsMet(tuple(met), replace(staged.notes, outside={}, undecoded=undecoded))


def _columns(staged: Staged, table: StagedTable, codec: TableCodec) -> Iterator[Met]:
    """What the values of a table say, row by row as they were read."""
    name, rows = table.needs.name, staged.notes.read[table.needs.name]
    for number, column in enumerate(table.needs.values):
        declared, coded = table.needs.described[column], codec.columns[column]
        values = staged.connection.sql(f"SELECT v{number} AS v FROM {table.raw}").to_arrow_table()["v"].combine_chunks()
        if pa.types.is_floating(values.type):
            values = pc.if_else(pc.is_nan(values), None, values)  # as pandas writes NULL
        unread = staged.notes.outside.get(f"{name}.{column}", 0)
        there = rows - values.null_count + unread
        outside = below = 0
        if isinstance(coded, OrdinalCodec):
            reading = coded.read(values)
            unread += reading.outside
            measure, (low, high) = reading.measure[reading.ordinary], coded.declared
            below = int((measure < low).sum()) if low is not None else 0
            outside = below + (int((measure > high).sum()) if high is not None else 0)
        elif isinstance(coded, RelativeCodec):
            # What it follows is known of rows that are kept; what cannot be read is counted there too.
            outside = staged.as_read(name).readings[column].outside
        elif isinstance(coded, ScaledCodec):
            outside = _beyond_items(staged.as_read(name), column, coded)
        elif isinstance(coded, CategoryCodec | CodeCodec):
            outside = coded.listing(values).outside
        if unread:
            yield Met(name, column, "unreadable", unread, there)
        if outside:
            yield Met(name, column, "outside", outside, there, below)
        if not declared.nullable and rows > there:
            yield Met(name, column, "null", rows - there, rows)


def _beyond_items(read: ReadTable, column: str, coded: ScaledCodec) -> int:
    """Rows that are kept and lie outside the range of their item, where the schema says it."""
    reading, items = read.readings[column], coded.item_of(read.codes)
    lows = np.array([-np.inf if item.placed.low is None else item.placed.low for item in coded.items])
    highs = np.array([np.inf if item.placed.high is None else item.placed.high for item in coded.items])
    beyond = (reading.measure < lows[items]) | (reading.measure > highs[items])
    return int((reading.ordinary & beyond).sum())


def _references(staged: Staged, table: StagedTable) -> Iterator[Met]:
    """Keys that are nowhere among those of the table that they refer to."""
    for number, link in enumerate(table.needs.links):
        here = [f"r.r{number}_{i}" for i in range(len(link.columns))]
        if link.kind == "public":
            target, there = staged.vocabularies[f"{table.needs.name}.{link.name}"], [f"t.x{i}" for i in range(len(here))]
        else:
            target, there = staged.tables[link.table].raw, [f"t.k{place}" for place in link.refers]
        filled = " AND ".join(f"{column} IS NOT NULL" for column in here)
        same = " AND ".join(f"{mine} = {theirs}" for mine, theirs in zip(here, there, strict=True))
        counted = f"count(*) FILTER (NOT EXISTS (FROM {target} t WHERE {same})), count(*)"
        ((lost, of),) = staged.connection.execute(f"SELECT {counted} FROM {table.raw} r WHERE {filled}").fetchall()
        if lost:
            yield Met(table.needs.name, link.name, "nowhere", int(lost), int(of))


def _whose(staged: Staged, table: StagedTable, reading: Reading) -> Whose:
    """Whose the rows are as they were read, by a key or foreign key that tells them apart."""
    needs = table.needs
    keys = [(f"k{i}", name) for i, name in enumerate(needs.key)] + [(f"f{i}", name) for i, name in enumerate(needs.foreign)]
    kept = table.row >= 0
    entities = np.full(staged.notes.read[needs.name], -1, dtype=np.int64)
    entities[table.row[kept]] = table.entity[kept]
    if not keys:
        return Whose(entities, "")
    at, name = keys[0]
    texts = staged.connection.sql(f"SELECT {at} FROM {table.raw} ORDER BY rowid LIMIT {LOOKED_AT}").fetchall()
    return Whose(entities, reading.forms.get(at, name), [row[0] for row in texts])


def _guessed(reader: Source, table: StagedTable, met: Sequence[Met], whose: Whose) -> list[Met]:
    """The same, with what the texts of such columns probably mean: they are read once more."""
    columns = {m.column: table.needs.described[m.column] for m in met if m.kind in ("unreadable", "outside")}
    by_column = guesses(reader, table.needs.name, columns, whose)
    return [replace(m, guess=by_column.get(m.column, m.guess)) if m.kind in ("unreadable", "outside") else m for m in met]


LOOKED_AT = 50_000
"""Rows that tell enough."""
COMMON, LONGEST, SHOWN = 10, 20, 5
"""A word is shown where so many entities hold it, if it is no longer than this; so many are."""

_LONG_AGO, _FAR = 1901, 2090
"""Years between which days are days; or up to the column's own last."""

_MANY = f"count(DISTINCT e) FILTER (e >= 0) >= {COMMON}"

_FORMS = ((",", None), (",", "."), (",", " "), (".", ","), (".", " "), (".", "'"))
_DAYS = (
    "%d.%m.%y", "%d/%m/%y", "%m/%d/%y",  # before those of four digits, which read the year 21
    "%d.%m.%Y", "%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%Y%m%d", "%d-%m-%Y", "%Y/%m/%d", "%d %b %Y", "%d-%b-%Y", "%d%b%Y",
)  # fmt: skip
_CLOCKS = ("%H:%M:%S", "%H:%M", "%H.%M", "%I:%M %p", "%H%M")


@dataclass(frozen=True, eq=False)
class Whose:
    """Of the rows of a table, in the order in which they were read, whose they are; negative: nobody's."""

    entities: NDArray[np.int64]
    column: str
    """What tells that they come in the same order again, as it was asked for; empty: each row is an entity."""
    texts: Sequence[str | None] = ()
    """What it said then."""

    def of(self, held: pa.Table, connection: duckdb.DuckDBPyConnection) -> NDArray[np.int64]:
        """Of these, read once more. Where they come in another order, nobody knows, and no word is shown."""
        if not self.column:
            return np.arange(len(held), dtype=np.int64)
        keys = held.select([self.column]).rename_columns(["t"])
        connection.register("keys", keys)
        again = connection.sql(f"SELECT {as_text('t', keys.schema.field('t').type)} FROM keys").fetchall()
        connection.unregister("keys")
        same = [text for (text,) in again] == list(self.texts[: len(held)])
        return self.entities[: len(held)] if same else np.full(len(held), -1, dtype=np.int64)


def guesses(reader: Source, table: str, columns: Mapping[str, AnyColumn], whose: Whose) -> dict[str, Guess]:
    """For those of these columns that the source holds as text."""
    if not columns:
        return {}
    batches, rows = [], 0
    for batch in reader.read(table, tuple(dict.fromkeys((*columns, *([whose.column] if whose.column else ()))))):
        batches.append(batch)
        if (rows := rows + len(batch)) >= LOOKED_AT:
            break
    if not batches:
        return {}
    guessed: dict[str, Guess] = {}
    every = pa.Table.from_batches(batches).slice(0, LOOKED_AT)
    with staging_database() as connection:
        entities = pa.array(whose.of(every, connection))
        for name, column in columns.items():
            held = every.select([name]).rename_columns(["t"])
            connection.register("held", held.append_column("e", entities))
            raw = held.schema.field("t").type
            text = as_text("t", raw)
            connection.execute(f"CREATE OR REPLACE TABLE texts AS SELECT {text} AS t, e FROM held WHERE t IS NOT NULL")
            connection.unregister("held")
            if pa.types.is_string(raw) or pa.types.is_large_string(raw) or pa.types.is_dictionary(raw):
                guessed[name] = _guess(connection, column)
            if isinstance(column, TimeColumn) and column.has_day and (days := _far_days(connection, column)):
                guessed[name] = replace(guessed.get(name, NO_GUESS), days=days)
    return guessed


def _far_days(connection: duckdb.DuckDBPyConnection, column: TimeColumn) -> tuple[tuple[str, int], ...]:
    """Days that many hold and nobody lives to see: what stands there for no day at all."""
    last = max(_FAR, *(bound.year + 1 for bound in (column.max,) if isinstance(bound, date)), 0)
    moment = typed("t", column, pa.string(), for_value=False, spelled=True)
    known = ", ".join(quoted(canonical(special)) for special in ("", *column.specials))
    text = "replace(strftime(m, '%Y-%m-%d %H:%M:%S'), ' 00:00:00', '')"
    days = connection.execute(
        f"SELECT {text} AS day, count(*) AS rows FROM (SELECT CAST({moment} AS TIMESTAMP) AS m, e FROM texts) "
        f"WHERE year(m) NOT BETWEEN {_LONG_AGO} AND {last} AND {text} NOT IN ({known}) GROUP BY day HAVING {_MANY} "
        f"ORDER BY rows DESC, day LIMIT {SHOWN}"
    ).fetchall()
    return tuple((str(day), int(rows)) for day, rows in days)


def _guess(connection: duckdb.DuckDBPyConnection, column: AnyColumn) -> Guess:
    write, best, most = "", column, _read(connection, column)
    for text, variant in _variants(connection, column):
        if (read := _read(connection, variant)) > most:
            write, best, most = text, variant, read
    words = connection.execute(
        f"SELECT t, count(*) AS rows FROM ({_read_texts(best)}) WHERE NOT reads GROUP BY t "
        f"HAVING {_MANY} AND length(t) <= {LONGEST} ORDER BY rows DESC, t LIMIT {SHOWN}"
    ).fetchall()
    return Guess(write, tuple((str(word), int(rows)) for word, rows in words), serial=_serial(connection, column, best))


def _serial(connection: duckdb.DuckDBPyConnection, column: AnyColumn, best: AnyColumn) -> bool:
    """Days since 1900 as a spreadsheet stores them: 43831 or 43831.5 where a day of our time should be."""
    if not isinstance(column, TimeColumn) or not column.has_day:
        return False
    serial = "regexp_full_match(trim(t), '[1-6][0-9]{4}([.,][0-9]+)?')"
    query = f"SELECT 2 * count(*) FILTER ({serial}) > count(*) FROM ({_read_texts(best)}) WHERE NOT reads"
    ((most,),) = connection.execute(query).fetchall()
    return bool(most)


def _variants(connection: duckdb.DuckDBPyConnection, column: AnyColumn) -> Iterator[tuple[str, AnyColumn]]:
    """The column, and what else could be written in it."""
    if isinstance(column, Quantity):
        yield from _numbers(column, _units(connection, column))
    elif isinstance(column, TimeColumn):
        # One that reads nothing is what is wrong: the first is also how dates are written.
        formats = [form for form in column.formats if _read(connection, _with(column, form)) > _read(connection, _with(column))]
        while (added := _next_format(connection, column, formats)) is not None:
            formats.append(added)
            written = f'"{added}"' if len(formats) == 1 else "[" + ", ".join(f'"{form}"' for form in formats) + "]"
            yield f"format: {written}", _with(column, *formats)
    elif isinstance(column, Listed):
        yield "trim: true", column.model_copy(update={"trim": True})
        if column.possible is not None:
            yield "case: ignore", column.model_copy(update={"case": "ignore"})


def _numbers(column: Quantity, units: list[str]) -> Iterator[tuple[str, Quantity]]:
    # In 1,234 the comma stands before decimals, unless the number is a whole one.
    forms = sorted(_FORMS, key=lambda form: form[0] == ",") if column.type == "integer" else _FORMS
    minus = {"-": -1.0} if "-" in units[1:] else {}
    others = ", ".join(f"{_scalar(unit)}: {'-1' if unit in minus else '…'}" for unit in units[1:])
    words = f"unit: {_scalar(units[0])}" + (f", units: {{{others}}}" if others else "") if units else ""
    in_units: dict[str, object] = {"unit": units[0], "units": {**dict.fromkeys(units[1:], 1.0), **minus}} if units else {}
    if units:
        yield words, column.model_copy(update=in_units)
    for decimal, thousands in forms:
        text = f'decimal: "{decimal}"' + ("" if thousands is None else f', thousands: "{thousands}"')
        form: dict[str, object] = {"decimal": decimal, "thousands": thousands}
        yield text, column.model_copy(update=form)
        if units:
            yield f"{text}, {words}", column.model_copy(update={**form, **in_units})


def _units(connection: duckdb.DuckDBPyConnection, column: Quantity) -> list[str]:
    """What stands after the digits of many texts, or before them of money, the column's own unit first. A single one is that of
    most texts, or a remark beside some (H for high). A minus may stand there too: then a plus is as good as no unit."""
    ends = connection.execute(
        "SELECT coalesce(nullif(regexp_extract(t, '[0-9]\\s*([^0-9\\s.,+]{1,8})\\s*$', 1), ''), "
        "regexp_extract(t, '^\\s*(\\p{Sc})\\s*[0-9]', 1)) AS unit, count(*) AS rows, "
        f"2 * count(*) >= (SELECT count(*) FROM texts) FROM texts GROUP BY unit HAVING unit <> '' AND {_MANY} "
        f"ORDER BY unit = '-', rows DESC, unit LIMIT {SHOWN}"
    ).fetchall()
    if len(ends) == 1 and column.unit is None and not ends[0][2] and ends[0][0] != "-":
        return []
    endings = [str(unit) for unit, *_ in ends]
    first = column.unit or ("+" if endings[:1] == ["-"] else endings[0]) if endings else ""
    return [first, *(unit for unit in endings if unit != first)] if endings else []


def _scalar(word: str) -> str:
    """As YAML reads it for sure."""
    return word if word.isalpha() else f'"{word}"'


def _next_format(connection: duckdb.DuckDBPyConnection, column: TimeColumn, formats: list[str]) -> str | None:
    """The format that reads most of what the others do not; None where none reads more."""
    days = _DAYS if column.has_day else ()
    clocks = _CLOCKS if column.has_clock else ()
    known = [*days, *(f"{day} {clock}" for day in days for clock in clocks), *(() if column.has_day else clocks)]
    counts = {form: _read(connection, _with(column, *formats, form)) for form in known if form not in formats}
    best = max(counts, key=lambda form: counts[form], default=None)
    before = _read(connection, _with(column, *formats)) if formats else 0
    return best if best is not None and counts[best] > before else None


def _with(column: TimeColumn, *formats: str) -> TimeColumn:
    """The column with these formats; without any, with one that no text is written in."""
    return column.model_copy(update={"format": formats or ("%%%%",)})


def _read(connection: duckdb.DuckDBPyConnection, column: AnyColumn) -> int:
    ((rows,),) = connection.execute(f"SELECT count(*) FILTER (reads) FROM ({_read_texts(column)})").fetchall()
    return int(rows)


def _read_texts(column: AnyColumn) -> str:
    """Each text, and whether it means NULL or says something that the column can hold."""
    if isinstance(column, Listed):
        known = [quoted(text) for text in {*map(canonical, column.possible or ()), *column.spellings}]
        reads = f"p IN ({', '.join(known)})" if known else "true"
    else:
        reads = f"({typed('p', column, pa.string(), for_value=False)}) IS NOT NULL"
        if specials := [quoted(canonical(special)) for special in getattr(column, "specials", ())]:
            reads += f" OR trim(t) IN ({', '.join(specials)})"
    plain = column.plain_sql("t", stored_text=True) or "t"
    return f"SELECT t, e, p IS NULL OR {reads} AS reads FROM (SELECT t, e, {plain} AS p FROM texts)"
