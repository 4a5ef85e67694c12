"""The threshold that hides a value of a single entity, against the noise's own probabilities."""

from __future__ import annotations

from decimal import Decimal, getcontext
from math import nan

import numpy as np
import pytest

from mare.errors import InternalError, PrivacyError
from mare.privacy.stable_keys import (
    UNIT,
    as_numbers,
    as_texts,
    canonical,
    identifiers,
    kept_keys,
    key_threshold,
    shared_weight,
    weighed,
)

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
    for named in {1, 2, per_entity // 3, per_entity} - {0}:
        if named <= per_entity:
            assert leaked(threshold, sigma, named) <= Decimal(delta)


def leaked(threshold: int, sigma: float, named: int) -> Decimal:
    """The chance that any of so many values of one entity gets out: its voice and the noise together are above."""
    return 1 - (1 - crossing(threshold - shared_weight(named) + 1, sigma)) ** named


@pytest.mark.parametrize("voices", [0.5, 2, 20])
@pytest.mark.parametrize("delta", [1e-3, 1.6e-11])
def test_whoever_names_many_values_has_them_all_hidden_where_noise_is_as_large_as_in_a_fit(voices: float, delta: float) -> None:
    """Little noise hides a value by its voice; where the noise is larger than a voice, what counts is how many values try."""
    threshold = key_threshold(sigma := voices * UNIT, 100, delta)
    for named in (1, 2, 10, 100):
        reach = np.arange(threshold - shared_weight(named) + 1, int(12 * sigma))
        # σ√2π is what all weights are together, up to what no float shows: σ is in the thousands.
        crosses = np.exp(-((reach / sigma) ** 2) / 2).sum() / (sigma * np.sqrt(2 * np.pi))
        assert -np.expm1(named * np.log1p(-crosses)) <= delta * (1 + 1e-9), named


@pytest.mark.parametrize("sigma", [1.0, 3.7, 25.0])
@pytest.mark.parametrize("delta", [1e-3, 1.6e-11])
def test_the_threshold_is_next_to_the_smallest_one(sigma: float, delta: float) -> None:
    threshold = key_threshold(sigma, 3, delta)
    assert max(leaked(threshold - 2, sigma, named) for named in (1, 2, 3)) > Decimal(delta)


def test_one_entity_has_one_voice_whatever_it_names() -> None:
    """In whole numbers, so that nothing is lost to rounding; and hardly less than one."""
    for named in range(1, 1001):
        assert named * shared_weight(named) ** 2 <= UNIT**2 < named * (shared_weight(named) + 1) ** 2


def test_weights_add_up_and_whoever_names_too_many_is_refused() -> None:
    held = {1: {"a": 3}, 4: {"a": 2, "b": 2, "c": 2, "d": 2}}
    assert weighed(held, 4) == {"a": 4 * UNIT, "b": UNIT, "c": UNIT, "d": UNIT}
    with pytest.raises(InternalError, match="names 4 values"):
        weighed(held, 3)


@pytest.mark.parametrize("sigma", [1e5, 1e9])
def test_large_noise_has_its_threshold_too(sigma: float) -> None:
    assert 6.5 * sigma < key_threshold(sigma, 1, 1e-11) - UNIT < 7 * sigma


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
