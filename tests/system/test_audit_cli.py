"""`mare audit`: what it says where, its exit codes, and that nobody's rows are left behind."""

from __future__ import annotations

import json
import stat
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from mare.audit import audit_in_words, read_audit
from tests.command_line import mare
from tests.privacy.physical_formats import write_csv, write_sqlite
from tests.privacy.physical_hospital import SCHEMA, hospital, with_text_keys
from tests.servers import PostgresServer

copies = import_module("mare.audit.physical")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A schema and a small hospital, with a temporary folder of its own; few copies of everybody will do."""
    monkeypatch.setattr("mare.audit.variants.MANY", 40)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "s.yaml").write_text(SCHEMA)
    write_sqlite(tmp_path, hospital())
    yield tmp_path
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_fit_in_which_nobody_shows_passes_and_a_pipe_is_told_no_number(world: Path) -> None:
    done = mare("audit", "s.yaml", "--from", "hospital.sqlite", "--entities", 1, "-o", "report.txt", folder=world)
    assert done.returncode == 0, done.stderr
    assert "Tape audit: nothing shows beyond what was paid for. (internal, not private)" in done.stdout
    assert "removed from a copy of the source" in done.stdout
    assert all("internal, not private" in line for line in done.stdout.splitlines())
    assert "ratio" not in done.stdout
    report = (world / "report.txt").read_text()
    assert report.startswith("INTERNAL, NOT PRIVATE")
    assert "ratio" in report
    assert "every entity many times over, rows, batches and columns in another order" in report
    assert stat.S_IMODE((world / "report.txt").stat().st_mode) == 0o600


def test_a_report_as_json_is_read_back_in_words_and_replaced_by_its_like_alone(world: Path) -> None:
    asked = ("audit", "s.yaml", "--from", "hospital.sqlite", "--entities", 0, "-o", "audit.json")
    printed = mare(*asked, "--json", folder=world)
    assert (printed.returncode, printed.stderr) == (0, "")
    assert stat.S_IMODE((world / "audit.json").stat().st_mode) == 0o600
    document = read_audit(world / "audit.json")
    assert json.loads(printed.stdout)["tape"] == document["tape"]
    assert (document["epsilon"], document["status"]) == (2.0, "internal, not private")
    (told,) = audit_in_words(document)
    assert told.startswith("Tape audit: no proof of a fault.")
    (world / "audit.json").write_text('{"somebody": "else\'s"}')
    refused = mare(*asked, "--replace", folder=world)
    assert refused.returncode != 0
    assert "is not the report of an audit" in refused.stderr


def test_a_leak_ends_with_code_1(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "replayed_on", lambda first, held, other: ("the scale is another one",))
    done = mare("audit", "s.yaml", "--from", "hospital.sqlite", "--entities", 1, "-q", folder=world)
    assert done.returncode == 1
    assert "THE GUARANTEE DOES NOT HOLD. (internal, not private)" in done.stdout


@pytest.mark.slow
def test_a_csv_folder_is_copied_too(world: Path) -> None:
    (world / "files").mkdir()
    write_csv(world / "files", with_text_keys(hospital()))
    done = mare("audit", "s.yaml", "--from", "files", "--entities", 0, folder=world)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "removed from a copy of the source" in done.stdout


def test_a_server_is_not_copied_and_the_audit_says_what_it_cannot_see(world: Path, postgres_server: PostgresServer) -> None:
    from tests.privacy.physical_servers import PostgresWriter

    url = PostgresWriter(postgres_server)(hospital())
    done = mare("audit", "s.yaml", "--from", url, "--entities", 0, folder=world)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "mare writes to no server, so no copies of the source were made." in done.stdout
    assert "what reading itself does could not be seen" in done.stdout


def test_what_cannot_run_ends_with_code_2(world: Path) -> None:
    for arguments in (["nobody.sqlite"], ["hospital.sqlite", "-o", "."], ["hospital.sqlite", "--epsilon", "0"]):
        done = mare("audit", "s.yaml", "--from", *arguments, folder=world)
        assert done.returncode == 2, arguments
        assert done.stderr.startswith("mare: ")


def test_a_copy_is_its_owners_alone_and_goes_when_the_audit_is_stopped(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def stopped(first: object, held: object, other: Path) -> tuple[str, ...]:
        seen.append(stat.S_IMODE(other.parent.stat().st_mode))
        raise KeyboardInterrupt

    monkeypatch.setattr(copies, "replayed_on", stopped)
    done = mare("audit", "s.yaml", "--from", "hospital.sqlite", folder=world)
    assert done.returncode == 130
    assert seen == [0o700]


@pytest.mark.slow
def test_where_no_copy_can_be_made_the_audit_goes_on_and_says_why(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(copies, "find_copy", lambda location: full)
    done = mare("audit", "s.yaml", "--from", "hospital.sqlite", "--entities", 0, folder=world)
    assert done.returncode == 0, done.stderr
    assert "the source cannot be copied (No space left on device)" in done.stdout
    assert "what reading itself does could not be seen" in done.stdout
