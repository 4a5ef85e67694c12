"""Shares: as the paper says, or by error; all above zero, adding up to one."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isclose, nan, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mare.errors import BudgetError
from mare.privacy.allocation import RULES, AllocationRule, GroupDemand, allocate

PATIENTS = GroupDemand("patients.rows", columns=3, history=0, rows=1000, sensitivity=1, cells=60)
VISITS = GroupDemand("visits.rows", columns=2, history=5, rows=8000, sensitivity=10, cells=40)

demands = st.lists(
    st.builds(
        GroupDemand,
        name=st.text(min_size=1, max_size=5),
        columns=st.integers(1, 100),
        history=st.integers(0, 500),
        rows=st.floats(-1e6, 1e12),
        sensitivity=st.integers(1, 10**6),
        cells=st.integers(1, 10**60),
    ),
    min_size=1,
    max_size=30,
    unique_by=lambda demand: demand.name,
)


def test_the_paper_weighs_columns_history_and_rows() -> None:
    shares = allocate([PATIENTS, VISITS], "paper")
    one, two = 3 * sqrt(3) * sqrt(1000), 2 * sqrt(7) * sqrt(8000)
    assert shares["patients.rows"] == pytest.approx(one / (one + two))
    assert shares["visits.rows"] == pytest.approx(two / (one + two))


def test_balanced_is_half_the_paper_and_half_in_equal_parts() -> None:
    paper, found = allocate([PATIENTS, VISITS], "paper"), allocate([PATIENTS, VISITS])
    assert found == pytest.approx({name: (share + 0.5) / 2 for name, share in paper.items()})


def test_the_paper_leaves_sensitivity_to_the_mechanism() -> None:
    assert allocate([PATIENTS, VISITS]) == allocate([PATIENTS, replace(VISITS, sensitivity=500)])


def test_by_error_under_zcdp() -> None:
    shares = allocate([PATIENTS, VISITS], "error")
    one, two = (1 * sqrt(3) * 60 / 1000) ** (2 / 3), (10 * sqrt(2) * 40 / 8000) ** (2 / 3)
    assert shares["patients.rows"] == pytest.approx(one / (one + two))


def test_by_error_under_pure_epsilon() -> None:
    shares = allocate([PATIENTS, VISITS], "error", pure=True)
    one, two = sqrt(1 * 3 * 60 / 1000), sqrt(10 * 2 * 40 / 8000)
    assert shares["patients.rows"] == pytest.approx(one / (one + two))


@given(demands, st.sampled_from(["balanced", "paper", "error"]), st.booleans())
def test_shares_add_up_to_one_and_nobody_gets_nothing(groups: list[GroupDemand], rule: AllocationRule, pure: bool) -> None:
    shares = allocate(groups, rule, pure=pure)
    assert list(shares) == [group.name for group in groups]
    assert all(0 < share <= 1 for share in shares.values())
    assert isclose(sum(shares.values()), 1, rel_tol=1e-12)


def test_rows_are_floored_at_one() -> None:
    few = allocate([PATIENTS, replace(VISITS, rows=-5.0)])
    assert few == allocate([PATIENTS, replace(VISITS, rows=1.0)])


def test_lopsided_demands_still_leave_everyone_something() -> None:
    shares = allocate([PATIENTS, replace(VISITS, cells=10**2000)], "error")
    assert 0 < shares["patients.rows"] < 1e-200


@pytest.mark.parametrize(
    "wrong",
    [{"rows": nan}, {"rows": inf}, {"columns": 0}, {"history": -1}, {"sensitivity": 0}, {"cells": 0}],
)
def test_a_demand_that_is_none_is_refused_by_name(wrong: dict[str, float]) -> None:
    with pytest.raises(BudgetError, match=r"visits\.rows"):
        allocate([PATIENTS, replace(VISITS, **wrong)])  # type: ignore[arg-type]


def test_no_groups_twins_and_unknown_rules_are_refused() -> None:
    with pytest.raises(BudgetError, match="nothing to model"):
        allocate([])
    with pytest.raises(BudgetError, match="twice"):
        allocate([PATIENTS, PATIENTS])
    with pytest.raises(BudgetError, match=", ".join(RULES)):
        allocate([PATIENTS], "fair")  # type: ignore[arg-type]
