"""The qualities that candidates may be judged by: a closed set, because each needs its own proof (docs/privacy.md).

| candidate | judged by | one entity moves it by at most |
|---|---|---|
| `Tvd` | n·TVD of a child and its parents together, from independence; given others, summed over their values | 2 |
| `Tvd`, merged | the same, but what the others leave unexplained is added up before it is measured | 2, and a unit a cell |
| `TvdToReleased` | the same against a distribution of the child that was already released | 1 |
| `Summed` | the sum of several of these: what one parent has to do with each of several children | the sum of theirs |
| `FScore` | n·F of PrivBayes 2017, of a child with two values | 1 |
| `Distance` | weighted L1 distance to a public table (AIM, MST) | its weight |
| `NormRank` | how nearly a clip leaves a wanted number of entities cut | 1 |
| `None` | 0: "none of them" | 0 |

That is with one unit of weight per entity: a row weighs 1 / (rows of its entity), rounded down. With one unit per row all but
the last two are S times as much. Scores are whole numbers in units of 2^-`WEIGHT_BITS`. A candidate is public: it holds axes,
released numbers and wishes, nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mare.domain import Axis, Marginal

Weighting = Literal["entity", "row"]

WEIGHT_BITS = 20
"""Bits of a unit of weight: an entity with S rows loses less than S millionths of its unit to rounding."""
UNIT = 1 << WEIGHT_BITS


@dataclass(frozen=True)
class Tvd:
    """n·TVD(child; parents | given)."""

    child: Axis
    parents: tuple[Axis, ...]
    given: tuple[Axis, ...] = ()
    merged: bool = False
    """How far child and parents are together from what the others explain of them: a table of the two, hence with hardly anything
    that chance alone shows; and blind to what they do in each case differently."""


@dataclass(frozen=True)
class TvdToReleased:
    """½ Σ |C(x,q) - c(q)·p̂(x)|, where p̂ is the child's distribution as it was released before."""

    child: Axis
    parents: tuple[Axis, ...]
    released: tuple[int, ...]
    """p̂ times a public total: whole numbers ≥ 0, one per code of the child, not all 0."""


@dataclass(frozen=True)
class Summed:
    """The scores of all its parts, added up: one choice for columns that depend on the same."""

    parts: tuple[Tvd | TvdToReleased, ...]


@dataclass(frozen=True)
class FScore:
    """n·F(child; parents) for a child with two values."""

    child: Axis
    parents: tuple[Axis, ...]


@dataclass(frozen=True, eq=False)
class Distance:
    """weight · Σ |C - reference|."""

    marginal: Marginal
    reference: NDArray[np.float64]
    """Shaped as the cross-tab, in its unit: entities or rows."""
    weight: float = 1.0


@dataclass(frozen=True)
class NormRank:
    """-|#{entities whose norm is above the clip} - rank|."""

    marginals: tuple[Marginal, ...]
    """Measured together: the norm is √(Σ_m ‖h_em‖² / their number). None: the norm is the number of rows."""
    clip: float
    rank: float


Candidate = Tvd | TvdToReleased | Summed | FScore | Distance | NormRank
