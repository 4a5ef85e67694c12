"""Public grids: edges that are finite and in order, in words that tell two grids apart."""

from __future__ import annotations

from math import nan

import pytest

from mare.errors import PrivacyError
from mare.privacy.grids import LARGEST_GRID, Grid


def test_a_cell_of_one_step_holds_one_value() -> None:
    grid = Grid((0.0, 1.0, 3.0), "linear", 1.0)
    assert [grid.single(cell) for cell in range(grid.cells)] == [True, False]
    assert not Grid((0.0, 1.0), "linear").single(0)


def test_two_grids_are_told_apart_by_their_words() -> None:
    assert Grid((0.0, 1.0, 9.0), "log", 1.0).words != Grid((0.0, 2.0, 9.0), "log", 1.0).words


@pytest.mark.parametrize(
    "make",
    [
        lambda: Grid((0.0,), "linear"),
        lambda: Grid(tuple(map(float, range(LARGEST_GRID + 2))), "linear"),
        lambda: Grid((0.0, 0.0), "linear"),
        lambda: Grid((0.0, nan), "linear"),
        lambda: Grid((0.0, 1.0), "linear", -1),
        lambda: Grid((0.0, 1.0), "linear", nan),
    ],
)
def test_what_is_no_grid_is_refused(make: object) -> None:
    with pytest.raises(PrivacyError, match="grid"):
        make()  # type: ignore[operator]
