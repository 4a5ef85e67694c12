"""Files in another encoding than they are read with: told before a fit, in its notes and doubts; no sign of ours comes out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import mare
from mare.audit.rows_met import meet_rows
from mare.cli.commands.check import met_lines
from mare.cli.notes import left_out_lines
from mare.codec.parsing import NO_LETTER, UNDECODED
from mare.finding import open_source
from mare.fitting import LocalNotes
from mare.schema.loading import load_schema

SCHEMA = load_schema("""
mare: 1
entity: members
tables:
  members:
    key: id
    columns: {town: {type: category, learn: true, max_values: 9}, kind: {type: category, values: [früh, spät]}}
    references: {branch: {kind: public, table: branches}}
  branches: {public: true, key: name, rows: 2}
""")
TOWNS, BRANCHES = ("Köln", "Bonn", "Düren"), ("Süd", "Nord")


@pytest.fixture
def export(tmp_path: Path) -> Path:
    rows = [f"Nr{n}ü,{TOWNS[n % 3]},{('früh', 'spät')[n % 2]},{BRANCHES[n % 2]}" for n in range(600)]
    for name, lines in (("members", ["id,town,kind,branch", *rows]), ("branches", ["name,size", "Süd,klein", "Nord,groß"])):
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="latin-1")
    return tmp_path


def test_it_is_told_before_a_fit(export: Path) -> None:
    lines = [line.strip() for line in met_lines(meet_rows(SCHEMA, export), SCHEMA)]
    what = "values are not UTF-8, or not in the encoding that was said"
    for told in ("members.id: 600", "members.town: 400", "members.kind: 600", "branches.name: 1", "branches.size: 1"):
        assert f"{told} {what}" in lines
    assert any("?encoding=latin-1" in line for line in lines)
    mended = list(met_lines(meet_rows(SCHEMA, f"{export}?encoding=latin-1"), SCHEMA))
    assert mended[1:] == ["  nothing that it could not use, in 600 rows"]


def test_it_is_told_by_the_fit_and_no_sign_of_ours_comes_out(export: Path) -> None:
    notes: list[LocalNotes] = []
    release = mare.fit(mare.plan(SCHEMA, mare.Budget(20, 1e-6)), export, unsafe_seed=3, notes=notes.append)
    assert any(line.startswith("members.town: 400 values are not UTF-8") for line in left_out_lines(notes[0], SCHEMA))
    assert {doubt.where for doubt in release.doubts} == {"members.town", "branches.name", "branches.size"}
    frames = mare.sample(release, seed=4)
    texts = {str(value) for frame in frames.values() for column in frame for value in frame[column]}
    assert not [text for text in texts if re.search(UNDECODED, text)]
    # What is one value stays one, and a key leads to its row, though its letters are lost.
    assert {"Bonn", f"K{NO_LETTER}ln", f"D{NO_LETTER}ren"} <= texts
    assert set(frames["members"]["branch"]) == set(frames["branches"]["name"]) == {"Nord", f"S{NO_LETTER}d"}


def test_a_draft_that_was_peeked_at_holds_the_mark_too(export: Path) -> None:
    with open_source(str(export)) as source:
        values = source.peek("members", "town", 9).values
    assert set(values or ()) == {"Bonn", f"K{NO_LETTER}ln", f"D{NO_LETTER}ren"}
