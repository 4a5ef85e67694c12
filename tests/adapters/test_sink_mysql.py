"""What is special about MariaDB and MySQL as targets: nothing is seen before tables are renamed, what a kill leaves is swept."""

from __future__ import annotations

import pytest

from mare.errors import SinkError
from mare.finding import open_sink, open_source
from mare.ports import SinkTable
from mare.schema.reflection import ReflectedColumn, ReflectedForeignKey, ReflectedTable
from mare_adapters.sinks.target import mark_of
from tests.servers import CHINOOK, MysqlServer
from tests.targets import LINES, ROWS, TABLES, Row, batch, fill, read, write

pytestmark = pytest.mark.slow

SIMPLE = ReflectedTable("t", (ReflectedColumn("a", "integer", nullable=False),), key=("a",))
ONE = batch(SIMPLE, [{"a": 1}])


def write_simple(url: str, *, replace: bool = False) -> None:
    with open_sink(url, replace=replace) as sink:
        sink.create([SinkTable(SIMPLE)])
        sink.write("t", ONE)


def test_a_database_is_written_with_the_sources_own_types(either_server: MysqlServer) -> None:
    source = either_server.create_database("""
        CREATE TABLE a (
            id INT UNSIGNED PRIMARY KEY, sex ENUM('F', 'it''s') NOT NULL, tiny TINYINT, year YEAR, big DECIMAL(30,5),
            at DATETIME(3), stamp TIMESTAMP NULL, v VARCHAR(7), m MEDIUMTEXT, flag BIT(1), f FLOAT, doc JSON, raw VARBINARY(9),
            flags BIT(8), exact VARCHAR(7) COLLATE utf8mb4_bin, padded INT(5) ZEROFILL
        )
    """)
    with open_source(source) as opened:
        (table,) = opened.reflect().tables
    target = either_server.create_database()
    with open_sink(target) as sink:
        sink.create([SinkTable(table)])
    with open_source(target) as opened:
        (made,) = opened.reflect().tables
    assert [(c.name, c.sql_type, c.values) for c in made.columns] == [(c.name, c.sql_type, c.values) for c in table.columns]
    assert made.column("doc").kind == "json"  # type: ignore[union-attr]


def test_a_type_that_is_not_kept_is_told(either_server: MysqlServer) -> None:
    columns = (
        ReflectedColumn("tags", "string", "set('x','y')"),
        ReflectedColumn("place", "other", "point", nullable=False),
        ReflectedColumn("long", "string", "varchar(16000)", max_length=16_000),
        ReflectedColumn("wide", "string", "VARCHAR(9) COLLATE latin1_german1_ci", max_length=9),
        ReflectedColumn("doc", "json", "longtext"),
        ReflectedColumn("plain", "integer", "int unsigned"),
    )
    with open_sink(either_server.create_database()) as sink:
        sink.create([SinkTable(ReflectedTable("t", columns, dialect="mysql"))])
    assert [note.partition(":")[0] for note in sink.notes] == [
        "t.tags is LONGTEXT",
        "t.place is LONGTEXT",
        "t.long is LONGTEXT",
    ]
    assert "set('x','y')" in sink.notes[0]


def test_types_that_only_one_of_the_two_knows_stay_there(mariadb_server: MysqlServer, mysql_server: MysqlServer) -> None:
    made = "CREATE TABLE a (id UUID PRIMARY KEY, ip INET6, doc JSON, at DATETIME(6), word VARCHAR(9) COLLATE utf8mb4_general_ci)"
    source = mariadb_server.create_database(
        f"{made}; INSERT INTO a VALUES ('00000000-0000-4000-8000-00000000000a', '::1', '{{}}', '1844-01-01', 'ü')"
    )
    with open_source(source) as opened:
        (table,) = opened.reflect().tables
    types = {}
    for server in (mysql_server, mariadb_server):
        target = server.create_database()
        with open_source(source) as opened, open_sink(target) as sink:
            sink.create([SinkTable(table)])
            for part in opened.read("a", [column.name for column in table.columns]):
                sink.write("a", part)
        assert read(target)["a"] == read(source)["a"]
        with open_source(target) as opened:
            types[server.scheme] = {column.name: column.sql_type for column in opened.reflect().tables[0].columns}
    assert (types["mariadb"]["id"], types["mariadb"]["ip"]) == ("uuid", "inet6")
    assert (types["mysql"]["id"], types["mysql"]["ip"]) == ("char(36)", "longtext")


