"""Bad input and faults, as whoever runs the commands meets them: a clear word, an exit code, nothing half-written, no secret.

Every fault is a real one: rows that break their table's rules, a file system that takes no more, a server that ends the
connection in the middle of a statement, a user without rights. (`test_kills.py` has kills; `tests/adapters` what sinks and
sources do on their own.)
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import psycopg
import pyarrow.csv as arrow_csv
import pytest

from examples.hospital import simulate_hospital
from mare.privacy.budget import Budget
from mare.privacy.budget_file import BudgetFile
from tests.command_line import Done, mare
from tests.conftest import ROOT
from tests.servers import PostgresServer

UGLY = """
mare: 1
entity: "Pa'tients ☃"
tables:
  "Pa'tients ☃":
    key: 'the "id"'
    columns:
      sex: {type: category, values: [F, M]}
      born: {type: date, min: 1840-01-01, max: 2210-12-31, nullable: true}
      always: {type: category, values: [same, other]}
      weight: {type: number, min: 0, max: 300, precision: 1, nullable: true}
      note: {type: category, values: ["", a], nullable: true}
  order:
    key: select
    parent: {table: "Pa'tients ☃", column: 'ow"ner', type: sequential, order_by: from, max_rows: 4}
    columns:
      from: {type: datetime, after: previous.from, within: 400y, first: {min: 1844-01-01, max: 2200-12-31}}
      "%s :größe": {type: integer, min: 0, max: 9}
  empty:
    key: nr
    parent: {table: order, column: order, type: independent, max_rows: 3}
    columns:
      x: {type: integer, min: 0, max: 5}
"""
PATIENTS, ORDERS = "Pa'tients ☃", "order"
SEEN = ["1844-02-29 23:59:59", "2200-12-31 00:00:00", "1999-06-15 12:00:00"]


def ugly_patients() -> list[tuple[str | None, ...]]:
    """NULL and the empty text, text among numbers, values beyond the domain, a column that is always the same."""
    rows: list[tuple[str | None, ...]] = []
    for n in range(300):
        weight = ("12.5", "heavy", "-4", "1e9", None, "70")[n % 6]
        rows.append((str(n), "FM?"[n % 3], ("1844-02-29", "2200-12-31", None)[n % 3], "same", weight, ("", "a", None)[n % 3]))
    return rows


def ugly_orders() -> list[tuple[str | None, ...]]:
    """Of every third patient, some of nobody (a parent that is not there), some without a parent at all."""
    rows: list[tuple[str | None, ...]] = []
    for n in range(0, 300, 3):
        rows += [(f"{n}{k}", str(n), SEEN[k % 3], str(n % 12)) for k in range(n % 6)]
    rows += [(f"9{n:05}", "no such patient", SEEN[0], "3") for n in range(7)]
    rows += [(f"8{n:05}", None, SEEN[0], "3") for n in range(5)]
    return rows


UGLY_TABLES = {
    PATIENTS: (('the "id"', "sex", "born", "always", "weight", "note"), ugly_patients()),
    ORDERS: (("select", 'ow"ner', "from", "%s :größe"), ugly_orders()),
    "empty": (("nr", "order", "x"), []),
}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def as_sqlite(folder: Path) -> Path:
    path = folder / "ugly.sqlite"
    with closing(sqlite3.connect(path)) as database, database:
        for table, (columns, rows) in UGLY_TABLES.items():
            database.execute(f"CREATE TABLE {quoted(table)} ({', '.join(map(quoted, columns))})")
            database.executemany(f"INSERT INTO {quoted(table)} VALUES ({', '.join('?' * len(columns))})", rows)
    return path


def as_csv(folder: Path) -> Path:
    path = folder / "ugly"
    path.mkdir()
    for table, (columns, rows) in UGLY_TABLES.items():
        lines = [",".join(map(quoted, columns)), *(",".join("" if v is None else quoted(v) for v in row) for row in rows)]
        (path / f"{table}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def faults_said(stderr: str) -> list[str]:
    """What was said, but for how far it is: a slow machine is told that too."""
    how_far = re.compile(r"mare: (sampling|finishing|.* \(step \d+ of \d+\)$)")
    return [line for line in stderr.splitlines() if not how_far.match(line)]


def synth(schema: Path, source: object, target: object, folder: Path, *options: object) -> Done:
    fixed = ("--epsilon", "10", "--delta", "1e-9", *options)
    return mare("synth", schema, "--from", source, "--to", target, *fixed, folder=folder)


@pytest.fixture
def ugly(tmp_path: Path) -> Path:
    path = tmp_path / "ugly.yaml"
    path.write_text(UGLY, encoding="utf-8")
    return path


@pytest.mark.parametrize("as_source", [as_sqlite, as_csv], ids=["sqlite", "csv"])
def test_dirty_rows_are_counted_on_the_spot_and_a_sound_database_comes_out(as_source: object, ugly: Path, tmp_path: Path) -> None:
    source, target = as_source(tmp_path), tmp_path / "out.sqlite"  # type: ignore[operator]
    checked = mare("check", ugly, "--from", source)
    assert checked.returncode == 0, checked.stdout
    done = synth(ugly, source, target, tmp_path, "--internal-notes", "notes.txt")
    assert done.returncode == 0, done.stderr
    # In true numbers, where they were asked for, and nowhere else: 12 orders without an owner, three weights a patient in six.
    noted = (tmp_path / "notes.txt").read_text(encoding="utf-8")
    assert "order: 12 rows without a parent were left out (internal, not private)" in noted
    assert f"{PATIENTS}.weight: 150 values outside its domain" in noted
    assert f"{PATIENTS}.sex: 100 values outside its domain" in noted
    assert "internal, not private" not in done.stderr
    assert "heavy" not in done.stderr + done.stdout + noted
    with closing(sqlite3.connect(target)) as made:
        assert made.execute("PRAGMA foreign_key_check").fetchall() == []
        assert made.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        patients = made.execute(f"SELECT * FROM {quoted(PATIENTS)}").fetchall()
        assert 200 < len(patients) < 400
        assert {row[1] for row in patients} <= {"F", "M", None}
        assert all(row[2] is None or "1840-01-01" <= row[2] <= "2210-12-31" for row in patients)
        years = {row[2][:4] for row in patients if row[2]}
        assert years & {"1844", "1843", "1845"}
        assert years & {"2200", "2199", "2201"}
        assert {row[5] for row in patients} == {"", "a", None}
        assert all(row[4] is None or 0 <= float(row[4]) <= 300 for row in patients)
        childless = made.execute(
            f'SELECT count(*) FROM {quoted(PATIENTS)} WHERE "the ""id""" NOT IN (SELECT "ow""ner" FROM "order")'
        ).fetchone()
        assert childless[0] > 100
        orders = made.execute('SELECT "from", "%s :größe" FROM "order"').fetchall()
        assert orders
        # Four orders at most, the first by 2200, each at most 400 years after the one before.
        assert all("1844" <= moment[:4] <= "3400" and 0 <= int(size) <= 9 for moment, size in orders)


