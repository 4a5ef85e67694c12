"""`mare init` as a user runs it: on files, folders and servers; and what it says when it cannot."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import stat
from pathlib import Path

import pytest

from mare.schema.loading import load_document, load_schema
from tests.command_line import mare
from tests.draft_edits import CHINOOK_FACTS, MIMIC_FACTS, NAFLD_FACTS
from tests.servers import MysqlServer, PostgresServer, chinook_postgres

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "from-a-live-database.md"
CHINOOK_FILE = Path(__file__).parents[1] / "fixtures" / "chinook" / "chinook.sqlite"


def draft_and_plan(source: object, folder: Path, facts: tuple[str, ...]) -> None:
    """With two public facts, nothing is left to settle: what was drafted is checked and planned as it is."""
    done = mare("init", source, "-o", folder / "draft.yaml", *facts)
    assert done.returncode == 0, done.stderr
    load_schema(folder / "draft.yaml")
    checked = mare("check", folder / "draft.yaml", "--from", source)
    assert checked.returncode == 0, checked.stdout
    planned = mare("plan", folder / "draft.yaml", "--epsilon", 2)
    assert planned.returncode == 0, planned.stderr


def test_chinook_is_drafted_and_planned(tmp_path: Path) -> None:
    draft_and_plan(CHINOOK_FILE, tmp_path, CHINOOK_FACTS)


def test_chinook_on_a_real_server_is_drafted_and_planned(tmp_path: Path, postgres_server: PostgresServer) -> None:
    draft_and_plan(chinook_postgres(postgres_server), tmp_path, CHINOOK_FACTS)


@pytest.mark.shared
def test_nafld_is_drafted_and_planned(tmp_path: Path, shared_data: Path) -> None:
    draft_and_plan(shared_data / "nafld", tmp_path, NAFLD_FACTS)


@pytest.mark.shared
def test_mimic_is_drafted_and_planned(tmp_path: Path, shared_data: Path) -> None:
    draft_and_plan(shared_data / "mimic4_demo_partial", tmp_path, MIMIC_FACTS)


def test_a_folder_of_csv_is_told_what_was_looked_at_and_a_database_that_nothing_was(tmp_path: Path) -> None:
    (tmp_path / "eleves.csv").write_text("matricule,nom\ne1,A\n")
    done = mare("init", tmp_path)
    told = "rows below the header were compared with it, to check that it is one; no value was kept"
    assert told in done.stderr
    assert told in " ".join(line.lstrip("# ") for line in done.stdout.splitlines())
    assert "No value was read" not in done.stdout + done.stderr
    assert "No value was read." in mare("init", CHINOOK_FILE).stderr


def test_what_is_left_out_because_nothing_leads_to_who_was_asked_for_is_told_aloud(tmp_path: Path) -> None:
    (tmp_path / "eleves.csv").write_text("numero,nom\ne1,A\n")
    (tmp_path / "notes.csv").write_text("eleve_no,note\ne1,12\n")
    done = mare("init", tmp_path, "--entity", "eleves")
    assert "REVIEW: no other table leads to eleves, so notes is left out." in done.stderr
    assert "--entity eleves.COLUMN" in done.stderr


def test_a_terminal_asks_for_what_was_not_said_until_it_is_understood() -> None:
    done = mare("init", CHINOOK_FILE, typed="2009-13-01\n2009-01-01\n2025-12-31\n60\n")
    assert "2009-13-01 cannot be read" in done.stderr
    schema = load_schema(done.stdout)
    assert schema.calendar is not None
    assert (str(schema.calendar.min), str(schema.calendar.max)) == ("2009-01-01", "2025-12-31")
    assert schema.tables["Customer"].rows == 60


def test_days_that_do_not_follow_each_other_are_refused() -> None:
    done = mare("init", CHINOOK_FILE, "--between", "2025-01-01", "2009-01-01")
    assert done.returncode == 2
    assert "write the earlier day first" in done.stderr


def test_the_draft_goes_to_the_terminal_and_the_summary_beside_it() -> None:
    done = mare("init", CHINOOK_FILE)
    assert done.returncode == 0
    assert load_schema(done.stdout).entity == "Customer"
    assert "below it    Invoice, InvoiceLine" in done.stderr
    assert "left out    Playlist, PlaylistTrack" in done.stderr
    assert "Next: mare check FILE --from" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr


def test_an_existing_file_is_not_overwritten_unless_forced(tmp_path: Path) -> None:
    target = tmp_path / "schema.yaml"
    target.write_text("# somebody's work\nmare: 1\n")
    refused = mare("init", CHINOOK_FILE, "-o", target)
    assert refused.returncode == 2
    assert "exists already" in refused.stderr
    assert target.read_text() == "# somebody's work\nmare: 1\n"
    assert mare("init", CHINOOK_FILE, "-o", target, "--force").returncode == 0
    assert load_schema(target).entity == "Customer"


@pytest.mark.parametrize(("target", "message"), [(".", "is a folder"), ("nowhere/schema.yaml", "is not there")])
def test_a_place_that_cannot_be_written_is_refused_before_anything_is_read(tmp_path: Path, target: str, message: str) -> None:
    done = mare("init", "postgresql://127.0.0.1:1/none", "-o", target, folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_behind_when_the_source_fails(tmp_path: Path) -> None:
    (tmp_path / "broken.sqlite").write_bytes(b"this is no database, however long it may be" * 99)
    done = mare("init", "broken.sqlite", "-o", "schema.yaml", folder=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["broken.sqlite"]


def test_a_source_that_is_not_there_is_one_message(tmp_path: Path) -> None:
    done = mare("init", "nowhere.sqlite", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("mare: nowhere.sqlite is not there.")
    assert len(done.stderr.splitlines()) == 1


def test_an_unknown_entity_lists_the_tables() -> None:
    done = mare("init", CHINOOK_FILE, "--entity", "patients")
    assert done.returncode == 2
    assert "There are: Album, Artist, Customer" in done.stderr


def test_an_empty_source_is_one_message(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "empty.sqlite").close()
    (tmp_path / "folder").mkdir()
    for source in ("empty.sqlite", "folder"):
        done = mare("init", source, folder=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert len(done.stderr.splitlines()) == 1, done.stderr


def test_a_password_never_reaches_the_file_or_a_message(tmp_path: Path, postgres_server: PostgresServer) -> None:
    url = postgres_server.create_database("CREATE TABLE patients (id int PRIMARY KEY, name text)")
    done = mare("init", url, "-o", tmp_path / "schema.yaml")
    text = (tmp_path / "schema.yaml").read_text() + done.stdout + done.stderr
    assert done.returncode == 0
    assert postgres_server.password not in text
    assert f"postgresql://postgres@{postgres_server.host}:{postgres_server.port}/" in text
    wrong = mare("init", url.replace(postgres_server.password, "wrong-secret"))
    assert wrong.returncode == 2
    assert "refused the user or the password" in wrong.stderr
    assert "wrong-secret" not in wrong.stderr
    mistyped = mare("init", url.replace("postgresql://", "postgresql:/"))
    assert mistyped.returncode == 2
    assert postgres_server.password not in mistyped.stderr


def test_a_server_that_is_not_there_is_one_message() -> None:
    done = mare("init", "postgresql://me:secret@127.0.0.1:1/ehr")
    assert done.returncode == 2
    assert "no connection" in done.stderr
    assert "secret" not in done.stderr


def test_a_csv_folder_tells_no_types_until_values_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "csv"
    folder.mkdir()
    (folder / "patients.csv").write_text("subject_id,gender,age,dod\n1,F,30,\n2,M,40,2100-05-01\n")
    (folder / "visits.csv").write_text("visit_id,subject_id,visit_date\n1,1,2100-01-01\n2,1,2100-02-01\n3,2,2100-03-01\n")
    blind = mare("init", folder)
    plain = blind.stdout
    assert "The source states no type for 4 columns: run again with --peek-types" in blind.stderr
    assert load_schema(plain).tables["patients"].columns["age"].type == "unknown"
    assert load_schema(plain).parent_name("visits") == "patients"
    assert "30" not in plain.replace(str(folder), "")
    typed = mare("init", folder, "--peek-types")
    columns = load_schema(typed.stdout).tables["patients"].columns
    assert (columns["age"].type, columns["dod"].type) == ("integer", "date")
    assert "types" in load_schema(typed.stdout).peeked
    assert "VALUES WERE READ" in typed.stdout
    assert "VALUES WERE READ" in typed.stderr
    assert "The source states no type" not in typed.stderr


def test_peeked_domains_are_marked_settle_the_draft_and_are_for_their_owner_alone(tmp_path: Path) -> None:
    target = tmp_path / "schema.yaml"
    done = mare("init", CHINOOK_FILE, "--peek", "-o", target)
    assert done.returncode == 0, done.stderr
    document = load_document(target)
    columns = document.schema.tables["Customer"].columns
    assert "Canada" in columns["Country"].values  # type: ignore[union-attr, operator]
    assert columns["Country"].peeked
    assert not columns["Email"].peeked
    assert "@" not in target.read_text()
    assert document.faults == ()
    if os.name == "posix":
        assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_views_and_rights_are_told_and_do_not_stop_the_draft(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_database(
        """
        CREATE TABLE patients (id int PRIMARY KEY, sex char(1) NOT NULL CHECK (sex IN ('F', 'M')));
        CREATE TABLE secrets (id int PRIMARY KEY, patient_id int REFERENCES patients);
        CREATE VIEW everybody AS SELECT * FROM patients;
        """
    )
    role = postgres_server.create_role("pw")
    database = url.rpartition("/")[2]
    postgres_server.run(database, f"GRANT SELECT ON patients, everybody TO {role}")
    done = mare("init", postgres_server.url(database, role, "pw"))
    assert done.returncode == 0, done.stderr
    assert set(load_schema(done.stdout).tables) == {"patients"}
    assert "# - left out: everybody" in done.stdout
    assert "# - left out: secrets" in done.stdout
    assert load_schema(done.stdout).tables["patients"].columns["sex"].values == ("F", "M")  # type: ignore[union-attr]


def test_a_duckdb_file_is_drafted_with_its_enums_and_checks(tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "ehr.duckdb")) as connection:
        connection.execute("CREATE TYPE sex AS ENUM ('F', 'M')")
        connection.execute(
            "CREATE TABLE patients (id INTEGER PRIMARY KEY, s sex NOT NULL, age INTEGER CHECK (age BETWEEN 0 AND 120))"
        )
        connection.execute(
            "CREATE TABLE visits (id UUID PRIMARY KEY, patient_id INTEGER NOT NULL REFERENCES patients (id), "
            "start_time TIMESTAMP NOT NULL, end_time TIMESTAMP)"
        )
    schema = load_schema(mare("init", tmp_path / "ehr.duckdb").stdout)
    assert schema.tables["patients"].columns["s"].values == ("F", "M")  # type: ignore[union-attr]
    assert schema.tables["patients"].columns["age"].max == 120  # type: ignore[union-attr]
    assert schema.parent_name("visits") == "patients"
    assert schema.tables["visits"].columns["id"].generate == "uuid"  # type: ignore[union-attr]
    assert schema.tables["visits"].columns["end_time"].after == "start_time"  # type: ignore[union-attr]


@pytest.mark.slow
def test_a_mariadb_or_mysql_server_is_drafted_and_checked(tmp_path: Path, either_server: MysqlServer) -> None:
    url = either_server.create_database(
        """
        CREATE TABLE patients (id INT PRIMARY KEY AUTO_INCREMENT, sex ENUM('F', 'M') NOT NULL);
        CREATE TABLE visits (id INT PRIMARY KEY, patient_id INT NOT NULL, seen DATETIME NOT NULL,
                             FOREIGN KEY (patient_id) REFERENCES patients (id));
        """
    )
    done = mare("init", url, "-o", tmp_path / "schema.yaml")
    assert done.returncode == 0, done.stderr
    schema = load_schema(tmp_path / "schema.yaml")
    assert schema.tables["patients"].columns["sex"].values == ("F", "M")  # type: ignore[union-attr]
    assert schema.parent_name("visits") == "patients"
    assert either_server.password not in (tmp_path / "schema.yaml").read_text()
    asked = mare("check", tmp_path / "schema.yaml", "--from", url)
    assert asked.returncode == 0, asked.stdout


def test_the_guide_is_true(tmp_path: Path) -> None:
    shutil.copy(CHINOOK_FILE, tmp_path / "chinook.sqlite")
    text = GUIDE.read_text(encoding="utf-8")
    commands = re.findall(r"```console\n\$ mare (.*?)\n(.*?)```", text, re.DOTALL)
    assert len(commands) == 2
    for command, shown in commands:
        done = mare(*command.split(), folder=tmp_path)
        printed = iter((done.stdout + done.stderr).splitlines())
        missing = [line for line in shown.splitlines() if line != "…" and not any(line == other for other in printed)]
        assert missing == [], command
    snippet = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert len(snippet) == 1
    assert snippet[0] in (tmp_path / "draft.yaml").read_text()


def test_peeked_types_say_how_messy_values_are_written(tmp_path: Path) -> None:
    folder = tmp_path / "export"
    folder.mkdir()
    rows = [f"{n};{'17.05.2020' if n % 2 else '2020-05-18'};{'n/a' if n == 7 else f'{n}.234,50'}" for n in range(1, 60)]
    (folder / "people.csv").write_text("\n".join(["id;joined;fee", *rows]) + "\n")
    drafted = mare("init", folder, "--peek-types").stdout
    columns = load_document(drafted).schema.tables["people"].columns
    assert (columns["joined"].type, columns["joined"].format) == ("date", ("%d.%m.%Y", "%Y-%m-%d"))
    assert (columns["fee"].type, columns["fee"].decimal, columns["fee"].thousands, columns["fee"].nulls) == (
        "number", ",", ".", ("n/a",)
    )  # fmt: skip
    assert not columns["fee"].peeked  # programs write n/a: it tells of nobody


def test_a_draft_as_json(tmp_path: Path) -> None:
    done = mare("init", CHINOOK_FILE, *CHINOOK_FACTS, "--json", typed="")  # a terminal is asked for nothing
    page = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "draft.yaml").write_text(page["schema"], encoding="utf-8")
    assert load_document(tmp_path / "draft.yaml").schema.entity == page["entity"]["table"] == "Customer"
    assert page["tables"]["Customer"] == "entity"
    assert page["reviews"]
    written = json.loads(mare("init", CHINOOK_FILE, "-o", tmp_path / "other.yaml", "--json").stdout)
    assert "schema" not in written
    assert written["output"] == str(tmp_path / "other.yaml")
    like = json.loads(mare("init", CHINOOK_FILE, "--like", tmp_path / "draft.yaml", "--json").stdout)
    assert "Customer:" in like["schema"]
    assert "Customer" in like["tables"]


@pytest.mark.parametrize(("first", "told"), [(1, None), (5000, "none"), (260, "less than half")])
def test_a_table_about_other_people_is_told_where_values_are_looked_at(tmp_path: Path, first: int, told: str | None) -> None:
    (tmp_path / "patients.csv").write_text("\n".join(["patient_id,sex", *(f"{n},{'fm'[n % 2]}" for n in range(1, 401)), ""]))
    labs = [f"{first + n},{n % 7 + 0.5}" for n in range(400)]
    (tmp_path / "labs.csv").write_text("\n".join(["patient_id,value", *labs, ""]))
    blind, done = mare("init", tmp_path), mare("init", tmp_path, "--peek-types", "--entity", "patients")
    assert "of the rows of labs" not in blind.stdout + blind.stderr
    assert (
        "--read-rows" in blind.stderr.splitlines()[-1]
    )  # no foreign key is declared: only the rows tell whether names are right
    line = f"REVIEW: {told} of the rows of labs have a patient_id that stands in patients"
    assert (line in done.stderr) == (told is not None), done.stderr
    assert ("of the rows of labs" in done.stdout) == (told is not None)
