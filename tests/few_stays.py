"""Three patients, their stays and what they were given, small enough to work everything out by hand."""

from __future__ import annotations

import pandas as pd

from mare.evaluation.sides import Side, read_side
from mare.schema.loading import load_schema

SCHEMA = load_schema("""
mare: 1
entity: patients
tables:
  patients:
    key: pid
    columns:
      sex: {type: category, values: [F, M], nullable: true}
      age: {type: integer, min: 0, max: 120}
  stays:
    key: sid
    parent: {table: patients, column: pid, type: sequential, order_by: day, max_rows: 9}
    columns:
      day: {type: date, min: 2000-01-01, max: 2030-01-01}
      ward: {type: category, values: [a, b, c]}
      cost: {type: number, min: 0, max: 1000, nullable: true}
  drugs:
    public: true
    key: drug
    rows: 2
  given:
    key: [sid, drug]
    parent: {table: stays, column: sid, type: associative, via: drugs, column_via: drug, max_rows: 3}
""")


def side(patients: list[tuple[object, ...]], stays: list[tuple[object, ...]], given: list[tuple[object, ...]]) -> Side:
    frames = {
        "patients": pd.DataFrame(patients, columns=["pid", "sex", "age"]),
        "stays": pd.DataFrame(stays, columns=["sid", "pid", "day", "ward", "cost"]),
        "given": pd.DataFrame(given, columns=["sid", "drug"]),
        "drugs": pd.DataFrame({"drug": ["x", "y"]}),
    }
    frames["stays"]["day"] = pd.to_datetime(frames["stays"]["day"])
    return read_side(SCHEMA, frames)


def here() -> Side:
    return side(
        [(1, "F", 30), (2, None, 40), (3, "M", 50)],
        [
            (10, 1, "2001-03-01", "b", 5.0),
            (11, 1, "2001-01-01", "a", None),
            (12, 1, "2001-02-01", "a", 7.0),
            (13, 3, "2002-01-01", "c", 1.0),
        ],
        [(10, "x"), (11, "y"), (12, "y")],
    )
