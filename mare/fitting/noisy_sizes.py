"""The first private answers: how many entities there are, and how many rows each table has.

Every size that a later step depends on comes from here: noisy, charged. A true row count in a budget split or a
threshold would leak (privacy.md, leak 1).

How many rows a table has is asked by entity: how many entities have none, one, two or three, four to seven … An entity stands in
one cell, whatever the caps allow it, so that the noise is that of one count; and what it has more of than others is seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, sqrt

from mare.domain import ChildrenInCells, Estimate, Marginal, RowsEach
from mare.graph.groups import Part
from mare.planning import Warned
from mare.planning.domains import RowBound
from mare.privacy.curator import NoisySize
from mare.relational.placing import seen_columns
from mare.release import SettledGroup
from mare.stage_door import ROWS, StageDoor, TableNeeds

ENTITIES = 0.02
"""For the number of entities, of the whole budget: all tables are as far off as it is."""
PRECISE = 0.004
"""The noise that is wanted in a cell of a table's rows by entity, in parts of the entities: hardly more is paid for."""
LEAST = 0.002
"""Of the whole budget, for each table all the same: it gets better with ε until nothing is left of the noise."""


@dataclass(frozen=True)
class Sizes:
    """Noisy numbers of rows, all at least 1."""

    entities: int
    tables: Mapping[str, float]
    parents: Mapping[str, str | None]
    deviation: float = inf
    """Of the noise in the number of entities."""
    rows: Mapping[str, RowsEach] = field(default_factory=dict)
    """By table that has a parent: how many entities have how many rows."""
    share: float = 0.0
    """Of the whole budget, what was spent."""

    def measured_rows(self, table: str, part: Part) -> Estimate | None:
        """How many rows a group's view has, where it has one per entity: that number alone was measured as such."""
        one_each = (self.parents[table] if part == "context" else table) == self._entity
        return Estimate(float(self.entities), self.deviation) if one_each else None

    def of(self, table: str, part: Part) -> float:
        """n̂ of a group's view: a context has one row per parent row."""
        parent = self.parents[table] if part == "context" else table
        return self.tables[parent] if parent is not None else float(self.entities)

    def children_in_cells(self, settled: SettledGroup) -> ChildrenInCells | None:
        """How many entities have how many rows, where a group counts all rows of each."""
        each = self._counted(settled)
        return None if each is None or self.parents[settled.group.table] != self._entity else each.in_cells

    def _counted(self, settled: SettledGroup) -> RowsEach | None:
        """The rows of a group that counts all of them."""
        group = settled.group
        each, parent = self.rows.get(group.table), self.parents[group.table]
        if not group.counts or parent is None or any(c.role in ("exists", "derived") for c in group.columns):
            return None
        return each

    def children(self, settled: SettledGroup) -> Estimate | None:
        """How many rows a parent row has on average, where a group counts all of them."""
        each, parent = self._counted(settled), self.parents[settled.group.table]
        if each is None or parent is None:
            return None
        total, above = each.total, self.tables[parent]
        if parent == self._entity:
            # Who has some, and how many, is told by the model's own table too: better than a guess at those who are beyond.
            return Estimate(total.value / above, sqrt(total.deviation**2 + each.astray**2) / above)
        unsure = total.value / above * self.rows[parent].total.deviation / above if parent in self.rows else 0.0
        return Estimate(total.value / above, sqrt((total.deviation / above) ** 2 + unsure**2))

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

    @property
    def doubts(self) -> list[Warned]:
        """Tables of which not even the number of rows is known."""
        what = "how many rows it has did not stand clear of the noise: few, if any, are made"
        remedy = "Spend more, or leave the table out; `mare check --read-rows` says whether its keys lead anywhere"
        return [Warned(name, what, remedy) for name, each in self.rows.items() if not each.clear]

    @property
    def _entity(self) -> str:
        return next(iter(self.parents))


def measure_sizes(door: StageDoor, tables: Sequence[TableNeeds], bounds: Mapping[str, RowBound], most: float) -> Sizes:
    """Measure, with at most this share of the whole budget. Rows of one's own are as many as the rows that may refer to them."""
    parents = {table.name: table.parent for table in tables}
    owners = {table.name: table.owners for table in tables}
    entity = next(iter(parents))
    children = [name for name, parent in parents.items() if parent is not None]
    measured = door.entities(entity, ENTITIES).entities()
    entities = max(1, measured.value)
    known = Estimate(float(entities), measured.standard_deviation)
    share = min((most - ENTITIES) / max(1, len(children)), _wanted(measured, entities))
    rows: dict[str, float] = {entity: float(entities)}
    each: dict[str, RowsEach] = {}
    for name, parent in parents.items():
        if parent is not None:
            starts = _starts(bounds[name].rows)
            (answer,) = door.rows_each(name, entity, starts, share).counts([Marginal.of(ROWS)])
            each[name] = RowsEach(answer.rows, answer.rows_deviation, (*starts, bounds[name].rows + 1), known)
            rows[name] = max(1.0, each[name].total.value)
        elif name != entity:
            rows[name] = max(1.0, sum(rows[owner] for owner in owners[name]))
    return Sizes(entities, rows, parents, measured.standard_deviation, each, ENTITIES + share * len(children))


def _wanted(measured: NoisySize, entities: int) -> float:
    """The share at which a count has the noise that is wanted, told from one that was paid for."""
    more = measured.standard_deviation / (PRECISE * entities)
    return max(LEAST, ENTITIES * (more if measured.mechanism == "discrete laplace" else more**2))


def _starts(most: int) -> tuple[int, ...]:
    """Where cells begin: none, one, and then twice as many each time."""
    return (0, *(1 << power for power in range(most.bit_length())))
