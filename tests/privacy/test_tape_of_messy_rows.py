"""The tape audit over texts that the schema says how to read: an entity that writes everything otherwise does not show."""

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
reading: {decimal: ",", thousands: ".", format: ["%d.%m.%Y", "%Y-%m-%d"], nulls: [NA], map: {m: M}, trim: true, case: ignore}
tables:
  people:
    key: pid
    columns:
      sex: {type: category, values: [F, M]}
      town: {type: category, learn: true, max_values: 5, case: upper}
      income: {type: number, learn: true, precision: 1, nullable: true}
      dose: {type: number, min: 0, max: 9000, unit: mg, units: {g: 1000}, specials: [none], bins: 6}
      born: {type: date, min: 1900-01-01, max: 2010-12-31, nullable: true}
"""


def test_no_entity_shows_through_how_its_values_are_written() -> None:
    chance = random.Random(5)
    rows: list[dict[str, object]] = [
        {
            "pid": str(number),
            "sex": chance.choice(["m", "F", " f ", "M"]),
            "town": chance.choice(["Ulm", "ulm ", "Bonn"]),
            "income": chance.choice(["1.234,5", "999,5", "NA"]),
            "dose": chance.choice(["5 mg", "1,5 g", "none"]),
            "born": chance.choice(["01.02.1970", "1980-03-04"]),
        }
        for number in range(40)
    ]
    rows[3] |= {"sex": "?", "town": "nowhere", "income": "1.23,4", "dose": "5 kg", "born": "32.13.1970"}
    rows[4] |= {"sex": None, "town": "\u00a0ULM", "income": "1e9", "dose": "9.999.999 g", "born": "\ufeff01.02.1970"}
    source = MemorySource.of({"people": rows}, {"people": dict.fromkeys(rows[0], pa.string())})
    report = tape_audit(plan(load_schema(SCHEMA), Budget(2, 1e-6)), source, entities=["3", "4", "0"])
    assert report.passed, report.render()
