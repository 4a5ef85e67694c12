"""What the catalogue of MariaDB and of MySQL tells."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal

import pytest

from mare.errors import SourceError
from mare.finding import open_source
from mare.ports import compared
from mare.schema.reflection import ColumnOrder
from tests.servers import MysqlServer

pytestmark = pytest.mark.slow

SCRIPT = """
CREATE TABLE patients (
    id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
    sex ENUM('F', 'it''s') COMMENT 'at birth',
    age INT CHECK (age BETWEEN 0 AND 120),
    unit VARCHAR(9) CHECK (unit IN ('ICU', 'ward')),
    born DATE, begun DATETIME, ended DATETIME(3),
    doc JSON, ok BOOLEAN, flag BIT(1), flags BIT(10), clock TIME, year YEAR, big DECIMAL(30, 5), tags SET('x', 'y'), raw BLOB,
    place POINT,
    twice INT AS (age * 2) STORED,
    CONSTRAINT ordered CHECK (begun <= ended), CHECK (length(unit) < 9)
) COMMENT 'people';
CREATE TABLE `order` (`Über "x" 50% :y` INT PRIMARY KEY, patient INT UNSIGNED, `select` VARCHAR(5),
    FOREIGN KEY (patient) REFERENCES patients (id), UNIQUE (patient, `select`), KEY (`select`));
CREATE TABLE pairs (a INT, b INT, PRIMARY KEY (a, b));
CREATE TABLE twins (a INT, b INT, FOREIGN KEY (a, b) REFERENCES pairs (a, b));
CREATE TABLE odd (`a``b` INT);
CREATE VIEW seen AS SELECT id FROM patients;
INSERT INTO patients (id, sex, age, born, begun, ended, doc, ok, flag, flags, clock, year, big, tags, raw) VALUES
    (1, 'F', 5, '1844-01-01', '2000-01-01', '2001-01-01 00:00:00.123', '{"a": 1}', true, 1, 515, '10:30',
    2020, 12345678901234567890.5, 'x,y', x'00ff');
SET sql_mode = '';
INSERT INTO patients (id, born, begun, ended) VALUES (2, '0000-00-00', '0000-00-00 00:00:00', '0000-00-00 00:00:00.000');
INSERT INTO `order` VALUES (7, 1, 'hé');
"""
MANY = (
    """
