"""Each ready schema from a small source in its published shape to a synthetic database: fitted, sampled, sound."""

from __future__ import annotations

import csv
import sqlite3
from contextlib import closing
from datetime import date, datetime, time
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mare
from mare.schema import Schema
from mare.schema.columns import Date, Datetime
from mare.schema.loading import load_schema, ready_names
from tests.command_line import mare as command
from tests.datasets import dataset
from tests.integrity import faults
from tests.published_tables import PublishedColumn, as_csv_folder, as_sqlite, published

SHAPES = {
    "mimic-iii": "mimic-iii",
    "mimic-iv-core": "mimic-iv",
    "mimic-iv-icu": "mimic-iv",
    "omop-cdm-5.4": "omop-cdm-5.4",
    "eicu-core": "eicu",
    "synthea-csv": "synthea-csv",
}
"""`medonc` is the paper's own, with no publisher, and `fhir-r4` names what mare flattens: their source is a folder of what the
schema names."""


def made_up(schema: Schema) -> dict[str, pa.Table]:
    """Rows for the schema, as dirty as `tests.datasets` makes them."""
    with dataset(schema, seed=3, entities=40) as source:
        tables = source.reflect()
        return {
            table.name: pa.Table.from_batches(source.read(table.name, [c.name for c in table.columns]))
            for table in tables
            if table.columns
        }


def source_of(name: str, schema: Schema, folder: Path) -> Path:
    """The rows in the publisher's shape: a database, a folder of CSV files, or Parquet."""
    tables = made_up(schema)
    if name not in SHAPES:
        target = folder / "parquet"
        target.mkdir()
        for table, rows in tables.items():
            pq.write_table(rows, target / f"{table}.parquet")
        return target
    model = SHAPES[name]
    if model == "synthea-csv":
        target = as_csv_folder(model, folder / "csv")
        for table, columns in published(model).items():
            if table in tables:
                with (target / f"{table}.csv").open("a", newline="", encoding="utf-8") as file:
                    csv.writer(file).writerows(shaped(schema, table, tables[table], columns))
        return target
    target = as_sqlite(model, folder / "source.sqlite")
    with closing(sqlite3.connect(target)) as database, database:
        for table, columns in published(model).items():
            if table in tables:
                marks = ", ".join("?" * len(columns))
                database.executemany(
                    f'INSERT OR IGNORE INTO "{table}" VALUES ({marks})', shaped(schema, table, tables[table], columns)
                )
    return target


def shaped(schema: Schema, table: str, rows: pa.Table, columns: tuple[PublishedColumn, ...]) -> list[tuple[object, ...]]:
    """The rows with the published columns, in their order and of their kind."""
    here = {column.casefold(): column for column in rows.column_names}
    formats = {
        column: says.formats[0]  # any of the forms that it is written in
        for column, says in schema.tables[table].columns.items()
        if isinstance(says, Date | Datetime) and says.format is not None
    }
    found = []
    for row in rows.to_pylist():
        values = []
        for column in columns:
            own = here.get(column.name.casefold())
            values.append(stored(None if own is None else row[own], column, formats.get(own or "")))
        found.append(tuple(values))
    return found


def stored(value: object, column: PublishedColumn, form: str | None) -> object:
    if isinstance(value, time):
        value = value.isoformat()
    if isinstance(value, date | datetime):
        value = value.strftime(form) if form else value.isoformat(*([" "] if isinstance(value, datetime) else []))
    if column.kind in "in" and value is not None:
        number = pd.to_numeric(str(value), errors="coerce")
        value = None if pd.isna(number) else number.item()
        if column.kind == "i" and value is not None:
            value = int(value)
    if value is None and column.required:
        return {"s": "", "d": "2000-01-01", "t": "2000-01-01 00:00:00"}.get(column.kind, 0)
    return value


@pytest.mark.slow
@pytest.mark.parametrize("name", ready_names())
def test_a_ready_schema_is_fitted_and_sampled(name: str, tmp_path: Path) -> None:
    schema = load_schema(name)
    source, release = source_of(name, schema, tmp_path), tmp_path / "r.mare"
    checked = command("check", name, "--from", source)
    assert checked.returncode == 0, checked.stdout
    fitted = command("fit", name, "--from", source, "--epsilon", 20, "-o", release, "--quiet", folder=tmp_path)
    assert fitted.returncode == 0, fitted.stderr
    done = command("sample", release, "--to", tmp_path / "out.sqlite", "--entities", 50, "--quiet", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    with closing(sqlite3.connect(tmp_path / "out.sqlite")) as made:
        assert made.execute("PRAGMA foreign_key_check").fetchall() == []
        assert made.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    frames = mare.sample(release, entities=50)
    assert frames is not None
    assert faults(schema, {table: read_times(schema, table, frame) for table, frame in frames.items()}) == []


def read_times(schema: Schema, table: str, frame: pd.DataFrame) -> pd.DataFrame:
    """Moments that the publisher writes as text, as moments."""
    says = schema.tables[table].columns
    return frame.assign(
        **{
            column: pd.to_datetime(frame[column].astype(str), format=described.formats[0]).dt.tz_localize(None)
            for column, described in says.items()
            if isinstance(described, Date | Datetime) and described.format is not None and column in frame
        }
    )
