"""Exact scores of weighted cross-tabs: how far a table is from what it would be without a dependence. Secret, as tables are.

A table holds whole units of weight. An entity adds a table of its own, of mass w ≥ 0, and nothing else (docs/privacy.md). Each
function says how far that moves its score, in the same units: a whole number K of them. The true scores are fractions
and are rounded down to whole units, which costs nothing: |u - v| ≤ K gives ⌊u⌋ ≤ ⌊v + K⌋ = ⌊v⌋ + K, because K is whole.

Whether a cell lies above its expectation is the one question that takes more than 64 bits. Floating point answers it
where it is clear, Python's integers where it is not: the scores are exact whatever the size of the table.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

_UNCLEAR = 2.0**-48
"""Relative. Two products of rounded doubles are off by less than 2^-51 of themselves: sixteen times less."""

_RATIO_BITS = 130
"""Two different ratios of numbers below 2^63 differ by more than 2^-126, so they differ in this many bits."""

LARGEST = 2**61
"""No score leaves that is beyond this: it would not be safe to add noise to."""


def tvd(table: Integers) -> int:
    """Σ_π n_π·TVD(x; q | π) of a table shaped (x, q, π): ½‖C_π - r·cᵀ/n‖₁, summed over the slices. An empty slice gives 0.

    Moves by at most 2w. Within a slice, where the entity's mass is w_π, write a = n·w_π/(n + w_π) < w_π: the difference to
    the product of the margins changes by two non-negative measures of mass w_π + a each, so the score by at most
    w_π + a < 2w_π. Each slice is rounded down on its own, and 2w_π is a whole number of units.
    """
    return sum(_excess(table, table.sum(axis=1), table.sum(axis=0), table.sum(axis=(0, 1))))


_EXACT_ENOUGH = 2**49
"""Below this a product of doubles that is divided again is off by less than a quarter of a unit."""


def merged_tvd(table: Integers) -> int:
    """½‖Σ_π (C_π - r·cᵀ/n)‖₁ of a table shaped (x, q, π): what the slices do not explain of x and q, added up over them.

    Moves by at most 2w, as `tvd` does: a sum of differences is no further apart than they are one by one. Here each expectation
    is rounded to a whole unit, so a cell may move by one and a half more: 2w, and as many units as there are cells, and one.
    """
    left, right, total = table.sum(axis=1)[:, None, :], table.sum(axis=0)[None, :, :], np.maximum(table.sum(axis=(0, 1)), 1)
    if int(total.sum()) < _EXACT_ENOUGH:
        expected = np.floor(left.astype(np.float64) * right / total).astype(np.int64)
    else:
        expected = (_wide(left) * _wide(right) // _wide(total)).astype(np.int64)
    return int(np.abs((table - expected).sum(axis=2)).sum()) // 2


def tvd_to_released(table: Integers, released: Integers) -> int:
    """½ Σ |C(x,q) - c(q)·p̂(x)| of a table shaped (x, q), with p̂ = released / Σ released: already public, hence fixed.

    Moves by at most w: the entity changes the difference by h(x,q) - h(q)·p̂(x), whose L1 norm is at most 2w.
    """
    total = np.array([int(released.sum())], dtype=np.int64)
    return _excess(table[:, :, None], released[:, None], table.sum(axis=0)[:, None], total)[0]


def _excess(table: Integers, left: Integers, right: Integers, total: Integers) -> list[int]:
    """Per slice π ⌊Σ max(0, C - left·rightᵀ/total)⌋: half the L1 distance, as both sides have one mass (0 where total is 0).

    Shapes: (x, q, π), (x, π), (q, π), (π,). All ≥ 0.
    """
    seen = table.astype(np.float64) * total.astype(np.float64)
    expected = left.astype(np.float64)[:, None, :] * right.astype(np.float64)[None, :, :]
    above = seen > expected
    x, q, p = np.nonzero((np.abs(seen - expected) <= _UNCLEAR * (seen + expected)) & (expected > 0))
    above[x, q, p] = _wide(table[x, q, p]) * _wide(total[p]) > _wide(left[x, p]) * _wide(right[q, p])
    inside = np.where(above, table, 0).sum(axis=(0, 1))
    reached = np.where(above, right[None, :, :], 0).sum(axis=1)
    products = (_wide(left) * _wide(reached)).sum(axis=0)
    return [
        (mass * within - product) // mass if mass else 0
        for mass, within, product in zip(total.tolist(), inside.tolist(), products.tolist(), strict=True)
    ]


def f_score(table: Integers) -> int:
    """n·F of a binary child (PrivBayes 2017, section 4.3), of a table shaped (2, π): never above 0, 0 is best.

    F is minus half the smallest L1 distance to a table in which each π has one child value, both with half the mass:
    minus the smallest (n/2 - k₀)⁺ + (n/2 - k₁)⁺, where k₀ is the child-0 mass of the π that got 0, k₁ that of the others.
    Finding the best such choice is a knapsack; here one π may be split between the two, which has an exact solution
    by sorting, and changes the score by less than one cell.

    Moves by at most w: for any one (split) choice n/2 grows by w/2, k₀ by x ≥ 0 and k₁ by y ≥ 0 with x + y ≤ w. The sum grows
    by at most w/2 + w/2 and falls by at most (x - w/2)⁺ + (y - w/2)⁺ ≤ w/2. So does the smallest of all such sums.
    """
    zeros, ones = table[0].tolist(), table[1].tolist()
    whole = sum(zeros) + sum(ones)
    # best first: the π that has most of 0 for its 1. All of them start on the side of 1.
    order = sorted((i for i in range(len(zeros)) if zeros[i] or ones[i]), key=lambda i: _ratio(zeros[i], ones[i]))
    short0, short1 = whole, whole - 2 * sum(ones)  # n - 2·k₀ and n - 2·k₁
    best = Fraction(max(0, short0) + max(0, short1))
    for i in order:
        zero, one = zeros[i], ones[i]
        after0, after1 = short0 - 2 * zero, short1 + 2 * one
        corners = [Fraction(max(0, after0) + max(0, after1))]
        if short0 > 0 > after0:  # split this π where k₀ is just n/2
            corners.append(max(Fraction(0), short1 + Fraction(one * short0, zero)))
        if short1 < 0 < after1:  # or where k₁ is
            corners.append(max(Fraction(0), short0 + Fraction(zero * short1, one)))
        best = min(best, *corners)
        short0, short1 = after0, after1
    return floor(-best / 2)


def _ratio(zero: int, one: int) -> int:
    """Orders π by zero/one, the largest first, exactly."""
    return -((zero << _RATIO_BITS) // one) if one else -(1 << (_RATIO_BITS + 64))


def distance(table: Integers, reference: Integers, weight: int, weight_bits: int) -> int:
    """⌊ω·Σ |C_i - R_i|⌋ with a public reference R in the same units, and a public weight ω = weight / 2^weight_bits ≥ 0.

    Moves by at most ω·w: a whole number of units, if w is a multiple of 2^weight_bits at its largest.
    """
    steps = np.abs(table - reference)
    # both below 2^61, so a step is below 2^62; their sum need not be
    total = (int((steps >> 32).sum()) << 32) + int((steps & 0xFFFFFFFF).sum())
    return (weight * total) >> weight_bits


def rank_distance(squared_norms: Integers, limit: int, rank: int) -> int:
    """-|#{e : norm_e² > limit} - rank|: how well a clip leaves just ``rank`` entities cut. In entities; moves by at most 1."""
    return -abs(int(np.count_nonzero(squared_norms > limit)) - rank)


def _wide(values: Integers) -> NDArray[np.object_]:
    """As Python's integers, which do not overflow."""
    return values.astype(object)