def test_a_text_in_a_column_that_a_database_declares_to_hold_numbers_ends_nothing_and_is_told_in_the_notes(
    hospital: Path, tmp_path: Path
) -> None:
    """SQLite alone lets that happen. To refuse it would tell that somebody has such a value."""
    source = tmp_path / "hospital.sqlite"
    source.write_bytes(hospital.read_bytes())
    with closing(sqlite3.connect(source)) as database, database:
        database.execute("UPDATE admissions SET crp = 'zorp' WHERE admission_id = 7")
    done = synth(HOSPITAL, source, tmp_path / "out.sqlite", tmp_path, "--internal-notes", tmp_path / "notes")
    assert done.returncode == 0, done.stderr
    told = (tmp_path / "notes").read_text()
    assert "admissions.crp: 1 values that its type in the source cannot hold were read as NULL (internal, not private)" in told
    assert "zorp" not in told + done.stdout + done.stderr
    assert "read as NULL" not in done.stdout + done.stderr  # the card names the column, as always


def test_names_and_empty_texts_come_through_every_kind_of_target(
    ugly: Path, postgres_server: PostgresServer, tmp_path: Path
) -> None:
    source, release = as_csv(tmp_path), tmp_path / "r.mare"
    fitted = mare("fit", ugly, "--from", source, "--epsilon", 30, "-o", release, folder=tmp_path)
    assert fitted.returncode == 0, fitted.stderr
    url = postgres_server.create_database()
    for target in (tmp_path / "out.duckdb", f"{tmp_path / 'text'}?format=csv", tmp_path / "parquet", url):
        done = mare("sample", release, "--to", target, "--seed", 3, folder=tmp_path)
        assert done.returncode == 0, done.stderr
    query = f"SELECT note, count(*) FROM {quoted(PATIENTS)} GROUP BY note"
    with psycopg.connect(url) as server, duckdb.connect(str(tmp_path / "out.duckdb")) as file:
        told = dict(server.execute(query).fetchall())
        assert dict(file.execute(query).fetchall()) == told
        assert server.execute('SELECT count(*) FROM "empty"').fetchone() is not None
    options = arrow_csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False)
    notes = arrow_csv.read_csv(tmp_path / "text" / f"{PATIENTS}.csv", convert_options=options)["note"].to_pylist()
    assert {note: notes.count(note) for note in set(notes)} == told
    assert set(told) == {"", "a", None}


