"""What is special about MariaDB as a target: nothing is seen before the tables are renamed, and what a kill leaves is swept."""

from __future__ import annotations

from typing import Any

import pytest

from mare.errors import SinkError
from mare.finding import open_sink, open_source
from mare.ports import SinkTable
from mare.schema.reflection import ReflectedColumn, ReflectedTable
from tests.servers import CHINOOK, MariadbServer
from tests.targets import LINES, ROWS, TABLES, batch, fill, read, write

pytestmark = pytest.mark.slow

SIMPLE = ReflectedTable("t", (ReflectedColumn("a", "integer", nullable=False),), key=("a",))
ONE = batch(SIMPLE, [{"a": 1}])


def rows(server: MariadbServer, url: str, query: str) -> list[Any]:
    import pymysql

    name = url.rpartition("/")[2]
    with pymysql.connect(
        host=server.host, port=server.port, user="root", password=server.password, database=name, autocommit=True
    ) as connection:
        cursor = connection.cursor()
        cursor.execute(query)
        return list(cursor.fetchall())


def write_simple(url: str, *, replace: bool = False) -> None:
    with open_sink(url, replace=replace) as sink:
        sink.create([SinkTable(SIMPLE)])
        sink.write("t", ONE)


def test_a_database_is_written_with_the_sources_own_types(mariadb_server: MariadbServer) -> None:
    source = mariadb_server.create_database("""
        CREATE TABLE a (
            id INT UNSIGNED PRIMARY KEY, sex ENUM('F', 'it''s') NOT NULL, tiny TINYINT, year YEAR, big DECIMAL(30,5),
            at DATETIME(3), stamp TIMESTAMP NULL, v VARCHAR(7), m MEDIUMTEXT, flag BIT(1), f FLOAT, doc JSON, raw VARBINARY(9)
        )
    """)
    with open_source(source) as opened:
        (table,) = opened.reflect().tables
    target = mariadb_server.create_database()
    with open_sink(target) as sink:
        sink.create([SinkTable(table)])
    with open_source(target) as opened:
        (made,) = opened.reflect().tables
    assert [(c.name, c.sql_type, c.values) for c in made.columns] == [(c.name, c.sql_type, c.values) for c in table.columns]
    assert made.column("doc").kind == "json"  # type: ignore[union-attr]


def test_chinook_is_copied_with_its_names_cycles_and_keys(mariadb_server: MariadbServer) -> None:
    source, target = str(CHINOOK / "chinook.sqlite"), mariadb_server.create_database()
    for replace in (False, True):
        with open_source(source) as opened, open_sink(target, replace=replace) as sink:
            reflection = opened.reflect()
            sink.create([SinkTable(table) for table in reflection.tables])
            for table in reflection.tables:
                for part in opened.read(table.name, [column.name for column in table.columns]):
                    sink.write(table.name, part)
        with open_source(target) as opened:
            made = {table.name: table for table in opened.reflect()}
        assert set(made) == {table.name for table in reflection}
        for table in reflection:
            ours = {(f.columns, f.table, f.references) for f in made[table.name].foreign_keys}
            assert ours == {(f.columns, f.table, f.references) for f in table.foreign_keys}
            assert made[table.name].key == table.key
        for name, held in read(source).items():  # rows come back in the order of their keys
            assert sorted(map(repr, read(target)[name])) == sorted(map(repr, held))


def test_a_backtick_in_a_name_is_quoted(mariadb_server: MariadbServer) -> None:
    url = mariadb_server.create_database()
    table = ReflectedTable("a`b 5%", (ReflectedColumn("c`%s", "integer"),))
    with open_sink(url) as sink:
        sink.create([SinkTable(table)])
        sink.write("a`b 5%", batch(table, [{"c`%s": 1}]))
    assert rows(mariadb_server, url, "SELECT `c``%s` FROM `a``b 5%`") == [(1,)]


def test_nobody_sees_a_table_of_ours_before_the_end(mariadb_server: MariadbServer) -> None:
    url = mariadb_server.create_database()
    names = {table.name for table in TABLES}
    with open_sink(url) as sink:
        fill(sink)
        assert not names & set(read(url))
    assert set(read(url)) == names


def test_other_tables_are_left_alone(mariadb_server: MariadbServer) -> None:
    url = mariadb_server.create_database("CREATE TABLE mine (a int); INSERT INTO mine VALUES (5)")
    write(url)
    write(url, replace=True)
    assert rows(mariadb_server, url, "SELECT a FROM mine") == [(5,)]
    assert len(read(url)) == len(TABLES) + 1


