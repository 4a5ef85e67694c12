"""The first private answers: how many entities there are, and how many children their rows have.

Every size that a later step depends on comes from here: noisy, charged. A true row count in a budget split or a
threshold would leak (privacy.md, leak 1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from mare.domain import Estimate, Marginal, settled_children
from mare.graph.groups import Part
from mare.planning.sensitivity import RowBound
from mare.privacy.curator import Clip, Curator
from mare.relational.placing import seen_columns
from mare.release import SettledGroup
from mare.stage_door import StageDoor, TableNeeds

ENTITIES = 0.5
"""Of the sizes' share, what the number of entities gets; the numbers of children share the rest."""


@dataclass(frozen=True)
class Sizes:
    """Noisy numbers of rows, all at least 1."""

    entities: int
    tables: Mapping[str, float]
    parents: Mapping[str, str | None]
    deviation: float = inf
    """Of the noise in the number of entities."""

    def known(self, table: str, part: Part) -> Estimate | None:
        """How many rows a group's view has, where it has one per entity: that number alone was measured as such."""
        entity = next(iter(self.parents))
        one_each = (self.parents[table] if part == "context" else table) == entity
        return Estimate(float(self.entities), self.deviation) if one_each else None

    def of(self, table: str, part: Part) -> float:
        """n̂ of a group's view: a context has one row per parent row."""
        parent = self.parents[table] if part == "context" else table
        return self.tables[parent] if parent is not None else float(self.entities)

    def told_by(self, settled: SettledGroup) -> dict[str, float]:
        """Of each column of a group and of its history, how many rows there are of what it belongs to."""
        own = self.of(settled.group.table, settled.group.part)
        seen = seen_columns(settled.group, settled.history)
        above = {label: self.of(column.table, column.part) for label, (column, _) in seen.items() if column.kind != "free"}
        return {**dict.fromkeys((*settled.columns, *seen), own), **{label: min(own, rows) for label, rows in above.items()}}

    def length(self, table: str, part: Part) -> float | None:
        """Of the sequences that a group's rows form: how many rows one has on average."""
        ordered = self.parents[table] if part == "context" else table
        return None if ordered is None else self.lengths.get(ordered)

    @property
    def rows_each(self) -> dict[str, int]:
        """By table, how many rows an entity has on average, at least 1."""
        return {name: max(1, round(rows / self.entities)) for name, rows in self.tables.items()}

    @property
    def lengths(self) -> dict[str, float]:
        """By table that has a parent: how many rows a parent row has on average."""
        return {name: self.tables[name] / self.tables[parent] for name, parent in self.parents.items() if parent is not None}


def measure_sizes(door: StageDoor, tables: Sequence[TableNeeds], bounds: Mapping[str, RowBound], share: float) -> Sizes:
    """Measure, with this share of the whole budget. Rows of one's own are as many as the rows that may refer to them."""
    parents = {table.name: table.parent for table in tables}
    owners = {table.name: table.owners for table in tables}
    entity = next(iter(parents))
    children = [name for name, parent in parents.items() if parent is not None]
    own = share * ENTITIES if children else share
    measured = door.entities(entity, own).entities()
    entities = max(1, measured.value)
    rows: dict[str, float] = {entity: float(entities)}
    for name, parent in parents.items():
        if parent is not None:
            per_parent = _mean_children(door.children(name, bounds[parent].rows, (share - own) / len(children)))
            rows[name] = max(1.0, rows[parent] * per_parent)
        elif name != entity:
            rows[name] = max(1.0, sum(rows[owner] for owner in owners[name]))
    return Sizes(entities, rows, parents, measured.standard_deviation)


def _mean_children(curator: Curator) -> float:
    """Children per parent row, from a noisy histogram of their number."""
    # An entity may have many parent rows: without a clip the noise would follow the cap, and hide everything.
    clip = Clip.chosen() if curator.max_rows_per_entity > 1 else None
    (answer,) = curator.counts([Marginal.of("count")], clip=clip)
    total = float(answer.rows.sum())
    if total <= 0:
        return 1.0
    # Noise in the tail of a count multiplies rows (recipe, step 3).
    settled = settled_children(answer.rows / total, answer.rows_deviation / total)
    return float(settled @ np.arange(len(settled)))