def test_mysql_is_written_into_mariadb(mariadb_server: MysqlServer, mysql_server: MysqlServer) -> None:
    source = mysql_server.create_database("""
        CREATE TABLE `order` (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, word VARCHAR(9) COLLATE utf8mb4_0900_as_cs UNIQUE,
            doc JSON, at TIMESTAMP(6) NULL, size ENUM('s', 'ü') CHARACTER SET latin1, CHECK (word IN ('a', 'A', 'é')));
        INSERT INTO `order` VALUES (1, 'a', '[1]', '2000-01-01 00:00:00.000001', 'ü'), (2, 'A', NULL, NULL, NULL);
    """)
    target = mariadb_server.create_database()
    with open_source(source) as opened, open_sink(target) as sink:
        (table,) = opened.reflect().tables
        sink.create([SinkTable(table)])
        for part in opened.read("order", [column.name for column in table.columns]):
            sink.write("order", part)
    assert read(target) == read(source)
    with open_source(target) as opened:
        (made,) = opened.reflect().tables
    assert made.column("word").values == ("a", "A", "é")  # type: ignore[union-attr]


def test_keys_that_other_databases_tell_apart_are_told_apart(either_server: MysqlServer) -> None:
    units = ReflectedTable("units", (ReflectedColumn("code", "string", nullable=False),), key=("code",))
    doses = ReflectedTable(
        "doses",
        (ReflectedColumn("unit", "string"), ReflectedColumn("word", "string", max_length=9)),
        foreign_keys=(ReflectedForeignKey(("unit",), "units", ("code",)),),
        uniques=(("word",),),
    )
    rows: dict[str, list[Row]] = {
        "units": [{"code": code} for code in ("mg", "Mg", "MG", "e", "é")],
        "doses": [{"unit": "Mg", "word": "a"}, {"unit": "é", "word": "A"}],
    }
    url = either_server.create_database()
    with open_sink(url) as sink:
        fill(sink, rows, (units, doses))
    assert {name: sorted(map(str, held)) for name, held in read(url).items()} == {n: sorted(map(str, r)) for n, r in rows.items()}


def test_a_reference_names_the_columns_of_a_key_in_another_order(either_server: MysqlServer) -> None:
    pair = (ReflectedColumn("a", "integer", nullable=False), ReflectedColumn("b", "integer", nullable=False))
    pairs = ReflectedTable("pairs", pair, key=("a", "b"))
    twins = ReflectedTable(
        "twins",
        (ReflectedColumn("of_b", "integer"), ReflectedColumn("of_a", "integer")),
        foreign_keys=(ReflectedForeignKey(("of_b", "of_a"), "pairs", ("b", "a")),),
    )
    url = either_server.create_database()
    with open_sink(url) as sink:
        fill(sink, {"pairs": [{"a": 1, "b": 2}], "twins": [{"of_b": 2, "of_a": 1}]}, (pairs, twins))
    with pytest.raises(Exception, match="foreign key constraint"):
        either_server.rows(url, "INSERT INTO twins (of_a, of_b) VALUES (2, 1)")


