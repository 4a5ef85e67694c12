"""What a fit left out is told in words that say by which line of the schema, and what to do about it."""

from __future__ import annotations

import stat
import sys
from pathlib import Path
from unittest import mock

import pytest

from mare.cli.notes import CAPS, DECLARED, ONE_ROW, ORPHANS, RANGE, RARE, UNKNOWN_KEYS, UNTOLD, VOCABULARY, tell_notes
from mare.fitting import Cuts, FitOptions, LocalNotes, run_fit
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.schema.loading import load_schema
from tests.memory_source import MemorySource, hospital_rows, hospital_schema

SCHEMA = load_schema("""
mare: 1
entity: people
tables:
  people:
    key: id
    columns:
      race: {type: category, learn: true, max_values: 10}
      sex: {type: category, values: [F, M]}
      born: {type: date, min: 1900-01-01, max: 2020-01-01}
      died: {type: date, after: born, within: 120y, nullable: true}
      weight: {type: number, learn: true}
      dry: {type: number, after: weight, learn: true}
    references: {home: {kind: owned, table: homes}}
  homes: {key: id, columns: {region: {type: category, values: [N, S]}}}
  visits: {key: id, parent: {table: people, column: person, max_rows: 7}, columns: {n: {type: integer, min: 0, max: 9}}}
  tests: {parent: {table: visits, column: visit, max_rows: 40, max_per_entity: 60}, columns: {n: {type: integer, min: 0, max: 9}}}
  notes: {parent: {table: visits, column: visit, max_per_entity: 5}, columns: {n: {type: integer, min: 0, max: 9}}}
  few: {parent: {table: visits, column: visit, type: associative, via: drugs, column_via: drug, max_per_entity: 2}}
  ends: {key: person, parent: {table: people, column: person}, columns: {n: {type: integer, min: 0, max: 9}}}
  gives: {parent: {table: visits, column: visit, type: associative, via: drugs, column_via: drug, multiplicity: 2}}
  drugs: {public: true, key: id, rows: 30}
""")

Told = pytest.CaptureFixture[str]


def told(notes: LocalNotes, capsys: Told) -> tuple[list[str], list[str]]:
    """The facts, and what to do about them."""
    with mock.patch.object(sys.stderr, "isatty", return_value=True):
        tell_notes(notes, False, SCHEMA)
    lines = capsys.readouterr().err.splitlines()
    facts = [line for line in lines if line.endswith("(internal, not private)")]
    return [fact.removesuffix(" (internal, not private)") for fact in facts], lines[len(facts) :]


def cut(table: str, cuts: Cuts, capsys: Told) -> tuple[list[str], list[str]]:
    return told(LocalNotes({}, {}, {table: cuts}), capsys)


def test_a_list_that_was_learned_says_why_values_are_gone_and_what_to_write(capsys: Told) -> None:
    notes = LocalNotes({}, {}, {}, {"people.race": 260, "people.sex": 3})
    facts, remedies = told(notes, capsys)
    assert facts == [
        "people.race: 260 values were too rare to be learned at this budget",
        "people.sex: 3 values outside its domain (`values`) were moved into it",
    ]
    assert remedies == [RARE, DECLARED]
    assert "`values: [...]` instead of `learn: true`" in RARE
    with mock.patch.object(sys.stderr, "isatty", return_value=True):
        tell_notes(notes, True, SCHEMA)
    assert capsys.readouterr().err == ""


def test_values_outside_a_range_say_whether_it_was_learned_or_which_fields_say_it(capsys: Told) -> None:
    outside = {"people.weight": 9, "people.dry": 8, "people.born": 7, "people.died": 6, "people.home": 5}
    facts, remedies = told(LocalNotes({}, {}, {}, outside), capsys)
    assert facts == [
        "people.weight: 9 values outside the range that was learned at this budget were moved into it",
        "people.dry: 8 values outside the range that was learned at this budget were moved into it",
        "people.born: 7 values outside its domain (`min`, `max`) were moved into it",
        "people.died: 6 values outside its domain (`after`, `within`) were moved into it",
        "people.home: 5 keys that its public table does not have took part as the rest",
    ]
    assert remedies == [RANGE, DECLARED, UNKNOWN_KEYS]  # each once


