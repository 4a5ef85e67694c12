"""`Rehearsal`: what fitted models draw of entities, so that a later one knows how its history will come out.

The number of a patient's admissions depends on the patient's columns. How those are distributed was measured once when their own
model was fitted, and again, with other noise, where the numbers are; but what a sampler finds is the first. A model that agrees
with the second would have the wrong number of admissions. Drawn from models alone: post-processing, free.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mare.domain import CodeArray, Codes
from mare.graph.groups import Part
from mare.models import FittedModel
from mare.relational.placing import seen_columns
from mare.release import SettledGroup

ENTITIES, ROWS = 1 << 16, 1 << 18
"""Enough to tell a distribution to a few thousandths, few enough to cost nothing."""
FEWEST = 1 << 12
"""Of a table that hardly anybody has rows in, fewer would be drawn: they tell too little."""


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Rows of a table that were drawn, and the row above of each."""

    rows: int
    parent: NDArray[np.int64]


class Rehearsal:
    """Drawn entities and the rows below them, with as much of them as was fitted. ``parents`` are those of the tables.

    What a row depends on of its own table's earlier rows is not drawn: how sequences come out only the sampler knows.
    """

    def __init__(self, parents: Mapping[str, str | None]) -> None:
        self._parents, entity = parents, next(iter(parents))
        self._fitted: list[tuple[SettledGroup, FittedModel]] = []
        self._tables = {entity: _Drawn(ENTITIES, np.zeros(ENTITIES, dtype=np.int64))}
        self._columns: dict[tuple[str, Part, str], CodeArray] = {}
        self._groups = 0

    def know(self, settled: SettledGroup, fitted: FittedModel) -> None:
        """A group was fitted."""
        self._fitted.append((settled, fitted))

    def history(self, settled: SettledGroup) -> Codes | None:
        """The history of a group, as far as it can be drawn."""
        if not len(settled.history):
            return None
        while self._fitted:
            self._draw(*self._fitted.pop(0))
        space = self._space(settled.group.table, settled.group.part)
        if space is None or space not in self._tables or self._tables[space].rows < FEWEST:
            return None
        seen = self._seen(settled)
        return Codes(self._tables[space].rows, seen) if seen else None

    def _draw(self, settled: SettledGroup, fitted: FittedModel) -> None:
        space = self._space(settled.group.table, settled.group.part)
        if space is None or space not in self._tables:
            return
        seen, rows = self._seen(settled), self._tables[space].rows
        if len(seen) < len(settled.history):
            return
        drawn: Mapping[str, CodeArray] = {}
        # The budget is spent: a model that fails here would take its release along, though nobody needs to know this.
        with suppress(Exception):
            # Any fixed seed: these entities are nobody's, and nobody gets them. But one for each group: from the same numbers the
            # number of loans would follow the number of orders.
            self._groups += 1
            drawn = fitted.sample(Codes(rows, seen), np.random.Generator(np.random.Philox(self._groups))).columns
        for name, codes in drawn.items():
            if name in settled.columns and len(codes) == rows and codes.max(initial=0) < settled.columns.size(name):
                self._columns[settled.group.table, settled.group.part, name] = codes
                if name in settled.group.counts:
                    self._tables[settled.group.table] = _below(codes)

    def _space(self, table: str, part: Part) -> str | None:
        """The table whose rows a part has one row for."""
        return self._parents[table] if part == "context" else table

    def _seen(self, settled: SettledGroup) -> dict[str, CodeArray]:
        seen = {}
        for label, (column, name) in seen_columns(settled.group, settled.history).items():
            place = (column.table, column.part, name)
            if column.lag == 0 and column.kind not in ("free", "reference", "same_item", "beside") and place in self._columns:
                above = self._above(settled, self._space(column.table, column.part))
                if above is not None:
                    seen[label] = self._columns[place][above]
        return seen

    def _above(self, settled: SettledGroup, wanted: str | None) -> NDArray[np.int64] | None:
        """Of each row of a group, its row of a table above."""
        table = self._space(settled.group.table, settled.group.part)
        if table is None:
            return None
        index = np.arange(self._tables[table].rows, dtype=np.int64)
        while table != wanted:
            drawn, parent = self._tables[table], self._parents[table]
            if parent is None or parent not in self._tables:
                return None
            index, table = drawn.parent[index], parent
        return index


def _below(counts: CodeArray) -> _Drawn:
    """As many rows as were drawn for each row above; of the first of these only, where they would be too many."""
    upto = int(np.searchsorted(np.cumsum(counts, dtype=np.int64), ROWS, side="right"))
    parent = np.repeat(np.arange(upto, dtype=np.int64), counts[:upto])
    return _Drawn(len(parent), parent)
