"""Coarser levels of what a column group may look at, handed to its view: public, for they depend on codecs and domains alone.

Numbers and times have their neighbouring bins taken together, codes their kin (`TableCodec.coarsenings`); numbers of children are
told exactly where they are small, and roughly where they are large; of a row that may not be there, the coarsest level tells
only whether it is.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mare.codec import TableCodec
from mare.domain import Coarsening, Coarsenings, Domain
from mare.graph.groups import ColumnGroup, Part
from mare.relational.placing import seen_columns

COUNTED = ((1, 2, 3, 4, 5, 7, 10, 15, 25), (1, 2, 3, 5, 10))
"""Numbers of children: where the bins of each level begin, fine to coarse; the first begins at 0."""


def group_levels(group: ColumnGroup, columns: Domain, history: Domain, coded: Mapping[str, TableCodec]) -> Coarsenings:
    """The levels of a group's columns and of its history. A column whose codes are not its codec's own has none."""
    found: dict[str, tuple[Coarsening, ...]] = {}
    for name in columns:
        found[name] = _levels(coded[group.table], group.part, name, columns.size(name))
    for label, (column, name) in seen_columns(group, history).items():
        size = history.size(label)
        if column.kind == "free" and name not in coded[column.table].coarsenings():
            continue
        levels = _levels(coded[column.table], column.part, name, size)
        # A row that is not there has a code of its own, on every level.
        absent = not levels and (levels := _levels(coded[column.table], column.part, name, size - 1))
        found[label] = tuple(_with_absent(level) for level in levels) if absent else levels
        if label in group.lags and size > 2:
            found[label] += (Coarsening(np.arange(size) == size - 1, 2),)
    return {name: levels for name, levels in found.items() if levels}


def _levels(codec: TableCodec, part: Part, name: str, size: int) -> tuple[Coarsening, ...]:
    if part == "context" and name == "count":
        return tuple(level for starts in COUNTED if (level := _counted(starts, size)).size < size)
    return tuple(level for level in codec.coarsenings().get(name, ()) if len(level.codes) == size)


def _counted(starts: tuple[int, ...], size: int) -> Coarsening:
    codes = np.searchsorted(np.array(starts), np.arange(size), side="right")
    return Coarsening(codes, int(codes[-1]) + 1)


def _with_absent(level: Coarsening) -> Coarsening:
    return Coarsening(np.append(level.codes, level.size), level.size + 1)
