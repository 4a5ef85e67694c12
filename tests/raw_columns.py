"""`ListedColumn`: a column without a domain, over a plain list, so that no test needs a database."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan

import numpy as np

from mare.domain import Domain
from tests.views import ArrayView, array_view

Cell = str | float | None


@dataclass(frozen=True)
class ListedColumn:
    """Rows as (entity, value)."""

    rows: tuple[tuple[int, Cell], ...]
    everyone: tuple[int, ...]
    max_rows_per_entity: int
    name: str = "visits.ward"

    def binned(self, edges: Sequence[float], label: str) -> ArrayView:
        cells = len(edges) - 1
        inner = np.asarray(edges[1:-1], dtype=np.float64)

        def cell(value: Cell) -> int:
            missing = not isinstance(value, int | float) or isnan(value)
            return cells if missing else int(np.searchsorted(inner, value, side="right"))

        return array_view(
            [entity for entity, _ in self.rows],
            {label: [cell(value) for _, value in self.rows]},
            Domain((label,), (cells + 1,)),
            everyone=self.everyone,
            cap=self.max_rows_per_entity,
            name=self.name,
        )

    def keys(self, most: int, key: bytes) -> Mapping[int, Mapping[str, int]]:
        held: dict[int, set[str]] = {}
        for entity, value in self.rows:
            if value is not None:
                held.setdefault(entity, set()).add(str(value))
        answer: dict[int, dict[str, int]] = {}
        for entity, values in held.items():
            named = sorted(values, key=lambda v: hashlib.sha256(key + f"{entity}:{v}".encode()).digest())[:most]
            counts = answer.setdefault(len(named), {})
            for value in named:
                counts[value] = counts.get(value, 0) + 1
        return answer

    def without(self, gone: int) -> ListedColumn:
        """The neighbour: the same data, one entity removed."""
        return replace(
            self,
            rows=tuple(row for row in self.rows if row[0] != gone),
            everyone=tuple(entity for entity in self.everyone if entity != gone),
        )


def listed(values: Mapping[int, Sequence[Cell]], cap: int | None = None) -> ListedColumn:
    """Of each entity, its values."""
    rows = tuple((entity, value) for entity, own in values.items() for value in own)
    return ListedColumn(rows, tuple(values), max((len(own) for own in values.values()), default=1) if cap is None else cap)
