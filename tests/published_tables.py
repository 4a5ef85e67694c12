"""Empty sources in the shape of published data models (`tests/fixtures/published`), to check the ready schemas against."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "fixtures" / "published"
_COLUMN = re.compile(r"(\w+) ([insdtb])(\*?)(!?)")
_SQL = {"i": "INTEGER", "n": "NUMERIC", "s": "VARCHAR(255)", "d": "DATE", "t": "TIMESTAMP", "b": "BOOLEAN"}


@dataclass(frozen=True)
class PublishedColumn:
    """One column as its documentation describes it."""

    name: str
    kind: str
    key: bool
    required: bool


def published(model: str) -> dict[str, tuple[PublishedColumn, ...]]:
    """The tables of a published model, with their columns."""
    tables = {}
    for line in (FOLDER / f"{model}.txt").read_text().splitlines():
        table, _, columns = line.partition(":")
        parsed = [_COLUMN.fullmatch(text.strip()) for text in columns.split(",")]
        tables[table] = tuple(PublishedColumn(m[1], m[2], bool(m[3]), bool(m[4])) for m in parsed if m is not None)
        assert len(parsed) == len(tables[table]), f"{model}.txt: a column of {table} cannot be read"
    return tables


def as_sqlite(model: str, path: Path) -> Path:
    """An empty SQLite database of that shape."""
    with sqlite3.connect(path) as connection:
        for table, columns in published(model).items():
            parts = [f'"{c.name}" {_SQL[c.kind]}{" NOT NULL" if c.required else ""}' for c in columns]
            if keys := [f'"{c.name}"' for c in columns if c.key]:
                parts.append(f"PRIMARY KEY ({', '.join(keys)})")
            connection.execute(f'CREATE TABLE "{table}" ({", ".join(parts)})')
    connection.close()
    return path


def as_csv_folder(model: str, folder: Path) -> Path:
    """A folder of CSV files that hold nothing but their header."""
    folder.mkdir()
    for table, columns in published(model).items():
        (folder / f"{table}.csv").write_text(",".join(c.name for c in columns) + "\n")
    return folder
