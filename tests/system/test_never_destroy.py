"""No command overwrites what it does not own: not the source, not the schema, not a file that was put in the wrong place."""

from __future__ import annotations

import re
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from examples.hospital import simulate_hospital
from mare.cli.commands.fit import save
from mare.errors import ReleaseError
from mare.release import load_release
from tests.command_line import Done, mare
from tests.conftest import ROOT
from tests.servers import PostgresServer
from tests.system.test_source_is_target import HOSPITAL, make_hospital
from tests.targets import read

SCHEMA = ROOT / "examples" / "hospital.yaml"


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a source, a schema, and a release of the two."""
    folder = tmp_path_factory.mktemp("destroy")
    simulate_hospital(folder / "real.sqlite", patients=60)
    (folder / "s.yaml").write_bytes(SCHEMA.read_bytes())
    assert fit(folder, "-o", "r.mare").returncode == 0
    return folder


def fit(folder: Path, *options: object) -> Done:
    return mare("fit", "s.yaml", "--from", "real.sqlite", "--epsilon", "1", "--delta", "0", "-q", *options, folder=folder)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def assert_refused(done: Done, said: str, folder: Path, before: dict[str, bytes]) -> None:
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
    assert contents(folder) == before


@pytest.mark.parametrize("name", ["real.sqlite", "s.yaml", "budget"])
def test_a_release_or_notes_are_not_written_over_anything_else(given: Path, name: str) -> None:
    if name == "budget" and not (given / name).exists():
        assert mare("budget", "create", given / name, "--epsilon", "9").returncode == 0
    before = contents(given)
    for option in ("-o", "--internal-notes"):
        rest = () if option == "-o" else ("-o", "new.mare")
        assert_refused(fit(given, option, name, *rest, "--replace"), f"{name} exists already, and is not a", given, before)
    target = ("--to", "new.sqlite", "--epsilon", "1", "--replace", "-o", name)
    done = mare("synth", "s.yaml", "--from", "real.sqlite", *target, folder=given)
    assert_refused(done, f"{name} exists already, and is not a release file", given, before)


@pytest.mark.parametrize("name", ["real.sqlite-journal", "real.sqlite-wal"])
def test_nothing_is_written_where_a_database_looks_for_its_log(given: Path, name: str) -> None:
    """SQLite would take it for the source's own, and remove it."""
    before = contents(given)
    said = "is the source real.sqlite, or belongs to it"
    assert_refused(fit(given, "-o", name), said, given, before)
    assert_refused(fit(given, "-o", "new.mare", "--internal-notes", name), said, given, before)
    report = mare("audit", "s.yaml", "--from", "real.sqlite", "--output", name, "-q", folder=given)
    assert_refused(report, said, given, before)


def test_a_table_that_shows_in_another_is_no_target(postgres_server: PostgresServer, given: Path) -> None:
    """Synthetic patients in a part of a real table would be in every query on it."""
    url = postgres_server.create_database("""
        CREATE TABLE patients (id int);
        CREATE SCHEMA parts;
        CREATE TABLE parts.patients () INHERITS (public.patients);
    """)
    for options in ((), ("--replace",)):
        done = mare("sample", "r.mare", "--to", f"{url}?schema=parts", *options, folder=given)
        assert done.returncode == 2, done.stdout
        assert "patients (a part of another table, which would show its rows)" in done.stderr


def test_a_release_and_notes_are_written_over_their_like(given: Path) -> None:
    for _ in range(2):
        done = fit(given, "-o", "again.mare", "--internal-notes", "notes", "--replace")
        assert done.returncode == 0, done.stderr
    assert (given / "notes").read_text().startswith("INTERNAL, NOT PRIVATE")
    (given / "again.mare").unlink()
    (given / "notes").unlink()


