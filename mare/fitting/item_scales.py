"""Scales by item: a number whose scale depends on another column (lab value by test, dose by drug) finds that of every item.

One noisy cross-tab of items and cells a look, from coarse to fine as for a plain column. Items share the budget: each row is in
one item only, so the cross-tab costs no more than a histogram. An item with too few rows to tell gets the bounds of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256

import numpy as np

from mare.codec import LearnedOrder, OpenBins, ScaledCodec, TableCodec
from mare.domain import Marginal
from mare.privacy.curator import Clip
from mare.privacy.fine_histograms import FineHistogram
from mare.privacy.grids import Grid
from mare.stage_door import ITEM, Measure, StageDoor

from . import last_digits
from .bin_placing import (
    carried,
    coarse_grid,
    cuts_of,
    equal_bins,
    learned_order,
    open_cuts,
    open_grid,
    placed_bins,
    spacing_of,
    usual_cells,
)
from .coarse_to_fine import Ask, evenly, looked_at
from .tapering import tapered
from .weighing import Weighed

MOST_CELLS, ALL_CELLS = 256, 1 << 20
"""Cells of an item's own grid at most, and of all items together: there may be many."""
TOGETHER, NEIGHBOURS = 4.0, 3
"""Deviations at which the rows of all items stand clear: of forty cells none does by chance; and how many neighbouring cells are
looked at together, because items may be thinly spread over powers of ten."""


