"""Bounds of which nothing is known: read off a noisy histogram on a public grid that holds everything."""

from __future__ import annotations

from datetime import date

from mare.codec import LearnedOrder, OpenBins, OrdinalCodec, RelativeCodec
from mare.codec.scales import TimeScale
from mare.codec.ticks import FURTHEST
from mare.privacy.grids import Grid, power_grid
from mare.privacy.learned import LearnedBounds

from .bin_placing import YEARS


def first_grid(codec: OrdinalCodec | RelativeCodec, placed: OpenBins) -> Grid:
    """Years for what is a date; powers of two for distances and numbers."""
    scale = codec.scale
    if isinstance(codec, OrdinalCodec) and isinstance(scale, TimeScale) and scale.order == "moment":
        return Grid(tuple(float(scale.tick(date(year, 1, 1))) for year in YEARS), "linear", 1.0)
    if placed.low == 0:
        return positive_powers()
    return signed_powers()


def positive_powers() -> Grid:
    """0, and powers of two: for distances, which are never negative."""
    return Grid((0.0, *(float(1 << power) for power in range(61))), "signed powers", 1.0)


def signed_powers() -> Grid:
    return power_grid(1.0, float(FURTHEST))


def learned_order(found: LearnedBounds, placed: OpenBins) -> LearnedOrder:
    """The bounds in ticks: those that the schema gives stay."""
    low, high = int(found.low), int(found.high) - 1
    if placed.low is not None:
        return LearnedOrder(None, max(high, placed.low))
    if placed.high is not None:
        return LearnedOrder(min(low, placed.high), None)
    return LearnedOrder(low, max(low, high))
