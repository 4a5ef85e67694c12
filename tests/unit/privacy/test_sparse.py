"""Sparse cross-tabs: what comes out, in which order, and what is refused before anything is charged."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numpy.typing import NDArray

from mare.errors import PrivacyError
from mare.privacy.bits import SeededBits
from mare.privacy.noise import LARGEST_COUNT, Mechanism, prepare_noise
from mare.privacy.sparse import (
    MOST_PHANTOMS,
    SparseCells,
    SparseNoise,
    expected_phantoms,
    prepare_sparse_noise,
)

MECHANISMS: tuple[Mechanism, ...] = ("discrete gaussian", "discrete laplace")
each_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS)


def whole(*values: int) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


NONE = whole()


@each_mechanism
def test_cells_come_out_once_in_the_order_of_their_index(mechanism: Mechanism) -> None:
    listed = whole(*range(0, 90_000, 9))
    drawn = prepare_sparse_noise(mechanism, 4.0, 90_001, 3).draw(listed, np.full(len(listed), 5), SeededBits(1))
    assert drawn.index.dtype == drawn.values.dtype == np.int64
    assert (np.diff(drawn.index) > 0).all()
    assert drawn.values.min() == 3
    from_data = np.isin(drawn.index, listed)
    assert 5000 < from_data.sum() < 10_000
    assert (~from_data).sum() > 5000


@each_mechanism
def test_a_table_of_zeros_is_all_phantoms(mechanism: Mechanism) -> None:
    sparse = prepare_sparse_noise(mechanism, 10.0, 1_000_000, 25)
    drawn = sparse.draw(NONE, NONE, SeededBits(2))
    expected = sparse.expected_phantoms
    assert abs(len(drawn.index) - expected) < 6 * expected**0.5
    assert drawn.values.min() >= 25


@each_mechanism
def test_a_table_without_zeros_has_no_phantoms(mechanism: Mechanism) -> None:
    sparse = prepare_sparse_noise(mechanism, 2.0, 1000, 1)
    drawn = sparse.draw(np.arange(1000), np.full(1000, 10**6), SeededBits(3))
    assert drawn.index.tolist() == list(range(1000))
    assert abs(drawn.values - 10**6).max() < 100


@each_mechanism
def test_listed_cells_below_the_threshold_are_dropped(mechanism: Mechanism) -> None:
    sparse = prepare_sparse_noise(mechanism, 2.0, 1000, 400)
    assert sparse.draw(np.arange(1000), np.full(1000, 5), SeededBits(3)).index.tolist() == []


@each_mechanism
@pytest.mark.parametrize("cells", [2**62, 2**63])
def test_the_largest_tables_keep_their_first_and_last_cell(mechanism: Mechanism, cells: int) -> None:
    sparse = prepare_sparse_noise(mechanism, 1.0, cells, 10**6)
    drawn = sparse.draw(whole(0, cells - 1), whole(2 * 10**6, 3 * 10**6), SeededBits(4))
    assert drawn.index.tolist() == [0, cells - 1]
    assert abs(drawn.values - whole(2 * 10**6, 3 * 10**6)).max() < 100


@each_mechanism
def test_phantoms_of_a_huge_table_lie_anywhere(mechanism: Mechanism) -> None:
    threshold = 37 if mechanism == "discrete laplace" else 8
    sparse = prepare_sparse_noise(mechanism, 1.0, 2**62, threshold)
    drawn = sparse.draw(NONE, NONE, SeededBits(5))
    assert abs(len(drawn.index) - sparse.expected_phantoms) < 6 * sparse.expected_phantoms**0.5 + 6
    assert len(drawn.index) > 100
    assert 2**62 * 0.4 < np.median(drawn.index) < 2**62 * 0.6


@each_mechanism
def test_extreme_scales_neither_overflow_nor_wait(mechanism: Mechanism) -> None:
    widest = 2.0**30 if mechanism == "discrete gaussian" else 2.0**40
    listed, counts = whole(7, 8), whole(LARGEST_COUNT - 1, 0)
    drawn = prepare_sparse_noise(mechanism, widest, 10**6, LARGEST_COUNT).draw(listed, counts, SeededBits(6))
    assert set(drawn.index.tolist()) <= {7}
    assert set(drawn.values.tolist()) <= {LARGEST_COUNT}
    wide = prepare_sparse_noise(mechanism, widest, 1000, 1).draw(NONE, NONE, SeededBits(6))
    assert 350 < len(wide.index) < 650
    narrow = prepare_sparse_noise(mechanism, 1e-9, 2**63, 1).draw(listed, whole(3, 1), SeededBits(6))
    assert narrow.index.tolist() == [7, 8]
    assert narrow.values.tolist() == [3, 1]


def test_listing_a_cell_moves_no_phantom_elsewhere() -> None:
    """The draw over the cells at zero runs over all cells: the same hits come up, whatever the data lists."""
    sparse = prepare_sparse_noise("discrete laplace", 5.0, 100_000, 15)
    without, _ = sparse._phantoms(NONE, SeededBits(8))
    listed = without[::7]
    beside, _ = sparse._phantoms(listed, SeededBits(8))
    assert beside.tolist() == sorted(set(without.tolist()) - set(listed.tolist()))
    assert len(beside) > 1000


def test_the_same_seed_draws_the_same() -> None:
    def drawn() -> SparseCells:
        return prepare_sparse_noise("discrete gaussian", 3.0, 10_000, 4).draw(whole(1, 5), whole(9, 9), SeededBits(9))

    assert drawn().index.tolist() == drawn().index.tolist()
    assert drawn().values.tolist() == drawn().values.tolist()


# --- what it costs in numerical error, from public numbers ----------------------------------------------------------


def test_the_numerical_error_is_that_of_as_many_dense_cells() -> None:
    sparse = prepare_sparse_noise("discrete gaussian", 5.0, 10**9, 30)
    assert sparse.total_variation == prepare_noise("discrete gaussian", 5.0, 10**9).total_variation > 0


def test_exact_noise_and_laplace_noise_have_none() -> None:
    assert prepare_sparse_noise("discrete gaussian", 5.0, 10**9, 30, exact=True).total_variation == 0
    assert prepare_sparse_noise("discrete laplace", 5.0, 10**9, 90).total_variation == 0


def test_no_large_table_is_built_for_cells_that_may_not_be_there() -> None:
    assert not prepare_sparse_noise("discrete gaussian", 500.0, 10**9, 3000).noise.exact
    assert prepare_sparse_noise("discrete gaussian", 5000.0, 10**9, 30_000).noise.exact


# --- refusals -------------------------------------------------------------------------------------------------------


@each_mechanism
@pytest.mark.parametrize("scale", [1.0, 114.0, 1e6])
def test_too_many_phantoms_are_refused_with_the_threshold_that_fits(mechanism: Mechanism, scale: float) -> None:
    with pytest.raises(PrivacyError, match="Use a threshold of") as refusal:
        prepare_sparse_noise(mechanism, scale, 10**12, 1)
    named = re.search(r"threshold of ([\d,]+) or more", str(refusal.value))
    assert named
    fits = int(named[1].replace(",", ""))
    assert prepare_sparse_noise(mechanism, scale, 10**12, fits).expected_phantoms <= MOST_PHANTOMS
    with pytest.raises(PrivacyError, match="Use a threshold of"):
        prepare_sparse_noise(mechanism, scale, 10**12, fits - 1)


def test_a_billion_cells_at_three_sigma_keep_over_a_million_phantoms() -> None:
    assert expected_phantoms("discrete gaussian", 100.0, 10**9, 300) == pytest.approx(1.35e6, rel=0.02)


@pytest.mark.parametrize("threshold", [0, -3, LARGEST_COUNT + 1, 2.5, True])
def test_thresholds_that_are_none_are_refused(threshold: int) -> None:
    with pytest.raises(PrivacyError, match="from 1 to 2\\^61"):
        prepare_sparse_noise("discrete laplace", 1.0, 10, threshold)


@pytest.mark.parametrize("cells", [0, -1, 2**63 + 1])
def test_tables_without_cells_or_with_too_many_are_refused(cells: int) -> None:
    with pytest.raises(PrivacyError, match="1 to 2\\^63 cells"):
        prepare_sparse_noise("discrete laplace", 1.0, cells, 50)


@each_mechanism
@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf"), 1e30])
def test_impossible_scales_are_refused(mechanism: Mechanism, scale: float) -> None:
    with pytest.raises(PrivacyError, match="scale"):
        prepare_sparse_noise(mechanism, scale, 10, 5)


def test_an_unknown_mechanism_is_refused() -> None:
    with pytest.raises(PrivacyError, match="no noise mechanism"):
        prepare_sparse_noise("uniform", 1.0, 10, 5)  # type: ignore[arg-type]


TEN = SparseNoise(prepare_noise("discrete laplace", 1.0, 10), 2)


@pytest.mark.parametrize(
    ("index", "counts"),
    [
        (whole(3, 2), whole(1, 1)),
        (whole(3, 3), whole(1, 1)),
        (whole(-1, 3), whole(1, 1)),
        (whole(3, 10), whole(1, 1)),
    ],
    ids=["out of order", "twice", "before the table", "behind the table"],
)
def test_cells_out_of_place_are_refused(index: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
    with pytest.raises(PrivacyError, match="ascending"):
        TEN.draw(index, counts, SeededBits(1))


@pytest.mark.parametrize("count", [-1, LARGEST_COUNT])
def test_counts_that_overflowed_are_refused_without_naming_them(count: int) -> None:
    with pytest.raises(PrivacyError, match="overflowed") as refusal:
        TEN.draw(whole(1), whole(count), SeededBits(1))
    assert str(count) not in str(refusal.value)


@pytest.mark.parametrize(
    ("index", "counts"),
    [
        (np.array([1.0]), whole(1)),
        (whole(1), np.array([1.5])),
        (np.array([1], dtype=np.uint64), whole(1)),
        (whole(1, 2), whole(1)),
        (np.ones((1, 1), dtype=np.int64), np.ones((1, 1), dtype=np.int64)),
    ],
    ids=["float index", "weights", "unsigned", "two lengths", "two dimensions"],
)
def test_anything_but_two_lists_of_whole_numbers_is_refused(index: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
    with pytest.raises(PrivacyError, match="two int64 arrays"):
        TEN.draw(index, counts, SeededBits(1))
