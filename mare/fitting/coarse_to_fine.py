"""Looking at a column from coarse to fine: a few cells first, then finer ones where much lies.

    coarse public grid ─► counted with a little budget ─► what stands clear is cut ─► … ─► counted with the rest

A schema says what is possible, not what is usual: of incomes up to a million nine tenths may lie in one cell of sixty, and of
prices up to a hundred there may be three. How finely a cell is cut follows from its rows against the noise, so that a column is
known as well as the budget, the number of entities and their rows together allow. Every grid but the first follows from answers
that were paid for. What all of them say is weighed together.

Many columns may be looked at together: the items of a number whose scale depends on another column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import expm1, log1p, sqrt

import numpy as np

from mare.privacy.fine_histograms import FineHistogram, Numbers
from mare.privacy.grids import Grid

from .weighing import Stretch, Weighed, weighed

LOOKS, LOOK = 4, 0.15
"""So many looks before the last at most, each for this part of the share."""
CLEAR = 4.0
"""A cell is cut that stands so many deviations clear of the noise."""
PART, EXPLORE = 6.0, 3.0
"""Deviations of the last look that a cell should hold on average; and while there are looks to come: what they do not tell apart
is joined again."""
FEWEST_PARTS, MOST_PARTS = 4, 64
AHEAD = 3.0
"""Times as much as the last of the earlier looks had lies ahead, about."""

Cut = Callable[[float, float, int], Sequence[float]]
"""Where to cut a cell, from here to there, into so many parts."""
Ask = Callable[[Sequence[Grid], float], Sequence[FineHistogram]]
"""Count each column on its grid, all for one charge of this part of the share."""


def looked_at(
    ask: Ask, grids: Sequence[Grid], cuts: Sequence[Cut], most: int, known: Sequence[Sequence[FineHistogram]] | None = None
) -> list[Weighed]:
    """Each column on the grid of at most so many cells that the looks lead to. ``known`` are earlier looks at it."""
    looks = [list(before) for before in known] if known is not None else [[] for _ in grids]
    left = 1.0
    if known is not None:
        begun = zip(looks, grids, cuts, strict=True)
        ahead = LOOK * AHEAD
        grids = [
            closer_grid(weighed(before, len(looks)), ahead, most, cut, last=False) if before else grid
            for before, grid, cut in begun
        ]
    for number in range(1, LOOKS + 1):
        if all(_is_finest(grid) for grid in grids):
            break
        answers = ask(grids, LOOK)
        left -= LOOK
        for column, answer in zip(looks, answers, strict=True):
            column.append(answer)
        last = number == LOOKS
        finer = [
            closer_grid(weighed(column, len(looks)), left, most, cut, last=last) for column, cut in zip(looks, cuts, strict=True)
        ]
        done = all(set(new.edges) <= set(grid.edges) for new, grid in zip(finer, grids, strict=True))
        # Where nothing is told apart, the same cells are counted again, and better.
        grids = [grid if new.cells == 1 else new for new, grid in zip(finer, grids, strict=True)]
        if done:
            break
    for column, answer in zip(looks, ask(grids, left), strict=True):
        column.append(answer)
    return [weighed(column, len(looks)) for column in looks]


def _is_finest(grid: Grid) -> bool:
    return all(grid.single(cell) for cell in range(grid.cells))


def closer_grid(look: Weighed, left: float, most: int, cut: Cut, *, last: bool) -> Grid:
    """What the noise will not tell apart is joined again; cells that hold enough rows are cut. ``left`` is the part of the share
    that is not spent yet, ``last`` whether all of it goes to the next look."""
    grid, rows, gaussian = look.histogram.grid, look.histogram.noisy, look.histogram.mechanism == "discrete gaussian"
    finest = max(look.histogram.deviation * (LOOK / left) ** (0.5 if gaussian else 1.0), 1e-9)
    total = max(float(rows.sum()), 1.0)
    cells = [(float(rows[cell.first : cell.last].sum()), cell) for cell in _cells(look.tree, rows, PART * finest)]
    edges = {grid.edges[0], *(grid.edges[cell.last] for _, cell in cells)}
    for held, cell in sorted(cells, key=lambda pair: -pair[0]):
        room = most + 1 - len(edges)
        if cell.halves is not None or grid.single(cell.first) or held <= CLEAR * sqrt(cell.variance) or room < 1:
            continue
        parts = min(MOST_PARTS, held / ((PART if last else EXPLORE) * finest), most * held / total)
        edges |= set(cut(grid.edges[cell.first], grid.edges[cell.last], int(min(max(FEWEST_PARTS, parts), room + 1))))
    return Grid(tuple(sorted(edges)), grid.spacing, grid.step)


def _cells(stretch: Stretch, rows: Numbers, least: float) -> list[Stretch]:
    """Down to where nothing is told apart and a half would hold fewer rows than this."""
    if stretch.halves is None or (stretch.gain <= 0 and rows[stretch.first : stretch.last].sum() < 2 * least):
        return [stretch]
    return [cell for half in stretch.halves for cell in _cells(half, rows, least)]


def evenly(low: float, high: float, parts: int) -> list[float]:
    """Whole numbers between two, about evenly: counted from the lower one, so that numbers beyond 2^53 stand as well."""
    return sorted({low + float(round((high - low) * part / parts)) for part in range(1, parts)} - {low, high})


def by_factors(low: float, high: float, parts: int) -> list[float]:
    """Whole numbers between two whose distances from 0, on their side of it, grow by one factor."""
    first, last = (np.sign(end) * log1p(abs(end)) for end in (low, high))
    places = [first + (last - first) * part / parts for part in range(1, parts)]
    edges = {float(round(np.sign(place) * expm1(abs(place)))) for place in places}
    return sorted(edge for edge in edges if low < edge < high)
