"""DuckDB files, through DuckDB's own catalogue."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from mare.errors import SourceError
from mare.finding import open_sink, open_source
from mare.ports import SinkTable
from mare.schema.reflection import ColumnOrder, ReflectedColumn, ReflectedTable
from mare_adapters.engine import open_duckdb


@pytest.fixture
def made(tmp_path: Path) -> Path:
    path = tmp_path / "made.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("""
            CREATE TYPE mood AS ENUM ('sad', 'it''s ok');
            CREATE SCHEMA other; CREATE SEQUENCE counter;
            CREATE TABLE people (
                id INTEGER PRIMARY KEY DEFAULT nextval('counter'), mood mood, age INTEGER CHECK (age BETWEEN 0 AND 120),
                "twice d" INTEGER GENERATED ALWAYS AS (age * 2), begun TIMESTAMP, ended TIMESTAMP, code VARCHAR UNIQUE NOT NULL,
                CHECK (begun <= ended), CHECK (length(code) < 9)
            );
            CREATE TABLE pairs (a INTEGER, b INTEGER, PRIMARY KEY (a, b));
            CREATE TABLE twins (a INTEGER, b INTEGER, person INTEGER REFERENCES people (id),
                FOREIGN KEY (a, b) REFERENCES pairs (a, b));
            CREATE INDEX by_person ON twins (person); CREATE UNIQUE INDEX once ON twins (a, person);
            CREATE INDEX sums ON twins ((a + b));
            CREATE TABLE other.pairs (z INTEGER); INSERT INTO other.pairs VALUES (5);
            CREATE VIEW seen AS SELECT * FROM people;
            COMMENT ON TABLE people IS 'persons'; COMMENT ON COLUMN people.age IS 'years';
            CREATE TABLE kinds (h HUGEINT, u UBIGINT, z TIMESTAMPTZ, n TIMESTAMP_NS, i INTERVAL,
                l INTEGER[], s STRUCT(a INTEGER), d UUID);
            INSERT INTO kinds VALUES (12345678901234567890123, 18446744073709551615, '2000-01-01 00:00:00+02', '2000-01-01',
                INTERVAL '1 month 2 days 3 hours', [1, 2], {'a': 1}, '00000000-0000-0000-0000-000000000001');
        """)
    return path


def test_the_catalogue_is_told(made: Path) -> None:
    with open_source(made) as source:
        told = source.reflect()
        assert next(source.read("other.pairs", ["z"])).to_pylist() == [{"z": 5}]
    assert [table.name for table in told] == ["kinds", "main.pairs", "people", "twins", "other.pairs"]
    people, twins = told.table("people"), told.table("twins")
    assert people is not None
    assert twins is not None
    columns = {column.name: column for column in people.columns}
    assert columns["mood"].values == ("sad", "it's ok")
    assert (columns["age"].min, columns["age"].max, columns["age"].comment) == (0, 120, "years")
    assert (columns["id"].autoincrement, columns["id"].generated, columns["twice d"].generated) == (True, False, True)
    assert (columns["code"].nullable, columns["mood"].nullable) == (False, True)
    assert (people.key, people.uniques, people.comment) == (("id",), (("code",),), "persons")
    assert (people.orders, len(people.unread_checks)) == ((ColumnOrder("begun", "ended"),), 1)
    assert [(f.columns, f.table, f.references) for f in twins.foreign_keys] == [
        (("a", "b"), "main.pairs", ("a", "b")),
        (("person",), "people", ("id",)),
    ]
    assert (twins.uniques, twins.indexes) == ((("a", "person"),), (("person",),))
    assert [left.name for left in told.left_out] == ["seen"]


def test_every_kind_of_type_is_read(made: Path) -> None:
    with open_source(f"duckdb:///{made}") as source:
        columns = source.reflect().tables[0].columns
        row = next(source.read("kinds", [column.name for column in columns])).to_pylist()[0]
        peeks = [source.peek("kinds", column.name, 3).kind for column in columns]
    assert row == {
        "h": Decimal("12345678901234567890123"),
        "u": Decimal("18446744073709551615"),
        "z": datetime(1999, 12, 31, 22),
        "n": datetime(2000, 1, 1),
        "i": timedelta(days=32, hours=3),
        "l": "[1, 2]",
        "s": "{'a': 1}",
        "d": "00000000-0000-0000-0000-000000000001",
    }
    assert peeks == [column.kind for column in columns]


def test_what_lies_further_off_than_python_reaches_is_read_as_the_last_that_it_does(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("""
            CREATE TABLE t (d DATE, plain TIMESTAMP, zoned TIMESTAMPTZ, clock TIME, span INTERVAL, coarse TIMESTAMP_S);
            INSERT INTO t VALUES ('infinity', 'infinity', 'infinity', '24:00:00', INTERVAL '1000000 years', 'infinity'),
                ('-infinity', '-infinity', '-infinity', NULL, NULL, '-infinity'),
                ('0044-03-15 (BC)', '0044-03-15 (BC)', '0044-03-15 (BC) 00:00:00+00', NULL, INTERVAL '-1000000 years', NULL);
        """)
    first, last = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999)
    with open_source(tmp_path / "t.duckdb") as source:
        rows = next(source.read("t", ["d", "plain", "zoned", "clock", "span", "coarse"])).to_pylist()
    assert [(row["d"], row["plain"], row["zoned"]) for row in rows] == [
        (moment.date(), moment, moment) for moment in (last, first, first)
    ]
    assert [(row["clock"], row["span"] and row["span"].days) for row in rows] == [
        (last.time(), 10**8),
        (None, None),
        (None, -(10**8)),
    ]
    assert [row["coarse"] for row in rows] == [last, first, None]


def test_what_is_unique_by_an_expression_is_told(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t (a VARCHAR, b INTEGER); CREATE UNIQUE INDEX x ON t (lower(a))")
    with open_source(tmp_path / "t.duckdb") as source:
        (table,) = source.reflect().tables
    assert (table.uniques, table.unread_checks) == ((), ("UNIQUE ((lower(a)))",))


def test_a_type_that_is_not_kept_is_told(tmp_path: Path) -> None:
    columns = (ReflectedColumn("mood", "string", "ENUM('a', 'b')"), ReflectedColumn("n", "number", "DECIMAL(5,2)"))
    with open_sink(tmp_path / "t.duckdb") as sink:
        sink.create([SinkTable(ReflectedTable("t", columns, dialect="duckdb"))])
    assert sink.notes == ("t.mood is VARCHAR: ENUM('a', 'b') is unknown there, or may not hold every value that comes",)


def test_a_file_that_is_not_duckdb_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.duckdb").write_text("no database")
    with pytest.raises(SourceError, match=r"x\.duckdb cannot be opened.*Is it a DuckDB file"):
        open_source(tmp_path / "x.duckdb").__enter__()
    with pytest.raises(SourceError, match=r"gone\.duckdb is not there"):
        open_source(f"duckdb:///{tmp_path}/gone.duckdb").__enter__()


def test_extensions_are_never_installed_or_loaded_by_themselves() -> None:
    with open_duckdb() as connection:
        settings = dict(
            connection.execute("SELECT name, value FROM duckdb_settings() WHERE name LIKE 'auto%_known_extensions'").fetchall()
        )
    assert set(settings.values()) == {"false"}
    assert len(settings) == 2
