"""Public grids over the numbers: cells that are there whether or not anybody is in them. Nothing here has seen a value.

Learning counts a column on such a grid with noise in every cell; bounds, quantiles and bins are read off (recipe, steps 2
and 3).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, expm1, isfinite, log1p, log2, sqrt
from typing import Literal

from mare.errors import PrivacyError

FINE_CELLS, FEWEST_CELLS = 256, 32
"""Cells of a fine grid where there are entities enough, and where there are hardly any."""
LARGEST_GRID = 1 << 16
CELLS_PER_ROOT = 0.7
"""Cells for each √n̂: more cells show more detail, and more noise (measured: 64 for 10,000 entities, 128 for 100,000)."""
_FURTHEST = 2.0**200

Spacing = Literal["linear", "log", "signed powers"]


@dataclass(frozen=True)
class Grid:
    """Cell i holds edges[i] ≤ value < edges[i+1]; the outer cells hold what lies beyond them too."""

    edges: tuple[float, ...]
    spacing: Spacing
    step: float = 0.0
    """The smallest difference of two values that the column tells apart; 0 where there is none."""

    def __post_init__(self) -> None:
        if not 2 <= len(self.edges) <= LARGEST_GRID + 1:
            raise PrivacyError(f"a grid has 1 to {LARGEST_GRID:,} cells, not {len(self.edges) - 1:,}. Nothing was charged.")
        if not all(isfinite(edge) for edge in self.edges) or any(not a < b for a, b in pairwise(self.edges)):
            raise PrivacyError(
                "the edges of a grid must be finite numbers, each larger than the one before. Nothing was charged."
            )
        if not (isfinite(self.step) and self.step >= 0):
            raise PrivacyError(f"the step of a grid is {self.step!r}; it must be a number of at least 0. Nothing was charged.")

    @property
    def cells(self) -> int:
        return len(self.edges) - 1

    @property
    def words(self) -> str:
        """The grid in words, for the ledger, with a fingerprint of all its edges: an audit sees when they are not the same."""
        fingerprint = hashlib.sha256(repr((self.edges, self.step)).encode()).hexdigest()[:8]
        return f"{self.cells} cells ({self.spacing}) from {self.edges[0]:g} to {self.edges[-1]:g}, grid {fingerprint}"

    def single(self, cell: int) -> bool:
        """Whether the cell can hold one value only."""
        return self.edges[cell + 1] - self.edges[cell] <= self.step


def fine_cells(entities: float) -> int:
    """How fine a grid may be for so many entities (a noisy number): 256 cells, halved until they are no more than 0.7·√n̂."""
    return int(FINE_CELLS // 2 ** ceil(log2(FINE_CELLS / most_fine_cells(entities))))


def most_fine_cells(entities: float) -> int:
    """The same without halving: for grids whose cells are given, such as years."""
    return int(min(max(CELLS_PER_ROOT * sqrt(max(entities, 0.0)), FEWEST_CELLS), FINE_CELLS))


def linear_grid(low: float, high: float, cells: int = FINE_CELLS, step: float = 0.0) -> Grid:
    """Cells of one width from low to high. With a step, edges stand on multiples of it, counted from low."""
    _check_range(low, high, step)
    whole = _steps(low, high, step)
    if whole is None:
        return Grid(_distinct([low + (high - low) * (i / cells) for i in range(_count(cells))], high), "linear")
    count = min(_count(cells), whole)
    return Grid((*(low + step * (i * whole // count) for i in range(count)), low + step * whole), "linear", step)


def log_grid(low: float, high: float, cells: int = FINE_CELLS, step: float = 0.0, finest: float | None = None) -> Grid:
    """Cells whose distance from low grows by one factor each: for stays and gaps, which span orders of magnitude.

    ``finest`` is the scale below which they are about even: the step where there is one, else a millionth of the range.
    """
    _check_range(low, high, step)
    unit = finest if finest is not None else step or (high - low) * 1e-6
    if not (isfinite(unit) and unit > 0):
        raise PrivacyError(f"the finest scale of a grid is {unit!r}; it must be a number above 0. Nothing was charged.")
    whole = _steps(low, high, step)
    top = log1p((high - low) / unit)
    away = [unit * expm1(top * i / cells) for i in range(_count(cells))]
    if whole is None:
        return Grid(_distinct([low + far for far in away], high), "log")
    marks = [0]
    for far in away[1:]:
        # the first cells would be narrower than a step: each is one step wide instead
        marks.append(max(marks[-1] + 1, round(far / step)))
    return Grid((*(low + step * mark for mark in marks if mark < whole), low + step * whole), "log", step)


def power_grid(smallest: float = 1.0, largest: float = 2.0**62, per_doubling: int = 1) -> Grid:
    """0 and, to both sides, powers of two from smallest to largest: for bounds of which nothing is known."""
    if not 1 / _FURTHEST <= smallest < largest <= _FURTHEST:
        raise PrivacyError(
            f"powers from {smallest!r} to {largest!r} are no grid: smallest is below largest, both between {1 / _FURTHEST:g} "
            f"and {_FURTHEST:g}. Nothing was charged."
        )
    count = ceil(log2(largest / smallest) * _count(per_doubling))
    _count(2 * count)
    powers = [smallest * 2.0 ** (i / per_doubling) for i in range(count + 1)]
    return Grid((*(-power for power in reversed(powers)), 0.0, *powers), "signed powers")


def _check_range(low: float, high: float, step: float) -> None:
    if not (isfinite(low) and isfinite(high) and low < high):
        raise PrivacyError(f"a grid from {low!r} to {high!r} is none: low must be below high. Nothing was charged.")
    if not (isfinite(step) and step >= 0):
        raise PrivacyError(f"the step of a grid is {step!r}; it must be a number of at least 0. Nothing was charged.")


def _count(cells: int) -> int:
    if isinstance(cells, bool) or not isinstance(cells, int) or not 1 <= cells <= LARGEST_GRID:
        raise PrivacyError(f"a grid of {cells!r} cells was asked; it may have 1 to {LARGEST_GRID:,}. Nothing was charged.")
    return cells


def _steps(low: float, high: float, step: float) -> int | None:
    """How many steps the range has, the last value included; None where there is no step."""
    return round((high - low) / step) + 1 if step else None


def _distinct(edges: list[float], last: float) -> tuple[float, ...]:
    """Without those that floating point cannot tell from the one before."""
    kept = [edges[0]]
    for edge in edges[1:]:
        if kept[-1] < edge < last:
            kept.append(edge)
    return (*kept, last)
