"""The threshold that hides a value of a single entity, against the noise's own probabilities."""

from __future__ import annotations

from decimal import Decimal, getcontext
from math import nan

import numpy as np
import pytest

from mare.errors import PrivacyError
from mare.privacy.stable_keys import as_numbers, as_texts, canonical, identifiers, kept_keys, key_threshold

getcontext().prec = 60


def crossing(threshold: int, sigma: float) -> Decimal:
    """P(X ≥ threshold) of the discrete Gaussian, summed."""
    two_variances = 2 * Decimal(sigma) ** 2
    reach = int(40 * sigma) + 3

    def weight(k: int) -> Decimal:
        return (-Decimal(k * k) / two_variances).exp()

    whole = 1 + 2 * sum(weight(k) for k in range(1, reach))
    return sum((weight(k) for k in range(threshold, threshold + reach)), Decimal(0)) / whole


@pytest.mark.parametrize("sigma", [2.0**-10, 0.4, 1.0, 3.7, 25.0])
@pytest.mark.parametrize("per_entity", [1, 2, 10, 1000])
@pytest.mark.parametrize("delta", [0.3, 1e-3, 1.6e-11, 1e-40])
def test_a_value_of_one_entity_gets_out_with_probability_delta_at_most(sigma: float, per_entity: int, delta: float) -> None:
    threshold = key_threshold(sigma, per_entity, delta)
    hidden = (1 - crossing(threshold, sigma)) ** per_entity
    assert 1 - hidden <= Decimal(delta)


@pytest.mark.parametrize("sigma", [1.0, 3.7, 25.0])
@pytest.mark.parametrize("delta", [1e-3, 1.6e-11])
def test_the_threshold_is_next_to_the_smallest_one(sigma: float, delta: float) -> None:
    threshold = key_threshold(sigma, 3, delta)
    assert 1 - (1 - crossing(threshold - 2, sigma)) ** 3 > Decimal(delta)


@pytest.mark.parametrize("sigma", [1e5, 1e9])
def test_large_noise_has_its_threshold_too(sigma: float) -> None:
    assert 6.5 * sigma < key_threshold(sigma, 1, 1e-11) < 7 * sigma


@pytest.mark.parametrize("delta", [0.0, -1e-9, 1.0, nan, 1e-300])
def test_without_a_delta_there_is_no_threshold(delta: float) -> None:
    with pytest.raises(PrivacyError, match="cannot be learned"):
        key_threshold(1.0, 1, delta)


def test_what_is_kept_is_above_the_threshold_and_in_canonical_order() -> None:
    noisy = np.array([5, 9, 10, 30, 11, 30])
    assert kept_keys(list("abcdef"), noisy, 9, 10)[0] == ["c", "d", "e", "f"]
    values, counts = kept_keys(list("abcdef"), noisy, 9, 3)
    assert (values, counts.tolist()) == (["d", "e", "f"], [30, 11, 30])
    assert kept_keys(list("abcdef"), noisy, 9, 1)[0] == ["d"]
    assert kept_keys([], np.zeros(0, dtype=np.int64), 9, 1)[0] == []


def test_order_of_the_values_comes_from_themselves() -> None:
    values, counts = canonical({"b": 2, "": 1, "ä": 3, "a": 4})
    assert (values, counts.tolist()) == (["", "a", "b", "ä"], [1, 4, 2, 3])


@pytest.mark.parametrize("values", [(), ("",), ("a", 'quo"te', "Größe", "\ud800", "\n\x00")])
def test_texts_survive_as_numbers(values: tuple[str, ...]) -> None:
    assert as_texts(as_numbers(values)) == values
    assert len(set(identifiers(values).tolist())) == len(values)