@dataclass(frozen=True)
class ItemColumn:
    """A number whose scale depends on another column: where it stands, and its codec as far as it is known."""

    door: StageDoor
    table: str
    name: str
    codec: TableCodec
    scaled: ScaledCodec
    most_rows: int

    @property
    def most_cells(self) -> int:
        return max(16, min(MOST_CELLS, ALL_CELLS // len(self.scaled.items)))


Looks = tuple[Fraction, Sequence[Sequence[FineHistogram]]]
"""For bounds, of each column or item; and how long a tick was then."""


def earlier_looks(looks: Looks | None, placed: Sequence[object], units: Sequence[Fraction]) -> list[list[FineHistogram]] | None:
    """The looks for bounds as looks between them."""
    if looks is None:
        return None
    unit, every = looks
    return [
        [moved for look in own if (moved := carried(look, bins, unit / now)) is not None] if isinstance(bins, OpenBins) else []
        for own, bins, now in zip(every, placed, units, strict=True)
    ]


@dataclass(frozen=True)
class ItemBounds:
    """Bounds of every item that the schema gives none, what was seen of each, and how many items stayed unclear."""

    orders: tuple[LearnedOrder, ...]
    looks: Sequence[Sequence[FineHistogram]]
    unclear: int


def learn_item_bounds(column: ItemColumn, share: float) -> ItemBounds:
    """An item that stands clear has bounds of its own, the others those of all that do; none leaves where all lie together."""
    items = column.scaled.items
    open_items = [item.placed if isinstance(item.placed, OpenBins) and item.placed.low is None else None for item in items]
    grids = [_NOTHING if placed is None else open_grid(None, placed, items[0].scale.unit) for placed in open_items]
    cuts = [open_cuts(None)] * len(items)
    weighed = looked_at(asking_by_item(column, [0] * len(items), share), grids, cuts, column.most_cells)
    low, high = _where_all_lie(
        [item.looks for placed, item in zip(open_items, weighed, strict=True) if placed], items[0].scale.unit
    )

    def within(item: Weighed, placed: OpenBins) -> LearnedOrder:
        own = learned_order(item, None, placed, items[0].scale.unit)
        kept = (None if own.low is None else max(own.low, low)), (None if own.high is None else min(own.high, high))
        # An item that lies elsewhere altogether is one that noise has put there.
        return LearnedOrder(low, high) if None not in kept and kept[0] > kept[1] else LearnedOrder(*kept)  # type: ignore[operator]

    clear = [within(item, placed) for placed, item in zip(open_items, weighed, strict=True) if placed and item.clear]
    together = LearnedOrder(
        min((order.low for order in clear if order.low is not None), default=low),
        max((order.high for order in clear if order.high is not None), default=high),
    )
    orders = tuple(
        LearnedOrder() if placed is None else within(item, placed) if item.clear else together
        for placed, item in zip(open_items, weighed, strict=True)
    )
    looks = [() if placed is None else item.looks for placed, item in zip(open_items, weighed, strict=True)]
    in_doubt = sum(1 for placed, item in zip(open_items, weighed, strict=True) if placed and not item.clear)
    return ItemBounds(orders, looks, in_doubt)


def _where_all_lie(looks: Sequence[Sequence[FineHistogram]], unit: Fraction) -> tuple[int, int]:
    """The ends of the cells in which the rows of all items together stand clear, with their neighbours, by the looks that all
    have taken at the first grid: of a thousand cells of single items some stand clear by chance, and one of them may be that of
    numbers with sixteen digits. Where none does, those of the usual ones that hold most."""
    grid = looks[0][0].grid
    shared = [every for every in zip(*looks, strict=False) if all(look.grid.edges == grid.edges for look in every)]
    sure = sum(every[0].deviation ** -2 for every in shared)
    rows = np.sum([every[0].deviation ** -2 / sure * np.sum([look.noisy for look in every], axis=0) for every in shared], axis=0)
    together = np.convolve(rows, np.ones(NEIGHBOURS), "valid")
    clear = np.flatnonzero(together > TOGETHER * (NEIGHBOURS * len(looks) / sure) ** 0.5)
    first, last = usual_cells(grid, unit)
    places = clear if len(clear) else np.array([first + int(np.argmax(together[first : last - NEIGHBOURS + 1]))])
    return int(grid.edges[places[0]]), int(grid.edges[places[-1] + NEIGHBOURS]) - 1


def learn_item_bins(
    column: ItemColumn, known: tuple[LearnedOrder, ...], share: float, looks: Looks | None = None
) -> tuple[LearnedOrder, ...]:
    """Bins of every item that has none yet."""
    placed = [item.placed for item in column.scaled.items]
    grids = [coarse_grid(own) if isinstance(own, OpenBins) and own.wanted is None else _NOTHING for own in placed]
    cuts = [cuts_of(own, None) if isinstance(own, OpenBins) else evenly for own in placed]
    lows = [own.low or 0 if isinstance(own, OpenBins) else 0 for own in placed]
    before = earlier_looks(looks, placed, [item.scale.unit for item in column.scaled.items])
    ask = asking_by_item(column, lows, share * (1 - last_digits.SHARE))
    weighed = looked_at(ask, grids, cuts, column.most_cells, before)
    ask = asking_by_item(column, [0] * len(placed), share * last_digits.SHARE, "digits")
    ended = last_digits.endings(ask, [_NOTHING if grid is _NOTHING else last_digits.FIRST for grid in grids])
    orders = []
    for own, seen, digits, order in zip(placed, weighed, ended, known, strict=True):
        if not isinstance(own, OpenBins):
            orders.append(order)
        elif own.wanted is not None:
            orders.append(replace(order, bins=equal_bins(own)))
        else:
            orders.append(replace(order, bins=last_digits.with_endings(placed_bins(own, tapered(seen, spacing_of(own))), digits)))
    return tuple(orders)


_NOTHING = Grid((0.0, 1.0), "linear", 1.0)
"""For items of which nothing is asked."""


def asking_by_item(column: ItemColumn, lows: Sequence[int], share: float, measure: Measure = "values") -> Ask:
    """For `looked_at`: all items at once, each row on the grid of its item, counted from the item's low end."""

    def ask(grids: Sequence[Grid], part: float) -> list[FineHistogram]:
        fingerprint = sha256(" ".join(grid.words for grid in grids).encode()).hexdigest()[:8]
        name = column.name if measure == "values" else f"{measure}({column.name})"
        label = f"{column.table}.{name} on {max(grid.cells for grid in grids)} cells an item, grids {fingerprint}"
        edges, rows = [grid.edges for grid in grids], column.most_rows
        where = column.table, column.name, column.codec, rows
        curator = column.door.numbers_by_item(*where, share * part, edges, lows, label, measure)
        (answer,) = curator.counts([Marginal.of(ITEM, label)], 1.0, Clip(1.0) if rows > 1 else None)
        return [
            FineHistogram(grid, own[: grid.cells], 0.0, answer.rows_deviation, answer.mechanism, answer.cost)
            for grid, own in zip(grids, answer.rows, strict=True)
        ]

    return ask