def test_rows_beyond_a_cap_name_the_cap_and_where_to_raise_it(capsys: Told) -> None:
    facts, remedies = cut("visits", Cuts(max_rows=1234), capsys)
    assert facts == ["visits: 1,234 rows were cut by `max_rows: 7`, rows per row of people"]
    assert remedies == [CAPS]
    assert "raise it in that table's `parent:`" in CAPS
    # Whoever sets a cap by the true number has put data into the schema.
    assert "not by these numbers" in CAPS


def test_every_cause_has_a_line_of_its_own(capsys: Told) -> None:
    facts, remedies = cut("tests", Cuts(max_rows=10, max_per_entity=20, above=30), capsys)
    assert facts == [
        "tests: 10 rows were cut by `max_rows: 40`, rows per row of visits",
        "tests: 20 rows were cut by `max_per_entity: 60`, rows per row of people: whole lists of a row of visits",
        "tests: 30 rows were cut together with the row of visits above them",
    ]
    assert remedies == [CAPS]


def test_a_cap_that_is_not_max_rows_is_not_called_so(capsys: Told) -> None:
    assert cut("notes", Cuts(max_rows=3), capsys) == (
        ["notes: 3 rows were cut by `max_per_entity: 5`, rows per row of people"],
        [CAPS],
    )
    assert cut("few", Cuts(max_rows=3), capsys)[0] == ["few: 3 rows were cut by `max_per_entity: 2`, rows per row of people"]
    assert cut("ends", Cuts(max_rows=2), capsys) == (
        ["ends: 2 rows were cut by a cap of 1, rows per row of people: key = foreign key"],
        [ONE_ROW],
    )
    assert cut("gives", Cuts(unknown_key=4, multiplicity=5, max_rows=6), capsys) == (
        [
            "gives: 4 rows were cut, whose key is not in drugs",
            "gives: 5 rows were cut by `multiplicity: 2`, how often a key of drugs may occur under one row of visits",
            "gives: 6 rows were cut by a cap of 60, rows per row of visits: 30 drugs × 2",
        ],
        [UNKNOWN_KEYS, CAPS, VOCABULARY],
    )


def test_rows_without_an_owner_say_what_would_keep_them(capsys: Told) -> None:
    facts, remedies = told(LocalNotes({}, {"people": 0, "homes": 4, "visits": 12}, {}), capsys)
    assert facts == ["homes: 4 rows that nobody refers to were left out", "visits: 12 rows without a parent were left out"]
    assert remedies == [ORPHANS]


def test_the_numbers_that_were_cut_are_not_in_the_release() -> None:
    found: list[LocalNotes] = []
    rows = hospital_rows(20)
    rows["stays"] += [{**rows["stays"][0], "sid": 90_000 + n} for n in range(7_654)]
    options = FitOptions(bits=SeededBits(1), notes=found.append)
    release = run_fit(plan(hospital_schema(), Budget(2, 1e-9)), MemorySource.of(rows), options)
    assert found[0].truncated["stays"].max_rows >= 7_654
    assert str(found[0].truncated["stays"].max_rows) not in release.ledger.to_json()


LEFT = LocalNotes({}, {"visits": 12}, {"visits": Cuts(max_rows=1234)}, {"people.sex": 3})


def test_in_a_pipe_the_same_is_said_whatever_was_left_out(capsys: Told) -> None:
    for notes in (LEFT, LocalNotes({}, {}, {})):
        tell_notes(notes, False, SCHEMA)
        assert capsys.readouterr().err == f"{UNTOLD}\n"
        tell_notes(notes, True, SCHEMA)
        assert capsys.readouterr().err == ""


@pytest.mark.parametrize("quiet", [False, True])
def test_in_a_pipe_the_numbers_go_into_a_file_that_only_its_owner_may_read(quiet: bool, tmp_path: Path, capsys: Told) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("of an earlier fit")
    file.chmod(0o644)
    tell_notes(LEFT, quiet, SCHEMA, file)
    assert capsys.readouterr().err == ""
    head, orphans, cuts, outside, *remedies = file.read_text().splitlines()
    assert head.startswith("INTERNAL, NOT PRIVATE")
    assert (orphans[:10], cuts[:13], outside[:13]) == ("visits: 12", "visits: 1,234", "people.sex: 3")
    assert remedies == [ORPHANS, CAPS, DECLARED]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_file_that_cannot_be_written_does_not_cost_the_release(tmp_path: Path, capsys: Told) -> None:
    tell_notes(LocalNotes({}, {}, {}), True, SCHEMA, tmp_path / "gone" / "notes.txt")
    assert "could not be written (No such file or directory)" in capsys.readouterr().err