@pytest.mark.parametrize("dialect", ["postgresql", "mysql"])
def test_texts_that_no_row_has_room_for_lose_their_length_not_their_place(either_server: MysqlServer, dialect: str) -> None:
    wide = [ReflectedColumn(f"c{n}", "string", "varchar(8000)", max_length=8000) for n in range(9)]
    short = [ReflectedColumn(f"s{n}", "string", "varchar(20)", max_length=20) for n in range(2)]
    table = ReflectedTable("wide", (*wide, *short), indexes=(("c0",),), uniques=(("s0",),), dialect=dialect)
    row = {column.name: "ü" * (column.max_length or 0) for column in table.columns}
    alone = ReflectedTable("one", (ReflectedColumn("c", "string", "varchar(8000)", max_length=8000),), dialect=dialect)
    url = either_server.create_database()
    with open_sink(url) as sink:
        fill(sink, {"wide": [row], "one": []}, (table, alone))
    assert read(url) == {"wide": [row], "one": []}
    with open_source(url) as source:
        types = {c.name: c.sql_type for made in source.reflect() for c in made.columns}
    assert (types["c0"], types["s1"], types["c"]) == ("longtext", "varchar(20)", "varchar(8000)")


def test_keys_and_indexes_of_many_texts_find_room(either_server: MysqlServer) -> None:
    names = ("a", "b", "c", "d", "e")
    columns = tuple(ReflectedColumn(name, "string", nullable=False) for name in names)
    sized = tuple(ReflectedColumn(f"{name}2", "string", max_length=255) for name in names)
    wide = ReflectedTable(
        "t",
        columns + sized,
        key=names,
        uniques=(("a2",), ("b2",), ("c2",), ("d2",)),
        indexes=(names[::-1], tuple(f"{name}2" for name in names)),
    )
    url = either_server.create_database()
    with open_sink(url) as sink:
        sink.create([SinkTable(wide)])
        sink.write("t", batch(wide, [dict.fromkeys(names, "x" * 150) | {f"{name}2": "y" * 255 for name in names}]))
    with open_source(url) as source:
        (made,) = source.reflect().tables
    beginnings = {index.columns for index in made.special_indexes}
    assert (made.key, {*made.indexes, *beginnings}) == (wide.key, set(wide.indexes))


def test_a_server_that_demands_keys_and_one_that_makes_its_own(mysql_server: MysqlServer) -> None:
    url = mysql_server.create_database()
    keyless = ReflectedTable("keyless", (ReflectedColumn("a", "integer"),))
    rows: dict[str, list[Row]] = {"t": [{"a": 1}], "keyless": [{"a": 5}, {"a": 5}]}
    try:
        mysql_server.run(None, "SET GLOBAL sql_require_primary_key = 1")
        with pytest.raises(SinkError, match=r"table keyless .*takes no table without a primary key"), open_sink(url) as sink:
            fill(sink, rows, (SIMPLE, keyless))
        assert mysql_server.rows(url, "SHOW TABLES") == []
        write_simple(url)
        mysql_server.run(None, "SET GLOBAL sql_require_primary_key = 0; SET GLOBAL sql_generate_invisible_primary_key = 1")
        with open_sink(url, replace=True) as sink:
            fill(sink, rows, (SIMPLE, keyless))
        assert mysql_server.rows(url, "SELECT * FROM keyless") == [(5,), (5,)]
        with open_source(url) as source:
            assert source.reflect().table("keyless").key == ("my_row_id",)  # type: ignore[union-attr]
    finally:
        mysql_server.run(None, "SET GLOBAL sql_require_primary_key = 0; SET GLOBAL sql_generate_invisible_primary_key = 0")


def test_chinook_is_copied_with_its_names_cycles_and_keys(either_server: MysqlServer) -> None:
    source, target = str(CHINOOK / "chinook.sqlite"), either_server.create_database()
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
        copied = read(target)
        for name, held in read(source).items():  # rows come back in the order of their keys
            assert sorted(map(repr, copied[name])) == sorted(map(repr, held))


