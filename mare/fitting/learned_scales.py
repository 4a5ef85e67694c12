"""Scales by item: one noisy cross-tab of items and cells gives every item its bounds, another its bins.

Items share the budget: each row is in one item only, so the cross-tab costs no more than a histogram. An item with too few
rows to tell gets the bounds of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

import numpy as np

from mare.codec import LearnedOrder, OpenBins, ScaledCodec, TableCodec
from mare.domain import Marginal
from mare.privacy.curator import Clip, NoisyCounts
from mare.privacy.grids import Grid
from mare.privacy.learned import FineHistogram, noisy_bounds
from mare.stage_door import ITEM, StageDoor

from .bin_placing import equal_bins, fine_grid, placed_bins
from .learned_bounds import learned_order, signed_powers

FINEST = 64
"""Cells of an item's own grid at most: there are many items."""


@dataclass(frozen=True)
class ItemColumn:
    """A number whose scale depends on another column: where it stands, and its codec as far as it is known."""

    door: StageDoor
    table: str
    name: str
    codec: TableCodec
    scaled: ScaledCodec
    most_rows: int


def learn_item_bounds(column: ItemColumn, share: float) -> tuple[LearnedOrder, ...]:
    """Bounds of every item that the schema gives none."""
    grid, items = signed_powers(), column.scaled.items
    table = _counted(column, [grid] * len(items), [0] * len(items), share)
    together = noisy_bounds(_histogram(grid, table.rows.sum(axis=0), table, np.sqrt(len(items))))
    found = []
    for item, rows in zip(items, table.rows, strict=True):
        placed = item.placed
        if not isinstance(placed, OpenBins) or placed.low is not None:
            found.append(LearnedOrder())
            continue
        own = noisy_bounds(_histogram(grid, rows, table))
        found.append(learned_order(own if own.clear else together, placed))
    return tuple(found)


def learn_item_bins(
    column: ItemColumn, known: tuple[LearnedOrder, ...], share: float, entities: float
) -> tuple[LearnedOrder, ...]:
    """Bins of every item that has none yet."""
    items = column.scaled.items
    grids = [_grid(item.placed, entities) for item in items]
    table = _counted(column, grids, [_low(item.placed) for item in items], share)
    found = []
    for item, grid, rows, order in zip(items, grids, table.rows, known, strict=True):
        placed = item.placed
        if not isinstance(placed, OpenBins):
            found.append(order)
        elif placed.wanted is not None:
            found.append(replace(order, bins=equal_bins(placed)))
        else:
            histogram = _histogram(grid, rows[: grid.cells], table)
            found.append(replace(order, bins=placed_bins(placed, histogram, max(1.0, float(histogram.noisy.sum())))))
    return tuple(found)


def _grid(placed: object, entities: float) -> Grid:
    if not isinstance(placed, OpenBins):
        return Grid((0.0, 1.0), "linear", 1.0)
    return fine_grid(placed, min(entities, 400.0 * FINEST))


def _low(placed: object) -> int:
    return placed.low or 0 if isinstance(placed, OpenBins) else 0


def _counted(column: ItemColumn, grids: Sequence[Grid], lows: Sequence[int], share: float) -> NoisyCounts:
    fingerprint = sha256(" ".join(grid.words for grid in grids).encode()).hexdigest()[:8]
    label = f"{column.table}.{column.name} on {max(grid.cells for grid in grids)} cells an item, grids {fingerprint}"
    edges, rows = [grid.edges for grid in grids], column.most_rows
    curator = column.door.numbers_by_item(column.table, column.name, column.codec, rows, share, edges, lows, label)
    clip = Clip(1.0) if rows > 1 else None
    (answer,) = curator.counts([Marginal.of(ITEM, label)], 1.0, clip)
    return answer


def _histogram(grid: Grid, rows: np.ndarray, table: NoisyCounts, spread: float = 1.0) -> FineHistogram:
    return FineHistogram(grid, rows, 0.0, table.rows_deviation * spread, table.mechanism, table.cost)