def test_a_key_that_two_rows_share_is_refused_without_telling_it(ugly: Path, tmp_path: Path) -> None:
    source = as_sqlite(tmp_path)
    with closing(sqlite3.connect(source)) as database, database:
        database.execute(f'INSERT INTO {quoted(PATIENTS)} SELECT * FROM {quoted(PATIENTS)} WHERE "the ""id""" = \'217\'')
    budget = BudgetFile.create(tmp_path / "b", Budget(100.0, 1e-6), "b", datetime(2026, 1, 1, tzinfo=UTC))
    done = synth(ugly, source, tmp_path / "out.sqlite", tmp_path, "-o", tmp_path / "r.mare", "--budget-file", tmp_path / "b")
    assert done.returncode == 2
    assert 'its key (the "id") is not unique' in done.stderr
    assert "217" not in done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["b", "ugly.sqlite", "ugly.yaml"]
    # Rows had been read: what was reserved is gone.
    assert len(budget.read().reservations) == 1


def test_a_database_without_a_single_row_is_synthesized(ugly: Path, tmp_path: Path) -> None:
    source = as_sqlite(tmp_path)
    with closing(sqlite3.connect(source)) as database, database:
        for table in UGLY_TABLES:
            database.execute(f"DELETE FROM {quoted(table)}")
    done = synth(ugly, source, tmp_path / "out.sqlite", tmp_path)
    assert done.returncode == 0, done.stderr
    with closing(sqlite3.connect(tmp_path / "out.sqlite")) as made:
        assert made.execute("PRAGMA foreign_key_check").fetchall() == []


# ------------------------------------------------------------------ a disk that fills

_LIMITED = """
import resource, sys
sys.argv = ["mare", *sys.argv[2:]]
from mare.cli import main
import duckdb, pyarrow.parquet, safetensors.numpy, sqlalchemy
resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, resource.RLIM_INFINITY))
main()
"""


def limited(size: int, *arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    """`mare …` where no file may grow beyond so many bytes: what a program sees of a disk that is full."""
    pytest.importorskip("resource")
    temporary = folder / "temporary"
    temporary.mkdir(exist_ok=True)
    command = [sys.executable, "-W", "error", "-c", _LIMITED.format(size=size), "-", *map(str, arguments)]
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": os.pathsep.join(map(str, sys.path))}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)
    assert list(temporary.iterdir()) == []
    temporary.rmdir()
    return done


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("real") / "hospital.sqlite"
    simulate_hospital(path, patients=500)
    return path


HOSPITAL = ROOT / "examples" / "hospital.yaml"


@pytest.fixture(scope="module")
def fitted(hospital: Path) -> Path:
    path = hospital.with_name("r.mare")
    assert mare("fit", HOSPITAL, "--from", hospital, "--epsilon", "2", "-o", path, "--quiet").returncode == 0
    return path


@pytest.mark.parametrize("target", ["out.sqlite", *(pytest.param(t, marks=pytest.mark.slow) for t in ("out.duckdb", "out"))])
def test_a_disk_that_fills_under_the_target_is_said_and_nothing_is_left(fitted: Path, target: str, tmp_path: Path) -> None:
    """Every kind of target is in `tests/adapters/test_sink_faults.py`: this is the command."""
    done = limited(20_000, "sample", fitted, "--to", tmp_path / target, "--entities", "3000", folder=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(faults_said(done.stderr)) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_fills_under_the_release_is_said_and_the_budget_is_spent(hospital: Path, tmp_path: Path) -> None:
    budget = BudgetFile.create(tmp_path / "b", Budget(100.0, 1e-6), "b", datetime(2026, 1, 1, tzinfo=UTC))
    options = ("--from", hospital, "--epsilon", "2", "-o", "r.mare", "--budget-file", "b")
    done = limited(4_000, "fit", HOSPITAL, *options, folder=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "r.mare cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert [entry.name for entry in tmp_path.iterdir()] == ["b"]
    assert len(budget.read().reservations) == 1


_FULL_STAGE = """
import resource
from pathlib import Path
from mare.errors import SourceError
from mare.stage.database import staging_database
try:
    with staging_database(Path(".")) as connection:
        connection.execute("SET memory_limit = '30MB'")
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, resource.RLIM_INFINITY))
        connection.execute("CREATE TABLE t AS SELECT sha256(n::VARCHAR) AS a, sha256(n::VARCHAR) AS b FROM range(2000000) r(n)")
        connection.execute("CREATE TABLE s AS SELECT * FROM t ORDER BY b")
except SourceError as error:
    print(error)
"""


def test_a_disk_that_fills_under_the_staging_is_said_and_the_staging_goes_away(tmp_path: Path) -> None:
    pytest.importorskip("resource")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sys.path))}
    command = [sys.executable, "-c", _FULL_STAGE]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert "Set TMPDIR to" in done.stdout
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------ a server that goes away, a user without rights

