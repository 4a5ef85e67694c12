"""Post-processing of noisy tables: no negative counts, tables that agree with each other, conditionals to draw from.

Nothing here costs budget, and most of the accuracy comes from here (privacy.md: post-processing matters more than the
mechanism).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float64]

_POWERS = (0.25, 0.5, 0.75, 1.0)
_LOUDEST = 4.0
"""No parent alone makes a code more than so many times as likely, or as unlikely: where nothing is seen, nothing is ruled out."""


def weighted_mean(estimates: Sequence[tuple[Table, float]]) -> tuple[Table, float]:
    """One noisy distribution from several, each with the variance of its cells: inverse-variance weights; and its variance."""
    weights = np.array([1 / max(variance, 1e-300) for _, variance in estimates])
    mean = sum(weight * table for weight, (table, _) in zip(weights, estimates, strict=True)) / weights.sum()
    return np.asarray(mean), float(1 / weights.sum())


def one_axis(table: Table, axis: int) -> Table:
    return np.asarray(table.sum(axis=tuple(k for k in range(table.ndim) if k != axis)))


def shrink(noisy: Table, deviation: float, child: Table) -> Table:
    """Conditionals P(child | parents), drawn towards what fewer parents say wherever noise is all there is to see.

    Parents are added one at a time. In each slice the noisy distribution is pulled towards what was believed before by the
    James–Stein factor 1 - (d-1)σ²/‖residual‖²: a slice without rows ends as it was believed to be, a well filled one stays.
    What is believed of a slice before it is looked at: the slice without the new parent, and as much of that parent's own say
    as the counts bear out.
    """
    believed = child
    for depth in range(1, noisy.ndim):
        counts, variance = _merged(noisy, deviation, range(depth))
        coarse = np.broadcast_to(believed[..., None, :], counts.shape)
        if depth > 1:
            alone = _pulled(*_merged(noisy, deviation, [depth - 1]), np.broadcast_to(child, (counts.shape[-2], len(child))))
            says = np.clip(alone / np.maximum(child, 1e-12), 1 / _LOUDEST, _LOUDEST)
            coarse = _with_a_say(counts, coarse, says)
        believed = _pulled(counts, variance, coarse)
    return np.asarray(believed)


def strongest_first(noisy: Table, deviation: float, child: Table) -> list[int]:
    """The parents by how much the child hangs on each alone: where a slice is empty, the strongest is who is believed."""

    def strength(parent: int) -> float:
        counts, variance = _merged(noisy, deviation, [parent])
        total = np.maximum(counts.sum(axis=-1, keepdims=True), 0.0)
        believed = _pulled(counts, variance, np.broadcast_to(child, counts.shape))
        return float(np.abs(total * (believed - child)).sum())

    return sorted(range(noisy.ndim - 1), key=strength, reverse=True)


def _merged(noisy: Table, deviation: float, kept: Sequence[int]) -> tuple[Table, float]:
    """The table over these parents and the child alone, and the variance of its cells."""
    merged = tuple(axis for axis in range(noisy.ndim - 1) if axis not in kept)
    cells = float(np.prod([noisy.shape[axis] for axis in merged], initial=1.0))
    return (noisy.sum(axis=merged) if merged else noisy), deviation**2 * cells


def _with_a_say(counts: Table, coarse: Table, says: Table) -> Table:
    """coarse · says^g, for the g from 0 to 1 that is nearest to the counts: parents that say the same are not heard twice."""
    total = np.maximum(counts.sum(axis=-1, keepdims=True), 0.0)
    best, nearest = coarse, float(((counts - total * coarse) ** 2).sum())
    for power in _POWERS:
        product = coarse * says**power
        mass = product.sum(axis=-1, keepdims=True)
        tried = np.where(mass > 0, product / np.maximum(mass, 1e-300), coarse)
        away = float(((counts - total * tried) ** 2).sum())
        if away < nearest:
            best, nearest = tried, away
    return best


def _pulled(counts: Table, variance: float, coarse: Table) -> Table:
    total = np.maximum(counts.sum(axis=-1, keepdims=True), 0.0)
    residual = counts - total * coarse
    energy = (residual**2).sum(axis=-1, keepdims=True)
    kept = np.maximum(0.0, 1 - (counts.shape[-1] - 1) * variance / np.maximum(energy, 1e-300))
    return _simplex(total * coarse + kept * residual, total, coarse)


def _simplex(slices: Table, totals: Table, fallback: Table) -> Table:
    """Each slice as a distribution: projected on its own total, or the fallback where nothing is left of it."""
    size = slices.shape[-1]
    flat, total = slices.reshape(-1, size), totals.reshape(-1)
    descending = -np.sort(-flat, axis=1)
    excess = (np.cumsum(descending, axis=1) - np.maximum(total, 1e-9)[:, None]) / np.arange(1, size + 1)
    kept = np.maximum((descending > excess).sum(axis=1) - 1, 0)
    positive = np.maximum(flat - excess[np.arange(len(flat)), kept][:, None], 0.0)
    mass = positive.sum(axis=1, keepdims=True)
    usable = (mass > 0) & (total[:, None] > 1e-9)
    return np.asarray(np.where(usable, positive / np.maximum(mass, 1e-300), fallback.reshape(-1, size)).reshape(slices.shape))


def rake(table: Table, margins: Sequence[Table], rounds: int) -> Table:
    """Iterative proportional fitting: the nearest table (in KL) with these one-way margins, one per axis."""
    fitted = table + 1e-12
    for _ in range(rounds):
        for axis, margin in enumerate(margins):
            shape = [1] * table.ndim
            shape[axis] = -1
            fitted = fitted * (margin / np.maximum(one_axis(fitted, axis), 1e-15)).reshape(shape)
    return np.asarray(fitted / max(float(fitted.sum()), 1e-300))


def conditional(joint: Table, fallback: Table) -> Table:
    """P(last axis | the others), one row per combination of the others; the fallback where a combination has no mass."""
    flat = joint.reshape(-1, joint.shape[-1])
    mass = flat.sum(axis=1, keepdims=True)
    return np.asarray(np.where(mass > 1e-11, flat / np.maximum(mass, 1e-300), fallback[None, :]))
