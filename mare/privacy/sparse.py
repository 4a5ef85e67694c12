"""Noise on a cross-tab that is too large to write down: the cells that end up at r or more, and no others.

Suresh et al. 2025 (3.3) decompose "noise on every cell, then drop what is below r". It is done here for both noises, on
integers, and it is the same distribution, not a similar one, so the guarantee is that of dense noise:

- a cell that the data lists gets its noise, and is dropped below r like any other;
- every other cell is at zero and reaches r on its own, with one probability: which ones do (`scattering`) and with which
  value (`tails`) is drawn for all of them together. The draw runs over *all* cells and leaves out the listed ones
  afterwards, so that neither the work nor a refusal depends on how many the data lists.

Cells come out by their index. Nothing tells a listed cell from a phantom: not its place, not an explicit zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mare.errors import PrivacyError

from .bits import BitSource
from .gaussian import table_size
from .noise import LARGEST_COUNT, Mechanism, Noise, prepare_noise
from .scattering import LARGEST_TABLE, successes
from .tails import Tail, crossing_chance, smallest_threshold, tail

MOST_PHANTOMS = 50_000_000
"""Expected cells that hold nothing but noise. Public, so refusing tells nothing."""

_WORTHWHILE_TABLE = 1 << 14
"""Entries of a Gaussian table that the listed cells are worth, however few the data has of them."""


@dataclass(frozen=True, eq=False)
class SparseCells:
    """The cells of a noisy cross-tab that are at least the threshold, by ascending index."""

    index: NDArray[np.int64]
    values: NDArray[np.int64]


@dataclass(frozen=True)
class SparseNoise:
    """Dense noise on ``cells`` cells followed by "keep what is at least ``threshold``". Public numbers only."""

    noise: Noise
    """Of all cells, as if they were drawn one by one: its scale and its numerical error are those of the answer."""
    threshold: int

    @property
    def cells(self) -> int:
        return self.noise.cells

    @property
    def total_variation(self) -> float:
        """A bound, from public numbers: only listed cells may be off at all, and there are at most ``cells`` of them."""
        return self.noise.total_variation

    @property
    def expected_phantoms(self) -> float:
        """Cells at zero that will be kept, if all cells are at zero."""
        return expected_phantoms(self.noise.mechanism, self.noise.scale, self.cells, self.threshold)

    def draw(self, index: NDArray[np.int64], counts: NDArray[np.int64], bits: BitSource) -> SparseCells:
        """``index``: the listed cells, ascending; ``counts``: theirs. All other cells are at zero."""
        _check_listed(index, counts, self.cells)
        noisy = _clamped(counts + replace(self.noise, cells=len(counts)).draw(bits)) if len(counts) else counts
        kept = noisy >= self.threshold
        places, values = self._phantoms(index, bits)
        between = np.searchsorted(places, index[kept])
        return SparseCells(np.insert(places, between, index[kept]), np.insert(values, between, noisy[kept]))

    def _phantoms(self, listed: NDArray[np.int64], bits: BitSource) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        beyond_threshold: Tail = tail(self.noise.mechanism, self.noise.scale, self.threshold)
        places, values = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        for proposing in successes(self.cells, beyond_threshold.proposes, bits):
            at_zero = proposing[~_among(proposing, listed)]
            beyond = beyond_threshold.propose(len(at_zero), bits)
            kept = beyond_threshold.keep(beyond, bits)
            places.append(at_zero[kept])
            values.append(_clamped(self.threshold + beyond[kept]))
        return np.concatenate(places), np.concatenate(values)


def prepare_sparse_noise(mechanism: Mechanism, scale: float, cells: int, threshold: int, *, exact: bool = False) -> SparseNoise:
    """Checked before anything is charged, from public numbers alone."""
    if not 1 <= cells <= LARGEST_TABLE:
        raise PrivacyError(f"a sparse cross-tab has 1 to 2^63 cells; this one would have {cells:,}. Coarsen its columns.")
    if isinstance(threshold, bool) or not isinstance(threshold, int) or not 1 <= threshold <= LARGEST_COUNT:
        raise PrivacyError(
            f"the threshold of a sparse cross-tab is {threshold!r}; it must be a whole number from 1 to 2^61: "
            "at 0 and below, most cells that hold nothing would be kept."
        )
    large = mechanism == "discrete gaussian" and scale > 0 and not _small_table(scale)
    noise = prepare_noise(mechanism, scale, cells, exact=exact or large)
    expected = expected_phantoms(mechanism, noise.scale, cells, threshold)
    if expected > MOST_PHANTOMS:
        fits = smallest_threshold(mechanism, noise.scale, MOST_PHANTOMS / cells)
        raise PrivacyError(
            f"a sparse cross-tab of {cells:,} cells with a threshold of {threshold:,} would keep about {expected:,.0f} cells of "
            f"nothing but noise (scale {noise.scale:g}); at most {MOST_PHANTOMS:,} are answered. Use a threshold of {fits:,} or "
            "more, or coarsen columns. Nothing was charged."
        )
    return SparseNoise(noise, threshold)


def expected_phantoms(mechanism: Mechanism, scale: float, cells: int, threshold: int) -> float:
    """How many of so many cells at zero will be kept, on average."""
    return cells * crossing_chance(mechanism, scale, threshold)


def _small_table(sigma: float) -> bool:
    return sigma < _WORTHWHILE_TABLE and table_size(sigma) <= _WORTHWHILE_TABLE


def _among(places: NDArray[np.int64], listed: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of these places are listed; both ascend."""
    if not len(listed):
        return np.zeros(len(places), dtype=np.bool_)
    nearest = np.minimum(np.searchsorted(listed, places), len(listed) - 1)
    return np.asarray(listed[nearest] == places)


def _clamped(values: NDArray[np.int64]) -> NDArray[np.int64]:
    # counts and thresholds are at most 2^61 and noise saturates at 2^62, so the clamp makes the saturation invisible
    return np.clip(values, -LARGEST_COUNT, LARGEST_COUNT)


def _check_listed(index: NDArray[np.int64], counts: NDArray[np.int64], cells: int) -> None:
    """Messages name no value: they may end up in a log."""
    if index.dtype != np.int64 or counts.dtype != np.int64 or index.ndim != 1 or index.shape != counts.shape:
        raise PrivacyError(
            f"a sparse cross-tab is two int64 arrays of one length, not {index.dtype} {index.shape} and "
            f"{counts.dtype} {counts.shape}."
        )
    if not len(index):
        return
    if index[0] < 0 or int(index[-1]) >= cells or not (index[1:] > index[:-1]).all():
        raise PrivacyError("the cells of a sparse cross-tab are not in ascending order, come twice, or lie outside of it.")
    if counts.min() < 0 or counts.max() >= LARGEST_COUNT:
        raise PrivacyError("a count of a sparse cross-tab is negative or beyond 2^61: it overflowed, and is not answered.")
