"""Database files without some of their rows: copied whole, and the rows deleted in the copy. All else stays as it was written."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from mare.errors import SourceError
from mare.ports import RemovedRows
from mare_adapters.engine import open_duckdb, quoted
from mare_adapters.locations import file_location, sql_location
from mare_adapters.sources.duckdb_catalogue import reflect_duckdb

if TYPE_CHECKING:
    from mare.finding import Location

_AT_A_TIME = 500
"""Rows that one statement deletes."""


def copy_sqlite(location: Location, folder: Path, removed: Mapping[str, RemovedRows]) -> Location:
    """By SQLite's own backup, which sees one state of a file that others write to."""
    source, target = Path(sql_location(str(location)).database), folder / "copy.sqlite"
    try:
        with (
            closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as original,
            closing(sqlite3.connect(target)) as copy,
        ):
            original.backup(copy)
            # What a deletion sets off would change rows of others.
            triggers = [name for (name,) in copy.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")]
            for name in triggers:
                copy.execute(f"DROP TRIGGER {quoted(name)}")
            for table, rows in removed.items():
                _delete_from_sqlite(copy, table, rows)
            copy.commit()
    except sqlite3.Error as error:
        raise SourceError(f"{source} cannot be copied without an entity ({type(error).__name__}).") from None
    return target


def _delete_from_sqlite(copy: sqlite3.Connection, table: str, removed: RemovedRows) -> None:
    described = copy.execute(f"PRAGMA table_info({quoted(table)})").fetchall()
    listed = next((row for row in copy.execute("PRAGMA table_list") if row[1].lower() == table.lower()), None)
    # A table WITHOUT ROWID has a key instead.
    by = [quoted(row[1]) for row in described if row[5]] if listed is not None and listed[4] else ["rowid"]
    # With the columns that were read: an index that holds them all gives rows in its own order.
    asked = ", ".join([*by, *map(quoted, removed.columns)])
    rows = [row[: len(by)] for row in copy.execute(f"SELECT {asked} FROM {quoted(table)}")]
    _check(table, removed, len(rows))
    where = " AND ".join(f"{name} = ?" for name in by)
    copy.executemany(f"DELETE FROM {quoted(table)} WHERE {where}", [rows[place] for place in sorted(removed.places)])


def copy_duckdb(location: Location, folder: Path, removed: Mapping[str, RemovedRows]) -> Location:
    """The file, byte by byte; nobody else may have it open for writing. Children go before their parents, as DuckDB wants it."""
    import duckdb

    source, target = Path(file_location(str(location), "duckdb")), folder / "copy.duckdb"
    try:
        shutil.copyfile(source, target)
        with open_duckdb(str(target)) as copy:
            found = reflect_duckdb(copy).found
            for table, rows in reversed(list(removed.items())):
                relation = f"{quoted(str(found[table].schema))}.{quoted(found[table].name)}"
                numbers = [number for (number,) in copy.execute(f"SELECT rowid FROM {relation} ORDER BY rowid").fetchall()]
                _check(table, rows, len(numbers))
                for part in _parts([numbers[place] for place in sorted(rows.places)]):
                    copy.execute(f"DELETE FROM {relation} WHERE rowid IN ({', '.join(map(str, part))})")
    except duckdb.Error as error:
        raise SourceError(f"{source} cannot be copied without an entity ({type(error).__name__}).") from None
    return target


def _parts(numbers: Sequence[int]) -> list[Sequence[int]]:
    return [numbers[start : start + _AT_A_TIME] for start in range(0, len(numbers), _AT_A_TIME)]


def _check(table: str, removed: RemovedRows, rows: int) -> None:
    """Places are good for nothing where the copy has other rows than were read."""
    if rows != removed.rows:
        raise SourceError(
            f"table {table!r} has {'more' if rows > removed.rows else 'fewer'} rows than were read of it, so it cannot be copied "
            "without an entity. Audit a copy that nothing else writes to."
        )
