"""Attribute disclosure risk against closed forms worked out another way, and a planted leak."""

from __future__ import annotations

from dataclasses import replace
from math import exp, lgamma, log

import numpy as np
import pytest

from mare.evaluation.risk.attribute import average_disclosure, disclosure_by_epsilon, disclosures, outlier
from mare.evaluation.risk.predictive import PRIOR_PRECISION, PRIOR_SCALE, PRIOR_SHAPE
from mare.evaluation.vectors import Feature, Features, joined


def features(**columns: list[float] | np.ndarray) -> Features:
    values = {name: np.asarray(column) for name, column in columns.items()}
    kinds = tuple(Feature(name, "number" if column.dtype.kind == "f" else "category") for name, column in values.items())
    return Features(kinds, tuple(values.values()), len(next(iter(values.values()))))


def test_a_category_follows_the_beta_binomial_in_closed_form() -> None:
    real, synthetic = features(x=[1, 0, 0, 0]), features(x=[1, 1, 0, 1, 0])
    found = disclosures(real, synthetic, [0])["uniform"]

    def marginal_likelihood(ones: int, zeros: int) -> float:  # Beta(1/2, 1/2)
        return exp(lgamma(ones + 0.5) + lgamma(zeros + 0.5) - lgamma(ones + zeros + 1.0))

    # The first row is the target: of the other three, none is 1. The synthetic rows hold three.
    likelihood = {
        guess: marginal_likelihood(3 + guess, 5 + 1 - guess) / marginal_likelihood(guess, 4 - guess) for guess in (0, 1)
    }
    expected = likelihood[1] / (likelihood[0] + likelihood[1])
    assert found.true_val_prob[0] == pytest.approx(expected)
    assert found.full_prob[0] == pytest.approx([1 - expected, expected])
    assert found.rank_true[0] == 1
    assert found.prior_true == pytest.approx([0.5] * 4)

    informed = disclosures(real, synthetic, [0])["informed"]
    assert informed.prior_true[0] == pytest.approx(0.5 / 4)
    assert informed.true_val_prob[0] == pytest.approx(3.5 / 9)  # what the other rows and the synthetic ones say together


def test_a_number_follows_the_conjugate_regression_in_closed_form() -> None:
    rng = np.random.default_rng(1)
    a = rng.normal(30, 4, 12)
    real = features(a=a, b=3 * a + rng.normal(0, 6, 12))
    a = rng.normal(30, 4, 9)
    synthetic = features(a=a, b=3 * a + rng.normal(0, 6, 9))
    for column in (0, 1):
        found = disclosures(real, synthetic, [column], network=((), (0,)))["uniform"]
        for target in (0, 7):
            logs = []
            for guess in found.guesses[0][target]:
                rows = [row.copy() for row in real.values]
                rows[column][target] = guess
                logs.append(_evidence_of_synthetic(rows, list(synthetic.values)))
            weights = np.exp(np.array(logs) - max(logs))
            assert found.full_prob[target] == pytest.approx(weights / weights.sum(), rel=1e-6)


def _evidence_of_synthetic(real: list[np.ndarray], synthetic: list[np.ndarray]) -> float:
    """log p(z | rows): marginal likelihoods of both attributes, with all rows over the real ones alone."""
    scaled = [[(side - z.mean()) / z.std() for side in (rows, z)] for rows, z in zip(real, synthetic, strict=True)]
    total = 0.0
    for child, parents in ((0, ()), (1, (0,))):
        for sign, sides in ((1, (0, 1)), (-1, (0,))):
            t = np.concatenate([scaled[child][side] for side in sides])
            x = np.stack([np.ones(len(t)), *(np.concatenate([scaled[p][side] for side in sides]) for p in parents)], axis=1)
            precision = PRIOR_PRECISION * np.eye(x.shape[1]) + x.T @ x
            mean = np.linalg.solve(precision, x.T @ t)
            shape, scale = PRIOR_SHAPE + len(t) / 2, PRIOR_SCALE + (t @ t - mean @ precision @ mean) / 2
            prior_determinant = x.shape[1] * log(PRIOR_PRECISION)
            determinant = np.linalg.slogdet(precision)[1]
            total += sign * (
                0.5 * (prior_determinant - determinant) - shape * log(scale) + lgamma(shape) - len(t) / 2 * log(2 * np.pi)
            )
    return float(total)


