"""What a target would refuse or lack is known before the budget is taken; what is no table is written down for a person."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from mare.finding import open_source
from mare.ports import Scripted
from tests.command_line import Done
from tests.command_line import mare as command
from tests.servers import MysqlServer, PostgresServer

SCHEMA = """
mare: 1
entity: patients
tables:
  patients:
    key: id
    columns: {sex: {type: category, values: [F, M]}}
    ignore_columns: [name]
"""
TABLE = "CREATE TABLE patients (id INTEGER PRIMARY KEY, sex CHAR(1) NOT NULL, name VARCHAR(20));"
ROWS = "INSERT INTO patients VALUES (1, 'F', 'x'), (2, 'M', 'y');"
VIEW = "CREATE VIEW women AS SELECT id FROM patients WHERE sex = 'F';"


def synth(source: object, target: object, folder: Path, *options: object) -> tuple[Done, bool]:
    """What was said, and whether the budget was taken."""
    (folder / "schema.yaml").write_text(SCHEMA, encoding="utf-8")
    assert command("budget", "create", "budget", "--epsilon", "4", "--delta", "1e-6", folder=folder).returncode == 0
    asked = ("schema.yaml", "--from", source, "--to", target, "--epsilon", "1", "--budget-file", "budget")
    done = command("synth", *asked, *options, folder=folder)
    return done, "synth of schema.yaml" in command("ledger", "budget", "--json", folder=folder).stdout


@pytest.mark.parametrize("kind", ["postgres", pytest.param("mariadb", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("made", "why"),
    [
        ("CREATE TABLE patients (id INTEGER PRIMARY KEY)", "has no column sex"),
        (f"{TABLE[:-2]}, ward INT NOT NULL)", "demands a value for ward"),
        (
            "CREATE TABLE patients (id INTEGER PRIMARY KEY, sex CHAR(1) GENERATED ALWAYS AS ('F') STORED)",
            "no right to INSERT, or",
        ),
    ],
)
def test_a_table_that_cannot_be_filled_costs_nothing(
    made: str, why: str, kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    server: PostgresServer | MysqlServer = request.getfixturevalue(f"{kind}_server")
    done, paid = synth(server.create_database(TABLE + ROWS), server.create_database(made), tmp_path)
    assert done.returncode == 2
    assert why in done.stderr
    assert not paid


@pytest.mark.parametrize("kind", ["postgres", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("mariadb", "mysql"))])
@pytest.mark.parametrize(
    ("made", "why"),
    [
        ("id DATE PRIMARY KEY, sex CHAR(1)", "patients.id is date, which holds no integer"),
        ("id TIMESTAMP PRIMARY KEY, sex CHAR(1)", "which holds no integer"),
        ("id INTEGER PRIMARY KEY, sex LETTER", "which does not hold 'M'"),
    ],
)
def test_a_table_whose_types_hold_other_values_costs_nothing(
    made: str, why: str, kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    server: PostgresServer | MysqlServer = request.getfixturevalue(f"{kind}_server")
    enum, letter = ("CREATE TYPE letter AS ENUM ('F', 'X');", "letter") if kind == "postgres" else ("", "ENUM ('F', 'X')")
    source = server.create_database(f"{TABLE} {ROWS} ALTER TABLE patients ADD CHECK (sex IN ('F', 'M'))")
    target = server.create_database(f"{enum} CREATE TABLE patients ({made.replace('LETTER', letter)})")
    done, paid = synth(source, target, tmp_path)
    assert done.returncode == 2
    assert why in done.stderr
    assert not paid


def test_a_table_of_other_types_that_hold_the_same_values_is_filled(postgres_server: PostgresServer, tmp_path: Path) -> None:
    target = postgres_server.create_database("""
        CREATE DOMAIN late AS numeric CHECK (VALUE > 0); CREATE TYPE letter AS ENUM ('M', 'X', 'F');
        CREATE TABLE patients (id late PRIMARY KEY, sex letter)
    """)
    done, paid = synth(postgres_server.create_database(TABLE + ROWS), target, tmp_path)
    assert done.returncode == 0, done.stderr
    assert paid


def test_a_right_that_is_missing_costs_nothing(postgres_server: PostgresServer, tmp_path: Path) -> None:
    role = postgres_server.create_role("secret")
    target = postgres_server.create_database(f"{TABLE} GRANT SELECT ON patients TO {role}")
    closed = postgres_server.url(target.rpartition("/")[2], role, "secret")
    done, paid = synth(postgres_server.create_database(TABLE + ROWS), closed, tmp_path)
    assert done.returncode == 2
    assert "no right to INSERT" in done.stderr
    assert not paid


def test_what_a_target_lacks_is_told_once_and_before_the_fit(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "source.sqlite") as connection:
        connection.executescript(TABLE + ROWS + VIEW)
    done, paid = synth("source.sqlite", "target.sqlite", tmp_path, "--ddl", "views.sql")
    assert done.returncode == 0, done.stderr
    assert paid
    assert done.stderr.count("the schema leaves out name") == 1
    assert done.stderr.index("the schema leaves out name") < done.stderr.index("is shown on a terminal only"), "after the fit"
    script = (tmp_path / "views.sql").read_text(encoding="utf-8")
    assert "-- not made: patients: the schema leaves out name" in script
    with sqlite3.connect(tmp_path / "target.sqlite") as connection:
        connection.executescript(script)
        women = connection.execute("SELECT count(*) FROM women").fetchone()
        assert women == connection.execute("SELECT count(*) FROM patients WHERE sex = 'F'").fetchone()


def test_tables_and_views_that_are_not_made_are_told_before_the_fit(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "source.sqlite") as connection:
        connection.executescript(TABLE + ROWS + VIEW + "CREATE TABLE audit (id INTEGER PRIMARY KEY);")
    done, paid = synth("source.sqlite", "target.sqlite", tmp_path)
    assert paid
    for told in ("  - the schema leaves out audit", "  - views: women; --ddl FILE writes them"):
        assert 0 <= done.stderr.find(told) < done.stderr.index("is shown on a terminal only"), told


def test_tables_whose_rows_come_with_others_are_told_before_the_fit(postgres_server: PostgresServer, tmp_path: Path) -> None:
    source = postgres_server.create_database(
        f"{TABLE} {ROWS} CREATE TABLE twins (pair int) INHERITS (patients); CREATE TABLE parts (n int) PARTITION BY LIST (n); "
        "CREATE TABLE part PARTITION OF parts DEFAULT; CREATE TABLE one PARTITION OF parts FOR VALUES IN (1)"
    )
    done, _ = synth(source, postgres_server.create_database(), tmp_path)
    for told in ("  - twins: inherits from patients", "  - one, part: a partition", "  - the schema leaves out parts"):
        assert 0 <= done.stderr.find(told) < done.stderr.index("is shown on a terminal only"), told


def test_statements_are_not_written_over_anything_else(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "source.sqlite") as connection:
        connection.executescript(TABLE + ROWS)
    (tmp_path / "notes.sql").write_text("mine", encoding="utf-8")
    done, paid = synth("source.sqlite", "target.sqlite", tmp_path, "--ddl", "notes.sql", "--replace")
    assert done.returncode == 2
    assert not paid
    assert (tmp_path / "notes.sql").read_text(encoding="utf-8") == "mine"


def _scripts(url: str) -> tuple[str, ...]:
    with open_source(url) as source:
        assert isinstance(source, Scripted)
        return source.scripts()


def test_views_triggers_and_functions_are_the_servers_own_text(postgres_server: PostgresServer) -> None:
    source = postgres_server.create_database(f"""
        {TABLE} {VIEW}
        CREATE FUNCTION joined(text, text) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT $1 || $2';
        CREATE AGGREGATE all_of(text) (SFUNC = joined, STYPE = text, INITCOND = '');
        CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
        CREATE TRIGGER stopped BEFORE INSERT ON patients FOR EACH ROW EXECUTE FUNCTION stop();
    """)
    scripts = _scripts(source)
    assert len(scripts) == 6
    target = postgres_server.create_database(TABLE)
    postgres_server.run(target.rpartition("/")[2], "\n".join(scripts))
    assert _scripts(target) == scripts


@pytest.mark.slow
def test_of_mariadb_nobody_learns_who_made_them(mariadb_server: MysqlServer) -> None:
    trigger = "CREATE TRIGGER stopped BEFORE INSERT ON patients FOR EACH ROW SET NEW.sex = 'F';"
    text = "\n".join(_scripts(mariadb_server.create_database(TABLE + VIEW + trigger)))
    assert "CREATE VIEW `women`" in text
    assert "TRIGGER stopped" in text
    assert "DEFINER" not in text


@pytest.mark.slow
def test_a_script_of_mariadb_or_mysql_ends_each_statement_once(either_server: MysqlServer) -> None:
    """MySQL keeps the sign that ended the statement of an application: a client would take what follows for another one."""
    url = either_server.create_database("CREATE FUNCTION twice(a INT) RETURNS INT DETERMINISTIC RETURN a * 2; SELECT 1")
    (script,) = _scripts(url)
    assert script.count(";;") == 2
    assert ";;;" not in script
