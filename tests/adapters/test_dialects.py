"""A database family is one object: somebody else's is one file and one entry point, and mare's own know where their types end."""

from __future__ import annotations

import importlib
import sqlite3
import sys
from contextlib import closing
from datetime import date, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from mare.errors import SinkError, SourceError
from mare.finding import open_sink, open_source
from mare.ports import SinkTable
from mare.schema.reflection import Bound, ReflectedColumn, ReflectedTable
from mare_adapters.dialects import find_dialect
from mare_adapters.sources.arrow_kinds import reflected_field

SLATE = '''
"""Two families on top of SQLite: one says its name and its driver and no more, the other changes what it likes."""

from mare_adapters.dialects import Dialect
from mare_adapters.dialects.sqlite import Sqlite


class Slate(Dialect):
    name = "slate"
    title = "Slate"
    driver = "sqlite"
    is_file = True
    whole_number_bytes = {"smallint": 1}

    def begin(self, connection, location):
        connection.exec_driver_sql("PRAGMA query_only = 1")
        return ()

    def kind_of(self, stored):
        return "uuid" if str(stored) == "CHAR(36)" else None


class Chalk(Sqlite):
    name = "chalk"
    title = "Chalk"
    words = {**Sqlite.words, "string": "CHALK TEXT"}

    def cause_of(self, error):
        return "is out of chalk"
'''
POINTS = """[mare.dialects]
slate = somebodys_families:Slate
chalk = somebodys_families:Chalk
suffix-chalk = somebodys_families:Chalk
"""


