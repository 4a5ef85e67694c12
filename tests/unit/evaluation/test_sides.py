"""Reading a side: whose each row is, what stands above and before it, and what is said of what is missing."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mare.errors import MareError
from mare.evaluation.key_places import as_text, complete, distinct, matched, order_of
from mare.evaluation.sides import read_side
from mare.schema.loading import load_schema
from tests.clinic import changed, clinic, clinic_schema

PEOPLE = pd.DataFrame({"pid": [7, 5, 9], "sex": ["F", "M", "F"], "age": [30, 40, 50], "weight": [60.0, None, 70.0]})
STAYS = pd.DataFrame(
    {
        "sid": [1, 2, 3, 4, 5],
        "pid": [9, 7, 9, 404, 9],
        "begins": pd.to_datetime(["2003-01-01", "2001-01-01", "2001-01-01", "2001-01-01", "2002-01-01"]),
        "ends": pd.to_datetime(["2003-01-02", "2001-01-02", "2001-01-02", "2001-01-02", "2002-01-02"]),
        "ward": ["a", "b", None, "c", "a"],
    }
)
TAKES = pd.DataFrame({"tid": [1, 2, 3], "sid": [5, 3, 4], "drug": [1, 2, 99], "dose": [1, 2, 3]})
DRUGS = pd.DataFrame({"drug": [1, 2], "name": ["x", "y"]})
SMALL = {"patients": PEOPLE, "stays": STAYS, "takes": TAKES, "drugs": DRUGS}


def test_every_row_knows_its_entity_its_parent_and_the_rows_before_it() -> None:
    side = read_side(clinic_schema(), SMALL)
    assert side.entities == 3
    assert side.entity["stays"].tolist() == [2, 0, 2, -1, 2]
    assert side.parent["stays"].tolist() == [2, 0, 2, -1, 2]
    assert side.parent["takes"].tolist() == [4, 2, 3]
    assert side.entity["takes"].tolist() == [2, 2, -1]
    assert side.order["stays"].tolist() == [3, 1, 2, 4, 0]
    assert side.previous("stays", 1).tolist() == [4, -1, -1, -1, 2]
    assert side.previous("stays", 2).tolist() == [2, -1, -1, -1, -1]
    assert {name: rows.tolist() for name, rows in side.ancestors("takes").items()} == {"stays": [4, 2, 3], "patients": [2, 2, -1]}


def test_references_and_keys_are_counted() -> None:
    side = read_side(clinic_schema(), changed(SMALL, "stays", lambda f: f.assign(sid=[1, 1, 3, 4, 5])))
    assert (side.lost["stays.parent"].rows, side.lost["stays.parent"].of) == (1, 5)
    assert (side.lost["takes.via"].rows, side.lost["takes.via"].of) == (1, 3)
    assert side.repeated["stays(sid)"] == 1
    assert side.repeated["patients(pid)"] == 0


def test_values_have_the_types_of_the_schema_whatever_the_side_stores() -> None:
    texts = {
        name: frame.astype(object).where(frame.notna(), None).map(lambda v: None if v is None else str(v))
        for name, frame in SMALL.items()
    }
    plain, written = read_side(clinic_schema(), SMALL), read_side(clinic_schema(), texts)
    for table in plain.tables:
        for column in plain.tables[table].column_names:
            mine, theirs = (side.tables[table].column(column) for side in (plain, written))
            described = column in plain.schema.tables[table].columns  # other keys stay as they are, and say the same
            assert (mine if described else as_text(mine)).equals(theirs), (table, column)
        assert plain.parent[table].tolist() == written.parent[table].tolist()


def test_a_missing_table_is_empty_and_said() -> None:
    side = read_side(clinic_schema(), {name: frame for name, frame in SMALL.items() if name != "takes"})
    assert side.tables["takes"].num_rows == 0
    assert side.missing == {"takes"}
    assert side.notes["not there"] == ["takes"]


def test_a_missing_column_is_null_and_said_and_a_missing_key_costs_the_table() -> None:
    side = read_side(clinic_schema(), changed(SMALL, "patients", lambda f: f.drop(columns="age")))
    assert side.tables["patients"].column("age").null_count == 3
    assert side.tables["patients"].column("sex").to_pylist() == ["F", "M", "F"]
    assert side.missing == {"patients.age"}
    keyless = read_side(clinic_schema(), changed(SMALL, "stays", lambda f: f.drop(columns="pid")))
    assert keyless.tables["stays"].num_rows == 0
    assert "stays" in keyless.missing


def test_what_cannot_be_read_is_null_and_counted() -> None:
    side = read_side(clinic_schema(), changed(SMALL, "patients", lambda f: f.assign(age=["old", "40", "50"])))
    assert side.tables["patients"].column("age").to_pylist() == [None, 40, 50]
    assert side.unread == {"patients.age": 1}


def test_orphans_that_the_schema_calls_entities_are_some() -> None:
    text = """
mare: 1
entity: p
tables:
  p: {key: id, columns: {x: {type: category, values: [a]}}}
  c:
    parent: {table: p, column: id, orphans: entity, max_rows: 3}
    columns: {y: {type: category, values: [a]}}
"""
    frames = {
        "p": pd.DataFrame({"id": ["1"], "x": ["a"]}),
        "c": pd.DataFrame({"id": ["1", "8", "8", None, None], "y": ["a"] * 5}),
    }
    side = read_side(load_schema(text), frames)
    assert side.entity["c"].tolist() == [0, 1, 1, 2, 3]
    assert side.parent["c"].tolist() == [0, -1, -1, -1, -1]
    assert side.entities == 4


def test_an_entity_by_column_has_a_number_and_no_table() -> None:
    text = """
