"""No verb of the command line prints a password: not in a message, a draft, a JSON page, a next step, a ledger or a release."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.hospital import simulate_hospital
from tests.command_line import mare
from tests.conftest import ROOT
from tests.servers import PostgresServer

SCHEMA = ROOT / "examples" / "hospital.yaml"
LOCATIONS = [
    "jdbc:postgresql://h/db?user=bob&password=S3cret",
    "host=h password=S3cret",
    "sqlite://bob:S3cret@h/db",
    "duckdb://bob:S3cret@h/x",
    "postgresql://bob:S3cret?a=x@h/db",
    "postgresql://bob:1?S3cret=x@h/db",
    "postgresql://bob:1/S3cret@h/db",
    "postgresql://bob:1#S3cret@h/db",
    f"postgres:/bob:S3cret{'x' * 300}@h/db",
    "postgresql://bob:S3cret@127.0.0.1:1/db?sslpassword=S3cret&connect_timeout=2",
]
QUICK = (LOCATIONS[6], LOCATIONS[9])
"""Those of `make test`: one that can be read in two ways, one that nobody answers."""


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("real") / "hospital.sqlite"
    simulate_hospital(path, patients=60)
    return path


@pytest.fixture(scope="module")
def release(hospital: Path) -> Path:
    path = hospital.with_name("hospital.mare")
    assert mare("fit", SCHEMA, "--from", hospital, "--epsilon", "1", "-o", path).returncode == 0
    return path


def commands(location: str, hospital: Path, release: Path) -> Iterator[list[object]]:
    """Every place where a location, or a path that one may be mistaken for, is given."""
    fit = ["--epsilon", "1", "-o", "x.mare"]
    yield ["init", location]
    yield ["init", location, "--peek", "-o", "draft.yaml"]
    yield ["init", hospital, "-o", location]
    yield ["init", *location.split()]
    yield ["check", SCHEMA, "--from", location]
    yield ["check", SCHEMA, "--from", location, "--json"]
    yield ["check", location]
    yield ["plan", location, "--epsilon", "1"]
    yield ["graph", SCHEMA, "-o", location]
    yield ["fit", SCHEMA, "--from", location, *fit]
    yield ["fit", SCHEMA, "--from", location, *fit, "--json"]
    yield ["fit", location, "--from", hospital, *fit]
    yield ["fit", SCHEMA, "--from", hospital, "--epsilon", "1", "-o", location]
    yield ["fit", SCHEMA, "--from", hospital, *fit, "--budget-file", location]
    yield ["synth", SCHEMA, "--from", location, "--to", "x.sqlite", "--epsilon", "1"]
    yield ["synth", SCHEMA, "--from", hospital, "--to", location, "--epsilon", "1", "--json"]
    yield ["sample", release, "--to", location]
    yield ["sample", release, "--to", location, "--replace", "--json"]
    yield ["sample", location, "--to", "x.sqlite"]
    yield ["ledger", location]
    yield ["budget", "create", location, "--epsilon", "1"]
    yield ["budget", "show", location]
    yield [location]


@pytest.mark.parametrize(
    "location", [pytest.param(location, marks=[] if location in QUICK else [pytest.mark.slow]) for location in LOCATIONS]
)
def test_no_verb_prints_a_password_wherever_it_was_typed(location: str, hospital: Path, release: Path, tmp_path: Path) -> None:
    for arguments in commands(location, hospital, release):
        done = mare(*arguments, folder=tmp_path)
        assert done.returncode == 2, arguments
        assert "S3cret" not in done.stdout + done.stderr, arguments
        assert not [entry for entry in tmp_path.rglob("*") if "S3cret" in str(entry)], arguments


def test_what_is_kept_of_a_run_with_a_password_holds_none(postgres_server: PostgresServer, tmp_path: Path) -> None:
    database = postgres_server.create_database(
        """
        CREATE TABLE patients (id int PRIMARY KEY, sex text CHECK (sex IN ('F', 'M')));
        INSERT INTO patients SELECT n, CASE n % 2 WHEN 0 THEN 'F' ELSE 'M' END FROM generate_series(1, 50) n;
        """
    )
    target = postgres_server.create_database("")
    secret = postgres_server.password
    printed = []
    for arguments in (
        ["init", database, "-o", "schema.yaml"],
        ["check", "schema.yaml", "--from", database, "--json"],
        ["budget", "create", "cap.json", "--epsilon", "9"],
        ["fit", "schema.yaml", "--from", database, "--epsilon", "1", "-o", "r.mare", "--budget-file", "cap.json", "--json"],
        ["synth", "schema.yaml", "--from", database, "--to", target, "--epsilon", "1", "--budget-file", "cap.json", "--json"],
        ["sample", "r.mare", "--to", target, "--replace"],
        ["ledger", "r.mare", "--json"],
        ["ledger", "cap.json"],
    ):
        done = mare(*arguments, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout + done.stderr)
    assert "Next: mare check schema.yaml --from postgresql://postgres@" in printed[0]
    assert "from postgresql://postgres@" in (tmp_path / "schema.yaml").read_text()
    with zipfile.ZipFile(tmp_path / "r.mare") as archive:
        kept = [archive.read(name) for name in archive.namelist()]
    kept += [(tmp_path / name).read_bytes() for name in ("schema.yaml", "cap.json")]
    assert not [text for text in [*kept, *(page.encode() for page in printed)] if secret.encode() in text]
