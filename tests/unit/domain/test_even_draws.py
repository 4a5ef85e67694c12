"""Random numbers that are spread evenly over blocks of rows: what they promise for a row, and for all rows together."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from mare.domain import EvenDraws, RowDraws, numbered_keys, purpose_of
from mare.domain.draws import EVEN_BLOCK, even_bits

NUMBERS = np.arange(4 * EVEN_BLOCK, dtype=np.int64)


def draws(numbers: np.ndarray = NUMBERS, label: str = "count", seed: int = 1) -> EvenDraws:
    return EvenDraws(numbered_keys(purpose_of(f"entities of {seed}"), numbers), numbers, purpose_of(label), seed)


@pytest.mark.parametrize("label", ["count", "first", "another"])
def test_every_block_shares_out_the_interval(label: str) -> None:
    for block in draws(label=label).random().reshape(-1, EVEN_BLOCK):
        assert np.array_equal(np.sort((block * EVEN_BLOCK).astype(int)), np.arange(EVEN_BLOCK))


def test_a_row_has_its_number_whoever_is_drawn_beside_it() -> None:
    some = np.array([3, 1000, 1024, 4000])
    assert np.array_equal(draws(NUMBERS[some]).random(), draws().random()[some])
    assert np.array_equal(draws().at("column", some).random(), draws().at("column").random()[some])


def test_other_purposes_turns_seeds_and_blocks_have_other_numbers() -> None:
    first = draws()
    one, two = first.random(), first.random()
    others = [two, draws(label="other").random(), draws(seed=2).random(), draws().at("column").random()]
    places = [(found * EVEN_BLOCK).astype(int) for found in [one, *others]]
    for number, left in enumerate(places):
        for right in places[number + 1 :]:
            # Two orders of 1,024 places agree in one place on average; in 20 of 4,096 once in 1e7 times.
            assert (left == right).sum() < 20
    blocks = places[0].reshape(-1, EVEN_BLOCK)
    assert (blocks[0] == blocks[1]).sum() < 12


def test_two_purposes_have_nothing_to_do_with_each_other() -> None:
    """Seeded: the mean of 199 χ² of 49 degrees of freedom stays within 5 of its deviations."""
    found = [draws(label=str(number)).random() for number in range(200)]
    chi = []
    for left, right in pairwise(found):
        table = np.histogram2d(left, right, bins=8, range=[[0, 1], [0, 1]])[0]
        chi.append(((table - 64) ** 2 / 64).sum())
    assert abs(np.mean(chi) - 49) < 5 * np.sqrt(2 * 49 / len(chi)) + 1.5


def test_numbers_of_a_few_rows_are_uniform() -> None:
    """Seeded: one row under 4,000 purposes; Kolmogorov's distance stays below its 1e-6 quantile."""
    numbers = np.array([17], dtype=np.int64)
    found = np.sort([float(draws(numbers, label=str(k)).random()[0]) for k in range(4000)])
    assert np.abs(found - (np.arange(4000) + 0.5) / 4000).max() < 2.7 / np.sqrt(4000)


@pytest.mark.parametrize("bits", [0, 2**64 - 1])
def test_the_last_number_of_a_place_stays_in_it(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At 1, an inverted distribution has no code left."""
    wanted = (draws().random() * EVEN_BLOCK).astype(int)
    monkeypatch.setattr(RowDraws, "bits", lambda one: _counted(one, bits))
    found = draws().random()
    assert found.max() < 1
    assert np.array_equal((found * EVEN_BLOCK).astype(int), wanted)


def _counted(one: RowDraws, bits: int) -> np.ndarray:
    one._drawn += 1
    return np.full(len(one), bits, dtype=np.uint64)


def test_numbers_beyond_all_that_is_sampled_are_shared_out_too() -> None:
    numbers = np.arange(2**62, 2**62 + EVEN_BLOCK, dtype=np.int64)
    assert np.array_equal(np.sort((draws(numbers).random() * EVEN_BLOCK).astype(int)), np.arange(EVEN_BLOCK))


@pytest.mark.parametrize(("rows", "bits"), [(1, 3), (8, 3), (9, 4), (28, 5), (1024, 10), (300_000, 10)])
def test_where_few_rows_are_usual_few_share_it_out(rows: int, bits: int) -> None:
    assert even_bits(rows) == bits
    few = EvenDraws(numbered_keys(1, NUMBERS), NUMBERS, purpose_of("count"), 1, bits)
    for block in (few.random() * 2**bits).astype(int).reshape(-1, 2**bits):
        assert np.array_equal(np.sort(block), np.arange(2**bits))
