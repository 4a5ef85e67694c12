"""Where each column comes from: every column that comes out is in the list once, and is called what it is."""

from __future__ import annotations

import pytest

from mare.relational.filling import column_origins, fillings, render_origins
from mare.schema.loading import load_schema
from tests.reflections import table
from tests.relations import RELATIONS, related

SCHEMA = """
mare: 1
entity: patients
tables:
  patients:
    key: patient_id
    ignore_columns: [name]
    columns:
      sex: {type: category, values: [F, M]}
      town: {type: category, learn: true, max_values: 20}
      mrn: {type: identifier, generate: uuid}
      remark: {type: text, fill: constant, value: none}
      letter: {type: text, fill: drop, nullable: true}
  visits:
    key: [patient_id, number]
    parent: {table: patients, column: patient_id, type: sequential, order_by: day, max_rows: 5}
    columns:
      number: {type: position}
      day: {type: date, after: previous.day, within: 2y, first: {min: 2015-01-01, max: 2024-12-31}}
      year: {type: integer, determined: {part: {of: day, unit: year}}}
      icd: {type: code, vocabulary: codes}
  codes: {public: true, key: code, rows: 5}
  staff: {ignore: true}
"""
CODES = table("codes", "code string, words string, chapter string", key="code")


def test_every_column_is_called_what_it_is() -> None:
    assert column_origins(load_schema(SCHEMA), [CODES]) == {
        "patients": {
            "patient_id": "made up",
            "sex": "learned",
            "town": "learned with its values",
            "mrn": "made up",
            "remark": "constant",
            "letter": "constant",
            "name": "dropped",
        },
        "visits": {
            "number": "worked out",
            "day": "learned",
            "year": "worked out",
            "icd": "learned",
            "patient_id": "made up",
        },
        "codes": {"code": "copied", "words": "copied", "chapter": "copied"},
        "staff": {"the whole table": "dropped"},
    }


def test_a_pool_is_made_up_whatever_its_columns_declare() -> None:
    schema = load_schema("""
        mare: 1
        entity: pupils
        tables:
          pupils: {key: pid, references: {teacher: {kind: pool, table: teachers}}}
          teachers:
            pool: {rows: 20}
            key: teacher
            columns:
              years: {type: integer, min: 0, max: 100}
              rank: {type: category, values: [a, b]}
              remark: {type: text}
        """)
    assert column_origins(schema, [])["teachers"] == {
        "teacher": "made up",
        "years": "made up",
        "rank": "made up",
        "remark": "constant",
    }


@pytest.mark.parametrize("kind", RELATIONS)
def test_the_list_holds_every_column_that_comes_out_whatever_the_relation(kind: str) -> None:
    schema = related(kind)
    origins = column_origins(schema, [])
    assert origins.keys() == schema.tables.keys()
    for name, described in schema.tables.items():
        if not described.public and not described.ignore:
            assert origins[name].keys() >= fillings(schema, name).keys()
            assert "copied" not in origins[name].values()
        if described.key and name == schema.entity:
            assert {origins[name][column] for column in described.key} == {"made up"}


@pytest.mark.parametrize("width", [80, 100])
def test_the_page_names_every_column_and_explains_what_occurs(width: int) -> None:
    origins = column_origins(load_schema(SCHEMA), [CODES])
    page = render_origins(origins, width)
    assert max(map(len, page.splitlines())) <= width
    listed, legend = page.split("How to read it:")
    for name, columns in origins.items():
        assert name in listed
        for column, origin in columns.items():
            assert column in listed
            assert f"- {origin}: " in legend
    few = render_origins({"patients": {"sex": "learned"}}, width)
    assert "copied" not in few
    assert "what the schema does not name is not read" in " ".join(few.split())
