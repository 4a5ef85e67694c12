"""Which cells are hit: the tables hold the binomial law, the draws follow it, and nothing overflows at 2^63 cells."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import comb

import numpy as np
import pytest
from numpy.typing import NDArray

from mare.privacy import scattering
from mare.privacy.bits import BitSource, SeededBits
from mare.privacy.inversion import Enclosure
from mare.privacy.scattering import BlockTable, Rate, block_table, kept_share, rate_above, scatter, successes
from tests.chi_squared import chi_squared_excess
from tests.unit.privacy.listed_view import ScriptedBits


def always(chance: Fraction) -> Enclosure:
    def enclosure(width: int) -> tuple[int, int]:
        return chance.numerator * 2**width // chance.denominator, -(-chance.numerator * 2**width // chance.denominator)

    return enclosure


def binomial(n: int, p: Fraction) -> list[Fraction]:
    return [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


def hit(cells: int, chance: Fraction, bits: BitSource) -> NDArray[np.int64]:
    return np.concatenate([np.empty(0, dtype=np.int64), *successes(cells, always(chance), bits)])


# --- the tables, exhaustively ---------------------------------------------------------------------------------------

SMALL_RATES = [Rate(a, 8) for a in (129, 170, 200, 254, 255)] + [Rate(a, 9) for a in (128, 201, 256)] + [Rate(177, 13)]


@pytest.mark.parametrize("rate", SMALL_RATES, ids=str)
def test_a_block_holds_the_binomial_law(rate: Rate) -> None:
    table = block_table(rate)
    law = binomial(1 << rate.block_bits, Fraction(rate.numerator, 1 << rate.bits))
    for k, top in enumerate(table.tops.tolist()):
        truth = sum(law[: k + 1], Fraction(0))
        assert 0 <= truth * 2**64 - top < 2
        for width in (64, 128, 320):
            low, high = table.enclosure(k, width)
            assert low <= truth * 2**width <= high <= low + 3
    complete = len(table.tops) == len(law) - 1
    assert complete or 1 - sum(law[: len(table.tops)], Fraction(0)) < Fraction(1, 2**39)


@pytest.mark.parametrize("rate", SMALL_RATES, ids=str)
def test_beyond_the_table_each_further_hit_has_its_own_probability(rate: Rate) -> None:
    table = block_table(rate)
    law = binomial(1 << rate.block_bits, Fraction(rate.numerator, 1 << rate.bits))
    for k in {1, len(law) // 2, min(len(table.tops), len(law) - 1), len(law) - 1}:
        truth = law[k] / sum(law[k:], Fraction(0))
        for width in (64, 192):
            low, high = table.hazard(k, width)
            assert low <= truth * 2**width <= high <= low + 2


@pytest.mark.parametrize("rate", [Rate(200, 20), Rate(128, 67), Rate(255, 67), Rate(130, 300)], ids=str)
def test_thresholds_of_large_blocks_ascend_and_narrow_with_the_width(rate: Rate) -> None:
    table = block_table(rate)
    assert all(a <= b for a, b in pairwise(table.tops.tolist()))
    assert len(table.tops) < 80
    for k in (0, len(table.tops) - 1):
        fine_low, fine_high = table.enclosure(k, 256)
        coarse_low, coarse_high = table.enclosure(k, 64)
        assert coarse_low << 192 <= fine_low <= fine_high <= coarse_high << 192
        assert fine_high - fine_low <= 3


def test_a_block_beyond_its_table_goes_on_one_hit_at_a_time() -> None:
    table = block_table(Rate(200, 20))
    top, never, at_once = 2**64 - 1, 2**64 - 1, 0
    size = len(table.tops)
    assert table.draw(1, ScriptedBits([top, at_once])).tolist() == [size]
    assert table.draw(1, ScriptedBits([top, never, never, at_once])).tolist() == [size + 2]


def test_a_block_is_never_hit_more_often_than_it_has_cells() -> None:
    short = BlockTable(Rate(129, 8), block_table(Rate(129, 8)).tops[:3])
    assert short.draw(1, ScriptedBits([2**64 - 1] * 100)).tolist() == [16]


# --- rates ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exponent", [0, 1, 2, 9, 60, 100, 310])
@pytest.mark.parametrize("part", [Fraction(1), Fraction(1, 3), Fraction(2, 3), Fraction(255, 256), Fraction(127, 128)])
def test_the_rate_is_a_little_above_the_probability(exponent: int, part: Fraction) -> None:
    chance = part / 2**exponent
    rate = rate_above(always(chance))
    assert chance <= Fraction(rate.numerator, 1 << rate.bits) <= chance * Fraction(129, 128)
    assert rate.bits >= 8
    low, high = kept_share(always(chance), rate, 100)
    assert low <= chance * 2**rate.bits / rate.numerator * 2**100 <= high <= 2**100


def test_a_probability_of_next_to_nothing_gets_the_smallest_rate() -> None:
    rate = rate_above(always(Fraction(1, 2**5000)))
    assert Fraction(rate.numerator, 1 << rate.bits) == Fraction(1, 2**320)
    assert hit(2**63, Fraction(1, 2**5000), SeededBits(1)).tolist() == []


# --- draws ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("group", "chance"),
    [(30, Fraction(1, 3)), (7, Fraction(5, 7)), (40, Fraction(1, 1000)), (2000, Fraction(1, 400)), (3, Fraction(999, 1000))],
)
def test_the_number_of_hits_is_binomial(group: int, chance: Fraction) -> None:
    groups = 40_000
    counts = np.bincount(hit(group * groups, chance, SeededBits(11)) // group, minlength=groups)
    law = [float(p) for p in binomial(group, chance)]
    assert chi_squared_excess(np.bincount(counts, minlength=group + 1), law) < 1


@pytest.mark.parametrize("wrong", [Fraction(32, 100), Fraction(34, 100)])
def test_a_wrong_probability_is_noticed(wrong: Fraction) -> None:
    counts = np.bincount(hit(30 * 40_000, wrong, SeededBits(11)) // 30, minlength=40_000)
    assert chi_squared_excess(np.bincount(counts, minlength=31), [float(p) for p in binomial(30, Fraction(1, 3))]) > 1


def surplus(cells: int, chance: Fraction) -> float:
    """Of hits, in standard deviations."""
    mean = float(cells * chance)
    return (len(hit(cells, chance, SeededBits(16))) - mean) / (mean * float(1 - chance)) ** 0.5


def test_hits_are_thinned_to_the_very_probability(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rate above is .74 % too high here: 8 standard deviations, if no coin made up for it."""
    cells, chance = 40_000_000, Fraction(12805, 100 * 2**12)
    assert abs(surplus(cells, chance)) < 5
    monkeypatch.setattr(scattering, "coins", lambda chances, exact, bits: np.ones(len(chances), dtype=np.bool_))
    assert surplus(cells, chance) > 5


