"""Post-processing of noisy tables: no negative counts, tables that agree with each other, conditionals to draw from.

Nothing here costs budget, and most of the accuracy comes from here (privacy.md: post-processing matters more than the
mechanism).

A `Measured` table knows how many rows it is a table of. A table's own sum has the noise of all its cells: to divide by it would
carry the noise of forty cells into each. Tables that were measured together have the same rows, so the smallest of them tells
best how many; and a number that was paid for earlier may tell it better still.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mare.domain import Estimate

if TYPE_CHECKING:
    from mare.privacy.curator import NoisyCounts

Table = NDArray[np.float64]

_POWERS = (0.25, 0.5, 0.75, 1.0)
_LOUDEST = 4.0
"""No parent alone makes a code more than so many times as likely, or as unlikely: where nothing is seen, nothing is ruled out."""

_CLEAR = 3.0
"""Deviations at which a cell stands clear of the noise, or would."""
_EMPTIEST = 0.95
"""At most this part of a table's cells is taken to be empty."""
_LIKELY = 0.5
"""From here on a cell is taken to be one that may occur."""
_NOISELESS = 1e-9
"""Next to nothing: a variance, in rows, that is none; and, in parts of the variance, room that is none."""


def weighted_mean(estimates: Sequence[tuple[Table, float]]) -> tuple[Table, float]:
    """One noisy distribution from several, each with the variance of its cells: inverse-variance weights; and its variance."""
    weights = np.array([1 / max(variance, 1e-300) for _, variance in estimates])
    mean = sum(weight * table for weight, (table, _) in zip(weights, estimates, strict=True)) / weights.sum()
    return np.asarray(mean), float(1 / weights.sum())


def one_axis(table: Table, axis: int) -> Table:
    return np.asarray(table.sum(axis=tuple(k for k in range(table.ndim) if k != axis)))


def shrink(noisy: Table, deviation: float, child: Table) -> Table:
    """Conditionals P(child | parents), drawn towards what fewer parents say wherever noise is all there is to see.

    Parents are added one at a time. In each slice the noisy distribution is pulled towards what was believed before: a slice
    without rows ends as it was believed to be, a well filled one stays.
    What is believed of a slice before it is looked at: the slice without the new parent, and as much of that parent's own say
    as the counts bear out.
    """
    believed = child
    for depth in range(1, noisy.ndim):
        counts, variance = _merged(noisy, deviation, range(depth))
        coarse = np.broadcast_to(believed[..., None, :], counts.shape)
        if depth > 1:
            alone = _pulled(*_merged(noisy, deviation, [depth - 1]), np.broadcast_to(child, (counts.shape[-2], len(child))))
            factors = np.clip(alone / np.maximum(child, 1e-12), 1 / _LOUDEST, _LOUDEST)
            coarse = _with_a_say(counts, coarse, factors)
        believed = _pulled(counts, variance, coarse)
    return _without_the_impossible(np.asarray(believed), noisy, deviation, child)


def _without_the_impossible(believed: Table, noisy: Table, deviation: float, child: Table) -> Table:
    """What does not occur with one parent alone does not occur with several: the noise of a few large cells tells it better than
    that of many small ones, and those of the child alone best of all: a day that never comes does not come for a few. It is taken
    out whole, because raking would make much of any little that is left."""
    believed = believed * (child > 0)
    whole = believed.sum(axis=-1, keepdims=True)
    believed = np.where(whole > 0, believed / np.maximum(whole, 1e-300), child)
    possible = believed
    for parent in range(noisy.ndim - 1):
        counts, variance = _merged(noisy, deviation, [parent])
        total = np.maximum(counts.sum(axis=-1, keepdims=True), 0.0)
        there = _occupied(counts, max(variance, _NOISELESS), total * child) >= _LIKELY
        shape = [size if axis in (parent, noisy.ndim - 1) else 1 for axis, size in enumerate(noisy.shape)]
        possible = possible * there.reshape(shape)
    mass = possible.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(mass > 0, possible / np.maximum(mass, 1e-300), believed))


def strongest_first(noisy: Table, deviation: float, child: Table) -> list[int]:
    """The parents by how much the child depends on each alone: where a slice is empty, the strongest is who is believed."""

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


