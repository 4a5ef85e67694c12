"""Cross-tabs: how often each combination of codes occurs among the view's rows, with noise in every cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mare.domain import Marginal
from mare.errors import InternalError, PrivacyError
from mare.privacy.noise import Mechanism, standard_deviation
from mare.privacy.till import Quote, Till, described_charge, described_query

from .asking import MOST_CELLS, cells_of, checked_shapes, checked_table, described
from .clipping import Clip, Limit, entity_weights, limit_and_quote

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """A cross-tab that was paid for. Cells may be negative: what to do about it is post-processing."""

    marginal: Marginal
    values: NDArray[np.int64]
    """Shaped by the marginal's axes, in units of 1/denominator of a row."""
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


def answer_counts(till: Till, marginals: Sequence[Marginal], share: float, clip: Clip | None) -> list[NoisyCounts]:
    """Noisy cross-tabs, measured together and paid by one charge.

    Without a clip an entity has at most S rows, each in one cell of each of the k tables: L1 ≤ kS, and L2 ≤ √(k·S²) = S√k (all
    rows of the entity in one cell of each table). With one see `clipping`.
    """
    if not marginals:
        return []
    shapes = checked_shapes(till, marginals)
    cells = cells_of(shapes)
    limit, quote = priced(till, len(marginals), share, clip)
    if sum(cells) > MOST_CELLS:
        raise PrivacyError(
            f"{till.where}: these {len(cells)} cross-tabs have {sum(cells):,} cells (the largest {max(cells):,}); "
            f"at most {MOST_CELLS:,} are answered at once. Coarsen columns, or measure fewer together. Nothing was charged."
        )
    noise = till.noise(quote, sum(cells))
    till.assert_cap()
    what = words("counts of ", marginals, limit)
    unit, bound = (1, None) if limit is None else (limit.one, limit.bound)
    query = described_query(till, quote, noise.scale, what, tuple(marginals), clip=bound, unit=unit)
    till.pay(query, described_charge(query, sum(cells), noise.total_variation), quote.portion)
    weights, mass = weighed(till, marginals, limit)
    answers = till.view.counts(marginals) if weights is None else till.view.counts(marginals, weights)
    if len(answers) != len(marginals):
        raise InternalError(f"{till.where} answered {len(answers)} cross-tabs where {len(marginals)} were asked")
    exact = [checked_table(till, counts, shape, mass) for counts, shape in zip(answers, shapes, strict=True)]
    released = till.release_dense(query, noise, exact)
    return [
        NoisyCounts(marginal, values, noise.mechanism, noise.scale, query.sensitivity, query.cost, bound, unit)
        for marginal, values in zip(marginals, released, strict=True)
    ]


def priced(till: Till, tables: int, share: float, clip: Clip | None) -> tuple[Limit | None, Quote]:
    """What one entity can move so many tables by, and the noise that this share buys against it."""
    if clip is not None:
        return limit_and_quote(till, clip, tables, share)
    cap = till.view.max_rows_per_entity
    return None, till.quote((tables * cap) ** 2 if till.pure else tables * cap * cap, share)


def words(verb: str, marginals: Sequence[Marginal], limit: Limit | None) -> str:
    listed = verb + "; ".join(described(marginal) for marginal in marginals)
    return listed if limit is None else f"{listed}, {limit.words}"


def weighed(till: Till, marginals: Sequence[Marginal], limit: Limit | None) -> tuple[Integers | None, int]:
    """The factors of the entities, in units, and what all rows weigh together."""
    rows = till.view.rows_per_entity()
    if rows.dtype != np.int64 or rows.ndim != 1 or rows.min(initial=0) < 0:
        raise InternalError(f"{till.where} answered rows per entity that are no counts")
    if limit is None:
        return None, int(rows.sum())
    weights = entity_weights(till, limit, marginals, rows)
    return weights, int(rows @ weights)
