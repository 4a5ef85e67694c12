"""Public grids: every number has a cell, whatever is asked for."""

from __future__ import annotations

from itertools import pairwise
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mare.errors import PrivacyError
from mare.privacy.grids import LARGEST_GRID, Grid, fine_cells, linear_grid, log_grid, power_grid

ranges = st.tuples(st.floats(-1e12, 1e12), st.floats(1e-6, 1e12)).map(lambda t: (t[0], t[0] + t[1])).filter(lambda t: t[0] < t[1])


@pytest.mark.parametrize(
    ("entities", "cells"),
    [(-5, 32), (0, 32), (2_000, 32), (10_000, 64), (60_000, 128), (100_000, 128), (200_000, 256), (1e9, 256)],
)
def test_a_grid_grows_with_the_root_of_the_entities(entities: float, cells: int) -> None:
    assert fine_cells(entities) == cells


@given(ranges, st.integers(1, 300))
def test_linear_and_log_grids_cover_their_range(bounds: tuple[float, float], cells: int) -> None:
    for grid in (linear_grid(*bounds, cells), log_grid(*bounds, cells)):
        assert (grid.edges[0], grid.edges[-1]) == bounds
        assert 1 <= grid.cells <= cells


def test_a_linear_grid_has_cells_of_one_width() -> None:
    assert linear_grid(0, 10, 4).edges == (0, 2.5, 5, 7.5, 10)


@pytest.mark.parametrize("make", [linear_grid, log_grid])
def test_with_a_step_edges_stand_on_it_and_the_last_value_has_its_own_place(make: object) -> None:
    grid = make(10, 12, 256, step=0.5)  # type: ignore[operator]
    assert grid.edges == (10, 10.5, 11, 11.5, 12, 12.5)
    assert all(grid.single(cell) for cell in range(grid.cells))


def test_a_log_grid_is_fine_where_values_are_small() -> None:
    grid = log_grid(0, 525_600, 64, step=1)
    widths = [b - a for a, b in pairwise(grid.edges)]
    assert widths[0] == 1 == widths[5]
    assert widths[-1] > 50_000
    assert grid.edges[-1] == 525_601
    assert grid.single(0)
    assert not grid.single(grid.cells - 1)


def test_of_a_continuous_log_grid_the_finest_scale_can_be_told() -> None:
    coarse, fine = (log_grid(0, 100, 32, finest=finest) for finest in (10.0, 0.001))
    assert coarse.edges[1] > 0.5 > 0.01 > fine.edges[1]
    assert not fine.single(0)


def test_counts_get_a_cell_each() -> None:
    grid = linear_grid(0, 3, step=1.0)
    assert (grid.edges, grid.cells) == ((0, 1, 2, 3, 4), 4)
    assert all(grid.single(cell) for cell in range(4))


def test_powers_stand_on_both_sides_of_zero() -> None:
    assert power_grid(1, 8).edges == (-8, -4, -2, -1, 0, 1, 2, 4, 8)
    assert power_grid(1, 2, per_doubling=2).edges == pytest.approx((-2, -(2**0.5), -1, 0, 1, 2**0.5, 2))
    assert power_grid().edges[-1] == 2.0**62


@pytest.mark.parametrize(
    "make",
    [
        lambda: linear_grid(1, 1),
        lambda: linear_grid(nan, 1),
        lambda: linear_grid(0, inf),
        lambda: linear_grid(0, 1, 0),
        lambda: linear_grid(0, 1, LARGEST_GRID + 1),
        lambda: linear_grid(0, 1, True),
        lambda: linear_grid(0, 1, 2.5),  # type: ignore[arg-type]
        lambda: linear_grid(0, 1, step=-1),
        lambda: linear_grid(0, 1, step=nan),
        lambda: log_grid(0, 1, finest=0),
        lambda: log_grid(0, 1, finest=nan),
        lambda: log_grid(2, 1),
        lambda: power_grid(0),
        lambda: power_grid(2, 1),
        lambda: power_grid(1, inf),
        lambda: power_grid(1, 2, 0),
        lambda: power_grid(1e-300, 1e300),
        lambda: power_grid(1, 2**62, 1000),
        lambda: Grid((0.0,), "linear"),
        lambda: Grid((0.0, 0.0), "linear"),
        lambda: Grid((0.0, nan), "linear"),
        lambda: Grid((0.0, 1.0), "linear", -1),
    ],
)
def test_what_is_no_grid_is_refused(make: object) -> None:
    with pytest.raises(PrivacyError, match="Nothing was charged"):
        make()  # type: ignore[operator]
