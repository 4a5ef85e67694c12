"""What was learned of a column's domain, and paid for. Post-processing of private answers: it travels in the release.

Everything here is plain numbers and texts, so that the sampler builds the very codecs that the fit has used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .bins import Bins
from .nearness import Nearness
from .rhythm import Rhythm


@dataclass(frozen=True)
class LearnedOrder:
    """Of an ordered column: its bounds where they were learned, its bins once they are placed."""

    low: int | None = None
    """In the ticks that the column has while nothing is known of it."""
    high: int | None = None
    bins: Bins | None = None
    """In the ticks that it has from then on."""
    rhythm: Rhythm | None = None
    """Of moments: how usual each hour and each day of the week is, where that is told."""
    near: tuple[Nearness, ...] = ()
    """Of numbers: how near they are to those of the row before, and to another of their row, where that is told."""


@dataclass(frozen=True)
class LearnedValues:
    """The values of a category, or the codes of a vocabulary."""

    values: tuple[str, ...]
    shared: tuple[tuple[str, ...], ...] = ()
    """Groups of codes that share a place."""
    counts: tuple[float, ...] = ()
    """Of each value and each group, its noisy count, where it was counted: what the rest is drawn by."""
    levels: tuple[tuple[str, ...], ...] = ()
    """Columns of the vocabulary, coarse to fine: of each value and each group, what it is called there."""
    within: tuple[tuple[float, ...], ...] = ()
    """Of each group, how frequent its codes are, as far as that is known; nothing where it is not."""
    others: tuple[str, ...] = ()
    """Values of a category that are known and have no place of their own: what the rest is drawn among."""
    other_counts: tuple[float, ...] = ()
    """How frequent these are, noisily."""


@dataclass(frozen=True)
class LearnedScales:
    """Of a number whose scale depends on another column: one for each item."""

    items: tuple[LearnedOrder, ...]


LearnedDomain = LearnedOrder | LearnedValues | LearnedScales
LearnedDomains = Mapping[str, LearnedDomain]
"""By ``table.column``; ``table.first(column)`` for the first value of a sequence."""
