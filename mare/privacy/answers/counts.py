"""Cross-tabs: how often each combination of codes occurs among the view's rows, with noise in every cell.

And how many entities there are: the one size that depends on no cap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mare.domain import Marginal
from mare.errors import InternalError, PrivacyError
from mare.privacy.noise import Mechanism, standard_deviation
from mare.privacy.till import Till, described_charge, described_query

from .asking import MOST_CELLS, cells_of, checked_shapes, checked_table, listed
from .clipping import AnyClip
from .pricing import priced, settled, weighed


@dataclass(frozen=True)
class NoisySize:
    """A single number that was paid for."""

    value: int
    mechanism: Mechanism
    scale: float
    sensitivity: float
    cost: float

    @property
    def standard_deviation(self) -> float:
        return standard_deviation(self.mechanism, self.scale)


def answer_entities(till: Till, share: float, with_rows: bool = False) -> NoisySize:
    """The noisy number of entities, all of them or those with a row in the view. One entity moves either by 1."""
    quote = till.quote(1, share)
    noise = till.noise(quote, 1)
    query = described_query(till, quote, noise.scale, f"number of entities{' with rows' if with_rows else ''}", ())
    till.pay(query, described_charge(query, 1, noise.total_variation), quote.portion)
    number = int(np.count_nonzero(till.view.rows_per_entity())) if with_rows else till.view.entities()
    exact = checked_table(till, np.array([number], dtype=np.int64), (1,), number)
    (released,) = till.release_dense(query, noise, [exact])
    return NoisySize(int(released[0]), noise.mechanism, noise.scale, query.sensitivity, query.cost)


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """All cells of a cross-tab, and what was paid. They may be negative: what to do about it is post-processing."""

    marginal: Marginal
    values: NDArray[np.int64]
    """Noisy, shaped by the marginal's axes, in units of 1/denominator of a row."""
    mechanism: Mechanism
    scale: float
    """σ of the Gaussian, b of the Laplace, per cell, in the same units."""
    sensitivity: float
    """Of the whole charge, in the mechanism's norm (L2 for the Gaussian, L1 for the Laplace), in the same units."""
    cost: float
    """Of the whole charge: ρ under (ε, δ), ε under pure ε."""
    clip: float | None = None
    """C, where entities were scaled down; None where the cap alone held them."""
    denominator: int = 1
    """Units of a row: 1 unless entities were scaled."""

    @property
    def standard_deviation(self) -> float:
        """Of the noise in one cell, in the units of ``values``."""
        return standard_deviation(self.mechanism, self.scale)

    @property
    def rows(self) -> NDArray[np.float64]:
        """The counts in rows: exact as long as a count is below 2^53 units."""
        return self.values / np.float64(self.denominator)

    @property
    def rows_deviation(self) -> float:
        """Of the noise in one cell, in rows."""
        return self.standard_deviation / self.denominator


def answer_counts(till: Till, marginals: Sequence[Marginal], share: float, clip: AnyClip | None) -> list[NoisyCounts]:
    """Noisy cross-tabs, measured together and paid by one charge."""
    if not marginals:
        return []
    shapes = checked_shapes(till, marginals)
    cells = cells_of(shapes)
    price = priced(till, len(marginals), share, clip)
    _refuse_too_many(till, cells)
    till.noise(price.quote, sum(cells))
    till.assert_cap()
    # From here on nothing is refused, so that a clip is not chosen, and paid for, in vain.
    price = settled(till, marginals, cells, share, clip, price)
    noise = till.noise(price.quote, sum(cells))
    what = f"counts of {listed(marginals)}"
    query = described_query(till, price.quote, noise.scale, what, tuple(marginals), clip=price.clip, unit=price.unit)
    till.pay(query, described_charge(query, sum(cells), noise.total_variation), price.quote.portion)
    weights, mass = weighed(till, marginals, price.limit)
    answers = till.view.counts(marginals, weights)
    if len(answers) != len(marginals):
        raise InternalError(f"{till.where} answered {len(answers)} cross-tabs where {len(marginals)} were asked")
    exact = [checked_table(till, counts, shape, mass) for counts, shape in zip(answers, shapes, strict=True)]
    released = till.release_dense(query, noise, exact)
    return [
        NoisyCounts(marginal, values, noise.mechanism, noise.scale, query.sensitivity, query.cost, price.clip, price.unit)
        for marginal, values in zip(marginals, released, strict=True)
    ]


def _refuse_too_many(till: Till, cells: Sequence[int]) -> None:
    if sum(cells) <= MOST_CELLS:
        return
    raise PrivacyError(
        f"{till.where}: {sum(cells):,} cells in {len(cells)} cross-tabs were asked (the largest has {max(cells):,}); at most "
        f"{MOST_CELLS:,} are answered at once. Coarsen columns, or measure fewer together."
    )
