"""The graphs as text."""

from __future__ import annotations

import pytest

from mare.graph.drawing.text import draw_text, glances
from mare.graph.groups import HistoryColumn
from tests.unit.graph.examples import child, columns, schema, section_iv

PAPER = """\
Tables of the schema, below the entity they belong to

patients  the entity: one row each
└─ lines  sequential by id, memory 2, at most 5 rows
   └─ cycles  sequential by day, memory 1, at most 5 rows
      └─ prescriptions  associative via drugs, at most 5 rows

Public tables, kept as they are
   drugs  12 rows; used by prescriptions.drug_id

7 column groups, in the order of generation: one model each
(In brackets: how many columns. Rows [-1,-2] are the one before and the one before that.)

 1 patients.rows: gender, cancer
   looks at nothing

 2 lines.context: count
   looks at patients.rows (2)

 3 lines.rows: plan, outcome
   looks at patients.rows (2), lines.context (1), lines.rows[-1,-2] (2),
            lines: position and remaining (free)

 4 cycles.context: count, first(day)
   looks at patients.rows (2), lines.context (1), lines.rows (2), lines.rows[-1,-2] (2),
            cycles.context[-1,-2] (2), lines: position and remaining (free)

 5 cycles.rows: day, toxicity
   looks at patients.rows (2), lines.context (1), lines.rows (2), cycles.context (2),
            cycles.rows[-1] (2), cycles: position, remaining and elapsed(day) (free)

 6 prescriptions.context: dose(drug_id) × 12
   looks at patients.rows (2), lines.context (1), lines.rows (2), cycles.context (2),
            cycles.rows (2), cycles.rows[-1] (2), prescriptions.context[-1] (1),
            cycles: position, remaining and elapsed(day) (free)

 7 prescriptions.rows: route
   looks at patients.rows (2), lines.context (1), lines.rows (2), cycles.context (2),
            cycles.rows (2), prescriptions.context (1), prescriptions: drug_id and dose (free)
"""


def test_the_papers_example_reads_as_a_tree_and_a_list_of_groups() -> None:
    assert draw_text(section_iv(derived=True)) == PAPER


@pytest.mark.parametrize("width", [60, 100, 160])
def test_lines_keep_to_the_width(width: int) -> None:
    lines = draw_text(section_iv(derived=True), width).splitlines()
    assert max(len(line) for line in lines if not line.startswith("(In brackets")) <= width


def test_a_name_longer_than_the_line_is_not_cut() -> None:
    long = "x" * 150
    drawn = draw_text(schema({"patients": {"key": "id", "columns": columns(long, "y")}}), 60)
    assert f"{long}," in drawn


def test_references_pools_and_ignored_tables_are_named() -> None:
    visits = child("patients", "ward")
    visits["references"] = {
        "doctor": {"kind": "pool", "table": "doctors"},
        "nurse": {"kind": "pool", "table": "doctors"},
        "guide": {"kind": "other_entity", "table": "patients", "nullable": True},
        "bill": {"kind": "owned", "table": "bills", "nullable": True},
    }
    calls = {**child("patients"), "sees": ["visits"], "references": {"visit": {"kind": "same_entity", "table": "visits"}}}
    tables = {
        "patients": {"key": "id", "columns": columns("gender")},
        "visits": visits,
        "calls": calls,
        "bills": {"key": "id", "columns": columns("paid")},
        "doctors": {"pool": {"rows": 1}, "key": "id"},
        "codes": {"public": True, "key": "id"},
        "log": {"ignore": True},
    }
    drawn = draw_text(schema(tables)).split("column groups")[0].splitlines()
    assert drawn[2:-1] == [
        "patients  the entity: one row each",
        "├─ visits  independent, at most 5 rows",
        "│  │  · doctor, nurse → doctors (pool)",
        "│  │  · guide → patients (another entity, nullable)",
        "│  └─ bills  owned: one row for visits.bill (nullable)",
        "└─ calls  independent, at most 5 rows",
        "      · sees visits",
        "      · visit → visits (same entity by position)",
        "",
        "Public tables, kept as they are",
        "   codes  size not declared; used by nobody",
        "",
        "Pools, made up afresh",
        "   doctors  pool of 1 fresh row; used by visits.doctor, visits.nurse",
        "",
        "Ignored: log",
        "",
    ]


def test_history_is_told_by_place_and_reason() -> None:
    history = [
        HistoryColumn("a", "rows", "x", "ancestor"),
        HistoryColumn("a", "rows", "y", "ancestor"),
        HistoryColumn("b", "rows", "z", "previous", 1),
        HistoryColumn("b", "rows", "z", "previous", 2),
        HistoryColumn("b", "rows", "z", "same_item", 1),
        HistoryColumn("a", "rows", "x", "reference", 0, "main"),
        HistoryColumn("b", "rows", "position", "free"),
    ]
    assert [str(glance) for glance in glances(history)] == [
        "a.rows (2)",
        "b.rows[-1,-2] (1)",
        "b.rows[same item] (1)",
        "a.rows through main (1)",
        "b: position (free)",
    ]
