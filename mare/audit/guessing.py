"""What texts probably mean that a column does not read: it is tried with other fields, and those that read most are offered.

Internal, not private; and words of the data are shown only where many entities hold them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mare.ports import Source
from mare.schema.columns import AnyColumn, Listed, Quantity, TimeColumn
from mare.schema.columns.category import canonical
from mare.schema.columns.written import quoted
from mare.stage.casting import as_text, typed
from mare.stage.database import staging_database

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

LOOKED_AT = 50_000
"""Rows that tell enough."""
COMMON, LONGEST, SHOWN = 10, 20, 5
"""A word is shown where so many entities hold it, if it is no longer than this; so many are."""

_LONG_AGO, _FAR = 1901, 2090
"""Years between which days are days; or up to the column's own last."""

_MANY = f"count(DISTINCT e) FILTER (e >= 0) >= {COMMON}"

_FORMS = ((",", None), (",", "."), (",", " "), (".", ","), (".", " "), (".", "'"))
_DAYS = ("%d.%m.%Y", "%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%Y%m%d", "%d-%m-%Y", "%Y/%m/%d", "%d.%m.%y", "%d/%m/%y", "%d %b %Y")
_CLOCKS = ("%H:%M:%S", "%H:%M", "%H.%M", "%I:%M %p", "%H%M")


@dataclass(frozen=True)
class Guess:
    """What may be written so that more values are read, and words that still say nothing."""

    write: str = ""
    words: tuple[tuple[str, int], ...] = ()
    """With how many rows hold them."""
    days: tuple[tuple[str, int], ...] = ()
    """Days far from all others that many hold, likewise."""


NO_GUESS = Guess()


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
    import pyarrow as pa

    if not columns:
        return {}
    batches, rows = [], 0
    for batch in reader.read(table, tuple(dict.fromkeys((*columns, *([whose.column] if whose.column else ()))))):
        batches.append(batch)
        if (rows := rows + len(batch)) >= LOOKED_AT:
            break
    if not batches:
        return {}
    found: dict[str, Guess] = {}
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
                found[name] = _guess(connection, column)
            if isinstance(column, TimeColumn) and column.has_day and (days := _far_days(connection, column)):
                found[name] = replace(found.get(name, NO_GUESS), days=days)
    return found


def _far_days(connection: duckdb.DuckDBPyConnection, column: TimeColumn) -> tuple[tuple[str, int], ...]:
    """Days that many hold and nobody lives to see: what stands there for no day at all."""
    import pyarrow as pa

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
    return Guess(write, tuple((str(word), int(rows)) for word, rows in words))


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
    words = f"unit: {units[0]}, units: {{{', '.join(f'{unit}: …' for unit in units[1:])}}}" if units else ""
    said: dict[str, object] = {"unit": units[0], "units": dict.fromkeys(units[1:], 1.0)} if units else {}
    if units:
        yield words, column.model_copy(update=said)
    for decimal, thousands in forms:
        text = f'decimal: "{decimal}"' + ("" if thousands is None else f', thousands: "{thousands}"')
        form: dict[str, object] = {"decimal": decimal, "thousands": thousands}
        yield text, column.model_copy(update=form)
        if units:
            yield f"{text}, {words}", column.model_copy(update={**form, **said})


def _units(connection: duckdb.DuckDBPyConnection, column: Quantity) -> list[str]:
    """What stands after the digits of many texts, the column's own unit first; nothing where there are not two."""
    ends = connection.execute(
        "SELECT regexp_extract(t, '[0-9]\\s*([^0-9\\s.,]{1,8})\\s*$', 1) AS unit, count(*) AS rows FROM texts GROUP BY unit "
        f"HAVING unit <> '' AND {_MANY} ORDER BY rows DESC, unit LIMIT {SHOWN}"
    ).fetchall()
    found = [str(unit) for unit, _ in ends]
    units = [column.unit or found[0], *(unit for unit in found if unit != (column.unit or found[0]))] if found else []
    return units if len(units) > 1 else []


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
    import pyarrow as pa

    if isinstance(column, Listed):
        known = [quoted(text) for text in {*map(canonical, column.possible or ()), *column.spellings}]
        reads = f"p IN ({', '.join(known)})" if known else "true"
    else:
        reads = f"({typed('p', column, pa.string(), for_value=False)}) IS NOT NULL"
        if specials := [quoted(canonical(special)) for special in getattr(column, "specials", ())]:
            reads += f" OR trim(t) IN ({', '.join(specials)})"
    plain = column.plain_sql("t", stored_text=True) or "t"
    return f"SELECT t, e, p IS NULL OR {reads} AS reads FROM (SELECT t, e, {plain} AS p FROM texts)"