def test_six_outputs_of_two_attributes_together_are_consistent() -> None:
    rng = np.random.default_rng(2)
    real = features(a=rng.normal(5, 1, 30), sex=rng.integers(0, 3, 30))
    found = disclosures(real, features(a=rng.normal(5, 1, 40), sex=rng.integers(0, 3, 40)), [0, 1], guesses=5)["uniform"]
    assert found.full_prob.shape == (30, 5, 3)
    assert found.full_prob.sum(axis=(1, 2)) == pytest.approx(np.ones(30))
    assert found.true_values[:, 0] == pytest.approx(real.values[0])
    assert found.true_values[:, 1] == pytest.approx(real.values[1])
    first = found.full_prob.sum(axis=2)
    assert found.true_marginals[:, 0] == pytest.approx(first[:, 2])
    assert found.rank_highest[:, 0] == pytest.approx(found.guesses[0][np.arange(30), first.argmax(axis=1)])
    assert found.marginal_abs_diffs[:, 0] == pytest.approx(np.abs(found.rank_highest[:, 0] - real.values[0]))
    place = (np.arange(30), np.full(30, 2), real.values[1])
    assert found.true_val_prob == pytest.approx(found.full_prob[place])
    ties_last = (found.full_prob.round(12) >= found.true_val_prob.round(12)[:, None, None]).sum(axis=(1, 2))
    assert (found.rank_true == ties_last).all()


def test_an_outlier_that_shows_in_the_synthetic_rows_is_disclosed_and_one_that_does_not_is_not() -> None:
    rng = np.random.default_rng(3)

    def people(n: int) -> Features:
        return features(age=rng.normal(60, 9, n), sex=rng.integers(0, 2, n), code=rng.integers(0, 6, n))

    everyone = people(1000)
    inside, outside = outlier(everyone, beyond=False), outlier(everyone, beyond=True)
    assert [float(column[0]) for column in inside.values] == [everyone.values[0].max(), 1, 5]
    assert [float(column[0]) for column in outside.values] == [pytest.approx(everyone.values[0].max() * 1.1), 2, 6]
    # An ordinary patient with a code of their own.
    rare = replace(inside, values=(*everyone.take([0]).values[:2], outside.values[2]))
    with_outlier = joined([everyone, rare])
    leaky = disclosures(with_outlier, with_outlier, [2], rows=np.array([1000]))["uniform"]
    sane = disclosures(with_outlier, people(1000), [2], rows=np.array([1000]))["uniform"]
    assert leaky.true_val_prob[0] > 2.5 * leaky.prior_true[0]
    assert leaky.rank_true[0] == 1
    assert sane.true_val_prob[0] < sane.prior_true[0] + 0.02


def test_the_average_over_epsilon_begins_with_the_prior() -> None:
    rng = np.random.default_rng(4)
    sides = [features(a=rng.normal(5, 1, 200)) for _ in range(4)]
    curve = disclosure_by_epsilon(sides[0], {float("inf"): sides[1:2], 0.05: sides[2:]}, [0])
    assert list(curve) == [0.0, 0.05, float("inf")]
    assert curve[0.0].value == pytest.approx(1 / 41)
    runs = [disclosures(sides[0], run, [0])["uniform"] for run in sides[2:]]
    assert curve[0.05].value == pytest.approx(np.mean([run.true_val_prob.mean() for run in runs]))
    assert average_disclosure(runs).lower < curve[0.05].value < average_disclosure(runs).upper


@pytest.mark.parametrize(
    "column",
    [
        np.full(20, 3.0),
        np.full(20, np.nan),
        np.zeros(20),
        np.where(np.arange(20) % 3 == 0, np.nan, 1.0 * np.arange(20)),
        np.zeros(20, np.int64),
        np.arange(0, 10_000, 500),
    ],
)
def test_odd_columns_are_no_obstacle(column: np.ndarray) -> None:
    odd = features(odd=column, other=np.arange(20) % 4)
    for side in (odd, replace(odd.take([]), rows=0)):
        for target in (0, 1):
            found = disclosures(odd, side, [target])["uniform"]
            assert np.isfinite(found.full_prob).all()
            assert len(found.true_val_prob) == (np.isfinite(column).sum() if target == 0 else 20)
