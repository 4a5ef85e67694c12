"""Real data from a drafted and reviewed schema to a synthetic database, with the default model and by the command line.

Chinook is kept in the tests; MIMIC-IV's demo and NAFLD stand beside the project where they are there. What a person changed
in each draft is in `tests/draft_edits.py`.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pandas as pd
import psycopg
import pyarrow.parquet as pq
import pytest

import mare
from mare.schema import Schema
from mare.schema.columns import Date, Datetime
from mare.schema.loading import load_schema
from tests.command_line import mare as command
from tests.draft_edits import CHINOOK, CHINOOK_FACTS, CHINOOK_POSTGRES, MIMIC_FACTS, NAFLD_FACTS, Edit, edited
from tests.integrity import faults
from tests.servers import PostgresServer, chinook_postgres

CHINOOK_FILE = Path(__file__).parents[1] / "fixtures" / "chinook" / "chinook.sqlite"


def reviewed(source: object, facts: tuple[str, ...], edits: tuple[Edit, ...], folder: Path) -> Path:
    """The draft as a person leaves it: checked against the source, and planned."""
    schema = folder / "schema.yaml"
    assert command("init", source, "-o", folder / "draft.yaml", *facts).returncode == 0
    schema.write_text(edited((folder / "draft.yaml").read_text(), edits))
    for arguments in (("check", schema, "--from", source), ("plan", schema, "--epsilon", 2)):
        done = command(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
    return schema


def run_whole(source: object, schema: Path, folder: Path, *options: object) -> None:
    """Fit once, then fill each kind of target; each target's own keys hold, and so does everything that the schema says."""
    release = folder / "r.mare"
    fitted = command("fit", schema, "--from", source, "--epsilon", 2, "-o", release, "--quiet", folder=folder)
    assert fitted.returncode == 0, fitted.stderr
    for target in ("out.sqlite", "out.duckdb", "out"):
        done = command("sample", release, "--to", folder / target, "--quiet", *options, folder=folder)
        assert done.returncode == 0, done.stderr
    described = load_schema(schema)
    parquet = {file.stem: pq.read_table(file).to_pandas() for file in (folder / "out").glob("*.parquet")}
    with closing(sqlite3.connect(folder / "out.sqlite")) as made, duckdb.connect(str(folder / "out.duckdb")) as other:
        assert made.execute("PRAGMA foreign_key_check").fetchall() == []
        assert made.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        for table, rows in parquet.items():
            count = f'SELECT count(*) FROM "{table}"'
            assert made.execute(count).fetchone() == (len(rows),)
            assert other.execute(count).fetchall() == [(len(rows),)]
        declared = other.execute("SELECT count(*) FROM duckdb_constraints() WHERE constraint_type = 'FOREIGN KEY'").fetchall()
        assert declared[0][0] > 0
    assert faults(described, {table: with_times(described, table, rows) for table, rows in parquet.items()}) == []


def with_times(schema: Schema, table: str, frame: pd.DataFrame) -> pd.DataFrame:
    """Moments that the source keeps as text, as moments."""
    says = schema.tables[table].columns
    times = [column for column, described in says.items() if isinstance(described, Date | Datetime) and column in frame]
    return frame.assign(**{column: pd.to_datetime(frame[column]) for column in times})


@pytest.mark.slow
def test_chinook(tmp_path: Path) -> None:
    run_whole(CHINOOK_FILE, reviewed(CHINOOK_FILE, CHINOOK_FACTS, CHINOOK, tmp_path), tmp_path)


@pytest.mark.shared
@pytest.mark.slow
def test_nafld(shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "nafld"
    run_whole(source, reviewed(source, NAFLD_FACTS, (), tmp_path), tmp_path, "--entities", 2000)


@pytest.mark.shared
@pytest.mark.slow
def test_mimic(shared_data: Path, tmp_path: Path) -> None:
    """A hundred patients, twenty tables: noise drowns what is in it. What must hold holds all the same."""
    source = shared_data / "mimic4_demo_partial"
    run_whole(source, reviewed(source, MIMIC_FACTS, (), tmp_path), tmp_path, "--entities", 5)


@pytest.mark.shared
@pytest.mark.slow
def test_mimic_with_the_ready_schema(shared_data: Path, tmp_path: Path) -> None:
    source, release = shared_data / "mimic4_demo_partial", tmp_path / "r.mare"
    done = command("fit", "mimic-iv-core", "--from", source, "--epsilon", 2, "-o", release, "--quiet", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    made = mare.sample(release, entities=200)
    assert made is not None
    assert faults(load_schema("mimic-iv-core"), made) == []


def test_chinook_from_postgres_into_postgres_with_every_constraint(postgres_server: PostgresServer, tmp_path: Path) -> None:
    source, target = chinook_postgres(postgres_server), postgres_server.create_database()
    schema = reviewed(source, CHINOOK_FACTS, CHINOOK_POSTGRES, tmp_path)
    done = command("synth", schema, "--from", source, "--to", target, "--epsilon", 2, "--quiet", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    kinds = "SELECT contype::text, count(*) FROM pg_constraint WHERE connamespace = 'public'::regnamespace GROUP BY 1"
    with psycopg.connect(source) as real, psycopg.connect(target) as made:
        assert dict(made.execute(kinds).fetchall()) == dict(real.execute(kinds).fetchall())
        assert made.execute("SELECT count(*) FROM pg_constraint WHERE NOT convalidated").fetchone() == (0,)
        assert made.execute("SELECT count(*) FROM invoice_line").fetchone() != (0,)
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            made.execute("UPDATE invoice SET customer_id = -1")