@pytest.fixture
def families(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Installed as any distribution is: a module, and a folder that lists its entry points. Gives a folder for data."""
    site, data = tmp_path / "site-packages", tmp_path / "data"
    (site / "somebodys-1.0.dist-info").mkdir(parents=True)
    data.mkdir()
    (site / "somebodys_families.py").write_text(SLATE)
    (site / "somebodys-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: somebodys\nVersion: 1.0\n")
    (site / "somebodys-1.0.dist-info" / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(site)
    monkeypatch.delitem(sys.modules, "somebodys_families", raising=False)
    importlib.invalidate_caches()
    return data


def stones(path: Path) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("""
            CREATE TABLE quarries (id INTEGER PRIMARY KEY, name VARCHAR(20) NOT NULL, CHECK (id > 0));
            CREATE TABLE stones (
                id INTEGER PRIMARY KEY, quarry INTEGER NOT NULL REFERENCES quarries (id),
                weight NUMERIC(5, 2), found DATE, small SMALLINT, mark CHAR(36), UNIQUE (quarry, weight)
            );
            CREATE VIEW heavy AS SELECT * FROM stones WHERE weight > 9;
            INSERT INTO quarries VALUES (1, 'Carrara'), (2, 'Paros');
            INSERT INTO stones VALUES (7, 1, 2.5, '1844-02-29', 3, NULL), (8, 2, NULL, NULL, NULL, NULL);
        """)
    return path


def test_a_family_that_says_its_name_and_driver_is_read_through_sqlalchemy(families: Path) -> None:
    stones(families / "s.db")
    with open_source(f"slate:///{families}/s.db") as source:
        reflection = source.reflect()
        table = reflection.table("stones")
        assert table is not None
        assert (table.dialect, table.key, table.uniques) == ("slate", ("id",), (("quarry", "weight"),))
        assert [(key.columns, key.table) for key in table.foreign_keys] == [(("quarry",), "quarries")]
        assert [left.name for left in reflection.left_out] == ["heavy"]
        assert [column.kind for column in table.columns] == ["integer", "integer", "number", "date", "integer", "uuid"]
        assert (table.columns[4].lowest, table.columns[4].highest) == (-128, 127)
        (batch,) = source.read("stones", ["id", "weight", "found", "small"])
        assert [tuple(row.values()) for row in batch.to_pylist()] == [(7, 2.5, date(1844, 2, 29), 3), (8, None, None, None)]
        assert source.peek("quarries", "name", 5).values == ("Carrara", "Paros")
        with pytest.raises(SourceError, match="a slate database compares nothing by the collation 'x_y'"):
            list(source.read("quarries", ["name COLLATE x_y"]))
    with pytest.raises(SinkError, match=r"mare reads Slate databases, but writes none\."):
        open_sink(f"slate:///{families}/new.db")


def test_a_family_made_of_another_is_read_and_written_in_its_own_words(families: Path) -> None:
    columns = (ReflectedColumn("id", "integer", nullable=False), ReflectedColumn("name", "string"))
    target = families / "new.chalk"
    with open_sink(target) as sink:
        sink.create([SinkTable(ReflectedTable("quarries", columns, key=("id",)))], "r1")
        sink.write("quarries", pa.record_batch({"id": [1, 2], "name": ["Carrara", None]}))
    with open_source(target) as source:
        (table,) = source.reflect().tables
        assert (table.dialect, [column.sql_type for column in table.columns]) == ("chalk", ["INTEGER", "CHALK TEXT"])
        (batch,) = source.read("quarries", ["id", "name"])
    assert batch.to_pylist() == [{"id": 1, "name": "Carrara"}, {"id": 2, "name": None}]
    with pytest.raises(SinkError, match="exists already"), open_sink(f"chalk:///{target}"):
        pass


def test_a_family_tells_what_went_wrong_in_its_own_words(families: Path) -> None:
    stones(families / "s.chalk")
    with open_source(families / "s.chalk") as source:
        source.reflect()
        (families / "s.chalk").write_bytes(b"no database any more" * 1000)
        with pytest.raises(SourceError, match=r"table stones cannot be read: .*s\.chalk is out of chalk\."):
            list(source.read("stones", ["id"]))


def test_a_url_of_no_family_is_told_with_those_that_are_installed(families: Path) -> None:
    with pytest.raises(SourceError, match=r"opens quartz://\. Known: .*chalk://.*slate://"):
        open_source("quartz://h/d")


@pytest.mark.parametrize(
    ("dialect", "kind", "word", "low", "high"),
    [
        ("postgresql", "integer", "smallint", -32768, 32767),
        ("postgresql", "integer", "integer", -(2**31), 2**31 - 1),
        ("postgresql", "integer", "bigint", None, None),
        ("postgresql", "datetime", "timestamp(3)", None, None),
        ("mysql", "integer", "int(10) unsigned", 0, 2**32 - 1),
        ("mysql", "integer", "int unsigned", 0, 2**32 - 1),
        ("mysql", "integer", "int(5) unsigned zerofill", 0, 2**32 - 1),
        ("mysql", "integer", "tinyint(4)", -128, 127),
        ("mysql", "integer", "mediumint(9)", -(2**23), 2**23 - 1),
        ("mysql", "integer", "bigint(20)", None, None),
        ("mysql", "integer", "year", 1901, 2155),
        ("mysql", "integer", "year(4)", 1901, 2155),
        ("mysql", "number", "decimal(5,2) unsigned", 0, None),
        ("mysql", "datetime", "timestamp(3)", datetime(1970, 1, 1, 0, 0, 1), datetime(2038, 1, 19, 3, 14, 7)),
        ("mysql", "datetime", "datetime(3)", None, None),
        ("sqlite", "integer", "SMALLINT", None, None),
    ],
)
def test_a_family_knows_where_its_types_end(dialect: str, kind: str, word: str, low: Bound | None, high: Bound | None) -> None:
    family = find_dialect(dialect)
    assert family is not None
    assert family.ends_of(ReflectedColumn("c", kind, word)) == (low, high)  # type: ignore[arg-type]


@pytest.mark.parametrize(("stored", "low", "high"), [(pa.uint16(), 0, 65535), (pa.int32(), -(2**31), 2**31 - 1)])
def test_a_parquet_file_tells_where_its_types_end(stored: pa.DataType, low: int, high: int) -> None:
    column = reflected_field(pa.field("n", stored))
    assert (column.lowest, column.highest) == (low, high)


def test_a_duckdb_file_tells_where_its_types_end(tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "x.duckdb")) as connection:
        connection.execute("CREATE TABLE t (a UTINYINT, b INTEGER, c BIGINT, d DECIMAL(4, 0))")
    with open_source(tmp_path / "x.duckdb") as source:
        (table,) = source.reflect().tables
    ends = [(column.lowest, column.highest) for column in table.columns]
    assert ends == [(0, 255), (-(2**31), 2**31 - 1), (None, None), (None, None)]
