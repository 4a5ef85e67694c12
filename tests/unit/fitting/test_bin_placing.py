"""First grids, and the bounds and bins that are read off: whole, in order, and within what the plan promised."""

from __future__ import annotations

from datetime import date, timedelta
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from mare.codec import Bins, OpenBins, OrdinalCodec, RelativeCodec
from mare.codec.relative import WHOLE, FirstCodec, Placing
from mare.codec.scales import TimeScale, WholeScale
from mare.codec.ticks import DAY_US
from mare.fitting.bin_placing import (
    calendar_of,
    carried,
    coarse_grid,
    cuts_of,
    equal_bins,
    learned_order,
    open_grid,
    placed_bins,
    vague_ends,
)
from mare.fitting.weighing import Weighed, weighed
from mare.privacy.fine_histograms import FineHistogram
from mare.privacy.grids import Grid

DAYS = TimeScale("moment", DAY_US, DAY_US, "date32", whole_days=True)
MINUTES = TimeScale("moment", 60_000_000, 1, "timestamp[us]")
SPANS = [1, 2, 31, 32, 33, 34, 100, 10**6, 2**40, 2**53 - 1, 2**53, 2**53 + 1, 2**57, 2**60]


def histogram(placed: OpenBins, counts: np.ndarray | None = None) -> FineHistogram:
    grid = coarse_grid(placed)
    noisy = np.abs(np.random.default_rng(0).normal(0, 5, grid.cells)) if counts is None else counts
    return FineHistogram(grid, noisy, 0.0, 5.0, "discrete gaussian", 0.1)


@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("scale", ["linear", "log", "mixed"])
@pytest.mark.parametrize("low", [-5, 0, -(10**9)])
def test_bins_span_the_domain_whatever_its_width(span: int, scale: str, low: int) -> None:
    placed = OpenBins(low, low + span, scale, 20)  # type: ignore[arg-type]
    bins = placed_bins(placed, histogram(placed))
    assert bins.low == low
    # beyond 2^53 a double tells every few hundred ticks apart, which nobody will miss
    assert abs(bins.high - (low + span)) <= span >> 50
    assert bins.count <= 20


def test_the_ends_can_be_bins_of_their_own() -> None:
    placed = OpenBins(0, 10**6, "linear", 20)
    counts = np.full(coarse_grid(placed).cells, 100.0)
    counts[0] = counts[-1] = 10_000
    edges = placed_bins(placed, histogram(placed, counts)).edges
    assert edges[:2] == (0, 1)
    assert edges[-2:] == (10**6, 10**6 + 1)


def test_a_first_look_is_fine_around_zero() -> None:
    edges = coarse_grid(OpenBins(-(10**6), 10**6, "linear", 20)).edges
    around = [edge - 10**6 for edge in edges if 0 < abs(edge - 10**6) < 1000]
    assert len(around) >= 8
    assert sorted(-edge for edge in around) == sorted(around)
    assert len(edges) < 50


def test_an_earlier_look_whose_cells_a_double_cannot_tell_apart_from_now_on_is_left_out() -> None:
    """A cell of one tick just below 2^59: a fit broke down there, with its budget spent."""
    grid = Grid((0.0, 2.0**59, 2.0**59 + 2**7), "linear", 1.0)
    look = FineHistogram(grid, np.ones(2), 0.0, 5.0, "discrete gaussian", 0.1)
    assert carried(look, OpenBins(5, 2**59, "linear", 20), Fraction(1)) is None
    assert carried(look, OpenBins(5, 2**60, "linear", 20), Fraction(1)) is not None


def test_a_wide_cell_of_a_log_scale_is_drawn_from_by_factors() -> None:
    """Stays from 1 to 365 days of which nothing more is known: evenly, half of them would be above 183 days."""
    placed = OpenBins(0, 364, "log", 20)
    grid = Grid((0.0, 1.0, 364.0, 365.0), "log", 1.0)
    bins = placed_bins(placed, FineHistogram(grid, np.array([0.0, 100.0, 0.0]), 0.0, 5.0, "discrete gaussian", 0.1))
    drawn = bins.draw(bins.assign(np.arange(1, 365))[np.arange(4000) % 364], np.random.default_rng(0))
    whole = Bins((bins.low, bins.high + 1), bins.cells, bins.weights).draw(np.zeros(4000, dtype=int), np.random.default_rng(0))
    assert len(drawn) == 4000
    assert 12 < np.median(whole) < 30


def test_what_closes_an_interval_is_a_bin_even_if_nothing_does() -> None:
    placed = OpenBins(0, WHOLE, "linear", 20, closes=True)
    counts = np.full(coarse_grid(placed).cells, 100.0)
    counts[-1] = 0
    assert placed_bins(placed, histogram(placed, counts)).edges[-2:] == (WHOLE, WHOLE + 1)


@pytest.mark.parametrize(("years", "months"), [(200, 312), (60, 96), (15, 24), (3, 6)])
def test_dates_are_cut_where_months_and_years_begin(years: int, months: int) -> None:
    """Many a date is the first of a year: a cell across the turn of a year would put half of it into the wrong one."""
    first, low, high = date(1990, 1, 1), DAYS.tick(date(1990, 1, 1)), DAYS.tick(date(1990 + years, 12, 31))
    placed = OpenBins(low, high, "linear", 20)
    grid = coarse_grid(placed, DAYS)
    assert grid.edges[:2] == (0, 1)
    assert grid.edges[-2:] == (high - low, high - low + 1)
    edges = [first + timedelta(days=int(edge)) for edge in grid.edges[2:-2]]
    assert all(edge.day == 1 for edge in edges)
    assert {(b.year - a.year) * 12 + b.month - a.month for a, b in pairwise(edges)} == {months}
    assert months < 12 or {edge.month for edge in edges} == {1}
    year = [first + timedelta(days=int(edge)) for edge in cuts_of(placed, DAYS)(0.0, 366.0, 4)]
    assert [(edge.month, edge.day) for edge in year] == [(4, 1), (7, 1), (10, 1), (1, 1)]


