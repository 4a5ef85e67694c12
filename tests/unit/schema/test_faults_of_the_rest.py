"""Structural faults hide nothing: the rest of the schema is checked too, and the holes they leave are not told as faults."""

from __future__ import annotations

import pytest

from mare.schema.loading import examine

CLINIC = """\
mare: 1
entity: people
tables:
  people:
    key: person_id
    columns:
      born: {type: date, min: 1900-01-01, max: 2020-01-01}
      height: {type: integer, min: 50, max: 250}
    references:
      home_id: {kind: owned, table: homes}
  visits:
    key: [person_id, day]
    parent: {table: people, column: person_id, type: sequential, order_by: day, max_rows: 9}
    columns:
      day: {type: date, after: previous.day, strict: true, within: 90d, first: {after: people.born, within: 20y}}
      left: {type: date, after: day, within: 9d}
      stay: {type: integer, determined: {elapsed: {since: day, until: left}}}
      twice: {type: integer, determined: {expression: height2 * 2}}
      height2: {type: integer, min: 0, max: 9}
    references:
      nurse_id: {kind: pool, table: staff}
  homes: {key: home_id, columns: {urban: {type: boolean}}}
  staff: {key: staff_id, pool: {rows: 5}}
"""


def paths(text: str) -> list[str]:
    return [".".join(map(str, fault.path)) for fault in examine(text).faults]


def test_the_clinic_itself_is_free_of_faults() -> None:
    assert paths(CLINIC) == []


@pytest.mark.parametrize(
    ("written", "spoiled", "at"),
    [
        ("born: {type: date,", "born: {type: dat,", "tables.people.columns.born.type"),
        ("day: {type: date,", "day: {type: date, bogus: 1,", "tables.visits.columns.day.bogus"),
        ("left: {type: date,", "left: {type: date, bins: many,", "tables.visits.columns.left.bins"),
        ("height2: {type: integer,", "height2: {type: int,", "tables.visits.columns.height2.type"),
        ("home_id: {kind: owned,", "home_id: {kind: own,", "tables.people.references.home_id.kind"),
        ("{kind: owned, table: homes}", "{kind: owned, tabel: homes}", "tables.people.references.home_id.tabel"),
        ("key: [person_id, day]", "kye: [person_id, day]", "tables.visits.kye"),
        ("key: person_id\n", "key: {a: b}\n", "tables.people.key"),
        ("type: sequential", "type: sequentiel", "tables.visits.parent.type"),
        ("type: sequential", "type: 7", "tables.visits.parent.type"),
        ("max_rows: 9", "max_rows: 0", "tables.visits.parent.max_rows"),
        ("{table: people, column: person_id, type", "{table: [a], column: person_id, type", "tables.visits.parent.table"),
        ("{kind: pool, table: staff}", "{kind: pool, table: staff, rows: 3}", "tables.visits.references.nurse_id.rows"),
        ("pool: {rows: 5}", "pool: {rows: 0}", "tables.staff.pool.rows"),
        ("entity: people", "entity: [people]", "entity"),
        ("  homes: {key: home_id, columns: {urban: {type: boolean}}}", "  homes:", "tables.homes"),
        ("mare: 1\n", "", "mare"),
        ("min: 1900-01-01", "min: 1900-13-01", "tables.people.columns.born.min"),
    ],
)
def test_one_slip_is_one_fault(written: str, spoiled: str, at: str) -> None:
    assert written in CLINIC
    assert paths(CLINIC.replace(written, spoiled, 1)) == [at]


@pytest.mark.parametrize("structural", ["born: {type: dat,", "born: {type: date, bogus: 1,"])
def test_a_structural_fault_hides_no_contradiction(structural: str) -> None:
    text = (
        CLINIC.replace("born: {type: date,", structural).replace("max: 250", "max: 20").replace("order_by: day", "order_by: dya")
    )
    found = paths(text)
    assert len(found) == 3
    assert {"tables.people.columns.height.min", "tables.visits.parent.order_by"} < set(found)


def test_what_is_misspelt_is_checked_inside() -> None:
    text = CLINIC.replace("    columns:\n      born", "    colums:\n      born").replace("max: 250", "max: 20")
    assert set(paths(text)) == {"tables.people.colums", "tables.people.columns.height.min"}


@pytest.mark.parametrize("text", ["mare: 2\ntables: {a: {key: [1, 2]}}\n", "mare: 1\nentity: a\ntables: none\n"])
def test_what_is_no_schema_of_this_language_is_not_guessed_at(text: str) -> None:
    assert len(paths(text)) == 1 + text.count("key: [1, 2]") * 2