def test_a_backtick_in_a_name_is_quoted(either_server: MysqlServer) -> None:
    url = either_server.create_database()
    table = ReflectedTable("a`b 5%", (ReflectedColumn("c`%s", "integer"),))
    with open_sink(url) as sink:
        sink.create([SinkTable(table)])
        sink.write("a`b 5%", batch(table, [{"c`%s": 1}]))
    assert either_server.rows(url, "SELECT `c``%s` FROM `a``b 5%`") == [(1,)]


def test_nobody_sees_a_table_of_ours_before_the_end(either_server: MysqlServer) -> None:
    url = either_server.create_database()
    names = {table.name for table in TABLES}
    with open_sink(url) as sink:
        fill(sink)
        assert not names & set(read(url))
    assert set(read(url)) == names


def test_other_tables_are_left_alone(either_server: MysqlServer) -> None:
    url = either_server.create_database("CREATE TABLE mine (a int); INSERT INTO mine VALUES (5)")
    write(url)
    write(url, replace=True)
    assert either_server.rows(url, "SELECT a FROM mine") == [(5,)]
    assert len(read(url)) == len(TABLES) + 1


def test_a_table_that_others_refer_to_is_not_replaced(either_server: MysqlServer) -> None:
    url = either_server.create_database()
    write_simple(url)
    either_server.run(url.rpartition("/")[2], "CREATE TABLE mine (a BIGINT, FOREIGN KEY (a) REFERENCES t (a))")
    with pytest.raises(SinkError, match=r"other tables refer to those to be replaced: mine \(to t\)"):
        write_simple(url, replace=True)
    assert either_server.rows(url, "SELECT a FROM t") == [(1,)]


def test_a_table_that_another_database_refers_to_is_not_replaced(either_server: MysqlServer) -> None:
    """Also one of the same name: what is written anew would leave its rows without the row that they refer to."""
    url = either_server.create_database()
    write_simple(url)
    there, here = (each.rpartition("/")[2] for each in (either_server.create_database(), url))
    either_server.run(there, f"CREATE TABLE t (a BIGINT, FOREIGN KEY (a) REFERENCES {here}.t (a)); INSERT INTO t VALUES (1)")
    with pytest.raises(SinkError, match=rf"other tables refer to those to be replaced: {there}\.t \(to t\)"):
        write_simple(url, replace=True)
    assert either_server.rows(url, "SELECT a FROM t") == [(1,)]


def test_tables_that_are_there_and_empty_are_filled_as_they_are(either_server: MysqlServer) -> None:
    url = either_server.create_database("CREATE TABLE t (a INT PRIMARY KEY, extra VARCHAR(5) DEFAULT 'x')")
    write_simple(url)
    assert either_server.rows(url, "SELECT * FROM t") == [(1, "x")]
    url = either_server.create_database("CREATE TABLE `lines` (patient BIGINT, line BIGINT)")
    with pytest.raises(SinkError, match=r"holds lines, without rows, but not order, Patients, empty"):
        write(url)


def test_an_exception_leaves_tables_that_were_there_empty(either_server: MysqlServer) -> None:
    url = either_server.create_database("CREATE TABLE t (a INT PRIMARY KEY)")
    with pytest.raises(SinkError, match="a key twice"), open_sink(url) as sink:
        fill(sink, {"t": [{"a": 1}, {"a": 1}]}, (SIMPLE,))
    assert either_server.rows(url, "SELECT * FROM t") == []


def test_what_a_killed_run_has_left_is_dropped_but_not_what_a_running_one_holds(either_server: MysqlServer) -> None:
    url = either_server.create_database(
        f"CREATE TABLE __mare_0123abcd_1 (a int) COMMENT = '{mark_of('t', '')}'; CREATE TABLE __mare_mine (a int)"
    )
    with open_sink(url) as running:
        running.create([SinkTable(LINES)])
        write_simple(url)
        staged = {name for (name,) in either_server.rows(url, "SHOW TABLES")}
        assert "__mare_0123abcd_1" not in staged
        assert len([name for name in staged if name.startswith("__mare_")]) == 2
    assert set(read(url)) == {"t", "lines", "__mare_mine"}


