"""A world's tables as the source that its owner would have, and any source or target as frames again."""

from __future__ import annotations

import csv
import sqlite3
from datetime import date
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd

from tests.benchmarks.worlds.tools import Frames

from .world import Row, Tables, World


def store(world: World, tables: Tables, folder: Path) -> Path:
    tables = {name: [tuple(_plain(value) for value in row) for row in made] for name, made in tables.items()}
    if world.kind == "sqlite":
        place = folder / f"{world.name}.sqlite"
        with sqlite3.connect(place) as source:
            source.executescript(world.tables)
            for name, made in tables.items():
                source.executemany(f'INSERT INTO "{name}" VALUES ({", ".join("?" * len(made[0]))})', made)
        source.close()
    elif world.kind == "duckdb":
        place = folder / f"{world.name}.duckdb"
        with duckdb.connect(str(place)) as target:
            target.execute(world.tables)
            for name, made in tables.items():
                frame = pd.DataFrame(made, dtype=object)
                target.register("made", frame.astype(str).where(frame.notna(), None))
                target.execute(f"INSERT INTO {name} SELECT * FROM made")
                target.unregister("made")
    else:
        place = folder / (world.name if world.kind == "folder" else f"{world.name}.csv")
        place.mkdir() if world.kind == "folder" else None
        for line in world.tables.strip().splitlines():
            name, _, header = line.partition(": ")
            file = place / f"{name}.csv" if world.kind == "folder" else place
            _write_csv(file, header.split(", "), tables[name], world.separator)
    return place


def _write_csv(file: Path, header: list[str], made: list[Row], separator: str) -> None:
    with file.open("w", newline="", encoding="utf-8-sig" if separator == ";" else "utf-8") as out:
        writer = csv.writer(out, delimiter=separator)
        writer.writerows([header, *made])


def _plain(value: object) -> object:
    """As every source takes it: no type of numpy's; times as text, which DuckDB reads by the column's type."""
    if isinstance(value, np.generic):
        value = value.item()
    return str(value) if isinstance(value, date) else value


def read(place: Path) -> Frames:
    if place.suffix == ".sqlite":
        with sqlite3.connect(place) as source:
            named = source.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%mare%'").fetchall()
            frames = {name: pd.read_sql(f'SELECT * FROM "{name}"', source) for (name,) in named}
        source.close()
        return frames
    if place.suffix == ".duckdb":
        with duckdb.connect(str(place), read_only=True) as source:
            named = source.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main'").fetchall()
            return {name: source.execute(f'SELECT * FROM "{name}"').df() for (name,) in named}
    files = sorted(place.glob("*.csv")) if place.is_dir() else [place]
    how = {"sep": None, "engine": "python", "dtype": str, "encoding": "utf-8-sig", "keep_default_na": False}
    return {file.stem: pd.read_csv(file, na_values=["", " ", "n/a"], **how) for file in files}
