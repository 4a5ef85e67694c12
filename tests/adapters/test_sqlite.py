"""SQLite, where a declared type is only a word: what is told from the word, and what stored values make of it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import date, datetime, time
from pathlib import Path

import pytest

from mare.errors import SourceError
from mare.finding import open_source
from mare.ports import Forgiving, compared
from mare.schema.reflection import ColumnOrder
from mare_adapters.dialects.sqlite import declared_kind


@pytest.fixture
def made(tmp_path: Path) -> Path:
    return tmp_path / "made.sqlite"


def run(path: Path, script: str) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(script)
    return path


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        ("INTEGER", "integer"),
        ("unsigned big int", "integer"),
        ("BOOLEAN", "boolean"),
        ("NVARCHAR(70)", "string"),
        ("STRING", "string"),
        ("DATETIME", "datetime"),
        ("TIMESTAMP WITH TIME ZONE", "datetime"),
        ("DATE", "date"),
        ("TIME", "time"),
        ("DOUBLE PRECISION", "number"),
        ("DECIMAL(10,5)", "number"),
        ("BLOB", "binary"),
        ("", "unknown"),
        ("GEOMETRY", "unknown"),
    ],
)
def test_the_declared_word_tells_the_kind(declared: str, kind: str) -> None:
    assert declared_kind(declared) == kind


def test_checks_keys_and_generated_columns_are_told_from_the_statement(made: Path) -> None:
    run(
        made,
        """
        CREATE TABLE "stay s" (
            id INTEGER PRIMARY KEY, -- CHECK (id > 5) is only a comment
            [unit] TEXT DEFAULT 'check (x)' CHECK ([unit] IN ('a)', 'b')),
            begun DATE, ended DATE, nights INTEGER CHECK (nights > 0 AND nights <= 30),
            twice INTEGER GENERATED ALWAYS AS (nights * 2) STORED,
            whole NUMERIC(10, 0),
            CONSTRAINT ordered CHECK (begun < ended), CHECK (lower(unit) = unit)
        );
        CREATE UNIQUE INDEX one ON "stay s" (begun, ended); CREATE UNIQUE INDEX some ON "stay s" (unit) WHERE nights > 3;
        CREATE TABLE child (stay REFERENCES "stay s");
    """,
    )
    with open_source(made) as source:
        child, table = sorted(source.reflect(), key=lambda t: t.name)
    assert [(f.columns, f.table, f.references) for f in child.foreign_keys] == [(("stay",), "stay s", ("id",))]
    columns = {column.name: column for column in table.columns}
    assert columns["unit"].values == ("a)", "b")
    assert (columns["nights"].min, columns["nights"].max) == (1, 30)
    assert (columns["id"].autoincrement, columns["id"].min, columns["id"].nullable) == (True, None, False)
    assert (columns["twice"].generated, columns["twice"].sql_type, columns["twice"].kind) == (True, "INTEGER", "integer")
    assert columns["whole"].kind == "integer"
    assert table.orders == (ColumnOrder("begun", "ended", strict=True),)
    assert table.unread_checks == ("UNIQUE (unit) WHERE nights > 3", "lower(unit) = unit")
    assert (table.uniques, table.indexes) == ((("begun", "ended"),), (("unit",),))


def test_keys_are_read_as_they_are_or_in_the_form_by_which_their_collation_compares_them(tmp_path: Path) -> None:
    path = tmp_path / "u.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript("""
            CREATE TABLE people (code TEXT COLLATE NOCASE PRIMARY KEY, boss TEXT REFERENCES people);
            CREATE TABLE visits (who TEXT REFERENCES people, n INTEGER);
            CREATE TABLE exact (code TEXT COLLATE NOCASE);
            CREATE UNIQUE INDEX told_apart ON exact (code COLLATE BINARY);
            INSERT INTO people VALUES ('a', NULL), ('b', 'A');
            INSERT INTO visits VALUES ('A', 1), ('b', 2), (NULL, 3), ('c', 4);
        """)
    with open_source(path) as source:
        told = source.reflect()
        assert {(t.name, c.name): c.collation for t in told.tables for c in t.columns if c.collation != "EXACT"} == {
            ("people", "code"): "NOCASE"
        }
        assert next(source.read("people", ["code", "boss"])).to_pylist() == [
            {"code": "a", "boss": None},
            {"code": "b", "boss": "A"},
        ]
        asked = next(source.read("visits", ["who", compared("who", "NOCASE"), compared("n", "NOCASE")]))
        assert [tuple(row) for row in zip(*(column.to_pylist() for column in asked.columns), strict=True)] == [
            ("A", "a", "1"),
            ("b", "b", "2"),
            (None, None, "3"),
            ("c", "c", "4"),
        ]
        with pytest.raises(SourceError, match="compares nothing by the collation 'x'"):
            list(source.read("visits", [compared("who", "x")]))


def test_a_declared_length_binds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "u.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript("CREATE TABLE t (a VARCHAR(3)); INSERT INTO t VALUES ('longer')")
    with open_source(path) as source:
        (column,) = source.reflect().tables[0].columns
    assert (column.sql_type, column.max_length) == ("VARCHAR(3)", None)


def test_what_is_unique_in_a_way_that_is_not_kept_is_told(tmp_path: Path) -> None:
    path = tmp_path / "u.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript("""
            CREATE TABLE t (a TEXT, b INTEGER UNIQUE);
            CREATE UNIQUE INDEX x ON t (lower(a));
            CREATE UNIQUE INDEX y ON t (a) WHERE b > 0;
            CREATE INDEX z ON t (upper(a));
        """)
    with open_source(path) as source:
        (table,) = source.reflect().tables
    assert table.uniques == (("b",),)
    assert table.unread_checks == ("UNIQUE (a) WHERE b > 0", "CREATE UNIQUE INDEX x ON t (lower(a))")


def test_views_and_virtual_tables_are_left_out_with_a_word(made: Path) -> None:
    run(made, "CREATE TABLE t (a INTEGER); CREATE VIEW v AS SELECT a FROM t; CREATE VIRTUAL TABLE f USING fts5(a);")
    with open_source(made) as source:
        told = source.reflect()
    assert [table.name for table in told] == ["t"]
    reasons = {left.name: left.reason for left in told.left_out}
    assert reasons["v"].startswith("a view")
    assert reasons["f"].startswith("a virtual table")
    assert reasons["f_data"] == "serves the virtual table f"


def test_moments_are_read_as_sqlite_stores_them(made: Path) -> None:
    run(
        made,
        """
        CREATE TABLE t (d DATE, m DATETIME, c TIME, b BOOLEAN);
        INSERT INTO t VALUES ('1844-02-29', '2000-01-01 10:00:00.5', '10:30', 'true'),
            ('2000-01-01 00:00', '2000-01-01T10:00:00Z', NULL, 0),
            (86400, 86400, '', ''), (2451544.5, 2451545, '23:59:59', 1), ('', NULL, NULL, NULL);
    """,
    )
    with open_source(made) as source:
        rows = next(source.read("t", ["d", "m", "c", "b"])).to_pylist()
    assert [row["d"] for row in rows] == [date(1844, 2, 29), date(2000, 1, 1), date(1970, 1, 2), date(2000, 1, 1), None]
    assert [row["m"] for row in rows][:4] == [
        datetime(2000, 1, 1, 10, 0, 0, 500_000),
        datetime(2000, 1, 1, 10),
        datetime(1970, 1, 2),
        datetime(2000, 1, 1, 12),
    ]
    assert [row["c"] for row in rows] == [time(10, 30), None, None, time(23, 59, 59), None]
    assert [row["b"] for row in rows] == [True, False, None, True, None]


def test_numbers_stored_otherwise_than_declared_are_read_as_declared(made: Path) -> None:
    run(
        made,
        "CREATE TABLE t (n INTEGER, x REAL, s TEXT, u);"
        "INSERT INTO t VALUES (7.0, 3, 5, 1), ('', '', '', 'a'), (NULL, NULL, NULL, NULL)",
    )
    with open_source(made) as source:
        rows = next(source.read("t", ["n", "x", "s", "u"])).to_pylist()
    assert rows == [{"n": 7, "x": 3.0, "s": "5", "u": "1"}, {"n": None, "x": None, "s": "", "u": "a"}, dict.fromkeys("nxsu")]


@pytest.mark.parametrize(
    ("declared", "stored", "read", "unread"),
    [
        ("INTEGER", "'unknown'", None, 1),
        ("INTEGER", "1.5", 2, 0),
        ("INTEGER", "1e30", 2**63 - 1, 0),
        ("DATE", "'unknown'", None, 1),
        ("DATE", "1e30", None, 1),
        ("BOOLEAN", "2", True, 0),
        ("BOOLEAN", "'maybe'", None, 1),
        ("TIME", "'25:00'", None, 1),
        ("REAL", "'> 89'", None, 1),
        ("TEXT", "CAST(x'746f70ff' AS TEXT)", "top\uefff", 0),
    ],
)
def test_a_value_that_breaks_the_declared_type_is_read_by_itself_and_ends_nothing(
    made: Path, declared: str, stored: str, read: object, unread: int
) -> None:
    run(made, f"CREATE TABLE t (id INTEGER, a {declared}); INSERT INTO t VALUES (1, {stored}), (2, NULL), (3, '')")
    with open_source(made) as source:
        rows = {row["id"]: row["a"] for batch in source.read("t", ["id", "a"]) for row in batch.to_pylist()}
        assert isinstance(source, Forgiving)
        assert dict(source.unread) == ({"t.a": unread} if unread else {})
    run(made, "DELETE FROM t WHERE id = 1")
    with open_source(made) as source:
        others = {row["id"]: row["a"] for batch in source.read("t", ["id", "a"]) for row in batch.to_pylist()}
    assert rows[1] == read
    assert {key: value for key, value in rows.items() if key != 1} == others  # whoever else is there


def test_an_undeclared_column_tells_its_kind_when_peeked_at(made: Path) -> None:
    run(made, "CREATE TABLE t (a, b); INSERT INTO t VALUES (1, '2000-01-01'), (22, NULL)")
    with open_source(made) as source:
        assert source.reflect().tables[0].columns[0].kind == "unknown"
        first, second = source.peek("t", "a", 5), source.peek("t", "b", 5)
    assert (first.kind, first.values) == ("integer", (1, 22))
    assert (second.kind, second.min) == ("date", date(2000, 1, 1))


def test_a_reference_to_a_table_that_is_not_there_is_left_out_with_a_word(made: Path) -> None:
    run(made, "CREATE TABLE t (a INTEGER REFERENCES gone (id))")
    with open_source(made) as source:
        told = source.reflect()
    assert told.tables[0].foreign_keys == ()
    assert [(left.name, left.reason) for left in told.left_out] == [("t (a)", "refers to gone, which is left out")]


def test_a_file_that_is_not_there_or_not_a_database_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"gone\.sqlite is not there"):
        open_source(tmp_path / "gone.sqlite")
    with pytest.raises(SourceError, match=r"gone\.sqlite cannot be read as a SQLite database"):
        open_source(f"sqlite:///{tmp_path}/gone.sqlite").__enter__()
    assert not (tmp_path / "gone.sqlite").exists()
    (tmp_path / "text.db").write_text("this is no database, it is a text of some length" * 50)
    with pytest.raises(SourceError, match=r"text\.db cannot be read as a SQLite database"):
        open_source(tmp_path / "text.db").__enter__()


def test_a_url_names_the_file_with_three_slashes_and_a_path_with_four(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(made, "CREATE TABLE t (a INTEGER)")
    monkeypatch.chdir(made.parent)
    for url in (f"sqlite:///{made.name}", f"sqlite:///{made}"):
        with open_source(url) as source:
            assert [table.name for table in source.reflect()] == ["t"]


def test_a_unique_column_is_known_whatever_its_type_says(made: Path) -> None:
    """SQLAlchemy reads the words of a table, and misses those behind a length."""
    run(made, "CREATE TABLE t (id INTEGER PRIMARY KEY, email VARCHAR(200) NOT NULL UNIQUE, a INT, b INT, UNIQUE (a, b))")
    with open_source(made) as source:
        assert source.reflect().tables[0].uniques == (("a", "b"), ("email",))
