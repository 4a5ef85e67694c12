"""The log-likelihood ratio against the probabilities themselves."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log

import numpy as np
import pytest
from numpy.typing import NDArray

from mare.audit.canary import log_ratio, log_ratios, reach_squared
from mare.errors import InternalError
from mare.privacy.tape import Entry, Query

GAUSSIAN = Query("counts", "v", (), "discrete gaussian", "L2", 1.0, 1, 2.5, 0.1)
LAPLACE = replace(GAUSSIAN, mechanism="discrete laplace", norm="L1")
CHOICE = replace(GAUSSIAN, mechanism="exponential choice", norm="max")
THERE, GONE = np.array([[4, 0], [1, 7]]), np.array([[1, 0], [1, 5]])


def ints(*values: int) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


def chance(query: Query, noise: int) -> float:
    if query.mechanism == "discrete gaussian":
        weights = {k: exp(-k * k / (2 * query.scale**2)) for k in range(-60, 61)}
    else:
        weights = {k: exp(-abs(k) / query.scale) for k in range(-200, 201)}
    return weights[noise] / sum(weights.values())


@pytest.mark.parametrize("query", [GAUSSIAN, LAPLACE], ids=["gaussian", "laplace"])
def test_of_noisy_counts_it_is_the_ratio_of_their_chances(query: Query) -> None:
    released = np.array([[3, -2], [0, 9]])
    truth = sum(
        log(chance(query, int(o - a))) - log(chance(query, int(o - b)))
        for o, a, b in zip(released.ravel(), THERE.ravel(), GONE.ravel(), strict=True)
    )
    assert log_ratios(query, [released], [THERE], [GONE]).sum() == pytest.approx(truth)


def test_of_a_choice_it_is_the_ratio_of_the_chances_of_the_chosen() -> None:
    there, gone = ints(5, 1, 3), ints(2, 1, 3)

    def law(scores: NDArray[np.int64]) -> NDArray[np.float64]:
        weights = np.exp(scores / CHOICE.scale)
        return weights / weights.sum()

    for chosen in range(3):
        truth = log(law(there)[chosen]) - log(law(gone)[chosen])
        assert log_ratios(CHOICE, [ints(chosen)], [there], [gone]).sum() == pytest.approx(truth)


def test_both_sides_are_seen_from_the_canary() -> None:
    released = (np.array([[3, -2], [0, 9]]),)
    there, gone = Entry(GAUSSIAN, (THERE,), released), Entry(GAUSSIAN, (GONE,), released)
    assert log_ratio(there, (GONE,), recorded_there=True) == log_ratio(gone, (THERE,), recorded_there=False)


def test_reach_is_the_distance_in_units_of_the_noise() -> None:
    assert reach_squared(Entry(GAUSSIAN, (THERE,), (THERE,)), (GONE,)) == pytest.approx((9 + 4) / 2.5**2)


def test_the_reach_of_a_choice_is_the_variance_of_its_ratio() -> None:
    there, gone = ints(1, 0), ints(0, 1)
    p = 1 / (1 + exp(-1 / 2.5))
    ratio = 2 / 2.5  # of the first; of the second its negative, less the same constant
    expected = p * (1 - p) * ratio**2
    assert reach_squared(Entry(CHOICE, (there,), (ints(0),)), (gone,)) == pytest.approx(expected)


def test_lists_are_left_out() -> None:
    query = replace(GAUSSIAN, listed=True)
    entry = Entry(query, (ints(1, 2), ints(3, 4)), (ints(2), ints(9)))
    assert log_ratio(entry, (ints(1), ints(3)), recorded_there=True) == 0
    assert reach_squared(entry, (ints(1), ints(3))) == 0


def test_an_unknown_mechanism_has_no_likelihood() -> None:
    with pytest.raises(InternalError, match="no likelihood"):
        log_ratios(replace(GAUSSIAN, mechanism="stable keys"), [THERE], [THERE], [GONE])