def test_a_table_that_others_refer_to_is_not_replaced(mariadb_server: MariadbServer) -> None:
    url = mariadb_server.create_database(
        "CREATE TABLE t (a INT PRIMARY KEY); INSERT INTO t VALUES (7);CREATE TABLE mine (a INT, FOREIGN KEY (a) REFERENCES t (a))"
    )
    with pytest.raises(SinkError, match=r"other tables refer to those to be replaced: mine \(to t\)"):
        write_simple(url, replace=True)
    assert rows(mariadb_server, url, "SELECT a FROM t") == [(7,)]


def test_tables_that_are_there_and_empty_are_filled_as_they_are(mariadb_server: MariadbServer) -> None:
    url = mariadb_server.create_database("CREATE TABLE t (a INT PRIMARY KEY, extra VARCHAR(5) DEFAULT 'x')")
    write_simple(url)
    assert rows(mariadb_server, url, "SELECT * FROM t") == [(1, "x")]
    url = mariadb_server.create_database("CREATE TABLE `lines` (patient BIGINT, line BIGINT)")
    with pytest.raises(SinkError, match=r"holds lines, without rows, but not order, Patients, empty"):
        write(url)


def test_an_exception_leaves_tables_that_were_there_empty(mariadb_server: MariadbServer) -> None:
    url = mariadb_server.create_database("CREATE TABLE t (a INT PRIMARY KEY)")
    with pytest.raises(SinkError, match="a key twice"), open_sink(url) as sink:
        fill(sink, {"t": [{"a": 1}, {"a": 1}]}, (SIMPLE,))
    assert rows(mariadb_server, url, "SELECT * FROM t") == []


def test_what_a_killed_run_has_left_is_dropped_but_not_what_a_running_one_holds(mariadb_server: MariadbServer) -> None:
    url = mariadb_server.create_database("CREATE TABLE __mare_0123abcd_1 (a int); CREATE TABLE __mare_mine (a int)")
    with open_sink(url) as running:
        running.create([SinkTable(LINES)])
        write_simple(url)
        staged = {name for (name,) in rows(mariadb_server, url, "SHOW TABLES")}
        assert "__mare_0123abcd_1" not in staged
        assert len([name for name in staged if name.startswith("__mare_")]) == 2
    assert set(read(url)) == {"t", "lines", "__mare_mine"}


def test_a_user_without_create_rights_is_told_before_the_fit(mariadb_server: MariadbServer) -> None:
    url = mariadb_server.create_database()
    name, role = url.rpartition("/")[2], mariadb_server.create_role("s3cret-word")
    mariadb_server.run(name, f"GRANT SELECT, INSERT ON `{name}`.* TO {role}")
    theirs = mariadb_server.url(name, role, "s3cret-word")
    with pytest.raises(SinkError, match=r"no right to do that.*right to create tables") as refused, open_sink(theirs) as sink:
        sink.expect(["t"])
    assert "s3cret-word" not in str(refused.value)
    with pytest.raises(SinkError, match="no right to do that"):
        write_simple(theirs)


def drop_connection(server: MariadbServer, url: str) -> None:
    name = url.rpartition("/")[2]
    others = f"SELECT ID FROM information_schema.PROCESSLIST WHERE DB = '{name}' AND ID <> CONNECTION_ID()"
    for (number,) in rows(server, url, others):
        server.run(None, f"KILL {number}")


def fill_and_drop(server: MariadbServer, url: str, *, at_the_end: bool) -> None:
    with open_sink(url) as sink:
        fill(sink)
        drop_connection(server, url)
        if not at_the_end:
            sink.write("lines", batch(LINES, [{"patient": 1, "line": 9}]))


@pytest.mark.parametrize("at_the_end", [False, True])
def test_a_connection_that_drops_in_the_middle_leaves_nothing(mariadb_server: MariadbServer, at_the_end: bool) -> None:
    url = mariadb_server.create_database()
    with pytest.raises(SinkError, match="closed the connection"):
        fill_and_drop(mariadb_server, url, at_the_end=at_the_end)
    assert rows(mariadb_server, url, "SHOW TABLES") == []


def test_a_connection_that_drops_before_anything_was_begun_is_made_again(mariadb_server: MariadbServer) -> None:
    url = mariadb_server.create_database()
    with open_sink(url) as sink:
        drop_connection(mariadb_server, url)
        fill(sink)
    assert len(read(url)["Patients"]) == len(ROWS["Patients"])
