"""Fine grids and the bins cut from them: whole, in order, and within what the plan promised, however wide the range."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import pairwise

import numpy as np
import pytest

from mare.codec import OpenBins, OrdinalCodec, RelativeCodec
from mare.codec.relative import WHOLE, FirstCodec, Placing
from mare.codec.scales import TimeScale, WholeScale
from mare.codec.ticks import DAY_US
from mare.fitting.bin_placing import calendar_of, equal_bins, fine_grid, placed_bins
from mare.privacy.fine_histograms import FineHistogram

DAYS = TimeScale("moment", DAY_US, DAY_US, "date32", whole_days=True)
MINUTES = TimeScale("moment", 60_000_000, 1, "timestamp[us]")
SPANS = [1, 2, 31, 32, 33, 34, 100, 10**6, 2**40, 2**53 - 1, 2**53, 2**53 + 1, 2**57, 2**60]


def histogram(placed: OpenBins, entities: float, counts: np.ndarray | None = None) -> FineHistogram:
    grid = fine_grid(placed, entities)
    noisy = np.random.default_rng(0).normal(0, 5, grid.cells) if counts is None else counts
    return FineHistogram(grid, noisy, 0.0, 5.0, "discrete gaussian", 0.1)


@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("scale", ["linear", "log", "mixed"])
@pytest.mark.parametrize("entities", [10, 10_000, 10**6])
def test_bins_span_the_domain_whatever_its_width(span: int, scale: str, entities: int) -> None:
    placed = OpenBins(-5, -5 + span, scale, 20)  # type: ignore[arg-type]
    bins = placed_bins(placed, histogram(placed, entities), entities)
    assert bins.low == -5
    # beyond 2^53 a double tells every few hundred ticks apart, which nobody will miss
    assert abs(bins.high - (-5 + span)) <= span >> 50
    assert bins.count <= 20


def test_the_ends_can_be_bins_of_their_own() -> None:
    placed = OpenBins(0, 10**6, "linear", 20)
    grid = fine_grid(placed, 10**6)
    counts = np.full(grid.cells, 100.0)
    counts[0] = counts[-1] = 10_000
    edges = placed_bins(placed, histogram(placed, 10**6, counts), 10**6).edges
    assert edges[:2] == (0, 1)
    assert edges[-2:] == (10**6, 10**6 + 1)


def test_what_closes_an_interval_is_a_bin_even_if_nothing_does() -> None:
    placed = OpenBins(0, WHOLE, "linear", 20, closes=True)
    counts = np.full(fine_grid(placed, 10**6).cells, 100.0)
    counts[-1] = 0
    assert placed_bins(placed, histogram(placed, 10**6, counts), 10**6).edges[-2:] == (WHOLE, WHOLE + 1)


def dated(first: date, last: date, entities: float) -> list[date]:
    """The edges of the grid between two dates, but for those of the single days at its ends."""
    scale = DAYS
    low, high = scale.tick(first), scale.tick(last)
    edges = fine_grid(OpenBins(low, high, "linear", 20), entities, scale).edges
    assert edges[:2] == (0, 1)
    assert edges[-2:] == (high - low, high - low + 1)
    return [first + timedelta(days=int(edge)) for edge in edges[2:-2]]


@pytest.mark.parametrize(
    ("years", "entities", "months"), [(200, 10**6, 12), (200, 10**4, 36), (60, 10**6, 3), (60, 10**4, 12), (15, 10**6, 1)]
)
def test_dates_are_cut_where_months_and_years_begin(years: int, entities: int, months: int) -> None:
    """Many a date is the first of a year: a cell across the turn of a year would put half of it into the wrong one."""
    edges = dated(date(1990, 1, 1), date(1990 + years, 12, 31), entities)
    assert all(edge.day == 1 for edge in edges)
    assert {(b.year - a.year) * 12 + b.month - a.month for a, b in pairwise(edges)} == {months}
    assert months < 12 or {edge.month for edge in edges} == {1}


def test_all_dates_there_are_can_be_cut() -> None:
    assert len(dated(date.min, date.max, 10**6)) <= 257


def test_where_there_are_cells_for_more_than_months_they_are_even() -> None:
    scale = MINUTES
    placed = OpenBins(scale.tick(date(2020, 1, 5)), scale.tick(date(2021, 3, 1)), "linear", 20)
    assert fine_grid(placed, 10**6, scale) == fine_grid(placed, 10**6)


def test_distances_and_numbers_have_no_calendar() -> None:
    placed = OpenBins(0, 40_000, "linear", 20)
    assert calendar_of(OrdinalCodec(DAYS, placed)) == DAYS
    assert calendar_of(OrdinalCodec(WholeScale(), placed)) is None
    assert calendar_of(RelativeCodec(DAYS, placed, Placing())) is None
    assert calendar_of(FirstCodec(DAYS, placed)) == DAYS


@pytest.mark.parametrize("closes", [True, False])
def test_as_many_equal_bins_as_the_schema_asks_for(closes: bool) -> None:
    assert equal_bins(OpenBins(0, WHOLE, "linear", 7, 7, closes)).count == 7