def test_a_user_without_create_rights_is_told_before_the_fit(either_server: MysqlServer) -> None:
    url = either_server.create_database()
    name, role = url.rpartition("/")[2], either_server.create_role("s3cret-word")
    either_server.run(name, f"GRANT SELECT, INSERT ON `{name}`.* TO {role}")
    theirs = either_server.url(name, role, "s3cret-word")
    with pytest.raises(SinkError, match=r"no right to do that.*right to create tables") as refused, open_sink(theirs) as sink:
        sink.expect(["t"])
    assert "s3cret-word" not in str(refused.value)
    with pytest.raises(SinkError, match="no right to do that"):
        write_simple(theirs)


def test_a_user_who_may_not_do_all_that_is_needed_is_told_first_and_leaves_nothing(either_server: MysqlServer) -> None:
    url = either_server.create_database()
    name, role = url.rpartition("/")[2], either_server.create_role("word")
    theirs = either_server.url(name, role, "word")
    needed = ["SELECT", "CREATE", "INSERT", "DROP", "ALTER", *(["REFERENCES"] if either_server.scheme == "mysql" else [])]
    told = r"no right to do that.*MySQL: SELECT, INSERT, CREATE, ALTER, DROP and REFERENCES"
    for right in needed:
        with pytest.raises(SinkError, match=told), open_sink(theirs) as sink:
            sink.expect(["t"])
        with pytest.raises(SinkError, match="no right to do that"):
            write_simple(theirs)
        assert either_server.rows(url, "SHOW TABLES") == []
        either_server.run(name, f"GRANT {right} ON `{name}`.* TO {role}")
    write(theirs)
    assert set(read(theirs)) == {table.name for table in TABLES}


def test_what_mysql_refuses_besides_is_told(mysql_server: MysqlServer) -> None:
    url = mysql_server.create_database()
    name, role = url.rpartition("/")[2], mysql_server.create_role("word")
    mysql_server.run(name, f"GRANT ALL ON `{name}`.* TO {role}")
    theirs = mysql_server.url(name, role, "word")
    for state, told in (("PASSWORD EXPIRE", "asks this user for a new password"), ("ACCOUNT LOCK", "refused the user")):
        mysql_server.run(None, f"ALTER USER {role} {state}")
        with pytest.raises(SinkError, match=told):
            open_sink(theirs).__enter__()
    try:
        mysql_server.run(None, "SET GLOBAL super_read_only = 1")
        with pytest.raises(SinkError, match="the target is read-only"), open_sink(url) as sink:
            sink.expect(["t"])
    finally:
        mysql_server.run(None, "SET GLOBAL super_read_only = 0; SET GLOBAL read_only = 0")


def fill_and_drop(server: MysqlServer, url: str, *, at_the_end: bool) -> None:
    with open_sink(url) as sink:
        fill(sink)
        server.drop_connections(url)
        if not at_the_end:
            sink.write("lines", batch(LINES, [{"patient": 1, "line": 9}]))


@pytest.mark.parametrize("at_the_end", [False, True])
def test_a_connection_that_drops_in_the_middle_leaves_nothing(either_server: MysqlServer, at_the_end: bool) -> None:
    url = either_server.create_database()
    with pytest.raises(SinkError, match="closed the connection"):
        fill_and_drop(either_server, url, at_the_end=at_the_end)
    assert either_server.rows(url, "SHOW TABLES") == []


def test_a_connection_that_drops_before_anything_was_begun_is_made_again(either_server: MysqlServer) -> None:
    url = either_server.create_database()
    with open_sink(url) as sink:
        either_server.drop_connections(url)
        fill(sink)
    assert len(read(url)["Patients"]) == len(ROWS["Patients"])
