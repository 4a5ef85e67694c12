"""Everything in examples/ is run as its reader would run it: in a process of its own, in an empty folder."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.servers import PostgresServer

EXAMPLES = ROOT / "examples"
BIN = Path(sys.executable).parent


def run(*command: object, folder: Path, **more: str) -> str:
    """What the command prints. It succeeds, and warns of nothing."""
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    environment: Mapping[str, str] = {**os.environ, "PATH": path, "COLUMNS": "80", "PYTHONWARNINGS": "error", **more}
    done = subprocess.run(
        [*map(str, command)], cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute(query).fetchall()


@pytest.mark.slow
def test_the_demo_tells_the_whole_story(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    folder.mkdir()
    (folder / "synthetic.sqlite").write_text("left by an earlier run")
    said = run(sys.executable, EXAMPLES / "demo.py", folder, "500", folder=tmp_path)
    for verb in ("init", "check", "plan", "fit", "sample", "ledger", "evaluate", "card"):
        assert f"$ mare {verb} " in said
    assert "patients.diagnosis" in said.partition("after review")[2], "what review changed is shown"
    assert "0 broken references" in said
    assert "✗" not in said
    assert "Privacy ledger: PRIVATE" in said
    assert "Internal, not private" in said
    for page in ("card.html", "report.html"):
        assert (folder / page).read_text(encoding="utf-8").startswith("<!doctype html>")
    assert str(folder / "report.html") in said
    assert max(len(line) for line in said.splitlines() if str(tmp_path) not in line) <= 95, "it reads well at 80 columns"
    synthetic = folder / "synthetic.sqlite"
    assert rows(synthetic, "PRAGMA foreign_key_check") == []
    assert rows(synthetic, "PRAGMA integrity_check") == [("ok",)]
    assert rows(synthetic, "SELECT * FROM drugs ORDER BY 1") == rows(folder / "oncology.sqlite", "SELECT * FROM drugs ORDER BY 1")


@pytest.mark.slow
def test_a_live_postgresql_goes_into_another(tmp_path: Path, postgres_server: PostgresServer) -> None:
    import psycopg

    names = [f"example_{word}_{os.getpid()}" for word in ("hospital", "synthetic")]
    hospital, synthetic = (postgres_server.create_database(name=name) for name in names)
    # As a reader writes them: without the password.
    source, target = (url.replace(f":{postgres_server.password}@", "@") for url in (hospital, synthetic))
    run(sys.executable, EXAMPLES / "oncology.py", source, 200, folder=tmp_path, PGPASSWORD=postgres_server.password)
    said = run(EXAMPLES / "live_database.sh", source, target, folder=tmp_path, PGPASSWORD=postgres_server.password)
    assert "It matches" in said
    assert postgres_server.password not in said + (tmp_path / "draft.yaml").read_text(encoding="utf-8")

    # A range CHECK comes out as its two halves, so those are compared by what they are about.
    keys = (
        "SELECT conrelid::regclass::text, pg_get_constraintdef(oid), convalidated FROM pg_constraint "
        "WHERE connamespace = 'public'::regnamespace AND contype IN ('p', 'u', 'f') ORDER BY 1, 2"
    )
    checked = (
        "SELECT DISTINCT conrelid::regclass::text, conkey, convalidated FROM pg_constraint "
        "WHERE connamespace = 'public'::regnamespace AND contype = 'c' ORDER BY 1, 2"
    )
    columns = (
        "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns "
        "WHERE table_schema = 'public' ORDER BY 1, 2"
    )
    with psycopg.connect(hospital) as there, psycopg.connect(synthetic) as here:
        for query in (keys, checked, columns):
            assert here.execute(query).fetchall() == there.execute(query).fetchall()
        (made,) = here.execute("SELECT count(*) FROM prescriptions").fetchone() or (0,)
    assert made > 100


@pytest.mark.slow
def test_a_model_of_ones_own_is_installed_found_and_held_to_the_contract(tmp_path: Path) -> None:
    site = tmp_path / "site"
    offline = ["--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--quiet"]
    package = tmp_path / "own_model"  # a copy: building leaves nothing in the clone
    shutil.copytree(EXAMPLES / "own_model", package)
    run(sys.executable, "-m", "pip", "install", *offline, "--target", site, package, folder=tmp_path, PYTHONWARNINGS="default")
    beside = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")]))

    said = run(sys.executable, package / "embed.py", folder=tmp_path, PYTHONPATH=beside)
    kept = {line.split()[0]: int(re.findall(r"(\d+)%", line)[0]) for line in said.splitlines()}
    assert kept["real"] - kept["chain"] < 15
    assert kept["real"] - kept["independent"] > 30
    assert said.count("; PRIVATE") == 2
    assert "chain: " in run("mare", "models", folder=tmp_path, PYTHONPATH=beside)

    contract = [ROOT / "tests" / "unit" / "models" / "test_contract.py", "-k", "chain", "-q", "--no-header"]
    held = run(sys.executable, "-m", "pytest", *contract, folder=ROOT, PYTHONPATH=beside)
    assert int(re.findall(r"(\d+) passed", held)[0]) >= 5


@pytest.mark.slow
def test_an_export_goes_through_a_ready_schema(tmp_path: Path) -> None:
    import pandas as pd

    said = run(sys.executable, EXAMPLES / "ehr_export.py", folder=tmp_path)
    assert "synthetic: PRIVATE" in said
    tables = {
        name: pd.read_csv(tmp_path / "synthetic" / f"{name}.csv.gz", parse_dates=times)
        for name, times in (
            ("patients", ["dod"]),
            ("admissions", ["admittime", "dischtime"]),
            ("transfers", ["intime", "outtime"]),
        )
    }
    for name, table in tables.items():
        assert list(table) == list(pd.read_csv(tmp_path / "export" / "hosp" / f"{name}.csv.gz", nrows=0))
        assert len(table) > 500
        assert table.iloc[:, 0].notna().all()
    stays = tables["admissions"].set_index("hadm_id")
    assert stays.index.is_unique
    assert stays["subject_id"].isin(tables["patients"]["subject_id"]).all()
    assert (stays["dischtime"] >= stays["admittime"]).all()
    moves = tables["transfers"]
    assert moves["hadm_id"].isin(stays.index).all()
    assert (moves["subject_id"].to_numpy() == stays.loc[moves["hadm_id"], "subject_id"].to_numpy()).all()
    assert (moves["intime"].to_numpy() <= stays.loc[moves["hadm_id"], "dischtime"].to_numpy()).all()
