"""What a fit left out is told in words that say what to do about it."""

from __future__ import annotations

import pytest

from mare.cli.telling import tell_notes
from mare.fitting import LocalNotes
from mare.schema.loading import load_schema

SCHEMA = """
mare: 1
entity: people
tables:
  people:
    key: id
    columns:
      race: {type: category, learn: true, max_values: 10}
      sex: {type: category, values: [F, M]}
"""


def test_a_list_that_was_learned_says_why_values_are_gone_and_what_to_write(capsys: pytest.CaptureFixture[str]) -> None:
    notes = LocalNotes({}, {}, {}, {"people.race": 260, "people.sex": 3})
    tell_notes(notes, False, load_schema(SCHEMA))
    race, sex = capsys.readouterr().err.splitlines()
    assert race.startswith("people.race: 260 values were too rare to be learned at this budget (internal, not private).")
    assert "`values: [...]` instead of `learn: true`" in race
    assert sex == "people.sex: 3 values outside its domain were moved into it (internal, not private)"
    tell_notes(notes, True, load_schema(SCHEMA))
    assert capsys.readouterr().err == ""
