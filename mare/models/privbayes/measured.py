"""`Measured`: a noisy table, and how many rows it is a table of.

A table's own sum has the noise of all its cells: to divide by it would carry the noise of forty cells into each. Tables that were
measured together have the same rows, so the smallest of them tells best how many; and a number that was paid for earlier may
tell it better still.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mare.domain import Estimate

from .tables import Table

if TYPE_CHECKING:
    from mare.privacy.curator import NoisyCounts


@dataclass(frozen=True, eq=False)
class Measured:
    """A noisy table with its total."""

    counts: NoisyCounts
    total: float
    """Rows, noisy: at least what the noise of its cells could hide, so that a table of noise alone leans to no side."""

    @property
    def fractions(self) -> Table:
        """Of all rows. They need not sum to 1, and some may be negative."""
        return np.asarray(self.counts.rows / self.total)

    @property
    def variance(self) -> float:
        """Of one fraction."""
        return float((self.counts.rows_deviation / self.total) ** 2)


def measured_together(together: Sequence[NoisyCounts], known: Estimate | None = None) -> list[Measured]:
    """Tables of one call, which are tables of the same rows. ``known`` is how many there are, where entities were not scaled."""
    estimates = [Estimate(float(one.rows.sum()), one.rows_deviation * one.values.size**0.5) for one in together]
    if known is not None and all(one.clip is None for one in together):
        estimates.append(known)
    if not estimates:
        return []
    weights = np.array([1 / max(estimate.deviation**2, 1e-300) for estimate in estimates])
    mean = float(weights @ [estimate.value for estimate in estimates] / weights.sum())
    return [Measured(one, max(mean, one.rows_deviation * one.values.size**0.5, 1e-9)) for one in together]
