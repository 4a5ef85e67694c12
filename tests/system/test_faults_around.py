"""Faults around a run: a disk that fills, a server that ends the connection in the middle of a statement, a user without rights.

A clear word, an exit code, nothing half-written, no budget lost or taken without need. (`test_kills.py`
has kills, `tests/adapters` what sinks and sources do on their own, `test_faults.py` dirty rows.)
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from mare.privacy.budget import Budget
from mare.privacy.budget_file import BudgetFile
from tests.command_line import mare
from tests.hospital_jobs import HOSPITAL, hospital, synth
from tests.servers import PostgresServer

__all__ = ["hospital"]


def faults_said(stderr: str) -> list[str]:
    """What was said, but for how far it is: a slow machine is told that too."""
    how_far = re.compile(r"mare: (sampling|finishing|.* \(step \d+ of \d+\)$)")
    return [line for line in stderr.splitlines() if not how_far.match(line)]


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


@pytest.mark.slow
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
from mare.stage.intake import staging_database
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
    hidden = "row level security hides those that this user may not see"  # known beforehand, and no fault
    assert len([line for line in faults_said(done.stderr) if "will lack this" not in line and hidden not in line]) == 1
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