def test_a_release_that_somebody_wrote_meanwhile_stays_and_the_paid_one_is_kept_beside(
    given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    release = load_release(given / "r.mare")
    (tmp_path / "there.mare").write_bytes((given / "r.mare").read_bytes())
    with pytest.raises(ReleaseError, match="It was left as it was"):
        save(release, tmp_path / "there.mare", replace=False)
    kept = re.search(r"kept in (\S+);", capsys.readouterr().err)
    assert kept is not None
    assert load_release(tmp_path / kept[1]).id == release.id
    save(release, tmp_path / "there.mare", replace=True)


def test_a_draft_is_not_written_over_the_source(given: Path) -> None:
    before = contents(given)
    for options in ((), ("--replace",), ("--force",)):
        done = mare("init", "real.sqlite", "-o", "real.sqlite", *options, folder=given)
        assert_refused(done, "is not a schema" if options else "exists already", given, before)


def test_a_sample_is_not_written_over_the_source_and_says_why(given: Path) -> None:
    before = contents(given)
    for target in ("real.sqlite", "sqlite:///real.sqlite", "."):
        done = mare("sample", "r.mare", "--to", target, "--replace", folder=given)
        assert_refused(done, "mare: ", given, before)
    done = mare("sample", "r.mare", "--to", "real.sqlite", "--replace", folder=given)
    assert "without the mark of what mare created, and --replace overwrites nothing else" in done.stderr
    assert "Remove it yourself, or give another path" in done.stderr


def test_a_sample_is_not_written_over_a_real_postgresql(postgres_server: PostgresServer, given: Path) -> None:
    url = postgres_server.create_database(
        "CREATE TABLE patients (patient_id int PRIMARY KEY); INSERT INTO patients VALUES (7); CREATE TABLE admissions (a int)"
    )
    before = read(url)
    done = mare("sample", "r.mare", "--to", url, "--replace", folder=given)
    assert done.returncode == 2
    assert "already holds patients, without the mark" in done.stderr
    assert "Drop it yourself, or give another target" in done.stderr
    assert read(url) == before


def test_a_given_file_is_not_taken_along_with_a_folder_that_is_replaced(given: Path, tmp_path: Path) -> None:
    sample = ("sample", given / "r.mare", "--to", "out?format=csv", "-q", "--replace")
    assert mare(*sample, "--entities", "5", folder=tmp_path).returncode == 0
    before = contents(tmp_path)
    done = mare(*sample, "--given", "patients=out/patients.csv", folder=tmp_path)
    assert_refused(done, "(given for patients)", tmp_path, before)


def test_the_target_carries_the_id_of_the_release(given: Path, tmp_path: Path) -> None:
    target = tmp_path / "t.sqlite"
    assert mare("sample", given / "r.mare", "--to", target, "-q", "--entities", "5").returncode == 0
    with closing(sqlite3.connect(target)) as database:
        said = [sql for (sql,) in database.execute("SELECT sql FROM sqlite_master WHERE type = 'table'")]
    assert said
    assert all(f"from release {load_release(given / 'r.mare').id} " in sql for sql in said)


def test_a_release_remembers_nothing_of_where_its_data_came_from(postgres_server: PostgresServer, tmp_path: Path) -> None:
    """So a sample cannot know its source: the mark alone protects it."""
    role = postgres_server.create_role("Zyzzyva-word")
    url = postgres_server.create_database("CREATE SCHEMA zyzzyva_schema", name="zyzzyva_database")
    make_hospital(f"{url}?schema=zyzzyva_schema")
    grants = f"GRANT ALL ON SCHEMA zyzzyva_schema TO {role}; GRANT ALL ON ALL TABLES IN SCHEMA zyzzyva_schema TO {role}"
    postgres_server.run("zyzzyva_database", grants)
    folder = tmp_path / "zyzzyva_folder"
    folder.mkdir()
    make_hospital(str(folder / "zyzzyva.sqlite"))
    make_hospital(str(folder / "zyzzyva"))
    (tmp_path / "s.yaml").write_text(HOSPITAL)
    live = f"{postgres_server.url('zyzzyva_database', role, 'Zyzzyva-word')}?schema=zyzzyva_schema"
    for source in (live, "zyzzyva_folder/zyzzyva.sqlite", "zyzzyva_folder/zyzzyva"):
        done = mare("fit", "s.yaml", "--from", source, "--epsilon", "1", "-o", "r.mare", "--replace", "-q", folder=tmp_path)
        assert done.returncode == 0, done.stderr
        with zipfile.ZipFile(tmp_path / "r.mare") as archive:
            for name in archive.namelist():
                kept = archive.read(name).lower()
                for word in (
                    b"zyzzyva",
                    role.encode(),
                    b"127.0.0.1",
                    f":{postgres_server.port}".encode(),
                    tmp_path.name.encode(),
                ):
                    assert word not in kept, (source, name, word)
