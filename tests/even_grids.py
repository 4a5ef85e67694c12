"""Grids of even cells, for tests."""

from __future__ import annotations

from mare.privacy.grids import Grid


def even_grid(low: float, high: float, cells: int = 256, step: float = 0.0) -> Grid:
    """Cells of one width from low to high; with a step a cell for each multiple of it, the last value included."""
    if step:
        return Grid(tuple(low + step * i for i in range(round((high - low) / step) + 2)), "linear", step)
    return Grid((*(low + (high - low) * (i / cells) for i in range(cells)), high), "linear")
