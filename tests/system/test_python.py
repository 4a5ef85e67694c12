"""mare in an engineer's program: slips are answered in words, long work tells what it does, results show themselves."""

from __future__ import annotations

import logging
from pathlib import Path

import pandas as pd
import pytest

import mare
from mare.fitting import LocalNotes

SCHEMA = """
mare: 1
name: clinic <b>
entity: patients
tables:
  patients: {key: id, columns: {sex: {type: category, values: [F, M]}}}
"""
FRAMES = {"patients": pd.DataFrame({"id": [1, 2, 3], "sex": ["F", "M", "X"]})}


def planned() -> mare.Plan:
    return mare.plan(mare.load_schema(SCHEMA), mare.Budget(1), entities=300)


@pytest.mark.parametrize(
    ("slip", "said"),
    [
        (lambda: mare.plan(mare.load_schema(SCHEMA), 2), r"mare\.Budget\(epsilon=2\)"),
        (lambda: mare.plan({"mare": 1}, mare.Budget(2)), r"mare\.load_schema"),
        (lambda: mare.fit(mare.load_schema(SCHEMA), FRAMES), r"mare\.fit\(mare\.plan\("),
        (lambda: mare.fit(planned(), FRAMES["patients"]), r"dictionary of tables"),
        (lambda: mare.sample(planned()), r"what mare\.fit returns"),
    ],
)
def test_slips_are_answered_in_words(slip: object, said: str) -> None:
    with pytest.raises(mare.MareError, match=said):
        slip()  # type: ignore[operator]


def test_a_budget_is_what_the_command_line_takes_it_for() -> None:
    assert mare.Budget(2) == mare.Budget(2, 1e-9)
    assert mare.Budget(2, 0).pure


def test_a_schema_may_be_given_as_its_file(tmp_path: Path) -> None:
    (tmp_path / "clinic.yaml").write_text(SCHEMA, encoding="utf-8")
    assert mare.plan(tmp_path / "clinic.yaml", mare.Budget(1), entities=300).to_json() == planned().to_json()


def test_a_fit_tells_what_it_does_and_what_it_left_out(caplog: pytest.LogCaptureFixture) -> None:
    told: list[str] = []
    notes: list[LocalNotes] = []
    with caplog.at_level(logging.INFO, "mare"):
        mare.fit(planned(), FRAMES, progress=told.append, notes=notes.append)
    assert told[0] == "reading"
    assert "fitting patients.rows" in told
    assert [record.message for record in caplog.records if record.name == "mare"] == told
    assert len(notes) == 1


def test_a_release_is_not_written_over_another_unless_told_so(tmp_path: Path) -> None:
    release, path = mare.fit(planned(), FRAMES), tmp_path / "a.mare"
    release.save(path)
    before = path.read_bytes()
    with pytest.raises(mare.MareError, match="replace=True"):
        mare.fit(planned(), FRAMES).save(path)
    assert path.read_bytes() == before
    mare.fit(planned(), FRAMES).save(path, replace=True)


def test_plans_ledgers_and_releases_show_themselves_in_a_notebook() -> None:
    plan = planned()
    release = mare.fit(plan, FRAMES)
    for shown, word in ((plan, "patients.rows"), (release, "patients.rows"), (release.ledger, "epsilon")):
        html = shown._repr_html_()  # type: ignore[attr-defined]
        assert word in html
        assert "<b>" not in html.replace("<p><b>", "")  # a name is no markup