def test_every_set_of_cells_is_as_likely_as_it_should_be() -> None:
    """Three cells, one call a draw: all eight sets."""
    bits, chance = SeededBits(12), Fraction(2, 5)
    seen = np.zeros(8)
    for _ in range(4000):
        seen[sum(1 << int(cell) for cell in hit(3, chance, bits))] += 1
    law = [float(chance ** bin(s).count("1") * (1 - chance) ** (3 - bin(s).count("1"))) for s in range(8)]
    assert chi_squared_excess(seen, law) < 1


@pytest.mark.parametrize("cells", [2**62, 2**63, 2**63 - 12345, 10**9 + 7])
def test_hits_are_spread_evenly_over_any_number_of_cells(cells: int) -> None:
    drawn = hit(cells, Fraction(50_000, cells), SeededBits(13))
    assert abs(len(drawn) - 50_000) < 6 * 224  # six standard deviations
    assert drawn[0] >= 0
    assert int(drawn[-1]) < cells
    assert (np.diff(drawn) > 0).all()
    hundredths = (drawn // (cells // 100 + 1)).astype(np.int64)
    assert chi_squared_excess(np.bincount(hundredths, minlength=100), [0.01] * 100) < 1
    assert chi_squared_excess(np.bincount(drawn % 16, minlength=16), [1 / 16] * 16) < 1


def test_neighbours_are_hit_independently() -> None:
    cells, chance = 400_000, Fraction(3, 10)
    mask = np.zeros(cells)
    mask[hit(cells, chance, SeededBits(14))] = 1
    for step in (1, 2, 16, 17):
        both = float(np.mean(mask[:-step] * mask[step:]))
        assert abs(both - 0.09) < 6 * (0.09 * 0.91 / cells) ** 0.5 * 1.6  # overlapping pairs: a little wider


def test_a_sure_hit_hits_every_cell() -> None:
    assert hit(1000, Fraction(1), SeededBits(1)).tolist() == list(range(1000))


def test_no_cells_no_hits() -> None:
    assert hit(0, Fraction(1, 2), SeededBits(1)).tolist() == []


def test_chunks_come_in_order_and_leave_nothing_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scattering, "_BLOCKS", 3)
    chunks = list(scatter(5000, Rate(128, 10), SeededBits(15)))
    assert len(chunks) > 10
    together = np.concatenate(chunks)
    assert (np.diff(together) > 0).all()
    assert abs(len(together) - 625) < 6 * 24
    assert np.concatenate(list(scatter(1000, Rate(256, 8), SeededBits(1)))).tolist() == list(range(1000))


def test_cells_that_come_up_twice_are_drawn_again() -> None:
    """Two hits in a block of 16: the second word repeats the first cell, the third takes another."""
    fifth, ninth = 5 << 60, 9 << 60
    bits = ScriptedBits([fifth, fifth, ninth])
    assert scattering._distinct(0, np.array([2]), 4, bits).tolist() == [5, 9]


@pytest.mark.parametrize("cells", [-1, 2**63 + 1])
def test_tables_beyond_any_index_are_refused(cells: int) -> None:
    with pytest.raises(ValueError, match="cells"):
        next(scatter(cells, Rate(128, 9), SeededBits(1)))
