"""A budget is valid once built, and refuses everything that is not one."""

from __future__ import annotations

from fractions import Fraction

import pytest

from mare.errors import BudgetError, PrivacyError
from mare.privacy.budget import Budget


def test_delta_zero_is_pure() -> None:
    assert Budget(1.0, delta=0).pure
    assert not Budget(1.0, 1e-9).pure


def test_epsilon_is_kept_exactly() -> None:
    assert Budget(0.1, delta=0).epsilon_written == Fraction(1, 10) != Fraction(0.1)
    assert Budget(1, 1e-9).delta_written == Fraction(1, 10**9)


@pytest.mark.parametrize("number", [0.1, 0.3, 1e-9, 0.7])
def test_no_more_is_spent_than_was_written_nor_than_the_float_says(number: float) -> None:
    assert Budget(number, delta=0).epsilon_fraction == min(Fraction(number), Fraction(repr(number)))
    assert Budget(1, number).delta_fraction == min(Fraction(number), Fraction(repr(number)))


def test_whole_numbers_become_floats() -> None:
    assert Budget(2, delta=0) == Budget(2.0, delta=0)
    assert isinstance(Budget(2, delta=0).epsilon, float)


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), -float("inf"), "1", None, True, 10**400])
def test_an_epsilon_that_is_none_is_refused(epsilon: object) -> None:
    with pytest.raises(BudgetError, match="epsilon"):
        Budget(epsilon, delta=0)  # type: ignore[arg-type]


@pytest.mark.parametrize("delta", [-1e-9, 1, 1.5, float("nan"), float("inf"), "0", None, False])
def test_a_delta_that_is_none_is_refused(delta: object) -> None:
    with pytest.raises(BudgetError, match="delta"):
        Budget(1.0, delta)  # type: ignore[arg-type]


def test_the_refusal_is_a_privacy_error_that_says_what_is_allowed() -> None:
    with pytest.raises(PrivacyError, match="finite number above 0"):
        Budget(0, delta=0)
