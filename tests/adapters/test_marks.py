"""`--replace` overwrites what mare created, and nothing else: every target carries a mark, and what has none is somebody's."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb
import psycopg
import pytest

from mare.errors import SinkError
from mare.finding import open_sink
from mare.ports import SinkTable
from mare.schema.reflection import ReflectedColumn, ReflectedTable
from mare_adapters.sinks.target import has_mark, is_mark, mark_of
from tests.servers import MysqlServer, PostgresServer
from tests.targets import ALL, DATABASES, FILES, TABLES, Target, batch, fill, make_target, read, write

SIMPLE = ReflectedTable("t", (ReflectedColumn("a", "integer", nullable=False),), key=("a",))
NO_MARK = "without the mark of what mare created"


@pytest.fixture
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Target:
    """A fresh place of the kind that the test names."""
    folder = tmp_path / "place"
    folder.mkdir()
    return make_target(request.param, request, folder)


every = pytest.mark.parametrize("target", ALL, indirect=True)
every_database = pytest.mark.parametrize("target", DATABASES, indirect=True)
every_file = pytest.mark.parametrize("target", FILES, indirect=True)


def write_simple(location: str, number: int = 1, *, replace: bool = False, release: str = "", name: str = "t") -> None:
    table = ReflectedTable(name, SIMPLE.columns, SIMPLE.key)
    with open_sink(location, replace=replace) as sink:
        sink.create([SinkTable(table)], release)
        sink.write(name, batch(table, [{"a": number}]))


def numbers(target: Target, name: str = "t") -> list[int]:
    return [int(row["a"]) for row in read(target.location)[name]]


def somebodys(target: Target) -> None:
    """The same table, not by mare."""
    if target.execute is not None:
        target.execute('CREATE TABLE "t" (a BIGINT PRIMARY KEY)')
        target.execute('INSERT INTO "t" VALUES (77)')
        return
    write_simple(target.location, 77)
    (_folder(target) / ".mare.json").unlink()


def _folder(target: Target) -> Path:
    return Path(target.location.partition("?")[0])


@every
def test_what_somebody_made_is_not_replaced_and_told_what_to_do(target: Target) -> None:
    somebodys(target)
    for _ in range(2):
        with pytest.raises(SinkError, match=rf"{NO_MARK}.*(Drop|Remove) it yourself, or give another"):
            write_simple(target.location, replace=True)
        assert numbers(target) == [77]
    with pytest.raises(SinkError, match=NO_MARK), open_sink(target.location, replace=True) as sink:
        sink.expect(["t"])


@every
def test_what_mare_made_is_replaced_again_and_again(target: Target) -> None:
    write_simple(target.location, release="00aa")
    for number in (2, 3):
        write_simple(target.location, number, replace=True, release="00bb")
        assert numbers(target) == [number]


@every
def test_the_mark_names_the_release_and_is_no_table(target: Target) -> None:
    write_simple(target.location, release="0123456789abcdef")
    assert list(read(target.location)) == ["t"]
    if target.kind in FILES:
        told = json.loads((_folder(target) / ".mare.json").read_text())
        assert told["release"] == "0123456789abcdef"
        assert list(told["files"]) == [f"t.{target.kind}"]
        return
    assert target.execute is not None
    query = {
        "sqlite": "SELECT sql FROM sqlite_master WHERE name = 't'",
        "duckdb": "SELECT comment FROM duckdb_tables() WHERE table_name = 't'",
        "postgres": "SELECT obj_description('t'::regclass, 'pg_class')",
    }.get(target.kind, "SELECT TABLE_COMMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()")
    ((said,),) = target.execute(query)
    assert "from release 0123456789abcdef" in said
    assert has_mark(said)
    assert is_mark(said, "t") == (target.kind in ("sqlite", "duckdb"))  # on a server, it holds for one database


@every_database
def test_a_renamed_table_is_theirs_who_renamed_it(target: Target) -> None:
    write_simple(target.location, 5)
    assert target.execute is not None
    target.execute('ALTER TABLE "t" RENAME TO "kept"')
    with pytest.raises(SinkError, match=NO_MARK):
        write_simple(target.location, name="kept", replace=True)
    assert numbers(target, "kept") == [5]


@every_database
def test_a_real_table_in_the_place_of_one_of_mares_is_not_replaced(target: Target) -> None:
    write_simple(target.location)
    assert target.execute is not None
    target.execute('DROP TABLE "t"')
    somebodys(target)
    with pytest.raises(SinkError, match=NO_MARK):
        write_simple(target.location, replace=True)
    assert numbers(target) == [77]


def write_while(location: str, something: Callable[[], None]) -> None:
    with open_sink(location, replace=True) as sink:
        fill(sink, {"t": [{"a": 1}]}, (SIMPLE,))
        something()


# In PostgreSQL the transaction holds the name.
@pytest.mark.parametrize("target", [kind for kind in ALL if kind != "postgres"], indirect=True)
def test_somebody_who_comes_while_rows_are_written_loses_nothing(target: Target) -> None:
    with pytest.raises(SinkError):
        write_while(target.location, lambda: somebodys(target))
    assert numbers(target) == [77]


@every_file
def test_a_file_of_the_folder_that_has_changed_is_not_replaced(target: Target) -> None:
    write(target.location)
    assert list(read(target.location)) == sorted(table.name for table in TABLES)
    changed = next(_folder(target).glob("lines.*"))
    changed.write_bytes(changed.read_bytes() + b"\n")
    with pytest.raises(SinkError, match=rf"lines.*{NO_MARK}"):
        write(target.location, replace=True)
    assert changed.exists()


@every_file
def test_a_mark_of_somebody_else_is_a_file_like_any_other(target: Target) -> None:
    write_simple(target.location)
    mark = _folder(target) / ".mare.json"
    for text in ("no JSON", "[]", '{"created by": "somebody", "files": {}}', '{"created by": "mare"}'):
        mark.write_text(text)
        with pytest.raises(SinkError, match=r"also holds +\.mare\.json"):
            write_simple(target.location, replace=True)
    for file in _folder(target).iterdir():
        file.unlink()
    write_simple(target.location)
    for file in _folder(target).glob("t.*"):
        file.unlink()
    write_simple(target.location, 9)  # a mark alone marks nothing
    assert numbers(target) == [9]


def test_a_file_of_sqlite_needs_its_application_id_too(tmp_path: Path) -> None:
    """`.schema` copies the statements that hold the marks into a database with real rows, but not this."""
    path = tmp_path / "t.sqlite"
    write_simple(str(path))
    with closing(sqlite3.connect(path)) as database, database:
        assert database.execute("PRAGMA application_id").fetchone() == (int.from_bytes(b"mare"),)
        database.execute("PRAGMA application_id = 0")
    with pytest.raises(SinkError, match=NO_MARK):
        write_simple(str(path), replace=True)


def test_a_table_of_another_schema_of_duckdb_is_not_taken_for_the_one_of_its_name(tmp_path: Path) -> None:
    path = tmp_path / "t.duckdb"
    write_simple(str(path))
    with duckdb.connect(str(path)) as database:
        (said,) = database.execute("SELECT comment FROM duckdb_tables()").fetchone() or ("",)
        database.execute(f"CREATE SCHEMA lab; CREATE TABLE lab.t AS SELECT 77 AS a; COMMENT ON TABLE lab.t IS '{said}'")
    with pytest.raises(SinkError, match=r"also holds the tables t of schema lab, which would be lost"):
        write_simple(str(path), replace=True)


@pytest.mark.parametrize(
    "attached", ["c = duckdb.connect({path!r})", "c = duckdb.connect(); c.execute('ATTACH ' + repr({path!r}))"]
)
def test_a_duckdb_file_that_somebody_has_open_or_attached_is_refused(tmp_path: Path, attached: str) -> None:
    path = tmp_path / "t.duckdb"
    write_simple(str(path), 5)
    program = f"import duckdb; {attached.format(path=str(path))}; print('ready', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"ready\n"
        with pytest.raises(SinkError, match="somebody has it open"):
            write_simple(str(path), replace=True)
        holder.communicate(b"\n")
    with duckdb.connect() as here:
        here.execute(f"ATTACH '{path}'")
        with pytest.raises(SinkError, match="somebody has it open"):
            write_simple(str(path), replace=True)
    write_simple(str(path), 6, replace=True)


def test_the_log_of_a_duckdb_file_is_not_left_to_the_new_one(tmp_path: Path) -> None:
    """DuckDB would take it for the new file's, and open neither."""
    path = tmp_path / "t.duckdb"
    write_simple(str(path))
    program = "import duckdb, os, sys; c = duckdb.connect(sys.argv[1]); c.execute('INSERT INTO t VALUES (77)'); os._exit(0)"
    subprocess.run([sys.executable, "-c", program, str(path)], check=True)
    with pytest.raises(SinkError, match=r"t\.duckdb\.wal lies beside the target"):
        write_simple(str(path), replace=True)
    with duckdb.connect(str(path)) as database:
        assert database.execute("SELECT a FROM t ORDER BY a").fetchall() == [(1,), (77,)]
    write_simple(str(path), 2, replace=True)