CREATE TABLE t (n INT PRIMARY KEY AUTO_INCREMENT, x CHAR(200));
INSERT INTO t (x) VALUES (repeat('x', 200));
"""
    + 18 * "INSERT INTO t (x) SELECT x FROM t;"
)


@pytest.fixture(scope="module")
def url(either_server: MysqlServer) -> str:
    sequence = "CREATE SEQUENCE counter;" if either_server.scheme == "mariadb" else ""
    return either_server.create_database(sequence + SCRIPT)


def test_the_catalogue_is_told(either_server: MysqlServer, url: str) -> None:
    mariadb = either_server.scheme == "mariadb"
    with open_source(url) as source:
        told = source.reflect()
    assert [table.name for table in told] == ["order", "pairs", "patients", "twins"]
    patients, order, twins = told.table("patients"), told.table("order"), told.table("twins")
    assert patients is not None
    assert order is not None
    assert twins is not None
    columns = {column.name: column for column in patients.columns}
    assert (columns["sex"].values, columns["sex"].comment) == (("F", "it's"), "at birth")
    assert (columns["age"].min, columns["age"].max, columns["unit"].values) == (0, 120, ("ICU", "ward"))
    assert (columns["id"].min, columns["id"].autoincrement, columns["id"].sql_type) == (
        0,
        True,
        "int(10) unsigned" if mariadb else "int unsigned",
    )
    kinds = {
        "doc": "json",
        "place": "other",
        "ok": "boolean",
        "flag": "boolean",
        "clock": "time",
        "year": "integer",
        "tags": "string",
        "big": "number",
    }
    assert {name: columns[name].kind for name in kinds} == kinds
    assert (columns["twice"].generated, columns["tags"].max_length, columns["big"].digits) == (True, None, 30)
    assert (patients.orders, patients.comment) == ((ColumnOrder("begun", "ended"),), "people")
    assert len(patients.unread_checks) == 1
    assert (order.uniques, order.indexes) == ((("patient", "select"),), (("select",),))
    assert [(f.columns, f.table, f.references) for f in twins.foreign_keys] == [(("a", "b"), "pairs", ("a", "b"))]
    assert {left.name: left.reason.split(":")[0] for left in told.left_out} == {
        "seen": "a view",
        **({"counter": "a sequence"} if mariadb else {}),
        "odd": "its name or a column's holds a backtick, which SQLAlchemy does not read",
    }


def test_checks_are_read_letter_by_letter(either_server: MysqlServer) -> None:
    url = either_server.create_database(r"""
        CREATE TABLE `5% of "t" :x` (
            `Größe` INT CHECK (`Größe` > -3), word VARCHAR(9) CHECK (word IN ('ü☃', 'it''s', '"q"', 'per%', '`', '(')),
            seen DATETIME(6) CHECK (seen >= TIMESTAMP'1900-01-01 00:00:00'), born DATE CHECK (born < '2100-01-01'),
            share DECIMAL(5, 2) CHECK (share >= 0 AND share < 100), slashed VARCHAR(9) CHECK (slashed IN ('a\\b', 'c')),
            pattern VARCHAR(9) CHECK (pattern LIKE 'A%')
        )
    """)
    with open_source(url) as source:
        (table,) = source.reflect().tables
    columns = {column.name: column for column in table.columns}
    assert columns["Größe"].min == -2
    assert columns["word"].values == ("ü☃", "it's", '"q"', "per%", "`", "(")
    assert (columns["seen"].min, columns["born"].max) == (datetime(1900, 1, 1), date(2099, 12, 31))
    assert (columns["share"].min, columns["share"].max) == (0, 99.99)
    unread = " ".join(table.unread_checks)
    assert "pattern" in unread
    # MariaDB does not tell which of its backslashes escape; such a list is not guessed at.
    assert columns["slashed"].values == ("a\\b", "c") or "slashed" in unread


def test_what_mysql_makes_unique_by_an_expression_is_told_and_not_taken_for_its_columns(mysql_server: MysqlServer) -> None:
    url = mysql_server.create_database(
        "CREATE TABLE t (a VARCHAR(9), b INT, c INT, UNIQUE KEY ((lower(a))), UNIQUE KEY (b, (c + 1)), KEY ((c * 2)))"
    )
    with open_source(url) as source:
        (table,) = source.reflect().tables
    assert (table.uniques, table.indexes) == ((), ())
    assert {text.replace("`", "") for text in table.unread_checks} == {"UNIQUE (b, (c + 1))", "UNIQUE (lower(a))"}


def test_a_check_that_is_not_enforced_promises_nothing(mysql_server: MysqlServer) -> None:
    url = mysql_server.create_database("CREATE TABLE t (a INT CHECK (a > 0) NOT ENFORCED, b INT CHECK (b > 0))")
    with open_source(url) as source:
        (table,) = source.reflect().tables
    assert ([column.min for column in table.columns], table.unread_checks) == ([None, 1], ())


def test_the_servers_own_quotes_and_escapes_do_not_matter(either_server: MysqlServer) -> None:
    url = either_server.create_database(
        "CREATE TABLE `a b` (a INT, c CHAR(5), w VARCHAR(9) CHECK (w IN ('x', 'it''s'))); INSERT INTO `a b` VALUES (1, 'y', 'x')"
    )
    either_server.run(None, "SET GLOBAL sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH'")
    try:
        with open_source(url) as source:
            (table,) = source.reflect().tables
            assert table.column("w").values == ("x", "it's")  # type: ignore[union-attr]
            assert next(source.read("a b", ["a", "c"])).to_pylist() == [{"a": 1, "c": "y"}]
    finally:
        either_server.run(None, "SET GLOBAL sql_mode = DEFAULT")


def test_values_come_through_and_a_zero_date_is_null(url: str) -> None:
    with open_source(url) as source:
        names = [
            "id",
            "sex",
            "born",
            "begun",
            "ended",
            "doc",
            "ok",
            "flag",
            "flags",
            "clock",
            "year",
            "big",
            "tags",
            "raw",
            "twice",
        ]
        first, second = next(source.read("patients", names)).to_pylist()
        assert next(source.read("order", ['Über "x" 50% :y', "select"])).to_pylist() == [{'Über "x" 50% :y': 7, "select": "hé"}]
        assert source.peek("patients", "sex", 3).values == ("F",)
    assert first == {
        "id": 1,
        "sex": "F",
        "born": date(1844, 1, 1),
        "begun": datetime(2000, 1, 1),
        "ended": datetime(2001, 1, 1, 0, 0, 0, 123_000),
        "doc": '{"a": 1}',
        "ok": True,
        "flag": True,
        "flags": 515,
        "clock": time(10, 30),
        "year": 2020,
        "big": Decimal("12345678901234567890.50000"),
        "tags": "x,y",
        "raw": b"\x00\xff",
        "twice": 10,
    }
    assert (second["born"], second["begun"], second["ended"]) == (None, None, None)


def test_what_a_collation_calls_equal_is_one_text_in_its_form_and_nothing_else_is(either_server: MysqlServer) -> None:
    url = either_server.create_database("""
        CREATE TABLE people (code VARCHAR(9), ward INT, PRIMARY KEY (code, ward));
        CREATE TABLE exact (code VARCHAR(9) COLLATE utf8mb4_bin PRIMARY KEY);
        CREATE TABLE old (code VARCHAR(9) CHARACTER SET latin1 COLLATE latin1_swedish_ci PRIMARY KEY);
        CREATE TABLE visits (n INT, who VARCHAR(9), ward INT, boss VARCHAR(9) COLLATE utf8mb4_bin,
            FOREIGN KEY (who, ward) REFERENCES people (code, ward), FOREIGN KEY (boss) REFERENCES exact (code));
        INSERT INTO people VALUES ('Müller', 1), ('Müller', 2), ('b', 1);
        INSERT INTO exact VALUES ('x'), ('X');
        INSERT INTO visits VALUES (1, 'MÜLLER', 2, 'X'), (2, 'B', 1, 'x'), (3, NULL, 1, NULL), (4, 'b', NULL, NULL);
        SET foreign_key_checks = 0;
        INSERT INTO visits VALUES (5, 'Nobody', 1, NULL), (6, '', 1, NULL);
        INSERT INTO old VALUES ('Ä'), ('o ');
    """)
    with open_source(url) as source:
        told = source.reflect()

        def form(table: str, column: str, like: tuple[str, str]) -> list[str]:
            (there,) = (c for t in told.tables for c in t.columns if (t.name, c.name) == like)
            return [v for b in source.read(table, [compared(column, there.collation)]) for v in b.column(0).to_pylist()]

        plain = [tuple(row.values()) for row in next(source.read("visits", ["n", "who", "boss"])).to_pylist()]
        b, mueller, again = sorted(form("people", "code", ("people", "code")), key=len)
        who = form("visits", "who", ("people", "code"))
        exact, boss = form("exact", "code", ("exact", "code")), form("visits", "boss", ("exact", "code"))
        old = form("old", "code", ("old", "code"))
    assert sorted(plain)[:2] == [(1, "MÜLLER", "X"), (2, "B", "x")]  # read as they are
    assert mueller == again != b
    assert sorted(map(str, who)) == sorted(map(str, [mueller, b, None, b, "", *(set(who) - {mueller, b, None, ""})]))
    assert len(set(exact)) == 2
    assert set(boss) - {None} == set(exact)
    assert len(set(old)) == 2


def test_a_value_beyond_what_mare_reads_is_the_last_that_it_does(either_server: MysqlServer) -> None:
    url = either_server.create_database(
        "CREATE TABLE t (n INT, spent TIME, big BIGINT UNSIGNED, flag TINYINT(1));"
        "INSERT INTO t VALUES (1, '100:00:00', 18446744073709551615, 7), (2, '10:00:00', 5, 0), (3, '-10:00:00', NULL, 1)"
    )
    with open_source(url) as source:
        rows = sorted(tuple(row.values()) for b in source.read("t", ["n", "spent", "big", "flag"]) for row in b.to_pylist())
    assert rows == [(1, time.max, 2**64 - 1, True), (2, time(10), 5, False), (3, time.min, None, True)]


def test_tables_without_rights_are_left_out_with_a_word(either_server: MysqlServer, url: str) -> None:
    name, role = url.rpartition("/")[2], either_server.create_role("word")
    either_server.run(
        name, f"GRANT SELECT ON pairs TO {role}; GRANT INSERT ON patients TO {role}; GRANT SELECT (a) ON twins TO {role}"
    )
    with open_source(either_server.url(name, role, "word")) as source:
        told = source.reflect()
        assert [table.name for table in told] == ["pairs"]
        assert {("patients", "no right to read"), ("twins", "no right to read all of its columns")} <= {
            (left.name, left.reason) for left in told.left_out
        }
        with pytest.raises(SourceError, match=r"no table 'patients' that can be read \(no right to read\)"):
            source.read("patients", ["id"])


def test_a_connection_that_drops_in_the_middle_is_told(either_server: MysqlServer) -> None:
    url = either_server.create_database(MANY)
    with open_source(url) as source:
        batches = iter(source.read("t", ["n", "x"]))
        assert next(batches).num_rows > 0
        either_server.drop_connections(url)
        with pytest.raises(SourceError, match="closed the connection") as refused:
            list(batches)
    assert either_server.password not in str(refused.value)