def test_all_dates_there_are_can_be_cut() -> None:
    assert coarse_grid(OpenBins(DAYS.tick(date.min), DAYS.tick(date.max), "linear", 20), DAYS).cells <= 12


def test_where_there_are_cells_for_more_than_months_they_are_even() -> None:
    placed = OpenBins(MINUTES.tick(date(2020, 1, 5)), MINUTES.tick(date(2021, 3, 1)), "linear", 20)
    assert cuts_of(placed, MINUTES)(0.0, 1440.0, 24) == [60.0 * hour for hour in range(1, 24)]


def found(grid: Grid, rows: dict[int, float], deviation: float = 10.0) -> Weighed:
    noisy = np.zeros(grid.cells)
    for cell, held in rows.items():
        noisy[cell] = held
    return weighed([FineHistogram(grid, noisy, 0.0, deviation, "discrete gaussian", 0.1)])


def test_a_learned_bound_is_a_round_number_one_mark_beyond_what_stood_clear() -> None:
    open_bins = OpenBins(None, None, "linear", 20)
    grid = open_grid(None, open_bins)
    thousands = grid.edges.index(1000.0)
    order = learned_order(found(grid, {thousands: 500.0}), None, open_bins)
    assert (order.low, order.high) == (500, 2 * 10**4 - 1)
    sure = learned_order(found(grid, {thousands: 500.0}, 0.01), None, open_bins)
    assert (sure.low, sure.high) == (1000, 10**4 - 1)
    zero = learned_order(found(grid, {grid.edges.index(0.0): 500.0}), None, open_bins)
    assert zero.low == 0  # what was never seen below zero stays above it


def test_a_long_last_piece_is_no_bound_of_its_length() -> None:
    """A tenth of the rows lies somewhere from 10^3 to 10^9: nine tenths before it say how far that goes on."""
    grid, anything = Grid((0.0, 100.0, 200.0, 500.0, 1e3, 1e9, 1e18), "log", 1.0), OpenBins(None, None, "linear", 20)
    tail = found(grid, {1: 200.0, 2: 400.0, 3: 500.0, 4: 120.0}, 10.0)
    high = learned_order(tail, None, anything).high
    assert high is not None
    assert 1999 <= high <= 10_000
    assert vague_ends(tail, None, anything) == ["upper"]
    assert vague_ends(found(grid, {1: 200.0, 2: 400.0, 3: 500.0}), None, anything) == []
    # Where nearly all lies there, nothing says how far; only that it is not 10^18.
    rest = found(grid, {5: 500.0}, 10.0)
    assert learned_order(rest, None, anything).high == 10**12 - 1
    assert vague_ends(rest, None, anything) == ["upper"]
    assert vague_ends(rest, None, OpenBins(None, 7, "linear", 20)) == []
    # Below zero it is the same.
    signed = found(Grid((-1e18, 0.0, 10.0, 1e18), "log", 1.0), {0: 300.0, 1: 300.0})
    assert learned_order(signed, None, anything).low == -1000
    assert vague_ends(signed, None, anything) == ["lower"]


def test_what_is_usual_of_a_number_does_not_depend_on_its_decimals() -> None:
    anything = OpenBins(None, None, "linear", 20)
    nothing = found(open_grid(None, anything), {})
    assert learned_order(nothing, None, anything, Fraction(1, 10**6)).high == 10**9 - 1


def test_where_nothing_stood_clear_the_bounds_are_what_is_usual() -> None:
    nothing = found(open_grid(DAYS, OpenBins(None, None, "linear", 20)), {})
    assert not nothing.clear
    order = learned_order(nothing, DAYS, OpenBins(None, None, "linear", 20))
    assert (order.low, order.high) == (DAYS.tick(date(1900, 1, 1)), DAYS.tick(date(2050, 1, 1)) - 1)


@pytest.mark.parametrize("given", [OpenBins(7, None, "linear", 20), OpenBins(None, 7, "linear", 20)])
def test_a_bound_that_the_schema_gives_stays(given: OpenBins) -> None:
    order = learned_order(found(open_grid(None, given), {3: 500.0}), None, given)
    assert None in (order.low, order.high)


def test_distances_and_numbers_have_no_calendar() -> None:
    placed = OpenBins(0, 40_000, "linear", 20)
    assert calendar_of(OrdinalCodec(DAYS, placed)) == DAYS
    assert calendar_of(OrdinalCodec(WholeScale(), placed)) is None
    assert calendar_of(RelativeCodec(DAYS, placed, Placing())) is None
    assert calendar_of(FirstCodec(DAYS, placed)) == DAYS


@pytest.mark.parametrize("closes", [True, False])
def test_as_many_equal_bins_as_the_schema_asks_for(closes: bool) -> None:
    assert equal_bins(OpenBins(0, WHOLE, "linear", 7, 7, closes)).count == 7


def test_no_noise_leads_beyond_the_grid() -> None:
    """What stood clear may hold nothing, or less, in its outermost piece; an end is still one of the marks."""
    rng, anything = np.random.default_rng(5), OpenBins(None, None, "linear", 20)
    grid = open_grid(None, anything)
    for _ in range(300):
        many = rng.random(grid.cells) < 0.3
        noisy = {cell: float(rng.normal(0, 0.1) + many[cell] * 100 * rng.random()) for cell in range(grid.cells)}
        order = learned_order(found(grid, noisy, 0.05), None, anything)
        assert order.low is not None
        assert order.high is not None
        assert order.low <= order.high
