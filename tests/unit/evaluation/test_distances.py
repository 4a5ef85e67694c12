"""Distances by hand, and against plain recomputations that share no line with the product."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pandas as pd
import pytest

from mare.evaluation.fidelity.distances import (
    by_chance,
    correlations,
    cramers_v,
    ks_distance,
    normalised_kl,
    tvd,
    word_counts,
)
from mare.evaluation.fidelity.features import Values


def counts(*rows: list[int]) -> np.ndarray:
    return np.array(rows, dtype=np.int64)


def test_tvd_is_the_share_of_rows_that_would_have_to_move() -> None:
    assert tvd(counts([6, 4]), counts([30, 70])) == pytest.approx(0.3)
    assert tvd(counts([1, 0]), counts([0, 9])) == 1
    assert tvd(counts([1, 2]), counts([2, 4])) == 0


def test_an_empty_side_is_as_far_as_can_be_from_any_but_an_empty_one() -> None:
    assert tvd(counts([0, 0]), counts([1, 0])) == 1
    assert tvd(counts([0, 0]), counts([0, 0])) == 0
    assert normalised_kl(counts([0, 0]), counts([1, 0])) == 0
    assert normalised_kl(counts([0, 0]), counts([0, 0])) == 1


def test_kl_by_hand() -> None:
    # The other side gets a tenth of a row in each of the two cells that somebody has; the third nobody has.
    q = (30.1 / 100.2, 70.1 / 100.2)
    expected = 0.6 * log(0.6 / q[0]) + 0.4 * log(0.4 / q[1])
    assert normalised_kl(counts([60, 40, 0]), counts([30, 70, 0])) == pytest.approx(1 / (1 + expected), abs=1e-8)
    assert normalised_kl(counts([60, 40]), counts([60_000, 40_000])) == pytest.approx(1, abs=1e-6)


def test_cramers_v_by_hand() -> None:
    assert cramers_v(counts([10, 0], [0, 10])) == pytest.approx(1)
    assert cramers_v(counts([10, 10], [20, 20])) == pytest.approx(0)
    # χ² of [[20, 10], [10, 20]] is 4 · 5²/15 = 20/3 over 60 rows
    assert cramers_v(counts([20, 10], [10, 20])) == pytest.approx(sqrt(20 / 3 / 60))
    # a row and a column that nobody has change nothing, and one value has nothing to do with anything
    assert cramers_v(counts([20, 10, 0], [0, 0, 0], [10, 20, 0])) == pytest.approx(sqrt(20 / 3 / 60))
    assert cramers_v(counts([3, 4])) == 0
    assert cramers_v(counts([0, 0], [0, 0])) == 0


def test_ks_against_every_point_of_both_samples() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        a, b = rng.integers(0, 9, 40).astype(float), rng.normal(4, 3, 31).round(1)
        a[:3] = np.nan
        known = a[3:]
        brute = max(abs((known <= x).mean() - (b <= x).mean()) for x in np.concatenate([known, b]))
        assert ks_distance(Values(a), Values(b)) == pytest.approx(brute)
    assert ks_distance(Values(np.full(4, np.nan)), Values(np.full(2, np.nan))) == 0
    assert ks_distance(Values(np.array([1.0])), Values(np.full(2, np.nan))) == 1


@pytest.mark.parametrize("shape", ["spread", "ties", "skewed", "beyond", "huge", "tiny", "one value"])
def test_long_samples_are_as_exact_as_short_ones(shape: str) -> None:
    rng = np.random.default_rng(4)
    a, b = rng.normal(0, 1, 40_000), rng.normal(0.1, 1, 30_000)
    change = {
        "spread": lambda x: x,
        "ties": lambda x: np.round(x, 1),
        "skewed": lambda x: np.exp(np.exp(x)),
        "beyond": lambda x: x + 9 * (len(x) == len(b)),
        "huge": lambda x: np.where(x > 1, 1e308, np.where(x < -1, -1e308, x)),
        "tiny": lambda x: np.where(x > 1, 5e-324, 0.0),
        "one value": lambda x: np.full(len(x), 7.0),
    }[shape]
    a, b = change(a), change(b)
    points = np.sort(np.concatenate([a, b]))
    whole = np.abs(
        np.searchsorted(np.sort(a), points, "right") / len(a) - np.searchsorted(np.sort(b), points, "right") / len(b)
    ).max()
    assert ks_distance(Values(a), Values(b)) == pytest.approx(whole, abs=1e-12)
    different = np.unique(a)
    found = Values(a).ranked.different(20)
    assert (found is None) == (len(different) > 20)
    assert found is None or found.tolist() == different.tolist()
    if shape != "huge":
        shares = np.linspace(0, 1, 21)
        assert Values(a).ranked.quantiles(shares) == pytest.approx(np.quantile(a, shares), rel=1e-14, abs=0)


def test_words_are_compared_by_what_they_say_not_by_their_places() -> None:
    real = Values(words=np.array([0, 0, 1, -1], dtype=np.int32), dictionary=("a", "b"))
    other = Values(words=np.array([0, 1, 2], dtype=np.int32), dictionary=("b", "a", "new"))
    # a: 2/3 against 1/3; b: 1/3 each; new: 0 against 1/3
    words, counts = word_counts([real, other])
    assert sorted(words) == sorted({*real.dictionary, *other.dictionary})
    assert tvd(*counts) == pytest.approx(1 / 3)


def test_correlations_are_those_of_pandas_row_by_row_where_both_are_there() -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"a": rng.normal(1e6, 1, 200), "b": rng.normal(0, 1, 200), "flat": 7.0})
    frame["c"] = frame["a"] - 0.5 * frame["b"]
    frame.loc[:30, "b"] = np.nan
    frame.loc[20:50, "c"] = np.nan
    mine = correlations([frame[name].to_numpy() for name in frame])
    expected = frame.corr().to_numpy()
    assert np.allclose(mine, expected, equal_nan=True, atol=1e-9)


def test_what_chance_does_is_what_draws_do_on_average() -> None:
    rng = np.random.default_rng(6)
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    real = counts([400, 300, 200, 100])[0]
    apart = [tvd(rng.multinomial(1000, shares), rng.multinomial(300, shares)) for _ in range(2000)]
    assert by_chance(real, 300) == pytest.approx(np.mean(apart), rel=0.05)
