"""Where bins go: on which grids a column is looked at, and what is read off the weights that come of it: bounds, and noisy
quantiles as bins.

Everything here is public or post-processing: the first grids come from the schema, all else from noisy answers. Grids are coarse:
`coarse_to_fine` cuts them where the values are.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from math import sqrt

import numpy as np

from mare.codec import Bins, LearnedOrder, OpenBins, OrdinalCodec, RelativeCodec
from mare.codec.bins import make_bins
from mare.codec.relative import FirstCodec, whole_bins
from mare.codec.scales import TimeScale
from mare.errors import InternalError
from mare.privacy.fine_histograms import FineHistogram, quantile_bins, quantile_count
from mare.privacy.grids import Grid, Spacing
from mare.schema.columns import keeps_each

from .coarse_to_fine import Cut, by_factors, evenly
from .tapering import tapered
from .usual_days import Days
from .weighing import Stretch, Weighed, leaves, pieces

COARSE = 8
"""Equal cells of a first look."""
HIDDEN, BEYOND = 0.005, 1 / 64
"""Where the noise could hide more than this part of the rows beyond a learned bound, the bound moves one mark further out; and
the part of the rows of the last piece that may lie beyond it where they thin out."""
NEXT = 1.5
"""Deviations that values next to those that stood clear stand out by, taken together."""
FACTORS = 8
"""Parts of a wide cell that is drawn from by factors."""
_EPOCH = datetime(1970, 1, 1)
_PARTS_OF_A_YEAR = (1, 2, 3, 4, 6, 12)
"""In months."""
Calendar = TimeScale

_YEARS = (1, 1500, 1700, 1800, 1850, 1900, 1950, 2000, 2050, 2100, 2150, 2200, 2300, 2500, 9999)
_USUAL_YEARS = (1900, 2050)
_LARGEST_POWER = 18
"""10^18 is the last power of ten below the furthest tick."""
_DECADES = (-2, 6)
"""Most numbers lie between these powers of ten: there a first look tells each decade apart, elsewhere only each three."""
DECADE = 10.0
"""A last piece that is longer than this many times where it begins says little of where it ends."""
STANDS_OUT, UNUSUAL = 2.0, 1.0
"""Deviations that a guess stands out by where nothing stood clear; and so many more where it is not usual."""
_NUMBERS = (*(float(digit * 10**power) for power in range(_LARGEST_POWER) for digit in (1, 2, 5)), 1e18)
_USUAL_NUMBERS = (0.0, 1000.0)
ONE = Fraction(1)


def open_grid(calendar: Calendar | None, placed: OpenBins, unit: Fraction = ONE) -> Grid:
    """For a column of which nothing is known: stretches of years for what is a date, powers of ten for distances and numbers, in
    ticks. The outer cells hold all that lies beyond, and zero has a cell of its own."""
    if calendar is not None:
        return Grid(tuple(float(calendar.tick(date(year, 1, 1))) for year in _YEARS), "linear", 1.0)
    first, last = _DECADES
    powers = [power for power in range(-18, _LARGEST_POWER + 1) if power % 3 == 0 or first <= power <= last]
    ticks = {float(round(Fraction(10) ** power / unit)) for power in powers}
    edges = sorted({1.0, *(tick for tick in ticks if 1 <= tick <= 10.0**_LARGEST_POWER), 10.0**_LARGEST_POWER})
    below = [] if placed.low == 0 else [-edge for edge in reversed(edges)]
    return Grid((*below, 0.0, *edges), "log", 1.0)


def usual_cells(grid: Grid, unit: Fraction) -> tuple[int, int]:
    """The cells of a first grid, from which to which (exclusive), that hold numbers from zero to a million."""
    return bisect_left(grid.edges, 0.0), bisect_right(grid.edges, 10.0 ** _DECADES[1] / float(unit)) - 1


def open_cuts(calendar: Calendar | None) -> Cut:
    """How such a cell is cut: where decades begin, at round numbers."""
    return lambda low, high, _: [mark for mark in _marks(calendar) if low < mark < high]


def _marks(calendar: Calendar | None) -> list[float]:
    if calendar is not None:
        return [float(calendar.tick(date(year, 1, 1))) for year in (1, *range(10, 9999, 10), 9999)]
    return [-mark for mark in reversed(_NUMBERS)] + [0.0, *_NUMBERS]


def learned_order(
    weighed: Weighed, calendar: Calendar | None, placed: OpenBins, unit: Fraction = ONE, days: Days = (None, None)
) -> LearnedOrder:
    """The bounds in ticks: those that the schema gives stay. Where nothing stood clear, what is usual is as good a guess as any.
    ``unit`` is what a tick of a number stands for; between ``days`` lie dates of which nothing else is known."""
    seen = _Seen(weighed, calendar, placed, unit, days)
    low, high = (seen.end(upwards=upwards) for upwards in (False, True)) if weighed.clear else seen.guess
    first, last = int(low), int(high) - 1
    if placed.low is not None:
        return LearnedOrder(None, max(last, placed.low))
    if placed.high is not None:
        return LearnedOrder(min(first, placed.high), None)
    return LearnedOrder(first, max(first, last))


def vague_ends(weighed: Weighed, calendar: Calendar | None, placed: OpenBins, unit: Fraction = ONE) -> list[str]:
    """Ends that are guessed: something stood clear there, in a piece so long that it says little of where it ends."""
    seen, sides = _Seen(weighed, calendar, placed, unit), (("lower", placed.low, False), ("upper", placed.high, True))
    return [side for side, given, upwards in sides if weighed.clear and given is None and seen.is_vague(upwards=upwards)]


@dataclass(frozen=True)
class _Seen:
    """What the looks for bounds have seen, and where its ends are. All ends are in ticks."""

    weighed: Weighed
    calendar: Calendar | None
    placed: OpenBins
    unit: Fraction
    days: Days = (None, None)

    @property
    def usual(self) -> tuple[float, float]:
        if self.calendar is None:
            return _USUAL_NUMBERS[0], float(int(_USUAL_NUMBERS[1] / self.unit))
        first, last = (float(self.calendar.tick(date(year, 1, 1))) for year in _USUAL_YEARS)
        return first, last

    @property
    def _usual_size(self) -> tuple[float, float]:
        """The same where values below zero were seen: what is usual there is as large."""
        low, high = self.usual
        return (low if self.calendar is not None else -high), high

    @property
    def guess(self) -> tuple[float, float]:
        """Where nothing stood clear: the stretch that stands out most, if any does; else the usual. What is not usual has to
        stand out more."""
        low, high = self.usual
        if self.calendar is not None:
            return self._recorded(self.calendar)
        edges, furthest = self.weighed.histogram.grid.edges, 10.0 ** _DECADES[1] / float(self.unit)
        cells = [cell for cell in leaves(self.weighed.tree) if -furthest <= edges[cell.first] and edges[cell.last] <= furthest]
        most, ends = STANDS_OUT, (low, high)
        for first, cell in enumerate(cells):
            rows, variance, begin = 0.0, 0.0, edges[cell.first]
            for other in cells[first:]:
                rows, variance = rows + other.rows, variance + other.variance
                stands = rows / sqrt(variance) - UNUSUAL * (begin < low or edges[other.last] > high)
                most, ends = (stands, (begin, edges[other.last])) if stands > most else (most, ends)
        return ends

    def _recorded(self, calendar: Calendar) -> tuple[float, float]:
        """Of dates, what the schema says of all; what is usual where that leaves no room beside a bound of their own."""
        (low, high), (first, last) = self.usual, self.days
        begin = low if first is None else float(calendar.tick(first))
        end = high if last is None else float(calendar.tick(last + timedelta(days=1)))
        below, above = self.placed.low, self.placed.high
        return (low if above is not None and begin > above else begin), (high if below is not None and end <= below else end)

    def end(self, *, upwards: bool) -> float:
        """Where values end on one side: where what stood clear ends, one mark further where much may be hidden beyond it; but no
        further out than the rows of the last piece reach if they thin out as ends do. And a piece from a thousand to 10^18 says
        that something lies there, not that it is 10^18: then values end with the cell of the first grid in which it begins."""
        marks, out, clear, rows = _marks(self.calendar), 1 if upwards else -1, self._clear(upwards), self.weighed.histogram.noisy
        thin, (first, last) = tapered(self.weighed), self._piece(upwards)
        weights, ends = thin.noisy[::out], thin.grid.edges[1:] if upwards else thin.grid.edges[-2::-1]
        inside = float(weights.sum()) - BEYOND * max(0.0, float(rows[first:last].sum()))
        reached = ends[min(int(np.searchsorted(np.cumsum(weights), inside)), len(ends) - 1)]
        end = marks[bisect_left(marks, reached) if upwards else bisect_right(marks, reached) - 1]
        if out * end >= out * clear:
            hidden = 2 * self.weighed.histogram.deviation > HIDDEN * float(rows.sum())
            # never across zero: what is never negative would become so; and next to zero alone comes no millionth
            further = bisect_right(marks, clear) if upwards else bisect_left(marks, clear) - 1
            alone = clear == 0 or (self.unit < 1 and abs(clear) <= 1)
            end = clear if alone or not hidden else marks[min(max(further, 0), len(marks) - 1)]
        # On a scale of factors a wide range costs little: the next looks find the rows in it. Cut evenly, all lie in one cell.
        if self.placed.scale == "log":
            return end
        furthest = self._furthest(upwards)
        return furthest if min(out * end, out * clear) > out * furthest else end

    def is_vague(self, *, upwards: bool) -> bool:
        edges, (first, last) = self.weighed.histogram.grid.edges, self._piece(upwards)
        begins, ends = (edges[first], self._clear(upwards)) if upwards else (self._clear(upwards), edges[last])
        if self.calendar is None:
            near, far = (begins, ends) if upwards else (-ends, -begins)
            return far > DECADE * max(near, 1.0)
        low, high = self._usual_size
        cells = pairwise(open_grid(self.calendar, self.placed).edges)
        return any(begins <= lower and upper <= ends and (upper > high if upwards else lower < low) for lower, upper in cells)

    def _clear(self, upwards: bool) -> float:
        return self.weighed.histogram.grid.edges[self.weighed.last if upwards else self.weighed.first]

    def _piece(self, upwards: bool) -> tuple[int, int]:
        """The outermost one of what stood clear, in cells."""
        cell = self.weighed.last - 1 if upwards else self.weighed.first
        return next((piece.first, piece.last) for piece in pieces(self.weighed.tree) if piece.first <= cell < piece.last)

    def _furthest(self, upwards: bool) -> float:
        (first, last), edges = self._piece(upwards), self.weighed.histogram.grid.edges
        low, high = self._usual_size
        public = open_grid(self.calendar, self.placed, self.unit).edges
        if upwards:
            return max(high, next((edge for edge in public if edge > edges[first]), high))
        return min(low, next((edge for edge in reversed(public) if edge < edges[last]), low))


def carried(look: FineHistogram, placed: OpenBins, ratio: Fraction) -> FineHistogram | None:
    """A look for bounds as one between them, counted from the lower one. ``ratio``: ticks from now on for one of before.

    Cells outside are left out: nothing was seen there. None where an edge is no whole tick from now on.
    """
    low, high = _ends(placed)
    marks = [ratio * int(edge) for edge in look.grid.edges]
    cells = [cell for cell, (first, last) in enumerate(pairwise(marks)) if last > low and first <= high]
    edges = [min(max(mark, Fraction(low)), Fraction(high + 1)) - low for mark in marks[cells[0] : cells[-1] + 2]] if cells else []
    if len(set(edges)) != len(edges) or len(edges) < 2 or any(edge.denominator != 1 for edge in edges):
        return None
    edges[0], edges[-1] = Fraction(0), Fraction(high - low + 1)
    doubles = tuple(float(edge) for edge in edges)
    if len(set(doubles)) != len(doubles):  # beyond 2^53 doubles cannot tell neighbours apart
        return None
    grid = replace(look.grid, edges=doubles)
    return replace(look, grid=grid, noisy=look.noisy[cells])


def coarse_grid(placed: OpenBins, calendar: Calendar | None = None) -> Grid:
    """For a first look between known bounds, counted from the lower one: few equal cells, and ever smaller ones towards zero (or
    the lower end), where skewed numbers lie.

    The two ends are cells of their own: much lies there exactly (nothing paid, left at once, clamped). Dates are cut where months
    and years begin: people count in these, and many a date is the first of one.
    """
    low, high = _ends(placed)
    span = high - low
    if span < 2 * COARSE:
        return Grid(tuple(float(edge) for edge in range(span + 2)), "linear", 1.0)
    inner: set[int] = set()
    if calendar is not None and placed.scale == "linear":
        inner.update(tick - low for tick in _beginnings(calendar, low, high, COARSE))
    elif placed.scale != "log":
        zero = -low if low < 0 < high else 0
        inner.update(span * part // COARSE for part in range(1, COARSE))
        inner.update(zero + side * (max(zero, span - zero) >> shift) for side in (-1, 1) for shift in range(2, 62, 2))
    else:
        inner.update(span >> shift for shift in range(62))
    # Ends that a double cannot tell apart (beyond 2^53) are one.
    edges = sorted({0.0, 1.0, float(span), float(span + 1), *(float(edge) for edge in inner if 0 < edge < span)})
    return Grid(tuple(edges), spacing_of(placed), 1.0)


def spacing_of(placed: OpenBins) -> Spacing:
    """By what rows thin out within known bounds."""
    return "log" if placed.scale == "log" else "linear"


def cuts_of(placed: OpenBins, calendar: Calendar | None) -> Cut:
    """How a cell is cut: evenly, or by factors; dates where months begin, as long as there are no more parts than that."""
    low, _ = _ends(placed)
    other = by_factors if placed.scale == "log" else evenly

    def cut(first: float, last: float, parts: int) -> list[float]:
        ticks = () if calendar is None else _beginnings(calendar, low + int(first), low + int(last), parts)
        return [float(tick - low) for tick in ticks] or other(first, last, parts)

    return cut


def calendar_of(codec: OrdinalCodec | RelativeCodec | FirstCodec) -> Calendar | None:
    """The calendar of a column that holds dates or moments as they are; a distance from another one has none."""
    absolute = isinstance(codec, OrdinalCodec) or (isinstance(codec, FirstCodec) and not codec.placing.anchors)
    scale = codec.scale
    return scale if absolute and isinstance(scale, TimeScale) and scale.order == "moment" else None


def unit_of(codec: OrdinalCodec | RelativeCodec) -> Fraction:
    """What a tick stands for of a number; of times, what is usual is a number of ticks."""
    return ONE if isinstance(codec.scale, TimeScale) else codec.scale.unit


def placed_bins(placed: OpenBins, histogram: FineHistogram) -> Bins:
    """Noisy quantiles, with the fine histogram to draw from inside of them."""
    low, _ = _ends(placed)
    atom = int(placed.closes and placed.most > 1)
    most = max(1, placed.most - atom)
    histogram = drawn_by_factors(histogram) if placed.scale == "log" else histogram
    quantiles = quantile_bins(histogram, min(quantile_count(histogram), most), most)
    cuts = set(quantiles.cuts) | ({histogram.grid.cells - 1} if atom else set())
    edges = [low + int(edge) for edge in histogram.grid.edges]
    weights = tuple(float(f"{weight:.6g}") for weight in quantiles.weights.tolist())
    return Bins(tuple(edges[cut] for cut in sorted(cuts)), tuple(edges), weights)


def few_values(placed: OpenBins) -> bool:
    """Whether each value has a bin of its own."""
    low, high = _ends(placed)
    values = high - low + 1
    return values <= placed.most and keeps_each(values, linear=placed.scale != "log")


def each_value(placed: OpenBins) -> Grid:
    low, high = _ends(placed)
    return Grid(tuple(float(edge) for edge in range(high - low + 2)), "linear", 1.0)


def seen_values(placed: OpenBins, weighed: Weighed) -> Bins:
    """A bin for each value, from the first that was seen to the last: a model's noise would fill those beyond. Next to what stood
    clear, values that stand out together count too."""
    low, _ = _ends(placed)
    cells, (first, last) = leaves(weighed.tree), (weighed.first, weighed.last)
    last += _standing_out(cells[last:])
    first -= _standing_out(cells[:first][::-1])
    return Bins(tuple(range(low + first, low + last + 1)))


def _standing_out(cells: list[Stretch]) -> int:
    """So many of these, from the first on, stand out together most; 0 if they do not."""
    rows, variances = (np.cumsum([getattr(cell, what) for cell in cells]) for what in ("rows", "variance"))
    stands = rows / np.sqrt(variances) if cells else np.zeros(0)
    return int(np.argmax(stands)) + 1 if len(stands) and stands.max() > NEXT else 0


def in_steps(placed: OpenBins, step: int) -> OpenBins:
    """The same, counted in steps of so many ticks: only their multiples are values."""
    low, high = _ends(placed)
    first = -(-low // step)
    return replace(placed, low=first, high=max(first, high // step))


def drawn_by_factors(histogram: FineHistogram) -> FineHistogram:
    """The same with wide cells cut by factors: evenly, a cell from 1 to 365 days would hold 180 days for most."""
    edges, weights = [histogram.grid.edges[0]], []
    for (low, high), rows in zip(pairwise(histogram.grid.edges), histogram.noisy.tolist(), strict=True):
        inner = [low, *by_factors(low, high, FACTORS), high] if high > 2 * low + 1 else [low, high]
        parts = np.maximum(np.diff(np.log1p(inner)), 1e-12)
        edges += inner[1:]
        weights += (rows * parts / parts.sum()).tolist()
    return replace(histogram, grid=replace(histogram.grid, edges=tuple(edges)), noisy=np.asarray(weights))


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
