"""Cross-tabs too large to write down: the cells whose noisy count reaches a public minimum, and no others.

It is dense noise followed by a threshold, drawn at a cost that follows the kept cells (`mare.privacy.sparse`), so the price
and the guarantee are those of dense counts: zero cells get their noise too, and nothing tells a true cell from a phantom.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mare.domain import Marginal
from mare.errors import PrivacyError
from mare.privacy.conversion import up
from mare.privacy.noise import LARGEST_COUNT
from mare.privacy.sparse import MOST_PHANTOMS, SparseNoise, expected_phantoms, prepare_sparse_noise
from mare.privacy.till import Till, described_charge, described_query

from .asking import LARGEST_DOMAIN, cells_of, checked_counts, checked_shapes, described, listed
from .clipping import AnyClip
from .counts import PaidCounts
from .pricing import Price, priced, settled, weighed

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class SparseCounts(PaidCounts):
    """The cells of a noisy cross-tab that reach the threshold. Whatever is not listed is below it: that is all one knows."""

    shape: tuple[int, ...]
    cells: NDArray[np.int64]
    """Row-major index of each kept cell, ascending: where its value stands."""
    threshold: int
    """In the units of ``values``, none of which is below it."""

    @property
    def expected_phantoms(self) -> float:
        """How many cells at zero would be listed on average, if all were at zero."""
        cells = cells_of([self.shape])[0]
        return expected_phantoms(self.mechanism, self.scale, cells, self.threshold)

    def codes(self) -> list[NDArray[np.int64]]:
        """The code of every kept cell on each axis."""
        codes, rest = [], self.cells
        for size in reversed(self.shape):
            # a domain of 2^63 codes does not fit an int64 as a divisor, and needs no division
            rest, code = np.divmod(rest, size) if size < LARGEST_DOMAIN else (np.zeros_like(rest), rest)
            codes.append(code)
        return codes[::-1]


def answer_sparse(
    till: Till, marginals: Sequence[Marginal], share: float, clip: AnyClip | None, minimum: int
) -> list[SparseCounts]:
    """Noisy cross-tabs of any domain up to 2^63 cells, measured together and paid by one charge: cells of ``minimum`` rows
    or more. Sensitivities are those of dense counts."""
    if isinstance(minimum, bool) or not isinstance(minimum, int) or not 1 <= minimum <= LARGEST_COUNT >> 16:
        raise PrivacyError(
            f"{till.where}: the minimum cell size is {minimum!r}; it must be a whole number of rows, at least 1. "
            "Nothing was charged."
        )
    if not marginals:
        return []
    shapes = checked_shapes(till, marginals)
    cells = cells_of(shapes)
    if max(cells) > LARGEST_DOMAIN:
        largest = described(marginals[cells.index(max(cells))])
        raise PrivacyError(
            f"{till.where}: the cross-tab of {largest} has {max(cells):,} cells; at most 2^63 can be told apart. Coarsen "
            "columns, or drop one. Nothing was charged."
        )
    price = priced(till, len(marginals), share, clip)
    _refuse_floods(till, price, sum(cells), minimum)
    _prepared(till, price, cells, minimum)
    till.assert_cap()
    # From here on nothing is refused, so that a clip is not chosen, and paid for, in vain.
    price = settled(till, marginals, cells, share, clip, price)
    noises = _prepared(till, price, cells, minimum)
    scale, variation = noises[0].noise.scale, _variation(noises)
    what = f"counts of at least {minimum} of {listed(marginals)}"
    query = described_query(till, price.quote, scale, what, tuple(marginals), clip=price.clip, unit=price.unit, listed=True)
    till.pay(query, described_charge(query, sum(cells), variation), price.quote.portion)
    weights, mass = weighed(till, marginals, price.limit)
    exact: list[Integers] = []
    for marginal in marginals:
        occupied, counts = till.view.sparse_counts(marginal, weights)
        checked_counts(till, counts, mass)
        exact += [occupied, counts]

    def draw() -> list[Integers]:
        drawn: list[Integers] = []
        for place, noise in enumerate(noises):
            kept = noise.draw(exact[2 * place], exact[2 * place + 1], till.bits)
            drawn += [kept.index, kept.values]
        return drawn

    released = till.release(query, exact, draw)
    return [
        SparseCounts(
            marginal,
            released[2 * place + 1],
            price.quote.mechanism,
            query.scale,
            query.sensitivity,
            query.cost,
            price.clip,
            price.unit,
            shape=shape,
            cells=released[2 * place],
            threshold=noises[0].threshold,
        )
        for place, (marginal, shape) in enumerate(zip(marginals, shapes, strict=True))
    ]


def _prepared(till: Till, price: Price, cells: Sequence[int], minimum: int) -> list[SparseNoise]:
    """The noise of each cross-tab; exact where δ cannot pay for a numerical error."""
    mechanism, scale, threshold = price.quote.mechanism, price.quote.scale, minimum * price.unit
    noises = [prepare_sparse_noise(mechanism, scale, size, threshold) for size in cells]
    if till.ledger.affords_error(_variation(noises)):
        return noises
    return [prepare_sparse_noise(mechanism, scale, size, threshold, exact=True) for size in cells]


def _variation(noises: Sequence[SparseNoise]) -> float:
    return min(1.0, up(sum((Fraction(noise.total_variation) for noise in noises), Fraction(0))))


def _refuse_floods(till: Till, price: Price, cells: int, minimum: int) -> None:
    """The cells that hold nothing but noise must stay few, whatever the data: public numbers only."""
    expected = expected_phantoms(price.quote.mechanism, price.quote.scale, cells, minimum * price.unit)
    if expected > MOST_PHANTOMS:
        raise PrivacyError(
            f"{till.where}: of these {cells:,} cells about {expected:,.0f} would reach {minimum:,} rows by noise alone; at most "
            f"{MOST_PHANTOMS:,} are answered. Ask for minimum={price.fitting_minimum(cells)} or more, or coarsen columns. "
            "Nothing was charged."
        )
