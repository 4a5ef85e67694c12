"""What the catalogue of MariaDB tells."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal

import pytest

from mare.errors import SourceError
from mare.finding import open_source
from mare.schema.reflection import ColumnOrder
from tests.servers import MariadbServer

pytestmark = pytest.mark.slow

SCRIPT = """
CREATE TABLE patients (
    id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
    sex ENUM('F', 'it''s') COMMENT 'at birth',
    age INT CHECK (age BETWEEN 0 AND 120),
    unit VARCHAR(9) CHECK (unit IN ('ICU', 'ward')),
    born DATE, begun DATETIME, ended DATETIME(3),
    doc JSON, ok BOOLEAN, flag BIT(1), clock TIME, year YEAR, big DECIMAL(30, 5), tags SET('x', 'y'), raw BLOB,
    twice INT AS (age * 2) STORED,
    CONSTRAINT ordered CHECK (begun <= ended), CHECK (length(unit) < 9)
) COMMENT 'people';
CREATE TABLE `order` (`Über "x" 50% :y` INT PRIMARY KEY, patient INT UNSIGNED, `select` VARCHAR(5),
    FOREIGN KEY (patient) REFERENCES patients (id), UNIQUE (patient, `select`), KEY (`select`));
CREATE TABLE pairs (a INT, b INT, PRIMARY KEY (a, b));
CREATE TABLE twins (a INT, b INT, FOREIGN KEY (a, b) REFERENCES pairs (a, b));
CREATE TABLE odd (`a``b` INT);
CREATE VIEW seen AS SELECT id FROM patients;
CREATE SEQUENCE counter;
INSERT INTO patients (id, sex, age, born, begun, ended, doc, ok, flag, clock, year, big, tags, raw) VALUES
    (1, 'F', 5, '1844-01-01', '2000-01-01', '2001-01-01 00:00:00.123', '{"a": 1}', true, 1, '10:30',
    2020, 12345678901234567890.5, 'x,y', x'00ff');
SET sql_mode = '';
INSERT INTO patients (id, born, begun) VALUES (2, '0000-00-00', '0000-00-00 00:00:00');
INSERT INTO `order` VALUES (7, 1, 'hé');
"""


@pytest.fixture(scope="module")
def url(mariadb_server: MariadbServer) -> str:
    return mariadb_server.create_database(SCRIPT)


def test_the_catalogue_is_told(url: str) -> None:
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
    assert (columns["id"].min, columns["id"].autoincrement, columns["id"].sql_type) == (0, True, "int(10) unsigned")
    kinds = {
        "doc": "json",
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
        "counter": "a sequence",
        "odd": "its name or a column's holds a backtick, which SQLAlchemy does not read",
    }


def test_values_come_through_and_a_zero_date_is_null(url: str) -> None:
    with open_source(url) as source:
        names = ["id", "sex", "born", "begun", "ended", "doc", "ok", "flag", "clock", "year", "big", "tags", "raw", "twice"]
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
        "clock": time(10, 30),
        "year": 2020,
        "big": Decimal("12345678901234567890.50000"),
        "tags": "x,y",
        "raw": b"\x00\xff",
        "twice": 10,
    }
    assert (second["born"], second["begun"]) == (None, None)


def test_tables_without_rights_are_left_out_with_a_word(mariadb_server: MariadbServer, url: str) -> None:
    name, role = url.rpartition("/")[2], mariadb_server.create_role("word")
    mariadb_server.run(
        name, f"GRANT SELECT ON pairs TO {role}; GRANT INSERT ON patients TO {role}; GRANT SELECT (a) ON twins TO {role}"
    )
    with open_source(mariadb_server.url(name, role, "word")) as source:
        told = source.reflect()
        assert [table.name for table in told] == ["pairs"]
        assert {("patients", "no right to read"), ("twins", "no right to read all of its columns")} <= {
            (left.name, left.reason) for left in told.left_out
        }
        with pytest.raises(SourceError, match=r"no table 'patients' that can be read \(no right to read\)"):
            source.read("patients", ["id"])


def test_a_connection_that_drops_in_the_middle_is_told(mariadb_server: MariadbServer) -> None:
    url = mariadb_server.create_database("CREATE TABLE t AS SELECT seq AS n, repeat('x', 500) AS x FROM seq_1_to_200000")
    name = url.rpartition("/")[2]
    with open_source(url) as source:
        batches = iter(source.read("t", ["n", "x"]))
        assert next(batches).num_rows > 0
        for thread in threads_of(mariadb_server, name):
            mariadb_server.run(None, f"KILL {thread}")
        with pytest.raises(SourceError, match="closed the connection") as refused:
            list(batches)
    assert mariadb_server.password not in str(refused.value)


def threads_of(server: MariadbServer, database: str) -> list[int]:
    import pymysql

    with pymysql.connect(host=server.host, port=server.port, user="root", password=server.password) as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT id FROM information_schema.processlist WHERE db = %s", (database,))
        return [int(number) for (number,) in cursor.fetchall()]