def test_a_postgresql_table_that_is_there_and_empty_is_filled_as_it_is_and_stays_its_makers(
    postgres_server: PostgresServer,
) -> None:
    url = postgres_server.create_database("CREATE TABLE t (a int PRIMARY KEY, extra text DEFAULT 'x')")
    write_simple(url, replace=True)
    assert read(url)["t"] == [{"a": 1, "extra": "x"}]
    with pytest.raises(SinkError, match=NO_MARK):
        write_simple(url, 2, replace=True)
    assert read(url)["t"] == [{"a": 1, "extra": "x"}]


def test_an_enum_of_postgresql_that_somebody_made_is_not_dropped(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_database("CREATE TYPE mood AS ENUM ('sad')")

    def write_mood(values: tuple[str, ...]) -> None:
        made = ReflectedTable("t", (ReflectedColumn("m", "string", "mood", values=values),), dialect="postgresql")
        with open_sink(url, replace=True) as sink:
            sink.create([SinkTable(made)])
            sink.write("t", batch(made, [{"m": values[0]}]))

    with pytest.raises(SinkError, match="drop it yourself: mare did not create it"):
        write_mood(("sad", "glad"))
    postgres_server.run(url.rpartition("/")[2], "DROP TYPE mood")
    write_mood(("sad", "glad"))
    write_mood(("sad", "glad", "calm"))
    assert read(url)["t"] == [{"m": "sad"}]


@pytest.mark.slow
def test_tables_of_mysql_that_are_there_and_empty_are_filled_together_or_not_at_all(either_server: MysqlServer) -> None:
    url = either_server.create_database("CREATE TABLE t (a INT PRIMARY KEY, extra VARCHAR(5) DEFAULT 'x')")
    write_simple(url, replace=True)
    assert either_server.rows(url, "SELECT * FROM t") == [(1, "x")]
    with pytest.raises(SinkError, match=NO_MARK):
        write_simple(url, 2, replace=True)
    either_server.run(url.rpartition("/")[2], "DELETE FROM t")
    write_simple(url, name="u")
    both = [SinkTable(ReflectedTable(name, SIMPLE.columns, SIMPLE.key)) for name in ("t", "u")]
    with pytest.raises(SinkError, match=rf"holds t, {NO_MARK}"), open_sink(url, replace=True) as sink:
        sink.create(both)
    assert either_server.rows(url, "SELECT a FROM u") == [(1,)]


@pytest.mark.slow
def test_a_table_of_mysql_that_only_looks_like_a_leftover_stays(either_server: MysqlServer) -> None:
    url = either_server.create_database("CREATE TABLE __mare_0123abcd_0 (a INT); INSERT INTO __mare_0123abcd_0 VALUES (77)")
    mark = mark_of("t", "00aa")
    either_server.run(url.rpartition("/")[2], f"CREATE TABLE __mare_0123abcd_1 (a INT) COMMENT = '{mark}'")
    write_simple(url)
    assert either_server.rows(url, "SHOW TABLES") == [("__mare_0123abcd_0",), ("t",)]


@pytest.mark.slow
def test_a_table_of_mysql_made_after_the_likeness_of_a_marked_one_is_somebodys(either_server: MysqlServer) -> None:
    url = either_server.create_database()
    write_simple(url)
    either_server.run(url.rpartition("/")[2], "CREATE TABLE u LIKE t; INSERT INTO u VALUES (77)")
    with pytest.raises(SinkError, match=NO_MARK):
        write_simple(url, name="u", replace=True)
    theirs = "DROP TABLE t; CREATE TABLE t (a INT); INSERT INTO t VALUES (78)"
    with pytest.raises(SinkError, match=NO_MARK):
        write_while(url, lambda: either_server.run(url.rpartition("/")[2], theirs))
    assert (either_server.rows(url, "SELECT a FROM u"), either_server.rows(url, "SELECT a FROM t")) == ([(77,)], [(78,)])


@pytest.mark.slow
def test_a_table_of_mysql_made_after_one_in_another_database_is_somebodys(either_server: MysqlServer) -> None:
    ours, theirs = either_server.create_database(), either_server.create_database()
    write_simple(ours)
    either_server.run(theirs.rpartition("/")[2], f"CREATE TABLE t LIKE `{ours.rpartition('/')[2]}`.t; INSERT INTO t VALUES (77)")
    with pytest.raises(SinkError, match=NO_MARK):
        write_simple(theirs, replace=True)
    assert either_server.rows(theirs, "SELECT a FROM t") == [(77,)]


def test_a_skeleton_that_was_dumped_with_its_comments_is_no_target_once_it_holds_rows(postgres_server: PostgresServer) -> None:
    """As `pg_dump --schema-only` of a synthetic database makes one, which is then filled with real rows."""
    ours = postgres_server.create_database()
    write_simple(ours)
    with psycopg.connect(ours) as server:
        mark = server.execute("SELECT obj_description('t'::regclass)").fetchone()
    assert mark is not None
    skeleton = "CREATE TABLE t (a bigint PRIMARY KEY); COMMENT ON TABLE t IS '{}'; INSERT INTO t VALUES (77)"
    theirs = postgres_server.create_database(skeleton.format(mark[0]))
    with pytest.raises(SinkError, match=NO_MARK):
        write_simple(theirs, replace=True)
    assert read(theirs)["t"] == [{"a": 77}]


def test_a_mark_holds_for_one_table_in_any_case_and_needs_no_escape() -> None:
    mark = mark_of("Patients */ 'x'", "0f0f")
    assert is_mark(mark, "patients */ 'X'")
    assert not is_mark(mark, "patients")
    assert not is_mark(mark.replace("0f0f", "0f0e"), "Patients */ 'x'")
    assert not any(sign in mark for sign in "'\"`\\*/%")
    assert has_mark(mark)
    assert not any(map(has_mark, (None, "", "synthetic, created by mare", 5)))
    assert is_mark(mark_of("t", "x'; DROP TABLE t"), "t")  # what is no id is not written
    assert "DROP" not in mark_of("t", "x'; DROP TABLE t")
