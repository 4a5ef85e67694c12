"""What a release does not know is told by name, wherever it is shown: it follows from noisy answers, so a pipe may read it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import mare as library
from tests.command_line import mare

SCHEMA = """
mare: 1
entity: people
tables:
  people:
    key: pid
    columns:
      town: {type: category, learn: true}
      well: {type: boolean}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty people, each from a town of their own: no list can be learned."""
    folder = tmp_path_factory.mktemp("doubts")
    (folder / "data").mkdir()
    rows = [f"{pid},town {pid},{pid % 2}" for pid in range(40)]
    (folder / "data" / "people.csv").write_text("\n".join(["pid,town,well", *rows, ""]))
    (folder / "schema.yaml").write_text(SCHEMA)
    return folder


def test_a_list_that_stayed_empty_is_told_by_name(folder: Path) -> None:
    fitted = mare("fit", "schema.yaml", "--from", "data", "--epsilon", 1, "-o", "r.mare", folder=folder)
    assert "mare: people.town: no value stood clear of the noise" in fitted.stderr
    assert "people.well" not in fitted.stderr
    (doubt,) = library.load_release(folder / "r.mare").doubts
    assert doubt.where == "people.town"
    page = mare("ledger", "r.mare", folder=folder).stdout
    assert "What this release does not know:\n  - people.town: no value stood clear" in page
    assert json.loads(mare("ledger", "r.mare", "--json", folder=folder).stdout)["doubts"][0]["where"] == "people.town"
    drawn = mare("sample", "r.mare", "--to", "out.sqlite", folder=folder)
    assert "mare: people.town: no value stood clear" in drawn.stderr


def test_doubts_are_in_the_json_of_a_fit_and_quiet_is_quiet(folder: Path) -> None:
    as_json = mare("fit", "schema.yaml", "--from", "data", "--epsilon", 1, "-o", "j.mare", "--json", folder=folder)
    assert [doubt["where"] for doubt in json.loads(as_json.stdout)["doubts"]] == ["people.town"]
    quiet = mare("fit", "schema.yaml", "--from", "data", "--epsilon", 1, "-o", "q.mare", "--quiet", folder=folder)
    assert "people.town" not in quiet.stderr


def test_what_a_draft_still_asks_is_said_after_the_fit(folder: Path) -> None:
    text = SCHEMA.replace("well: {type: boolean}", "well: {type: boolean}  # REVIEW: may it be NULL?")
    (folder / "draft.yaml").write_text(text + "# REVIEW: is anybody missing?\n")
    done = mare("synth", "draft.yaml", "--from", "data", "--to", "drafted.sqlite", "--epsilon", 1, folder=folder)
    assert "2 REVIEW comments of the draft left in draft.yaml, lines 9, 10" in done.stderr
    fitted = mare("fit", "draft.yaml", "--from", "data", "--epsilon", 1, "-o", "d.mare", "--json", folder=folder)
    assert json.loads(fitted.stdout)["reviews"] == [9, 10]
    settled = mare("synth", "schema.yaml", "--from", "data", "--to", "settled.sqlite", "--epsilon", 1, folder=folder)
    assert "REVIEW" not in settled.stderr


CAPPED = """
mare: 1
entity: people
tables:
  people:
    key: pid
    columns: {well: {type: boolean}}
  visits:
    parent: {table: people, column: pid, type: sequential, order_by: day, max_rows: MOST}
    columns: {day: {type: number, min: 0, max: 100}}
"""


@pytest.mark.parametrize(("most", "told"), [(5, True), (40, False)])
def test_a_cap_that_cuts_most_rows_is_told_as_far_as_noisy_numbers_show_it(tmp_path: Path, most: int, told: bool) -> None:
    """Four hundred people with 3 to 20 visits each. The numbers of visits are noisy; what was cut is not told."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "people.csv").write_text("\n".join(["pid,well", *(f"{pid},{pid % 2}" for pid in range(400)), ""]))
    visits = [f"{pid},{day}" for pid in range(400) for day in range(3 + pid * 7 % 18)]
    (tmp_path / "data" / "visits.csv").write_text("\n".join(["pid,day", *visits, ""]))
    (tmp_path / "schema.yaml").write_text(CAPPED.replace("MOST", str(most)))
    asked = ["--from", "data", "--epsilon", 3, "--unsafe-seed", 1, "-o", "r.mare"]
    done = mare("fit", "schema.yaml", *asked, "--json", folder=tmp_path)
    cut = [doubt for doubt in json.loads(done.stdout)["doubts"] if "`max_rows` (5)" in doubt["what"]]
    assert [doubt["where"] for doubt in cut] == ["visits"] * told
    ledger = " ".join(mare("ledger", "r.mare", folder=tmp_path).stdout.split())  # in lines that end anywhere
    assert ("`max_rows` (5)" in ledger) == told
    assert ("`max_rows` (5)" in " ".join(map(str, library.load_release(tmp_path / "r.mare").doubts))) == told
