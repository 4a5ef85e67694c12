"""An excerpt of a vocabulary may lack all rows that a reference asks for (`where:`)."""

from __future__ import annotations

import pandas as pd
import pytest

import mare
from mare.errors import SourceError

SCHEMA = """
mare: 1
entity: people
tables:
  people:
    key: id
    references:
      unit: {table: concepts, kind: public, where: {domain: Unit}, LEARN}
  concepts: {public: true, key: concept}
"""


def fitted(learn: str, epsilon: float = 20) -> mare.Release:
    people = pd.DataFrame({"id": range(400), "unit": [8876] * 300 + [8840] * 100})
    concepts = pd.DataFrame({"concept": [1, 2], "domain": ["Drug", "Drug"]})
    plan = mare.plan(mare.load_schema(SCHEMA.replace("LEARN", learn)), mare.Budget(epsilon=epsilon, delta=1e-6))
    return mare.fit(plan, source={"people": people, "concepts": concepts}, unsafe_seed=1)


def test_what_is_learned_is_learned_without_them() -> None:
    made = mare.sample(fitted("learn: true, max_values: 5"), seed=1)["people"]
    assert made["unit"].astype(int).isin([8876, 8840]).mean() > 0.95


def test_no_row_is_lost_where_nothing_stands_clear() -> None:
    assert len(mare.sample(fitted("learn: true, max_values: 5", epsilon=0.5), seed=1)["people"]) > 300


def test_what_is_not_learned_has_nothing_to_refer_to() -> None:
    with pytest.raises(SourceError, match="no row of 'concepts' has these values"):
        fitted("max_values: 5")
