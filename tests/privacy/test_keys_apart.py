"""Keys that a source tells apart are read apart, whatever its types say: rounded to one, two patients' rows would change hands.

Reading is total, so 2.5 among whole numbers and bytes among texts are read as something. Of a value that may be the nearest that
its type holds. Of a key it may not: what refers to the odd patient's 2.5 would belong to whoever has the 2, and go when the odd
one goes.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mare.audit import physical_audit
from mare.finding import Location, open_source
from mare.stage.intake import staging_database
from mare.stage.loading import load_rows, reading_of
from mare.stage.needs import TableNeeds
from tests.privacy.physical_hospital import planned

KEYED = TableNeeds("stays", None, ("sid",), (), (), (), {})
Row = tuple[object, ...]

TABLES = """
PRAGMA foreign_keys = ON;
CREATE TABLE patients (pid INT PRIMARY KEY, sex TEXT, smoker BOOLEAN, born DATE, weight REAL, visits INT, town TEXT);
CREATE TABLE stays (sid {type} PRIMARY KEY, pid INT REFERENCES patients, step INT, begins TIMESTAMP, ward TEXT);
CREATE TABLE events (sid {type} REFERENCES stays, seq INT, value REAL);
"""


def hospital_of(path: Path, kind: str, rows: dict[str, list[Row]]) -> Location:
    """SQLite itself checks whose rows they are."""
    with sqlite3.connect(path) as database:
        database.executescript(TABLES.format(type=kind))
        for table, content in rows.items():
            for row in content:
                database.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    database.close()
    return str(path)


@pytest.mark.parametrize(
    ("kind", "ordinary", "odd"),
    [("INT", 2, 2.5), ("INT", 2**63 - 1, 1e30), ("DATE", "2000-01-01", "2000-01-01 05:00"), ("TEXT", b"a\xff", b"a\xfe")],
    ids=["a fraction", "beyond 64 bits", "a moment among dates", "texts that are not UTF-8"],
)
def test_what_refers_to_an_odd_key_is_not_taken_for_somebody_elses(
    tmp_path: Path, kind: str, ordinary: object, odd: object
) -> None:
    patients: list[Row] = [(pid, "F", 1, "1980-01-01", 70.0, 3, "x") for pid in range(1, 9)]
    stays: list[Row] = [(ordinary if pid == 1 else 100 + pid, pid, 1, "2010-01-01", "a") for pid in range(1, 9)]
    events: list[Row] = [(stay[0], turn, 10.0 * turn) for stay in stays for turn in (1, 2)]
    rest = {"patients": patients, "stays": stays, "events": events}
    theirs: dict[str, list[Row]] = {
        "patients": [(50, "M", 0, "1990-01-01", 60.0, 1, "y")],
        "stays": [(odd, 50, 1, "2012-01-01", "b")],
        "events": [(odd, turn, 90.0) for turn in range(10, 14)],
    }
    there = hospital_of(tmp_path / "with.sqlite", kind, {table: rest[table] + theirs[table] for table in rest})
    gone = hospital_of(tmp_path / "without.sqlite", kind, rest)
    report = physical_audit(planned(), there, gone)
    assert report.passed, report.render()


def staged_keys(location: Location) -> list[object]:
    with open_source(location) as source, staging_database() as connection:
        reading = reading_of(KEYED, [KEYED], source.reflect(), {})
        load_rows(connection, "stays", KEYED, source.read("stays", reading.columns(KEYED)), reading=reading)
        return [key for (key,) in connection.execute("SELECT k0 FROM stays").fetchall()]


def test_texts_of_files_that_are_not_utf_8_are_read_apart(tmp_path: Path) -> None:
    """A file in Latin-1: MÜ1 and MÖ1."""
    latin = ["MÜ1".encode("latin-1"), "MÖ1".encode("latin-1")]
    (tmp_path / "csv").mkdir()
    (tmp_path / "csv" / "stays.csv").write_bytes(b"sid\n" + b"\n".join(latin) + b"\n")
    (tmp_path / "parquet").mkdir()
    pq.write_table(pa.table({"sid": pa.array(latin, pa.binary()).view(pa.string())}), tmp_path / "parquet" / "stays.parquet")
    for form in ("csv", "parquet"):
        assert len(set(staged_keys(tmp_path / form))) == 2, form


def test_a_key_is_the_same_in_whatever_type_sqlite_stores_it(tmp_path: Path) -> None:
    """12 as a whole number, as a float and as a text is one key, as references between such columns need it."""
    with sqlite3.connect(tmp_path / "a.sqlite") as database:
        database.execute("CREATE TABLE stays (sid)")
        database.executemany("INSERT INTO stays VALUES (?)", [(12,), (12.0,), ("12",), (12.5,), (None,), (b"12",), (0.1,)])
    database.close()
    assert staged_keys(str(tmp_path / "a.sqlite")) == ["12", "12", "12", "12.5", None, "x3132", "0.10000000000000001"]
