"""What is special about PostgreSQL as a target: its types, its schemas, its rights, and a connection that can drop."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from mare.errors import SinkError
from mare.finding import open_sink, open_source
from mare.ports import SinkTable
from mare.schema.reflection import ReflectedColumn, ReflectedTable
from tests.servers import PostgresServer, chinook_postgres
from tests.targets import LINES, PATIENTS, ROWS, TABLES, batch, fill, read, write

SIMPLE = ReflectedTable("t", (ReflectedColumn("a", "integer", nullable=False),), key=("a",))
ONE = batch(SIMPLE, [{"a": 1}])


def rows(url: str, query: str) -> list[Any]:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(query).fetchall()


def write_simple(url: str, *, replace: bool = False) -> None:
    with open_sink(url, replace=replace) as sink:
        sink.create([SinkTable(SIMPLE)])
        sink.write("t", ONE)


def test_a_database_is_written_with_the_sources_own_types(postgres_server: PostgresServer) -> None:
    source = postgres_server.create_database("""
        CREATE TYPE "Mood" AS ENUM ('sad', 'it''s ok');
        CREATE TABLE a (
            id uuid PRIMARY KEY, small smallint, whole numeric(20,0), n numeric(7,3), f real, c char(5), v varchar(7), x text,
            at timestamptz(3), day date, span interval, m "Mood", rare "Mood" CHECK (rare IN ('sad')), list int[], net inet,
            doc jsonb, raw bytea, paid money, hundreds numeric(5,-2), long numeric(60,10)
        );
    """)
    with open_source(source) as opened:
        (table,) = opened.reflect().tables
    target = postgres_server.create_database()
    with open_sink(target) as sink:
        sink.create([SinkTable(table)])
    with open_source(target) as opened:
        (made,) = opened.reflect().tables
    assert [(c.name, c.sql_type, c.values) for c in made.columns] == [(c.name, c.sql_type, c.values) for c in table.columns]
    assert sink.notes == ()


def test_a_type_that_the_target_does_not_know_becomes_the_nearest_with_a_word(postgres_server: PostgresServer) -> None:
    odd = (
        ReflectedColumn("a", "other", "geometry(Point,4326)"),
        ReflectedColumn("b", "string", "text); DROP TABLE x; --"),
        ReflectedColumn("c", "string", "mood"),
        ReflectedColumn("d", "other", "integer[]", nullable=False),
    )
    target = postgres_server.create_database("CREATE TYPE mood AS ENUM ('sad')")
    with open_sink(target) as sink:
        sink.create([SinkTable(ReflectedTable("t", odd, dialect="postgresql"))])
    with open_source(target) as opened:
        (made,) = opened.reflect().tables
    assert [c.sql_type for c in made.columns] == ["text"] * 4
    assert len(sink.notes) == 4
    assert "the target has no type geometry(Point,4326)" in sink.notes[0]
    assert "integer[] does not take the empty text" in sink.notes[3]


def test_an_enum_is_made_once_reused_and_refused_when_it_lists_other_values(postgres_server: PostgresServer) -> None:
    def table(*values: str) -> ReflectedTable:
        return ReflectedTable("t", (ReflectedColumn("m", "string", "hosp.mood", values=values),), dialect="postgresql")

    url = postgres_server.create_database()
    for made, replace in ((table("a", "b"), False), (table("a", "b"), True), (table("b", "c"), True)):
        with open_sink(url, replace=replace) as sink:
            sink.create([SinkTable(made)])
    assert rows(url, "SELECT enum_range(NULL::mood)::text") == [("{b,c}",)]
    postgres_server.run(url.rpartition("/")[2], "DROP TABLE t")
    with pytest.raises(SinkError, match="type mood with other values"), open_sink(url) as sink:
        sink.create([SinkTable(table("a"))])


def test_chinook_is_copied_with_its_names_cycles_and_keys(postgres_server: PostgresServer) -> None:
    source, target = chinook_postgres(postgres_server), postgres_server.create_database()
    with open_source(source) as opened, open_sink(target) as sink:
        reflection = opened.reflect()
        sink.create([SinkTable(table) for table in reflection.tables])  # in alphabetical order: children before parents
        for table in reflection.tables:
            for part in opened.read(table.name, [column.name for column in table.columns]):
                sink.write(table.name, part)
    with open_source(target) as opened:
        made = {table.name: table for table in opened.reflect()}
    for table in reflection:
        assert made[table.name].columns == table.columns
        assert (made[table.name].key, set(made[table.name].uniques)) == (table.key, set(table.uniques))
        ours = {(f.columns, f.table, f.references) for f in made[table.name].foreign_keys}
        assert ours == {(f.columns, f.table, f.references) for f in table.foreign_keys}
    assert read(target) == read(source)
    assert sink.notes == ()


def test_names_with_the_case_of_the_source_stay_as_they_are(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_database()
    twins = [ReflectedTable(name, (ReflectedColumn("Id", "integer"), ReflectedColumn("ID", "integer"))) for name in ("T", "t")]
    with open_sink(url) as sink:
        sink.create([SinkTable(twin) for twin in twins])
    assert rows(url, """SELECT attname FROM pg_attribute WHERE attrelid = '"T"'::regclass AND attnum > 0""") == [("Id",), ("ID",)]


def test_other_tables_are_left_alone(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_database("CREATE TABLE mine (a int); INSERT INTO mine VALUES (5)")
    write(url)
    write(url, replace=True)
    assert rows(url, "SELECT a FROM mine") == [(5,)]


def test_tables_that_are_there_and_empty_are_filled_as_they_are(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_database(
        "CREATE TABLE t (a int PRIMARY KEY, extra text DEFAULT 'x', CHECK (a < 5)); CREATE VIEW v AS SELECT * FROM t"
    )
    write_simple(url)
    assert rows(url, "SELECT * FROM v") == [(1, "x")]
    url = postgres_server.create_database("CREATE TABLE t (a int CHECK (a > 5))")
    with pytest.raises(SinkError, match=r"breaks a CHECK constraint \(table t, constraint t_a_check\)"):
        write_simple(url)
    assert rows(url, "SELECT * FROM t") == []
    url = postgres_server.create_database("CREATE TABLE t (b int)")
    with pytest.raises(SinkError, match="has no column a"):
        write_simple(url)


def test_a_table_that_is_filled_as_it_is_keeps_its_constraints_and_counts_on(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_database("""
        CREATE TABLE t (a int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "B b" bigserial, c serial, CHECK (a < 5));
        CREATE TABLE mine (a serial); INSERT INTO mine DEFAULT VALUES;
    """)
    columns = tuple(ReflectedColumn(name, "integer") for name in ("a", "B b", "c"))
    table = ReflectedTable("t", columns, key=("a",), unread_checks=("a < 5",))
    with open_sink(url) as sink:
        sink.create([SinkTable(table), SinkTable(dataclasses.replace(table, name="new"))])
        sink.write("t", batch(table, [{"a": 2, "B b": 7, "c": 1}, {"a": 3, "B b": -5, "c": 1}]))
    assert sink.notes == ("new: a < 5 (a constraint of the source) was left out",)
    postgres_server.run(url.rpartition("/")[2], "INSERT INTO t DEFAULT VALUES; INSERT INTO mine DEFAULT VALUES")
    assert rows(url, "SELECT * FROM t ORDER BY a") == [(2, 7, 1), (3, -5, 1), (4, 8, 2)]
    assert rows(url, "SELECT a FROM mine") == [(1,), (2,)]


def test_a_counter_that_is_not_ours_to_move_stops_nothing(postgres_server: PostgresServer) -> None:
    role = postgres_server.create_role("word")
    url = postgres_server.create_database(f"CREATE TABLE t (a serial PRIMARY KEY); GRANT SELECT, INSERT ON t TO {role}")
    write_simple(postgres_server.url(url.rpartition("/")[2], role, "word"))
    assert rows(url, "SELECT a FROM t") == [(1,)]


def test_what_is_no_table_is_refused_by_name(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_database("CREATE VIEW t AS SELECT 1 AS a")
    for replace in (False, True):
        with pytest.raises(SinkError, match=r"already holds t \(a view\)"):
            write_simple(url, replace=replace)


def test_a_table_that_others_depend_on_is_not_replaced_and_that_is_found_before_the_fit(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_database()
    write_simple(url)
    postgres_server.run(url.rpartition("/")[2], "CREATE TABLE mine (a int REFERENCES t)")
    with pytest.raises(SinkError, match="views or tables that depend on the one"):
        write_simple(url, replace=True)
    with pytest.raises(SinkError, match="views or tables that depend on the one"), open_sink(url, replace=True) as sink:
        sink.expect(["t"])
    assert rows(url, "SELECT a FROM t") == [(1,)]


def test_the_schema_is_that_of_the_url_or_the_first_of_the_search_path(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_database("CREATE SCHEMA hosp; CREATE TABLE t (a int); INSERT INTO t VALUES (9)")
    write_simple(f"{url}?schema=hosp")
    assert (rows(url, "SELECT a FROM hosp.t"), rows(url, "SELECT a FROM public.t")) == ([(1,)], [(9,)])
    with pytest.raises(SinkError, match="has no schema hops"):
        write_simple(f"{url}?schema=hops")
    with pytest.raises(SinkError, match="names several schemas, but tables of the source's unknown"):
        write_simple(f"{postgres_server.create_database('CREATE SCHEMA hosp')}?schema=hosp,public")
    with pytest.raises(SinkError, match="no schema on this user's search path"):
        write_simple(f"{url}?options=-csearch_path%3Dnowhere")


def test_a_user_without_create_rights_is_told_before_the_fit(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_database("REVOKE CREATE ON SCHEMA public FROM public")
    theirs = postgres_server.url(url.rpartition("/")[2], postgres_server.create_role("s3cret-word"), "s3cret-word")
    with pytest.raises(SinkError, match=r"may not create tables in schema public.*GRANT CREATE") as refused:
        write_simple(theirs)
    assert "s3cret-word" not in str(refused.value)
    with pytest.raises(SinkError, match="may not create tables"), open_sink(theirs) as sink:
        sink.expect(["t"])


def test_a_user_may_not_replace_what_is_not_theirs(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_database("GRANT ALL ON SCHEMA public TO public")
    write_simple(url)
    theirs = postgres_server.url(url.rpartition("/")[2], postgres_server.create_role("word"), "word")
    with pytest.raises(SinkError, match=r"no right to do that.*ownership"):
        write_simple(theirs, replace=True)


OTHERS = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


def fill_and_drop(url: str, *, at_the_end: bool) -> None:
    with open_sink(url) as sink:
        fill(sink)
        assert rows(url, f"SELECT pg_terminate_backend(pid) {OTHERS}") == [(True,)]
        if not at_the_end:
            sink.write("lines", batch(LINES, [{"patient": 1, "line": 9}]))


@pytest.mark.parametrize("at_the_end", [False, True])
def test_a_connection_that_drops_in_the_middle_leaves_nothing(postgres_server: PostgresServer, at_the_end: bool) -> None:
    url = postgres_server.create_database()
    with pytest.raises(SinkError, match="closed the connection") as refused:
        fill_and_drop(url, at_the_end=at_the_end)
    assert postgres_server.password not in str(refused.value)
    assert read(url) == {}


def test_a_connection_that_drops_before_anything_was_begun_is_made_again(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_database()
    with open_sink(url) as sink:
        rows(url, f"SELECT pg_terminate_backend(pid) {OTHERS}")
        fill(sink)
    assert len(read(url)["Patients"]) == len(ROWS["Patients"])


def test_a_full_disk_is_said_and_leaves_nothing(postgres_server: PostgresServer) -> None:
    """The server says it with a code, which a trigger can say as well."""
    url = postgres_server.create_database("""
        CREATE TABLE t (a int);
        CREATE FUNCTION full_disk() RETURNS trigger AS $$ BEGIN
            RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100';
        END $$ LANGUAGE plpgsql;
        CREATE TRIGGER full_disk BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION full_disk();
    """)
    with pytest.raises(SinkError, match=r"table t cannot be written: the target has no room left on its disk\. Make room"):
        write_simple(url)
    assert rows(url, "SELECT * FROM t") == []


def test_a_read_only_server_is_said(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_database()
    with pytest.raises(SinkError, match="the target is read-only"):
        write_simple(f"{url}?options=-cdefault_transaction_read_only%3Don")


def test_nobody_sees_anything_before_the_commit(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_database()
    with open_sink(url) as sink:
        fill(sink)
        assert read(url) == {}
    assert set(read(url)) == {table.name for table in TABLES}


def test_the_planner_of_constraints_keeps_the_order_of_columns(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_database()
    write(url)
    names = rows(url, "SELECT attname FROM pg_attribute WHERE attrelid = '\"Patients\"'::regclass AND attnum > 0 ORDER BY attnum")
    assert [name for (name,) in names] == [column.name for column in PATIENTS.columns]
