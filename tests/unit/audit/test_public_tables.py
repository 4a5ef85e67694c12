"""A public table whose columns come in another order is the same table: no audit says that the guarantee does not hold."""

from __future__ import annotations

import pandas as pd

import mare
from mare.audit.tape import tape_audit

SCHEMA = """
mare: 1
entity: people
tables:
  people:
    key: id
    columns: {sex: {type: category, values: [f, m]}}
    references: {ward: {kind: public, table: wards}}
  wards: {public: true, key: ward, rows: 3}
"""


def test_a_public_table_of_several_columns_passes() -> None:
    people = pd.DataFrame({"id": range(40), "sex": ["f", "m"] * 20, "ward": [1, 2, 3, 1] * 10})
    wards = pd.DataFrame({"ward": [1, 2, 3], "name": ["ICU", "ER", "lab"], "beds": [8, 20, 0]})
    plan = mare.plan(mare.load_schema(SCHEMA), mare.Budget(2, 1e-6))
    report = tape_audit(plan, {"people": people, "wards": wards}, entities=[0], retold=True)
    assert report.passed, report
