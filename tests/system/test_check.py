"""`mare check` as a user runs it: every fault at once, each with its line; and against a source."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from mare.relational import faking
from tests.command_line import mare

CHINOOK = Path(__file__).parents[1] / "fixtures" / "chinook" / "chinook.sqlite"

GOOD = """\
mare: 1
entity: Customer
tables:
  Customer:
    key: CustomerId
    columns:
      Country: {type: category, learn: true, nullable: true}
    ignore_columns: [FirstName, LastName, Company, Address, City, State, PostalCode, Phone, Fax, Email, SupportRepId]
  Invoice:
    key: InvoiceId
    parent: {table: Customer, column: CustomerId, max_rows: 10}
    columns:
      Total: {type: number, min: 0, max: 50, precision: 2}
    ignore_columns: [InvoiceDate, BillingAddress, BillingCity, BillingState, BillingCountry, BillingPostalCode]
  InvoiceLine: {ignore: true}
  Employee: {ignore: true}
  Album: {ignore: true}
  Artist: {ignore: true}
  Genre: {ignore: true}
  MediaType: {ignore: true}
  Playlist: {ignore: true}
  PlaylistTrack: {ignore: true}
  Track: {ignore: true}
"""

BAD_INPUTS = {
    "not YAML": ("tables: [", "not YAML"),
    "empty": ("", "the file is empty"),
    "a misspelt key": (GOOD.replace("entity:", "entitty:"), "entitty"),
    "a type that does not exist": (GOOD.replace("type: number", "type: nummer"), "nummer"),
    "an order column that is missing": (GOOD.replace("max_rows: 10", "max_rows: 10, type: sequential, order_by: When"), "When"),
    "a table that no path joins": (
        GOOD.replace("  Track: {ignore: true}", "  Track: {key: TrackId}"),
        "no path joins it to the entity",
    ),
    "a private table with two owners": (
        GOOD.replace("    key: CustomerId\n", "    key: CustomerId\n    references: {x: {kind: owned, table: Invoice}}\n"),
        "two owners",
    ),
    "a cycle": (
        GOOD.replace("InvoiceLine: {ignore: true}", "InvoiceLine: {parent: {table: Track, column: a, max_rows: 1}}").replace(
            "  Track: {ignore: true}", "  Track: {parent: {table: InvoiceLine, column: b, max_rows: 1}}"
        ),
        "cycle",
    ),
    "an empty domain": (GOOD.replace("learn: true, nullable", "values: [], nullable"), "domain is empty"),
    "min above max": (GOOD.replace("min: 0", "min: 60"), "more than max"),
    "memory 0": (GOOD.replace("max_rows: 10", "max_rows: 10, type: sequential, order_by: Total, memory: 0"), "memory"),
    "memory 1000": (GOOD.replace("max_rows: 10", "max_rows: 10, type: sequential, order_by: Total, memory: 1000"), "memory"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "good.yaml").write_text(GOOD)
    return tmp_path


def test_a_good_schema_is_one_line(folder: Path) -> None:
    done = mare("check", "good.yaml", folder=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "good.yaml: OK. Entity Customer, 2 private tables, 9 ignored.\n"


def test_marks_that_a_fit_refuses_are_told(folder: Path) -> None:
    (folder / "peeked.yaml").write_text(GOOD.replace("precision: 2", "precision: 2, peeked: true"))
    done = mare("check", "peeked.yaml", folder=folder)
    assert done.returncode == 0
    assert "peeked.yaml:13: note: tables.Invoice.columns.Total: 1 `peeked` mark, the first one here" in done.stdout
    assert "`mare fit` and `mare synth` refuse them" in done.stdout
    assert "remove its mark" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("peeked.yaml: OK but for its peeked marks, 1 note. Entity Customer")


def test_what_cannot_be_made_up_here_is_told_before_a_fit_refuses_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = "{x: {type: text, fill: fake, fake: name}, y: {type: boolean}}"
    (folder / "faked.yaml").write_text(f"mare: 1\nentity: t\ntables:\n  t: {{key: id, columns: {columns}}}\n")
    assert "mare-synth[fake]" not in mare("check", "faked.yaml", folder=folder).stdout
    monkeypatch.setitem(sys.modules, "faker", None)
    faking._faker.cache_clear()
    done = mare("check", "faked.yaml", folder=folder)
    assert done.returncode == 0
    assert "pip install 'mare-synth[fake]'" in done.stdout


def test_a_good_schema_matches_its_source(folder: Path) -> None:
    done = mare("check", "good.yaml", "--from", CHINOOK, folder=folder)
    assert done.returncode == 0, done.stdout
    assert f"It matches {CHINOOK}" in done.stdout


@pytest.mark.parametrize("name", BAD_INPUTS)
def test_bad_input_is_told_with_its_line_and_nothing_else_is_said(folder: Path, name: str) -> None:
    text, message = BAD_INPUTS[name]
    (folder / "bad.yaml").write_text(text)
    done = mare("check", "bad.yaml", folder=folder)
    assert done.returncode == 2
    assert message in done.stdout
    assert done.stderr == ""
    assert done.stdout.startswith("bad.yaml:")


def test_all_faults_come_at_once_errors_and_open_questions_told_apart(folder: Path) -> None:
    text = GOOD.replace("min: 0, max: 50", "min: 60, max: 50").replace("learn: true, nullable", "nullable")
    (folder / "bad.yaml").write_text(text.replace("  Track: {ignore: true}", "  Track: {key: TrackId}"))
    done = mare("check", "bad.yaml", folder=folder)
    lines = done.stdout.splitlines()
    assert "bad.yaml:7: to settle: tables.Customer.columns.Country.values: nothing says which values it may have." in lines
    assert any(line.startswith("bad.yaml:13: error: tables.Invoice.columns.Total.min: min 60") for line in lines)
    assert lines[-1] == "bad.yaml: 1 error, 2 things to settle."


def test_a_source_adds_its_faults_to_those_of_the_schema(folder: Path) -> None:
    text = GOOD.replace("Total: {type: number, min: 0, max: 50, precision: 2}", "Totals: {type: number, min: 9, max: 5}")
    (folder / "bad.yaml").write_text(text.replace("  Genre: {ignore: true}\n", "").replace("Country:", "SupportRepId:"))
    done = mare("check", "bad.yaml", "--from", CHINOOK, folder=folder)
    assert done.returncode == 2
    assert "min 9" in done.stdout
    assert "Invoice has no column Totals in the source" in done.stdout
    assert "Did you mean `Total`?" in done.stdout
    assert "holds a table Genre that the schema does not mention" in done.stdout


def test_a_source_that_is_not_there_is_told_in_the_one_page_of_json(folder: Path) -> None:
    done = mare("check", "good.yaml", "--json", "--from", "nowhere", folder=folder)
    page = json.loads(done.stdout)
    assert (done.returncode, page["ok"]) == (2, False)
    assert "nowhere is not there" in page["source_error"]


def test_json_is_all_that_is_printed(folder: Path) -> None:
    (folder / "bad.yaml").write_text(GOOD.replace("min: 0", "min: 60"))
    done = mare("check", "bad.yaml", "--json", folder=folder)
    page = json.loads(done.stdout)
    assert done.returncode == 2
    assert (page["ok"], page["schema"], page["source"]) == (False, "bad.yaml", None)
    (fault,) = page["faults"]
    assert (fault["severity"], fault["line"], fault["path"]) == ("error", 13, ["tables", "Invoice", "columns", "Total", "min"])
    good = mare("check", "good.yaml", "--json", "--from", CHINOOK, folder=folder)
    assert good.returncode == 0
    assert json.loads(good.stdout)["ok"]


def test_a_source_that_is_not_there_does_not_hide_the_faults_of_the_schema(folder: Path) -> None:
    (folder / "bad.yaml").write_text(GOOD.replace("min: 0", "min: 60"))
    done = mare("check", "bad.yaml", "--from", "postgresql://me:secret@127.0.0.1:1/ehr", folder=folder)
    assert done.returncode == 2
    assert "min 60" in done.stdout
    assert "no connection" in done.stderr
    assert "secret" not in done.stdout + done.stderr


def test_a_schema_that_is_not_there_says_what_is(folder: Path) -> None:
    done = mare("check", "goood.yaml", folder=folder)
    assert done.returncode == 2
    assert "Did you mean good.yaml?" in done.stderr


def test_a_ready_schema_works_by_its_name(folder: Path) -> None:
    done = mare("check", "mimic-iv-core", folder=folder)
    assert done.returncode == 0, done.stdout
    assert "mimic-iv-core: OK" in done.stdout


def test_comments_of_the_draft_that_are_left_are_counted(folder: Path) -> None:
    (folder / "draft.yaml").write_text(GOOD.replace("key: CustomerId\n", "key: CustomerId  # REVIEW: is it?\n"))
    done = mare("check", "draft.yaml", folder=folder)
    assert done.returncode == 0
    assert "OK, 1 REVIEW comment of the draft left." in done.stdout


def test_what_to_do_about_many_columns_is_said_once(folder: Path) -> None:
    columns = "".join(f"      c{n}: {{type: unknown}}\n" for n in range(9))
    untyped = folder / "untyped.yaml"
    untyped.write_text(f"mare: 1\nentity: p\ntables:\n  p:\n    key: id\n    columns:\n{columns}")
    told = mare("check", str(untyped)).stdout
    assert told.count("nobody has said what this column holds") == 9
    assert told.count("Write one of category, boolean") == 1
    refused = mare("plan", str(untyped), "--epsilon", "2").stderr
    assert refused.count("nobody has said") == 9
    assert refused.count("Write one of") == 1