mare: 1
entity: {table: visits, by: person}
tables:
  visits:
    parent: {max_rows: 5, type: sequential, order_by: day}
    columns:
      person: {type: identifier}
      day: {type: integer, min: 0, max: 99}
      kind: {type: category, values: [a, b]}
"""
    frames = {"visits": pd.DataFrame({"person": ["q", "p", "q"], "day": [2, 1, 1], "kind": ["a", "b", "b"]})}
    side = read_side(load_schema(text), frames)
    assert side.entity["visits"].tolist() == [0, 1, 0]
    assert side.previous("visits", 1).tolist() == [2, -1, -1]
    assert side.ancestors("visits") == {}


def test_rows_that_references_own_belong_to_whoever_refers() -> None:
    text = """
mare: 1
entity: people
tables:
  people:
    key: id
    columns: {x: {type: category, values: [a]}}
    references:
      home: {kind: owned, table: homes, nullable: true}
  homes:
    key: hid
    columns: {city: {type: category, values: [k, l]}}
"""
    frames = {
        "people": pd.DataFrame({"id": [1, 2, 3], "x": ["a"] * 3, "home": [20, None, 10]}),
        "homes": pd.DataFrame({"hid": [10, 20, 30], "city": ["k", "l", "k"]}),
    }
    side = read_side(load_schema(text), frames)
    assert side.parent["homes"].tolist() == [2, 0, -1]
    assert side.entity["homes"].tolist() == [2, 0, -1]
    assert side.above("homes") == "people"


def test_a_schema_with_open_questions_is_refused() -> None:
    text = "mare: 1\nentity: p\ntables:\n  p: {key: id, columns: {x: {type: unknown}}}\n"
    with pytest.raises(MareError):
        read_side(load_schema(text), {"p": pd.DataFrame({"id": [1], "x": [1]})})


def test_nothing_is_cut_that_a_cap_would_cut() -> None:
    many = clinic(40)
    assert read_side(clinic_schema(), many).tables["stays"].num_rows == len(many["stays"])
    assert np.all(read_side(clinic_schema(), many).entity["stays"] >= 0)


@pytest.mark.parametrize("spread", [1, 1000], ids=["numbers in a row", "numbers far apart"])
@pytest.mark.parametrize("kinds", [(int, int), (str, str), (int, str)], ids=["numbers", "texts", "one of each"])
def test_a_key_leads_to_the_first_row_that_has_it(spread: int, kinds: tuple[type, type]) -> None:
    import pyarrow as pa

    mine, theirs = [3, None, 9, 5, 5, 1], [5, 3, None, 5, 4]
    wanted, among = (
        pa.array([None if key is None else kind(key * spread) for key in keys])
        for kind, keys in zip(kinds, (mine, theirs), strict=True)
    )
    assert matched([wanted], [among]).tolist() == [1, -1, -1, 0, 0, -1]
    assert matched([wanted, wanted], [among, among]).tolist() == [1, -1, -1, 0, 0, -1]
    assert matched([wanted, wanted[::-1]], [among, among]).tolist() == [-1, -1, -1, -1, -1, -1]
    assert (distinct([among]), distinct([among, among]), complete([among, among])) == (3, 3, 4)
    assert matched([wanted], [among[:0]]).tolist() == [-1] * 6


def test_rows_stand_by_entity_parent_and_order_with_null_last() -> None:
    import pyarrow as pa

    entity, parent = np.array([1, 0, 0, 0]), np.array([0, 2, 1, 1])
    for order in (pa.array([1, 1, None, 7]), pa.array([1.0, 1.0, None, float("nan")]), pa.array(["a", "a", None, "b"])):
        assert order_of(entity, parent, [order]).tolist() == [3, 2, 1, 0]
    assert order_of(np.zeros(3, np.int64), np.zeros(3, np.int64), [pa.array([2, 2, 2])]).tolist() == [0, 1, 2]


def test_a_public_key_in_a_key_is_the_same_text_whatever_way_its_source_compares(tmp_path: Path) -> None:
    """A stranger held MariaDB against DuckDB: courses that were part of a key had nothing in common."""
    text = """
mare: 1
entity: {table: enrolled, by: pid}
tables:
  enrolled:
    key: [pid, course]
    parent: {type: independent, max_rows: 3}
    references: {course: {kind: public, table: courses}}
  courses: {public: true, key: course, rows: 9}
"""
    sides = []
    for name, rule in (("folded.sqlite", "COLLATE NOCASE"), ("exact.sqlite", "")):
        with closing(sqlite3.connect(tmp_path / name)) as database, database:
            database.execute(f"CREATE TABLE courses (course TEXT {rule} PRIMARY KEY)")
            database.execute(f"CREATE TABLE enrolled (pid INT, course TEXT {rule} REFERENCES courses, PRIMARY KEY (pid, course))")
            database.execute("INSERT INTO courses VALUES ('Maths'), ('Greek')")
            database.execute("INSERT INTO enrolled VALUES (1, 'Maths'), (2, 'Greek')")
        sides.append(read_side(load_schema(text), tmp_path / name).tables["enrolled"]["course"].to_pylist())
    assert sides[0] == sides[1] == ["Maths", "Greek"]
