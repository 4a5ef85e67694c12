"""What a fit would refuse in the middle, when the budget is reserved and gone, the plan refuses before."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mare.errors import PlanError
from mare.fitting import FitOptions, run_fit
from mare.planning import Plan
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.schema.loading import load_schema
from tests.memory_source import MemorySource

SCHEMA = """
mare: 1
entity: people
tables:
  people:
    key: pid
    columns:
      town: {{type: category, {town}}}
      age: {{type: integer, min: 0, max: 99}}
  visits:
    key: visit_id
    parent: {{table: people, column: pid, type: sequential, order_by: day, max_rows: {cap}}}
    columns:
      day: {{type: datetime, after: previous.day, within: 400d, {day}, max: 2025-01-01}}
      cost: {{type: number, precision: 2, {cost}}}
"""
DECLARED = {"town": "values: [a, b, c]", "cost": "min: 0, max: 1000", "day": "first: {min: 2015-01-01, max: 2024-12-31}"}
LEARNED = {**DECLARED, "town": "learn: true", "cost": "learn: true"}
TINY = [1e-4, 1e-6, 1e-160]


def planned(domains: dict[str, str], budget: Budget, cap: int = 500) -> Plan:
    return plan(load_schema(SCHEMA.format(cap=cap, **domains)), budget)


def source() -> MemorySource:
    rng, people = np.random.default_rng(2), 100
    whose = np.repeat(np.arange(people), rng.poisson(3, people))
    days = np.datetime64("2016-01-01T00:00:00") + rng.integers(0, 10**8, len(whose)).astype("timedelta64[s]")
    tables: dict[str, Any] = {
        "people": {"pid": np.arange(people), "town": rng.choice(["a", "b"], people), "age": rng.integers(0, 90, people)},
        "visits": {"visit_id": np.arange(len(whose)), "pid": whose, "day": days, "cost": rng.gamma(2, 50, len(whose)).round(2)},
    }
    return MemorySource({name: pa.table(columns) for name, columns in tables.items()})


def least(domains: dict[str, str], budget: Budget, cap: int) -> float:
    """The ε that the refusal names."""
    with pytest.raises(PlanError) as caught:
        planned(domains, budget, cap)
    named = re.search(r"an epsilon of at least (\S+) ", str(caught.value))
    assert named is not None, str(caught.value)
    return float(named[1])


@pytest.mark.parametrize("epsilon", TINY)
@pytest.mark.parametrize("domains", [DECLARED, LEARNED])
def test_an_epsilon_that_no_noise_can_be_drawn_for_is_refused(domains: dict[str, str], epsilon: float) -> None:
    with pytest.raises(PlanError, match=r"too little for this schema.*Plan with an epsilon of at least 0\.00"):
        planned(domains, Budget(epsilon))


@pytest.mark.parametrize(("domains", "delta"), [(DECLARED, 1e-9), (LEARNED, 1e-9), (DECLARED, 0.0)])
def test_with_the_epsilon_that_is_named_a_fit_goes_through(domains: dict[str, str], delta: float) -> None:
    """However noisy the sizes that the shares are worked out from again; and whatever the caps are."""
    epsilon = least(domains, Budget(1e-7, delta), 100_000)
    assert epsilon < 0.01
    for seed in range(2):
        run_fit(planned(domains, Budget(epsilon, delta), 100_000), source(), FitOptions(bits=SeededBits(seed)))


@pytest.mark.parametrize("delta", [1e-290, 1e-300, 1e-320])
def test_a_delta_that_no_list_can_be_learned_by_is_refused(delta: float) -> None:
    with pytest.raises(PlanError, match=r"too small to learn 1 list of values by.*--delta 1e-9"):
        planned(LEARNED, Budget(1, delta))
    planned(DECLARED, Budget(1, delta))
