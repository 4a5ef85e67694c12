"""Bad input and faults, as whoever runs the commands meets them: a clear word, an exit code, nothing half-written, no secret.

Rows that break their table's rules, names that need quoting, tables without a row. Disks and servers: `test_faults_around.py`.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import psycopg
import pyarrow.csv as arrow_csv
import pytest

from mare.privacy.budget import Budget
from mare.privacy.budget_file import BudgetFile
from tests.command_line import mare
from tests.hospital_jobs import HOSPITAL, hospital, synth
from tests.servers import PostgresServer

__all__ = ["hospital"]

UGLY = """
mare: 1
entity: "Pa'tients ☃"
tables:
  "Pa'tients ☃":
    key: 'the "id"'
    columns:
      sex: {type: category, values: [F, M]}
      born: {type: date, min: 1840-01-01, max: 2210-12-31, nullable: true}
      always: {type: category, values: [same, other]}
      weight: {type: number, min: 0, max: 300, precision: 1, nullable: true}
      note: {type: category, values: ["", a], nullable: true}
  order:
    key: select
    parent: {table: "Pa'tients ☃", column: 'ow"ner', type: sequential, order_by: from, max_rows: 4}
    columns:
      from: {type: datetime, after: previous.from, within: 400y, first: {min: 1844-01-01, max: 2200-12-31}}
      "%s :größe": {type: integer, min: 0, max: 9}
  empty:
    key: nr
    parent: {table: order, column: order, type: independent, max_rows: 3}
    columns:
      x: {type: integer, min: 0, max: 5}
"""
PATIENTS, ORDERS = "Pa'tients ☃", "order"
SEEN = ["1844-02-29 23:59:59", "2200-12-31 00:00:00", "1999-06-15 12:00:00"]


def ugly_patients() -> list[tuple[str | None, ...]]:
    """NULL and the empty text, text among numbers, values beyond the domain, a column that is always the same."""
    rows: list[tuple[str | None, ...]] = []
    for n in range(300):
        weight = ("12.5", "heavy", "-4", "1e9", None, "70")[n % 6]
        rows.append((str(n), "FM?"[n % 3], ("1844-02-29", "2200-12-31", None)[n % 3], "same", weight, ("", "a", None)[n % 3]))
    return rows


def ugly_orders() -> list[tuple[str | None, ...]]:
    """Of every third patient, some of nobody (a parent that is not there), some without a parent at all."""
    rows: list[tuple[str | None, ...]] = []
    for n in range(0, 300, 3):
        rows += [(f"{n}{k}", str(n), SEEN[k % 3], str(n % 12)) for k in range(n % 6)]
    rows += [(f"9{n:05}", "no such patient", SEEN[0], "3") for n in range(7)]
    rows += [(f"8{n:05}", None, SEEN[0], "3") for n in range(5)]
    return rows


UGLY_TABLES = {
    PATIENTS: (('the "id"', "sex", "born", "always", "weight", "note"), ugly_patients()),
    ORDERS: (("select", 'ow"ner', "from", "%s :größe"), ugly_orders()),
    "empty": (("nr", "order", "x"), []),
}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def as_sqlite(folder: Path) -> Path:
    path = folder / "ugly.sqlite"
    with closing(sqlite3.connect(path)) as database, database:
        for table, (columns, rows) in UGLY_TABLES.items():
            database.execute(f"CREATE TABLE {quoted(table)} ({', '.join(map(quoted, columns))})")
            database.executemany(f"INSERT INTO {quoted(table)} VALUES ({', '.join('?' * len(columns))})", rows)
    return path


def as_csv(folder: Path) -> Path:
    path = folder / "ugly"
    path.mkdir()
    for table, (columns, rows) in UGLY_TABLES.items():
        lines = [",".join(map(quoted, columns)), *(",".join("" if v is None else quoted(v) for v in row) for row in rows)]
        (path / f"{table}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def ugly(tmp_path: Path) -> Path:
    path = tmp_path / "ugly.yaml"
    path.write_text(UGLY, encoding="utf-8")
    return path


@pytest.mark.parametrize("as_source", [as_sqlite, as_csv], ids=["sqlite", "csv"])
def test_dirty_rows_are_counted_on_the_spot_and_a_sound_database_comes_out(as_source: object, ugly: Path, tmp_path: Path) -> None:
    source, target = as_source(tmp_path), tmp_path / "out.sqlite"  # type: ignore[operator]
    checked = mare("check", ugly, "--from", source)
    assert checked.returncode == 0, checked.stdout
    done = synth(ugly, source, target, tmp_path, "--internal-notes", "notes.txt")
    assert done.returncode == 0, done.stderr
    # In true numbers, where they were asked for, and nowhere else: 12 orders without an owner, three weights a patient in six.
    noted = (tmp_path / "notes.txt").read_text(encoding="utf-8")
    assert "order: 12 rows without a parent were left out (internal, not private)" in noted
    assert f"{PATIENTS}.weight: 150 values outside its domain" in noted
    assert f"{PATIENTS}.sex: 100 values outside its domain" in noted
    assert "internal, not private" not in done.stderr
    assert "heavy" not in done.stderr + done.stdout + noted
    with closing(sqlite3.connect(target)) as made:
        assert made.execute("PRAGMA foreign_key_check").fetchall() == []
        assert made.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        patients = made.execute(f"SELECT * FROM {quoted(PATIENTS)}").fetchall()
        assert 200 < len(patients) < 400
        assert {row[1] for row in patients} <= {"F", "M", None}
        assert all(row[2] is None or "1840-01-01" <= row[2] <= "2210-12-31" for row in patients)
        years = {row[2][:4] for row in patients if row[2]}
        assert years & {"1844", "1843", "1845"}
        assert years & {"2200", "2199", "2201"}
        assert {row[5] for row in patients} == {"", "a", None}
        assert all(row[4] is None or 0 <= float(row[4]) <= 300 for row in patients)
        childless = made.execute(
            f'SELECT count(*) FROM {quoted(PATIENTS)} WHERE "the ""id""" NOT IN (SELECT "ow""ner" FROM "order")'
        ).fetchone()
        assert childless[0] > 100
        orders = made.execute('SELECT "from", "%s :größe" FROM "order"').fetchall()
        assert orders
        # Four orders at most, the first by 2200, each at most 400 years after the one before.
        assert all("1844" <= moment[:4] <= "3400" and 0 <= int(size) <= 9 for moment, size in orders)


