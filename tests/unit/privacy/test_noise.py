"""Which sampler is taken, what it claims, and what is refused."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

from mare.errors import PrivacyError
from mare.privacy.bits import SeededBits
from mare.privacy.gaussian import gaussian_table, rejected_gaussian
from mare.privacy.laplace import discrete_laplace
from mare.privacy.noise import Mechanism, prepare_noise, standard_deviation


def test_many_cells_get_the_table_and_pay_for_its_error() -> None:
    noise = prepare_noise("discrete gaussian", 5.0, 1000)
    assert not noise.exact
    assert noise.total_variation >= 1000 * gaussian_table(5.0).total_variation
    assert noise.draw(SeededBits(1)).tolist() == gaussian_table(5.0).draw(1000, SeededBits(1)).tolist()


@pytest.mark.parametrize(
    ("sigma", "cells", "exact"),
    [(1000.0, 10_000, False), (1000.0, 10, True), (1e6, 10_000_000, True)],
    ids=["worth it", "14,000 entries for 10 draws", "larger than any table"],
)
def test_a_table_that_does_not_pay_is_not_built(sigma: float, cells: int, exact: bool) -> None:
    assert prepare_noise("discrete gaussian", sigma, cells).exact is exact


def test_exact_noise_has_no_error() -> None:
    noise = prepare_noise("discrete gaussian", 5.0, 40, exact=True)
    assert noise.total_variation == 0
    assert noise.draw(SeededBits(1)).tolist() == rejected_gaussian(5.0, 40, SeededBits(1)).tolist()


def test_laplace_noise_is_always_exact() -> None:
    noise = prepare_noise("discrete laplace", 5.0, 40)
    assert noise.exact
    assert noise.total_variation == 0
    assert noise.draw(SeededBits(1)).tolist() == discrete_laplace(5.0, 40, SeededBits(1)).tolist()


@pytest.mark.parametrize("mechanism", ["discrete gaussian", "discrete laplace"])
@pytest.mark.parametrize("scale", [0.0, -1.0, nan, inf, 1e30])
def test_impossible_scales_are_refused(mechanism: Mechanism, scale: float) -> None:
    with pytest.raises(PrivacyError, match="scale"):
        prepare_noise(mechanism, scale, 1)


@pytest.mark.parametrize("mechanism", ["discrete gaussian", "discrete laplace"])
def test_a_tiny_scale_is_raised_never_lowered(mechanism: Mechanism) -> None:
    noise = prepare_noise(mechanism, 1e-12, 5)
    assert noise.scale > 1e-12
    assert noise.draw(SeededBits(1)).tolist() == [0] * 5


def test_unknown_mechanisms_and_empty_draws_are_refused() -> None:
    with pytest.raises(PrivacyError, match="discrete gaussian, discrete laplace"):
        prepare_noise("uniform", 1.0, 1)  # type: ignore[arg-type]
    with pytest.raises(PrivacyError, match="0 cells"):
        prepare_noise("discrete laplace", 1.0, 0)


@pytest.mark.parametrize("mechanism", ["discrete gaussian", "discrete laplace"])
@pytest.mark.parametrize("scale", [0.8, 30.0])
def test_noise_is_whole_and_as_wide_as_it_says(mechanism: Mechanism, scale: float) -> None:
    noise = prepare_noise(mechanism, scale, 200_000)
    drawn = noise.draw(SeededBits(9))
    assert drawn.dtype == np.int64
    assert np.std(drawn) == pytest.approx(standard_deviation(mechanism, noise.scale), rel=0.02)
