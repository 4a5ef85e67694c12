"""What a set of cross-tabs costs: how far one entity moves them, and the noise that a share of the budget buys against it.

Without a clip an entity has at most S rows, each in one cell of each of the k tables: L1 ≤ kS, and L2 ≤ √(k·S²) = S√k (all rows
of the entity in one cell of each table). With one see `clipping`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mare.domain import Marginal
from mare.errors import InternalError, PrivacyError
from mare.privacy.sparse import MOST_PHANTOMS
from mare.privacy.tails import smallest_threshold
from mare.privacy.till import Quote, Till

from .asking import described
from .clipping import Clip, Limit, entity_weights, limit_and_quote

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Price:
    """A quote, and the clip that it rests on. Public."""

    quote: Quote
    limit: Limit | None = None

    @property
    def clip(self) -> float | None:
        """C, or None where the cap alone holds the entities."""
        return None if self.limit is None else self.limit.bound

    @property
    def unit(self) -> int:
        """Units of a row in the answer."""
        return 1 if self.limit is None else self.limit.one

    def words(self, verb: str, marginals: Sequence[Marginal]) -> str:
        listed = f"{verb} {'; '.join(described(marginal) for marginal in marginals)}"
        return listed if self.limit is None else f"{listed}, {self.limit.words}"

    def fitting_minimum(self, cells: int) -> int:
        """The smallest minimum cell size, in rows, at which so many cells can be answered sparsely."""
        return -(-smallest_threshold(self.quote.mechanism, self.quote.scale, MOST_PHANTOMS / cells) // self.unit)


def priced(till: Till, tables: int, share: float, clip: Clip | None) -> Price:
    """Charges nothing."""
    if clip is not None:
        if not isinstance(clip, Clip):
            raise PrivacyError(f"{till.where}: {clip!r} is no clip; write Clip(3.0), for instance. Nothing was charged.")
        limit, quote = limit_and_quote(till, clip, tables, share)
        return Price(quote, limit)
    cap = till.view.max_rows_per_entity
    return Price(till.quote((tables * cap) ** 2 if till.pure else tables * cap * cap, share))


def weighed(till: Till, marginals: Sequence[Marginal], limit: Limit | None) -> tuple[Integers | None, int]:
    """The factors of the entities, in units, and what all rows weigh together. Secret, and paid for already."""
    rows = till.view.rows_per_entity()
    if rows.dtype != np.int64 or rows.ndim != 1 or rows.min(initial=0) < 0:
        raise InternalError(f"{till.where} answered rows per entity that are no counts")
    if limit is None:
        return None, int(rows.sum())
    weights = entity_weights(till, limit, marginals, rows)
    return weights, int(rows @ weights)
