"""The tape audit over every type of column, learned domains included: no entity shows through what is learned of it."""

from __future__ import annotations

import pytest

from mare.audit import tape_audit
from mare.planning.planning import plan
from mare.privacy.budget import Budget
from tests.every_type import TYPES, every_type_rows, every_type_schema
from tests.memory_source import MemorySource


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_no_entity_shows_through_a_fit_that_learns_its_domains(seed: int) -> None:
    rows = every_type_rows(people=40, seed=seed)
    # Somebody unlike all others, in every column that is learned.
    odd = {"town": "nowhere", "weight": 1e9, "atc": "Z99", "income": 1e30, "age": "-5"}
    rows["people"][3] = {**rows["people"][3], **odd}
    for lab in rows["labs"][:3]:
        lab |= {"level": 1e8, "value": -1e9}
    made = plan(every_type_schema(), Budget(2, 1e-6))
    report = tape_audit(made, MemorySource.of(rows, TYPES), entities=["X3", "X0", "X1"])
    assert report.passed, report.render()
    learned = {query.view for query in report.queries}
    assert {"people.town", "people.weight", "people.joined", "people.icd", "labs.level", "stays.first(begins)"} <= learned
