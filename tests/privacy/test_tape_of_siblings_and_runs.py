"""The tape audit over rows that look at a sibling's row, share an identifier with the row before, and end on no day at all."""

from __future__ import annotations

import random

import pyarrow as pa

from mare.audit import tape_audit
from mare.planning.planning import plan
from mare.privacy.budget import Budget
from mare.schema.loading import load_schema
from tests.memory_source import MemorySource

SCHEMA = """
mare: 1
entity: people
calendar: {min: 2000-01-01, max: 2020-12-31}
tables:
  people: {key: pid, columns: {sex: {type: category, values: [F, M]}}}
  jobs:
    parent: {table: people, column: pid, type: sequential, order_by: began, max_rows: 3}
    columns:
      began: {type: date}
      ended: {type: date, after: began, within: 20y, specials: ["9999-12-31", "2999-12-31"]}
      dept:  {type: category, values: [a, b, c]}
  lines:
    parent: {table: people, column: pid, type: sequential, order_by: day, max_rows: 4}
    sees: [jobs]
    columns:
      day:    {type: date}
      basket: {type: identifier, runs: true, nullable: true}
      number: {type: position, within: basket}
"""


def test_nobody_shows_through_a_sibling_or_a_shared_identifier() -> None:
    chance = random.Random(7)
    people: list[dict[str, object]] = [{"pid": str(n), "sex": chance.choice("FM")} for n in range(40)]
    jobs: list[dict[str, object]] = []
    lines: list[dict[str, object]] = []
    for n in range(40):
        for _ in range(chance.randint(0, 5)):
            ended = chance.choice(["2019-05-05", "9999-12-31"])
            jobs.append(
                {"pid": str(n), "began": f"20{chance.randint(0, 18):02d}-01-01", "ended": ended, "dept": chance.choice("abc")}
            )
        for _ in range(chance.randint(0, 6)):
            # Baskets of different people have the same numbers: nobody's row may be compared with another's.
            basket = chance.choice([None, "b1", "b2"])
            lines.append({"pid": str(n), "day": f"2010-01-{chance.randint(1, 9):02d}", "basket": basket, "number": 1})
    lines += [{"pid": "3", "day": "2010-01-01", "basket": "b1", "number": n} for n in range(20)]
    tables = {"people": people, "jobs": jobs, "lines": lines}
    types = {name: dict.fromkeys(rows[0], pa.string()) for name, rows in tables.items()}
    types["lines"]["number"] = pa.int64()
    report = tape_audit(
        plan(load_schema(SCHEMA), Budget(2, 1e-6)), MemorySource.of(tables, types), entities=["3", "4", "0", "39"]
    )
    assert report.passed, report.render()