def test_a_text_in_a_column_that_a_database_declares_to_hold_numbers_ends_nothing_and_is_told_in_the_notes(
    hospital: Path, tmp_path: Path
) -> None:
    """SQLite alone lets that happen. To refuse it would tell that somebody has such a value."""
    source = tmp_path / "hospital.sqlite"
    source.write_bytes(hospital.read_bytes())
    with closing(sqlite3.connect(source)) as database, database:
        database.execute("UPDATE admissions SET crp = 'zorp' WHERE admission_id = 7")
    done = synth(HOSPITAL, source, tmp_path / "out.sqlite", tmp_path, "--internal-notes", tmp_path / "notes")
    assert done.returncode == 0, done.stderr
    told = (tmp_path / "notes").read_text()
    assert "admissions.crp: 1 values that its type in the source cannot hold were read as NULL (internal, not private)" in told
    assert "zorp" not in told + done.stdout + done.stderr
    assert "read as NULL" not in done.stdout + done.stderr  # the card names the column, as always


def test_names_and_empty_texts_come_through_every_kind_of_target(
    ugly: Path, postgres_server: PostgresServer, tmp_path: Path
) -> None:
    source, release = as_csv(tmp_path), tmp_path / "r.mare"
    fitted = mare("fit", ugly, "--from", source, "--epsilon", 30, "-o", release, folder=tmp_path)
    assert fitted.returncode == 0, fitted.stderr
    url = postgres_server.create_database()
    for target in (tmp_path / "out.duckdb", f"{tmp_path / 'text'}?format=csv", tmp_path / "parquet", url):
        done = mare("sample", release, "--to", target, "--seed", 3, folder=tmp_path)
        assert done.returncode == 0, done.stderr
    query = f"SELECT note, count(*) FROM {quoted(PATIENTS)} GROUP BY note"
    with psycopg.connect(url) as server, duckdb.connect(str(tmp_path / "out.duckdb")) as file:
        told = dict(server.execute(query).fetchall())
        assert dict(file.execute(query).fetchall()) == told
        assert server.execute('SELECT count(*) FROM "empty"').fetchone() is not None
    options = arrow_csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False)
    notes = arrow_csv.read_csv(tmp_path / "text" / f"{PATIENTS}.csv", convert_options=options)["note"].to_pylist()
    assert {note: notes.count(note) for note in set(notes)} == told
    assert set(told) == {"", "a", None}


def test_a_key_that_two_rows_share_is_refused_without_telling_it(ugly: Path, tmp_path: Path) -> None:
    source = as_sqlite(tmp_path)
    with closing(sqlite3.connect(source)) as database, database:
        database.execute(f'INSERT INTO {quoted(PATIENTS)} SELECT * FROM {quoted(PATIENTS)} WHERE "the ""id""" = \'217\'')
    budget = BudgetFile.create(tmp_path / "b", Budget(100.0, 1e-6), "b", datetime(2026, 1, 1, tzinfo=UTC))
    done = synth(ugly, source, tmp_path / "out.sqlite", tmp_path, "-o", tmp_path / "r.mare", "--budget-file", tmp_path / "b")
    assert done.returncode == 2
    assert 'its key (the "id") is not unique' in done.stderr
    assert "217" not in done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["b", "ugly.sqlite", "ugly.yaml"]
    # Rows had been read: what was reserved is gone.
    assert len(budget.read().reservations) == 1


def test_a_database_without_a_single_row_is_synthesized(ugly: Path, tmp_path: Path) -> None:
    source = as_sqlite(tmp_path)
    with closing(sqlite3.connect(source)) as database, database:
        for table in UGLY_TABLES:
            database.execute(f"DELETE FROM {quoted(table)}")
    done = synth(ugly, source, tmp_path / "out.sqlite", tmp_path)
    assert done.returncode == 0, done.stderr
    with closing(sqlite3.connect(tmp_path / "out.sqlite")) as made:
        assert made.execute("PRAGMA foreign_key_check").fetchall() == []


def test_what_was_left_out_is_not_in_the_release(ugly: Path, tmp_path: Path) -> None:
    """True numbers are for the screen: neither the release nor what --json prints may hold them."""
    release = tmp_path / "r.mare"
    done = mare("fit", ugly, "--from", as_csv(tmp_path), "--epsilon", 30, "-o", release, "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "internal" not in done.stdout + done.stderr
    assert "outside" not in json.dumps(json.loads(done.stdout))