def _with_a_say(counts: Table, coarse: Table, factors: Table) -> Table:
    """coarse · factors^g, for the g from 0 to 1 that is nearest to the counts: parents that say the same are not heard twice."""
    total = np.maximum(counts.sum(axis=-1, keepdims=True), 0.0)
    best, nearest = coarse, float(((counts - total * coarse) ** 2).sum())
    for power in _POWERS:
        product = coarse * factors**power
        mass = product.sum(axis=-1, keepdims=True)
        tried = np.where(mass > 0, product / np.maximum(mass, 1e-300), coarse)
        away = float(((counts - total * tried) ** 2).sum())
        if away < nearest:
            best, nearest = tried, away
    return best


def _pulled(counts: Table, noise: float, coarse: Table) -> Table:
    """Each slice as a distribution: what it shows beyond what was believed of it, as far as that is no noise."""
    variance = max(noise, _NOISELESS)
    total = np.maximum(counts.sum(axis=-1, keepdims=True), 0.0)
    residual = counts - total * coarse
    pulled = _simplex(total * coarse + _kept(residual, variance, total**2 * coarse * (1 - coarse)) * residual, total, coarse)
    there = pulled * _occupied(counts, variance, total * coarse)
    mass = there.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(mass > 0, there / np.maximum(mass, 1e-300), pulled))


def _kept(residual: Table, variance: float, shape: Table) -> Table:
    """By cell, from 0 to 1: how much of its residual is believed.

    Slices are taken to differ from what was believed as draws of a Dirichlet distribution do: where little is expected little
    may differ, by φ · shape. φ is read off the residuals: a slice has its own as far as it can be told from that of all slices
    (empirical Bayes). What stands clear of the noise needs no such prior: rare codes that a parent decides are of this kind.
    """
    freedom, room = max(1, residual.shape[-1] - 1), np.maximum(shape.sum(axis=-1, keepdims=True), _NOISELESS * variance)
    beyond_noise = (residual**2).sum(axis=-1, keepdims=True) - freedom * variance
    own = np.clip(beyond_noise / room, 0.0, 1.0)
    of_all = min(max(float(beyond_noise.sum()) / float(room.sum()), 0.0), 1.0)
    certain = room**2 / (2 * freedom * variance**2)
    spread = max(0.0, (float((certain * (own - of_all) ** 2).sum()) - own.size) / float(certain.sum()))
    prior = (own * spread * certain + of_all) / (spread * certain + 1) * shape
    clear = np.where(residual**2 > _CLEAR**2 * variance, 1 - variance / np.maximum(residual**2, variance), 0.0)
    return np.asarray(np.maximum(prior / (prior + variance), clear))


def _occupied(counts: Table, variance: float, expected: Table) -> Table:
    """By cell, from 0 to 1: how far it is believed that anything can be in it, where more was expected than is seen.

    Much of a table cannot happen at all, and noise in its cells looks like a little of everything. Of the cells in which noise
    would not hide what is expected, those below nothing tell how many are empty (half of the empty ones are); what a cell
    shows tells which. A cell where noise would hide it says nothing, and stays as it was believed to be.
    """
    visible = expected > _CLEAR * sqrt(variance)
    empty = min(2 * float((counts[visible] < 0).sum()) / max(1, int(visible.sum())), _EMPTIEST)
    if empty == 0:
        return np.ones_like(counts)
    spread = 2 * (expected / (1 - empty)) ** 2
    shown = np.minimum(np.maximum(counts, 0.0) ** 2 / variance, 700.0)
    odds = (1 - empty) / empty * np.sqrt(variance / (variance + spread)) * np.exp(shown / 2 * spread / (variance + spread))
    return np.minimum(1.0, odds / (1 + odds) / (1 - empty))


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
    """P(last axis | the others), one row per combination of the others; the fallback (of all, or of each) where a combination has
    no mass."""
    flat, instead = joint.reshape(-1, joint.shape[-1]), fallback.reshape(-1, joint.shape[-1])
    mass = flat.sum(axis=1, keepdims=True)
    return np.asarray(np.where(mass > 1e-11, flat / np.maximum(mass, 1e-300), instead))


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
    estimates = [Estimate(float(counts.rows.sum()), _hidden(counts)) for counts in together]
    if known is not None and all(counts.clip is None for counts in together):
        estimates.append(known)
    if not estimates:
        return []
    weights = np.array([1 / max(estimate.deviation**2, 1e-300) for estimate in estimates])
    mean = float(weights @ [estimate.value for estimate in estimates] / weights.sum())
    return [Measured(counts, max(mean, _hidden(counts), 1e-9)) for counts in together]


def _hidden(counts: NoisyCounts) -> float:
    """What the noise of all cells of a table could hide: the deviation of its sum, in rows."""
    return float(counts.rows_deviation * counts.values.size**0.5)
