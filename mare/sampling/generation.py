"""One block of entities through all tables, as codes: contexts decide how many children there are, models fill them in.

Mare-2024, IV.B. Sequences advance one position at a time for all parents that still need a row; the previous rows a model
looks at are the ones just written (the paper's FIFO queue, without the copying).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mare.codec import TableCodec
from mare.domain import CodeArray, Codes, smallest_dtype
from mare.graph.groups import Part
from mare.models import FittedModel
from mare.release import SettledGroup, SettledPlan
from mare.release.placing import Index, Placed, Rooms, place_children

from .randomness import stream
from .structure import make_possible, structural_codes


@dataclass(frozen=True, eq=False)
class Generator:
    """A release, ready to generate: models loaded, codecs built."""

    plan: SettledPlan
    tables: tuple[str, ...]
    """Parents before children; the entity first."""
    parents: Mapping[str, str | None]
    codecs: Mapping[str, TableCodec]
    models: Mapping[str, FittedModel]

    def block(self, seed: int, block: int, entities: int) -> Rooms:
        """The coded rows of one block of so many entities."""
        tables: dict[str, Placed] = {}
        rooms = Rooms({name: () if parent is None else (parent,) for name, parent in self.parents.items()}, tables)
        groups = {group.name: group for group in self.plan.groups}
        for table in self.tables:
            codes: dict[Part, dict[str, CodeArray]] = {"rows": {}, "context": {}}
            parent = self.parents[table]
            if parent is None:
                counts = np.ones(entities, dtype=np.int64)
            else:
                # The context is generated before the table has rows: it stands on the parent's.
                tables[table] = _placed(np.zeros(0, dtype=np.int64), codes)
                self._fill(rooms, groups[f"{table}.context"], codes["context"], tables[parent].rows, seed, block)
                counts = codes["context"]["count"].astype(np.int64)
            tables[table] = _placed(counts, codes)
            if f"{table}.rows" in groups:
                self._fill(rooms, groups[f"{table}.rows"], codes["rows"], tables[table].rows, seed, block)
        return rooms

    def _fill(self, rooms: Rooms, settled: SettledGroup, codes: dict[str, CodeArray], rows: int, seed: int, block: int) -> None:
        group, rng = settled.group, stream(seed, settled.name, block)
        for name, size in zip(settled.columns.names, settled.columns.sizes, strict=True):
            codes[name] = np.zeros(rows, dtype=smallest_dtype(size))
        model = self.models[settled.name]
        for index in _steps(rooms, settled, rows):
            drawn = dict(model.sample(rooms.history(group, settled.history, index), rng).columns)

            def resample(wrong: NDArray[np.bool_], index: Index = index) -> Codes:
                return model.sample(rooms.history(group, settled.history, index[wrong]), rng)

            position = rooms.tables[group.table].position[index] if group.part != "context" else None
            make_possible(drawn, structural_codes(self.codecs[group.table], drawn, position), resample, rng)
            for name, values in drawn.items():
                codes[name][index] = values


def _placed(counts: Index, codes: dict[Part, dict[str, CodeArray]]) -> Placed:
    parent, position, siblings = place_children(counts)
    return Placed(len(parent), parent, position, siblings, codes)


def _steps(rooms: Rooms, settled: SettledGroup, rows: int) -> list[Index]:
    """All rows at once, or by position where a row looks back at what this very group has written."""
    group = settled.group
    looks_back = any(h.lag > 0 and (h.table, h.part) == (group.table, group.part) for h in group.history)
    if not looks_back:
        return [np.arange(rows, dtype=np.int64)]
    position = rooms.tables[rooms.space(group.table, group.part)].position
    order = np.argsort(position, kind="stable").astype(np.int64)
    ends = np.cumsum(np.bincount(position)) if rows else np.zeros(0, dtype=np.int64)
    return [order[start:end] for start, end in zip(np.concatenate([[0], ends[:-1]]), ends, strict=True)] if rows else []