_BOMB = """
CREATE FUNCTION bomb(n bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS
$$ BEGIN IF n = {at} THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; RETURN true; END $$;
"""
_TABLES = """
CREATE TABLE patients (patient_id bigint PRIMARY KEY, sex text, birth_year int, insurance text, died date);
CREATE TABLE admissions (admission_id bigint PRIMARY KEY, patient_id bigint REFERENCES patients, admitted timestamp,
    discharged timestamp, ward text, urgent boolean, severity int, crp numeric(7, 1));
"""
_ROWS = """
INSERT INTO patients SELECT n, 'F', 1950, 'public', NULL FROM generate_series(1, 3000) n;
INSERT INTO admissions SELECT n, n, '2020-01-01', '2020-01-02', 'surgery', true, 3, 1.5 FROM generate_series(1, 3000) n;
"""


def budget_in(folder: Path) -> BudgetFile:
    return BudgetFile.create(folder / "b", Budget(100.0, 1e-6), "b", datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("table", ["patients", "admissions"])
def test_a_connection_that_drops_while_reading_is_said_and_nothing_is_written(
    table: str, postgres_server: PostgresServer, tmp_path: Path
) -> None:
    """The server ends the connection in the middle of the rows: row security calls a function for each of them."""
    key = "patient_id" if table == "patients" else "admission_id"
    secret = "s3cret-of-the-reader"
    reader = postgres_server.create_role(secret)
    url = postgres_server.create_database(
        f"{_TABLES}{_ROWS}{_BOMB.format(at=2500)} ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;"
        f"CREATE POLICY p ON {table} FOR SELECT USING (bomb({key})); GRANT SELECT ON patients, admissions TO {reader};"
    )
    source = postgres_server.url(url.rpartition("/")[2], reader, secret)
    budget = budget_in(tmp_path)
    done = synth(HOSPITAL, source, tmp_path / "out", tmp_path, "-o", tmp_path / "r.mare", "--budget-file", tmp_path / "b")
    assert done.returncode == 2
    assert f"table {table} cannot be read" in done.stderr
    assert "closed the connection" in done.stderr
    assert len(faults_said(done.stderr)) == 1
    assert secret not in done.stderr
    assert [entry.name for entry in tmp_path.iterdir()] == ["b"]
    assert len(budget.read().reservations) == 1


def test_a_connection_that_drops_while_the_tables_are_tried_costs_no_budget(
    hospital: Path, postgres_server: PostgresServer, tmp_path: Path
) -> None:
    url = postgres_server.create_database(
        """CREATE FUNCTION trap() RETURNS event_trigger LANGUAGE plpgsql AS
            $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); END $$;
            CREATE EVENT TRIGGER t ON ddl_command_start WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION trap();"""
    )
    budget = budget_in(tmp_path)
    done = synth(HOSPITAL, hospital, url, tmp_path, "--budget-file", tmp_path / "b")
    assert done.returncode == 2
    assert "closed the connection" in done.stderr
    assert budget.read().reservations == ()
    assert [entry.name for entry in tmp_path.iterdir()] == ["b"]


@pytest.mark.parametrize("when", ["a row comes", "the keys are made"])
def test_a_connection_that_drops_while_writing_leaves_the_target_as_it_was(
    when: str, hospital: Path, postgres_server: PostgresServer, tmp_path: Path
) -> None:
    if when == "a row comes":
        script = f"""{_TABLES}{_BOMB.format(at=150)}
            CREATE FUNCTION trap() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM bomb(NEW.patient_id); RETURN NEW; END $$;
            CREATE TRIGGER t BEFORE INSERT ON patients FOR EACH ROW EXECUTE FUNCTION trap();"""
    else:
        script = """CREATE FUNCTION trap() RETURNS event_trigger LANGUAGE plpgsql AS
            $$ DECLARE filled boolean := false; BEGIN
                IF to_regclass('public.patients') IS NOT NULL THEN
                    EXECUTE 'SELECT EXISTS (SELECT 1 FROM public.patients)' INTO filled;
                END IF;
                -- not when the tables are tried out empty, before the fit
                IF filled THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
            END $$;
            CREATE EVENT TRIGGER t ON ddl_command_start WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION trap();"""
    url = postgres_server.create_database(script)
    asked = when == "a row comes"
    release = tmp_path / ("r.mare" if asked else "hospital.rescued1.mare")
    done = synth(HOSPITAL, hospital, url, tmp_path, *(("-o", release) if asked else ()))
    assert done.returncode == 2
    assert "closed the connection" in done.stderr
    assert postgres_server.password not in done.stderr
    assert len([line for line in faults_said(done.stderr) if line.startswith("mare:")]) == (1 if asked else 2)
    assert asked or f"is kept in {release.name}" in done.stderr
    with psycopg.connect(url, autocommit=True) as connection:
        left = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'"
        assert connection.execute(left).fetchone() == ((2,) if when == "a row comes" else (0,))
        if when == "a row comes":
            assert connection.execute("SELECT count(*) FROM patients").fetchone() == (0,)
            connection.execute("DROP TRIGGER t ON patients")
        else:
            connection.execute("DROP EVENT TRIGGER t")
    # What was paid for is not lost: the release was written before the target, or when that failed.
    again = mare("sample", release, "--to", url, folder=tmp_path)
    assert again.returncode == 0, again.stderr


def test_a_target_that_refuses_costs_nothing(hospital: Path, postgres_server: PostgresServer, tmp_path: Path) -> None:
    """A user without the right to create, and tables that hold rows already: found out before a row is read."""
    secret = "s3cret-of-the-writer"
    writer = postgres_server.create_role(secret)
    closed = postgres_server.create_database("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    filled = postgres_server.create_database("CREATE TABLE admissions AS SELECT 1 AS a")
    budget = budget_in(tmp_path)
    options = ("-o", tmp_path / "r.mare", "--budget-file", tmp_path / "b")
    url = postgres_server.url(closed.rpartition("/")[2], writer, secret)
    for target, words in ((url, "may not create tables in schema public"), (filled, "already holds rows in admissions")):
        done = synth(HOSPITAL, hospital, target, tmp_path, *options)
        assert done.returncode == 2
        assert words in done.stderr
        assert secret not in done.stderr
        assert len(faults_said(done.stderr)) == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["b"]
    assert budget.read().reservations == ()


def test_a_source_that_may_not_be_read_costs_nothing(postgres_server: PostgresServer, tmp_path: Path) -> None:
    reader = postgres_server.create_role("word")
    url = postgres_server.create_database(_TABLES + _ROWS + f"GRANT SELECT ON patients TO {reader}")
    budget = budget_in(tmp_path)
    source = postgres_server.url(url.rpartition("/")[2], reader, "word")
    done = synth(HOSPITAL, source, tmp_path / "out", tmp_path, "--budget-file", tmp_path / "b")
    assert done.returncode == 2
    assert "admissions" in done.stderr
    assert [entry.name for entry in tmp_path.iterdir()] == ["b"]
    assert budget.read().reservations == ()


def test_what_was_left_out_is_not_in_the_release(ugly: Path, tmp_path: Path) -> None:
    """True numbers are for the screen: neither the release nor what --json prints may hold them."""
    release = tmp_path / "r.mare"
    done = mare("fit", ugly, "--from", as_csv(tmp_path), "--epsilon", 30, "-o", release, "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "internal" not in done.stdout + done.stderr
    assert "outside" not in json.dumps(json.loads(done.stdout))
