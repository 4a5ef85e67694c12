"""The guide «From a FHIR export»: from a folder of ndjson to tables in which nobody is seen before birth, after death or after
the end of the data."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from mare.schema.loading import load_schema
from tests.command_line import mare
from tests.fhir_export import BEGINS, ENDS, UNREADABLE, hospital, write_export

SEEDS = ("--unsafe-seed", 3, "--seed", 3)
TIMES = {
    "encounter": ("start_at", "end_at"),
    "condition": ("onset_at", "abatement_at"),
    "observation": ("effective_at",),
    "medication_request": ("authored_at",),
    "procedure": ("performed_at", "performed_until"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    """`init`, `check`, `plan` and `synth`, as the guide has them."""
    folder = tmp_path_factory.mktemp("fhir")
    write_export(folder / "export", hospital(patients=40, seed=5), UNREADABLE)
    between = f"{BEGINS:%Y-%m-%d}", f"{ENDS:%Y-%m-%d}"
    for command in (
        ("init", "export", "--like", "fhir-r4", "--between", *between, "--entities", 40, "-o", "export.yaml"),
        ("check", "export.yaml", "--from", "export"),
        ("plan", "export.yaml", "--epsilon", 100),
        ("synth", "export.yaml", "--from", "export", "--to", "synthetic.duckdb", "--epsilon", 100, *SEEDS, "--quiet"),
    ):
        done = mare(*command, folder=folder)
        assert done.returncode == 0, done.stdout + done.stderr
    return duckdb.connect(str(folder / "synthetic.duckdb"), read_only=True)


def value(made: duckdb.DuckDBPyConnection, query: str) -> int:
    (found,) = made.execute(query).fetchone() or (None,)
    return int(found)


@pytest.mark.parametrize("table", TIMES)
def test_times_are_in_order(table: str, made: duckdb.DuckDBPyConnection) -> None:
    begins, ends = TIMES[table][0], TIMES[table][-1]
    assert value(made, f"SELECT count(*) FROM {table}") > 10
    assert value(made, f"SELECT count(*) FROM {table} WHERE {ends} < {begins}") == 0
    for when in TIMES[table]:
        assert (
            value(made, f"SELECT count(*) FROM {table} WHERE {when} NOT BETWEEN '{BEGINS}' AND '{ENDS:%Y-%m-%d} 23:59:59'") == 0
        )
        patients = f"SELECT count(*) FROM {table} t JOIN patient p ON t.patient_id = p.id"
        assert value(made, f"{patients} WHERE {when} < birth_date") == 0
        assert value(made, f"{patients} WHERE {when} > deceased_at") == 0


@pytest.mark.parametrize("table", [table for table in TIMES if table != "encounter"])
def test_what_names_an_encounter_happens_during_it(table: str, made: duckdb.DuckDBPyConnection) -> None:
    linked = f"SELECT count(*) FROM {table} t JOIN encounter e ON t.encounter_id = e.id"
    assert value(made, linked) > 0
    outside = f"{TIMES[table][0]} < e.start_at OR {TIMES[table][0]} > e.end_at"  # one that has not ended holds all that comes
    assert value(made, f"{linked} WHERE {outside} OR t.patient_id <> e.patient_id") == 0


def test_who_has_died_and_when_agree(made: duckdb.DuckDBPyConnection) -> None:
    assert value(made, "SELECT count(*) FROM patient WHERE deceased <> (deceased_at IS NOT NULL)") == 0
    assert 0 < value(made, "SELECT count(*) FROM patient WHERE deceased") < 30


@pytest.mark.slow
def test_types_that_nobody_has_come_out_empty(tmp_path: Path) -> None:
    """An export has no file of them. Whether one patient has a procedure must not decide which tables there are."""
    write_export(tmp_path / "export", {kind: one for kind, one in hospital(60).items() if kind in ("Patient", "Observation")})
    done = mare("init", "export", "--like", "fhir-r4", "-o", "export.yaml", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "procedure" in load_schema(tmp_path / "export.yaml").tables
    assert mare("check", "export.yaml", "--from", "export", folder=tmp_path).returncode == 0
    # So large that noise makes no rows: at 1,000 it makes a dozen once in ten times.
    made = ("--to", "out.duckdb", "--epsilon", "1000000", "--delta", "1e-9")
    done = mare("synth", "export.yaml", "--from", "export", *made, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    with duckdb.connect(tmp_path / "out.duckdb") as database:
        assert value(database, "SELECT count(*) FROM procedure") < 5
        assert value(database, "SELECT count(*) FROM observation") > 60
