"""Where bins go: bounds of which nothing is known are read off a public grid that holds everything; then comes a grid between
the bounds of a column, and noisy quantiles of what was counted on it.

Recipe, steps 2 and 3. Everything here is public or post-processing: grids come from the schema and from the noisy number of
entities, bins from noisy histograms.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta

import numpy as np

from mare.codec import Bins, LearnedOrder, OpenBins, OrdinalCodec, RelativeCodec
from mare.codec.bins import make_bins
from mare.codec.relative import FirstCodec, whole_bins
from mare.codec.scales import TimeScale
from mare.codec.ticks import FURTHEST
from mare.errors import InternalError
from mare.privacy.fine_histograms import FineHistogram, LearnedBounds, quantile_bins, quantile_count
from mare.privacy.grids import Grid, fine_cells, linear_grid, log_grid, most_fine_cells, power_grid

from .close_looks import Cut, evenly

CLEAR, TAIL = 3.0, 4
"""A cell stands clear of the noise at so many deviations; beyond the last that does, so many cells hold what is left."""
_EPOCH = datetime(1970, 1, 1)
_PARTS_OF_A_YEAR = (1, 2, 3, 4, 6, 12)
"""In months."""
Calendar = TimeScale
YEARS = range(1800, 2301)
"""The grid for dates and moments of which nothing is known: a cell a year, the outer ones for all that lies beyond."""


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


def learned_order(bounds: LearnedBounds, placed: OpenBins) -> LearnedOrder:
    """The bounds in ticks: those that the schema gives stay."""
    low, high = int(bounds.low), int(bounds.high) - 1
    if placed.low is not None:
        return LearnedOrder(None, max(high, placed.low))
    if placed.high is not None:
        return LearnedOrder(min(low, placed.high), None)
    return LearnedOrder(low, max(low, high))


def fine_grid(placed: OpenBins, entities: float, calendar: Calendar | None = None) -> Grid:
    """The fine grid between known bounds, counted from the lower one: as many cells as there are entities for.

    The two ends are cells of their own: much lies there exactly (nothing paid, left at once, clamped), and only a cell of one
    value can become a bin of one value. Dates are cut where months and years begin: people count in these, and many a date is
    the first of one.
    """
    low, high = _ends(placed)
    cells, span = fine_cells(entities), high - low
    if span < cells:
        return Grid(tuple(float(edge) for edge in range(span + 2)), "linear", 1.0)
    if calendar is not None and placed.scale == "linear":
        begins = {float(tick - low) for tick in _beginnings(calendar, low, high, most_fine_cells(entities))}
        if begins:
            return Grid((0.0, 1.0, *sorted(begins), float(span), float(span + 1)), "linear", 1.0)
    part = cells // 2 if placed.scale == "mixed" else cells
    even = linear_grid(1, span - 1, part, 1.0).edges if placed.scale != "log" else ()
    uneven = log_grid(1, span - 1, part, 1.0).edges if placed.scale != "linear" else ()
    # Ends that a double cannot tell apart (beyond 2^53) are one.
    edges = sorted({0.0, *even, *uneven, float(span + 1)})
    return Grid(tuple(edges), "log" if placed.scale == "log" else "linear", 1.0)


def cuts_of(placed: OpenBins, calendar: Calendar | None) -> Cut:
    """How a heavy cell is cut: evenly; dates where months begin, as long as there are no more parts than that."""
    low, _ = _ends(placed)

    def cut(first: float, last: float, parts: int) -> list[float]:
        ticks = () if calendar is None else _beginnings(calendar, low + int(first), low + int(last), parts)
        return [float(tick - low) for tick in ticks] or evenly(first, last, parts)

    return cut


def calendar_of(codec: OrdinalCodec | RelativeCodec | FirstCodec) -> Calendar | None:
    """The calendar of a column that holds dates or moments as they are; a distance from another one has none."""
    absolute = isinstance(codec, OrdinalCodec) or (isinstance(codec, FirstCodec) and not codec.placing.anchors)
    scale = codec.scale
    return scale if absolute and isinstance(scale, TimeScale) and scale.order == "moment" else None


def placed_bins(placed: OpenBins, histogram: FineHistogram, entities: float) -> Bins:
    """Noisy quantiles, with the fine histogram to draw from inside of them."""
    low, _ = _ends(placed)
    atom = int(placed.closes and placed.most > 1)
    most = max(1, placed.most - atom)
    quantiles = quantile_bins(without_far_noise(histogram), min(quantile_count(entities), most), most)
    cuts = set(quantiles.cuts) | ({histogram.grid.cells - 1} if atom else set())
    edges = [low + int(edge) for edge in histogram.grid.edges]
    weights = tuple(float(f"{weight:.6g}") for weight in quantiles.weights.tolist())
    return Bins(tuple(edges[cut] for cut in sorted(cuts)), tuple(edges), weights)


def without_far_noise(histogram: FineHistogram) -> FineHistogram:
    """The same histogram with thin tails: noise far out would be drawn from, and make people of 118 and dates after 2262.

    Beyond the last cell that stands clear of the noise the sum of the cells is still a fair estimate of what is there; it is
    put into the few cells next to it. The same at the lower end.
    """
    clear = np.flatnonzero(histogram.noisy > CLEAR * histogram.deviation)
    if not len(clear):
        return histogram
    noisy = histogram.noisy.copy()
    first, last = int(clear[0]), int(clear[-1])
    for tail in (np.arange(last + 1, len(noisy)), np.arange(first - 1, -1, -1)):
        mass, near = max(0.0, float(noisy[tail].sum())), tail[:TAIL]
        noisy[tail] = 0.0
        noisy[near] = mass / max(1, len(near))
    return replace(histogram, noisy=noisy)


def equal_bins(placed: OpenBins) -> Bins:
    """As many equal bins as the schema asks for, now that the bounds are known."""
    low, high = _ends(placed)
    if placed.wanted is None:
        raise InternalError("bins that are to be learned were asked to be equal")
    return whole_bins(placed.wanted) if placed.closes else make_bins(low, high, placed.wanted, placed.scale)


def _beginnings(calendar: Calendar, low: int, high: int, cells: int) -> list[int]:
    """Where whole months or years begin, as many as there are cells for; none where there are cells for more than months."""
    first, last = (_EPOCH + timedelta(microseconds=int(tick * calendar.unit)) for tick in (low, high))
    start, end = first.year * 12 + first.month - 1, last.year * 12 + last.month - 1
    if 2 * (end - start) <= cells:
        return []
    wanted = -(-(end - start) // cells)
    step = next((months for months in _PARTS_OF_A_YEAR if months >= wanted), 12 * -(-wanted // 12))
    months = range(start - start % step + step, end + 1, step)
    ticks = (calendar.tick(date(month // 12, month % 12 + 1, 1)) for month in months)
    return [tick for tick in ticks if low + 1 < tick < high]


def _ends(placed: OpenBins) -> tuple[int, int]:
    if placed.low is None or placed.high is None:
        raise InternalError("bins are placed before their bounds are known")
    return placed.low, max(placed.low, placed.high)
