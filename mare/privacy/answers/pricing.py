"""What a set of cross-tabs costs: how far one entity moves them, and the noise that a share of the budget buys against it.

Without a clip an entity has at most S rows, each in one cell of each of the k tables: L1 ≤ kS, and L2 ≤ √(k·S²) = S√k (all rows
of the entity in one cell of each table). With one see `clipping`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from statistics import median

import numpy as np
from numpy.typing import NDArray

from mare.domain import Marginal
from mare.errors import InternalError, PrivacyError
from mare.privacy.noise import standard_deviation
from mare.privacy.qualities import UNIT, NormRank
from mare.privacy.till import Quote, Till

from .clipping import AnyClip, ChosenClip, Clip, Limit, drawable_bounds, entity_weights, limit_and_quote
from .selecting import answer_select, quote_choice

Integers = NDArray[np.int64]

_MOST_ENTITIES = 2.0**40


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
        return 1 if self.limit is None else self.limit.unit


def priced(till: Till, tables: int, share: float, clip: AnyClip | None) -> Price:
    """Charges nothing. Of a clip that is still to be chosen it is the highest price: what this allows, any choice does."""
    cap = till.view.max_rows_per_entity
    if clip is None:
        return Price(till.quote((tables * cap) ** 2 if till.pure else tables * cap * cap, share))
    if isinstance(clip, Clip):
        limit, quote = limit_and_quote(till, clip, tables, share)
        return Price(quote, limit)
    if not isinstance(clip, ChosenClip):
        raise PrivacyError(f"{till.where}: {clip!r} is no clip; write Clip(3.0), for instance.")
    till.portion(share)
    quote_choice(till, UNIT, share * clip.portion)
    rest = share * (1 - clip.portion)
    bounds = drawable_bounds(till, clip, tables, rest)
    limit_and_quote(till, Clip(bounds[0]), tables, rest)
    limit, quote = limit_and_quote(till, Clip(bounds[-1]), tables, rest)
    return Price(quote, limit)


def settled(
    till: Till, marginals: Sequence[Marginal], cells: Sequence[int], share: float, clip: AnyClip | None, price: Price
) -> Price:
    """The price at the clip that is used in the end. A clip that has to be chosen is chosen here, and that is paid for.

    Noise of standard deviation s·C in each cell shifts .4·cells·s·C rows of a table; cutting k entities shifts about bias·k·C.
    Both grow with C, so they balance at one number of entities, whatever C is: that many should be above it (recipe.md, 5). The
    tables have one clip: the table in the middle speaks for them, so that one huge table does not cut entities for all others.
    """
    if not isinstance(clip, ChosenClip) or price.clip is None:
        return price
    deviation = standard_deviation(price.quote.mechanism, price.quote.scale) / price.unit / price.clip
    balanced = min(_MOST_ENTITIES, 0.4 * median(cells) * deviation / clip.bias)
    above = balanced if clip.above is None else clip.above
    # under pure ε the norm of an entity is its number of rows, which no marginal changes
    measured = () if till.pure else tuple(marginals)
    bounds = drawable_bounds(till, clip, len(marginals), share * (1 - clip.portion))
    ranks = [NormRank(measured, bound, above) for bound in bounds]
    picked = answer_select(till, ranks, share * clip.portion, _reluctance(till, bounds, share * clip.portion), "entity")
    return priced(till, len(marginals), share * (1 - clip.portion), Clip(bounds[picked.index]))


def _reluctance(till: Till, bounds: Sequence[float], share: float) -> list[float]:
    """What is taken off the ranks, so that a choice which knows nothing takes each bound the more rarely the more noise it would
    bring: by its variance, which goes with C². A choice that can tell hardly notices. Without it every hundredth small share
    took the cap itself, and whatever was decided by those counts was decided by noise."""
    scale = quote_choice(till, UNIT, share).scale / UNIT
    return [min(_MOST_ENTITIES, 2 * scale * log(bound / bounds[0])) for bound in bounds]


def weighed(till: Till, marginals: Sequence[Marginal], limit: Limit | None) -> tuple[Integers | None, int]:
    """The factors of the entities, in units, and what all rows weigh together. Secret, and paid for already."""
    rows = till.view.rows_per_entity()
    if rows.dtype != np.int64 or rows.ndim != 1 or rows.min(initial=0) < 0:
        raise InternalError(f"{till.where} answered rows per entity that are no counts")
    if limit is None:
        return None, int(rows.sum())
    weights = entity_weights(till, limit, marginals, rows)
    return weights, int(rows @ weights)
