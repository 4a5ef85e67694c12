"""Clipping: one factor per entity for all the cross-tabs of a call, so that noise follows C and not the cap S.

Entity e, with cross-tabs h_e1 … h_ek, is scaled by w_e = min(1, C√k / √Σ_m ‖h_em‖²) under (ε, δ), and by
min(1, C / rows) under pure ε. It then moves the k tables together by at most C√k in L2, or kC in L1, and all tables still
estimate one distribution: clipping each on its own would bias each differently (docs/privacy.md, with the counter-example).

Factors are fixed-point numbers, multiples of 2^-b, rounded down in exact integers: with the limit L = ⌊C²·k·4^b⌋ and
w = ⌊√⌊L/N⌋⌋, where N = Σ‖h‖², w²·N ≤ L holds without any rounding error. w_e depends on that entity alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isfinite, isqrt

import numpy as np
from numpy.typing import NDArray

from mare.domain import Marginal
from mare.errors import InternalError, PrivacyError
from mare.privacy.noise import FEWEST_BITS, largest_scale
from mare.privacy.till import Quote, Till

Integers = NDArray[np.int64]

MOST_BITS = 16
"""Bits of a factor: fewer only where the noise, told in such small units, would be beyond its sampler."""


@dataclass(frozen=True)
class Clip:
    """Scale every entity down to at most ``bound`` (C) per table."""

    bound: float

    def __post_init__(self) -> None:
        if not _is_positive(self.bound):
            raise PrivacyError(f"a clip of {self.bound!r} is not one: it must be a finite number above 0.")

    @staticmethod
    def chosen(
        grid: Sequence[float] | None = None, *, above: float | None = None, portion: float = 0.1, bias: float = 0.05
    ) -> ChosenClip:
        """A clip that is chosen with a part of the budget when it is needed."""
        return ChosenClip(None if grid is None else tuple(grid), above, portion, bias)


@dataclass(frozen=True)
class ChosenClip:
    """C is picked from a public grid, by how many entities it cuts: the exponential mechanism on the rank of their norms."""

    grid: tuple[float, ...] | None = None
    """Bounds to choose among; None: 1, √2, 2, 2√2 … up to the cap."""
    above: float | None = None
    """So many entities should be cut. None: as many as let the bias of cutting balance the noise (recipe.md, 5)."""
    portion: float = 0.1
    """Of the call's share, what the choice costs."""
    bias: float = 0.05
    """How much an entity that is cut is thought to bias a table, in parts of C: where ``above`` is None."""

    def __post_init__(self) -> None:
        wrong = []
        if self.grid is not None and not (self.grid and all(_is_positive(bound) for bound in self.grid)):
            wrong.append(f"its grid is {self.grid!r}, and must hold finite numbers above 0")
        if self.above is not None and not (self.above == 0 or _is_positive(self.above)):
            wrong.append(f"{self.above!r} entities should be cut, which must be a finite number of at least 0")
        if not (_is_positive(self.portion) and self.portion < 1):
            wrong.append(f"its portion is {self.portion!r}, and must be above 0 and below 1")
        if not _is_positive(self.bias):
            wrong.append(f"its bias is {self.bias!r}, and must be a finite number above 0")
        if wrong:
            raise PrivacyError(f"a clip cannot be chosen so: {'; '.join(wrong)}.")

    def bounds(self, cap: int) -> tuple[float, ...]:
        """The candidates, ascending, none above the cap: there clipping ends, and the cap itself is one."""
        grid = self.grid or tuple(2 ** (step / 2) for step in range(2 * cap.bit_length() + 1))
        return tuple(sorted({min(float(bound), float(cap)) for bound in grid}))


AnyClip = Clip | ChosenClip


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value) and value > 0


@dataclass(frozen=True)
class Limit:
    """A clip worked out for k tables under one kind of budget. All of it is public."""

    bound: float
    """C, never more than the cap S: beyond it clipping would only add noise."""
    tables: int
    pure: bool
    bits: int

    @property
    def unit(self) -> int:
        """The factor 1."""
        return 1 << self.bits

    @cached_property
    def most(self) -> int:
        """What an entity may add, in units: its rows under pure ε, its squared norm over all tables otherwise."""
        bound = Fraction(self.bound)
        scaled = bound * self.unit if self.pure else bound**2 * self.tables * self.unit**2
        return scaled.numerator // scaled.denominator

    @property
    def sensitivity_squared(self) -> int:
        """L1² or L2² of all tables together, in units."""
        return (self.tables * self.most) ** 2 if self.pure else self.most

    def weights(self, rows: Integers, norms: Integers | None) -> Integers:
        """The factors, in units, one per entity."""
        if self.pure:
            return _each(rows, lambda n: min(self.unit, self.most // n) if n else self.unit)
        if norms is None:
            raise InternalError("the norms are missing that an L2 clip needs")
        return _each(norms, lambda n: min(self.unit, isqrt(self.most // n)) if n else self.unit)


def _each(values: Integers, factor: Callable[[int], int]) -> Integers:
    """A function of integers, worked out once for each value that occurs, in Python's integers: they do not overflow."""
    distinct, place = np.unique(values, return_inverse=True)
    return np.array([factor(int(value)) for value in distinct], dtype=np.int64)[place]


def limit_and_quote(till: Till, clip: Clip, tables: int, share: float) -> tuple[Limit, Quote]:
    """The clip in as many bits as the noise can be drawn in, and its price."""
    largest, bits = largest_scale(till.pure), MOST_BITS
    while True:
        limit = Limit(min(float(clip.bound), float(till.view.max_rows_per_entity)), tables, till.pure, bits)
        if limit.most < 1:
            raise PrivacyError(
                f"{till.where}: a clip of {clip.bound:g} is too small to keep anything of an entity. "
                "Below 1 a clip only costs: an entity with one row adds 1."
            )
        quote = till.quote(limit.sensitivity_squared, share)
        if quote.scale <= largest or bits <= FEWEST_BITS:
            return limit, quote
        bits -= 1


def drawable_bounds(till: Till, clip: ChosenClip, tables: int, share: float) -> tuple[float, ...]:
    """The candidates whose noise can be drawn for this share, which is public: a wide cap is no reason to refuse a small clip.
    The smallest is one whatever its noise: where not even that can be drawn the question is refused."""
    bounds = clip.bounds(till.view.max_rows_per_entity)
    while len(bounds) > 1 and limit_and_quote(till, Clip(bounds[-1]), tables, share)[1].scale > largest_scale(till.pure):
        bounds = bounds[:-1]
    return bounds


def entity_weights(till: Till, limit: Limit, marginals: Sequence[Marginal], rows: Integers) -> Integers:
    """Every entity's factor, from what the view says of that entity. Paid for already."""
    norms = None if limit.pure else till.known_norms.pop(tuple(marginals), None)
    if norms is None and not limit.pure:
        norms = till.view.squared_norms(marginals)
    if norms is not None:
        k = len(marginals)
        # ‖h‖² of r rows lies between r (all in different cells) and r² (all in one)
        if norms.dtype != np.int64 or norms.shape != rows.shape or not ((k * rows <= norms) & (norms <= k * rows * rows)).all():
            raise InternalError(f"{till.where} answered norms that its own row counts contradict")
    return limit.weights(rows, norms)
