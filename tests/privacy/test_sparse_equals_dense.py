"""Sparse noise is dense noise followed by a threshold: the same distribution, so the same guarantee.

Tiny tables are checked outcome by outcome, against exact probabilities: first the probabilities themselves, then draws of
60,000 copies of the table by χ² (one seed in 5·10⁸ fails a correct sampler). Planted bugs show that the check bites.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import exp, prod, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from mare.privacy import sparse, tails
from mare.privacy.bits import BitSource, SeededBits
from mare.privacy.noise import Mechanism, prepare_noise
from mare.privacy.sparse import SparseCells, prepare_sparse_noise
from mare.privacy.tails import Tail, tail
from tests.chi_squared import chi_squared_excess

COPIES = 60_000
LEVELS = 5
"""What a cell may come to: dropped, r, r + 1, r + 2, more."""

Draw = Callable[["Tiny", BitSource], SparseCells]


@dataclass(frozen=True)
class Tiny:
    """A table of a few cells, and how it is measured."""

    mechanism: Mechanism
    scale: float
    threshold: int
    counts: tuple[int, ...]

    @property
    def listed(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """All copies of the table, end to end."""
        table = np.tile(np.array(self.counts, dtype=np.int64), COPIES)
        return np.flatnonzero(table), table[table > 0]

    def law(self) -> NDArray[np.float64]:
        """The probability of every outcome of the whole table, from the definition of dense noise."""
        return joint([self.cell_law(count) for count in self.counts])

    def cell_law(self, count: int) -> list[float]:
        def weight(x: int) -> float:
            return exp(-abs(x) / self.scale) if self.mechanism == "discrete laplace" else exp(-(x * x) / (2 * self.scale**2))

        reach = int(80 * self.scale) + 20
        mass = {x: weight(x) for x in range(-reach, reach + 1)}
        total = sum(mass.values())
        level = [0.0] * LEVELS
        for x, share in mass.items():
            level[level_of(count + x, self.threshold)] += share / total
        return level


def level_of(value: int, threshold: int) -> int:
    return 0 if value < threshold else min(value - threshold + 1, LEVELS - 1)


def joint(cells: list[list[float]]) -> NDArray[np.float64]:
    return np.array([prod(chances) for chances in product(*cells)])


def outcomes(tiny: Tiny, cells: SparseCells) -> NDArray[np.int64]:
    """How often each outcome of the whole table came up among the copies."""
    width = len(tiny.counts)
    level = np.zeros(COPIES * width, dtype=np.int64)
    level[cells.index] = np.minimum(cells.values - tiny.threshold + 1, LEVELS - 1)
    coded = level.reshape(COPIES, width) @ (LEVELS ** np.arange(width - 1, -1, -1))
    return np.bincount(coded, minlength=LEVELS**width)


def draw_sparse(tiny: Tiny, bits: BitSource) -> SparseCells:
    noise = prepare_sparse_noise(tiny.mechanism, tiny.scale, COPIES * len(tiny.counts), tiny.threshold)
    return noise.draw(*tiny.listed, bits)


def draw_dense(tiny: Tiny, bits: BitSource) -> SparseCells:
    noisy = np.tile(np.array(tiny.counts), COPIES) + prepare_noise(tiny.mechanism, tiny.scale, COPIES * len(tiny.counts)).draw(
        bits
    )
    kept = np.flatnonzero(noisy >= tiny.threshold)
    return SparseCells(kept, noisy[kept])


def excess(tiny: Tiny, draw: Draw, seed: int = 41) -> float:
    return chi_squared_excess(outcomes(tiny, draw(tiny, SeededBits(seed))), tiny.law())


TABLES = [
    Tiny(mechanism, scale, threshold, counts)
    for mechanism in ("discrete gaussian", "discrete laplace")
    for scale, threshold, counts in [
        (0.8, 1, (0, 2, 0)),
        (2.0, 1, (0, 0, 0)),
        (2.0, 3, (0, 2, 1)),
        (2.0, 2, (3, 1, 1)),
        (6.0, 8, (0, 7, 0)),
        (1.3, 2, (0,)),
        (3.0, 4, (0, 5, 0, 0)),
    ]
]
each_table = pytest.mark.parametrize("tiny", TABLES, ids=str)


# --- by exact probabilities -----------------------------------------------------------------------------------------


@each_table
def test_the_sparse_pieces_multiply_up_to_the_dense_law(tiny: Tiny) -> None:
    """Every outcome of the table: cells at zero by proposing, going beyond and staying; listed ones by their own noise."""
    beyond = tail(tiny.mechanism, tiny.scale, tiny.threshold)
    fall = exp(-1 / beyond.proposal)
    proposes = beyond.proposes(64)[0] / 2**64
    at_zero = [0.0] * LEVELS
    for g in range(int(80 * tiny.scale) + 20):
        chance = proposes * (1 - fall) * fall**g * kept(beyond, g)
        at_zero[level_of(tiny.threshold + g, tiny.threshold)] += chance
    at_zero[0] = 1 - sum(at_zero)
    ours = joint([tiny.cell_law(count) if count else at_zero for count in tiny.counts])
    assert np.abs(ours - tiny.law()).max() < 1e-13


def kept(beyond: Tail, g: int) -> float:
    return 1.0 if beyond.variance is None else exp(-Fraction((g + beyond.offset) ** 2) / (2 * beyond.variance))


# --- by draws -------------------------------------------------------------------------------------------------------


@each_table
def test_sparse_draws_follow_the_dense_law(tiny: Tiny) -> None:
    assert excess(tiny, draw_sparse) < 1


@each_table
def test_dense_draws_follow_the_dense_law(tiny: Tiny) -> None:
    assert excess(tiny, draw_dense) < 1


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["discrete gaussian", "discrete laplace"])
def test_one_table_drawn_on_its_own_follows_the_law_too(mechanism: Mechanism) -> None:
    """Three cells in one block, a call each: what the copies above could hide by standing side by side."""
    tiny = Tiny(mechanism, 1.5, 1, (0, 2, 0))
    noise = prepare_sparse_noise(mechanism, tiny.scale, 3, tiny.threshold)
    bits, seen = SeededBits(42), np.zeros(LEVELS**3)
    for _ in range(3000):
        cells = noise.draw(np.array([1]), np.array([2]), bits)
        level = np.zeros(3, dtype=np.int64)
        level[cells.index] = np.minimum(cells.values - tiny.threshold + 1, LEVELS - 1)
        seen[int(level @ (25, 5, 1))] += 1
    assert chi_squared_excess(seen, tiny.law()) < 1


@pytest.mark.parametrize("tiny", [t for t in TABLES if 0 in t.counts], ids=str)
def test_explicit_zeros_change_nothing(tiny: Tiny) -> None:
    """A cell that is listed at zero is drawn on its own, and cannot be told from one that is not listed."""

    def with_zeros(tiny: Tiny, bits: BitSource) -> SparseCells:
        table = np.tile(np.array(tiny.counts, dtype=np.int64), COPIES)
        index = np.flatnonzero((table > 0) | (np.arange(len(table)) % 2 == 0))
        return prepare_sparse_noise(tiny.mechanism, tiny.scale, len(table), tiny.threshold).draw(index, table[index], bits)

    assert excess(tiny, with_zeros) < 1


@pytest.mark.parametrize(("mechanism", "scale", "threshold"), [("discrete gaussian", 20.0, 30), ("discrete laplace", 20.0, 60)])
def test_large_tables_agree_in_number_value_and_place(mechanism: Mechanism, scale: float, threshold: int) -> None:
    """Two samples, Kolmogorov–Smirnov: P(gap > c·√(1/n + 1/m)) ≤ 2e^(-2c²); c = 3.3 is one seed in 10⁹."""
    cells = 1_000_000
    noisy = prepare_noise(mechanism, scale, cells).draw(SeededBits(43))
    place = np.flatnonzero(noisy >= threshold)
    none = np.empty(0, dtype=np.int64)
    drawn = prepare_sparse_noise(mechanism, scale, cells, threshold).draw(none, none, SeededBits(44))
    n, m = len(place), len(drawn.index)
    assert abs(n - m) < 6 * sqrt(n + m)
    for one, two in ((noisy[place], drawn.values), (place, drawn.index)):
        at = np.union1d(one, two)
        left, right = (np.searchsorted(np.sort(x), at, side="right") / len(x) for x in (one, two))
        assert np.abs(left - right).max() < 3.3 * sqrt(1 / n + 1 / m)


# --- planted bugs ---------------------------------------------------------------------------------------------------

LAPLACE, GAUSSIAN = Tiny("discrete laplace", 2.0, 3, (0, 2, 1)), Tiny("discrete gaussian", 2.0, 3, (0, 2, 1))


def test_planted_bug_the_printed_probability_of_crossing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """½·e^(-r/b) is the continuous Laplace's."""

    def printed(scale: Fraction, threshold: int, width: int) -> tuple[int, int]:
        value = int(0.5 * exp(-threshold / scale) * 2**53) << (width - 53)
        return value, value + 1

    monkeypatch.setattr(tails, "_laplace_crosses", printed)
    assert excess(LAPLACE, draw_sparse) > 1


def test_planted_bug_a_gaussian_tail_that_keeps_every_proposal_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tail, "keep", lambda self, beyond, bits: np.ones(len(beyond), dtype=np.bool_))
    assert excess(GAUSSIAN, draw_sparse) > 1


@pytest.mark.parametrize("tiny", [LAPLACE, GAUSSIAN], ids=str)
def test_planted_bug_zero_cells_without_noise_are_noticed(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse, "successes", lambda cells, chance, bits: iter(()))
    assert excess(tiny, draw_sparse) > 1


@pytest.mark.parametrize("tiny", [LAPLACE, GAUSSIAN], ids=str)
def test_planted_bug_a_cell_cut_before_its_noise_is_noticed(tiny: Tiny) -> None:
    def cut_first(tiny: Tiny, bits: BitSource) -> SparseCells:
        index, counts = tiny.listed
        noise = prepare_sparse_noise(tiny.mechanism, tiny.scale, COPIES * len(tiny.counts), tiny.threshold)
        return noise.draw(index[counts > 1], counts[counts > 1], bits)

    assert excess(tiny, cut_first) > 1
