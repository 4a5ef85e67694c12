"""The stage door: all that a fit gets of the true rows. Questions go in; curators and learners come out, and nothing else does.

    source ─► stage ─► **door** ─► curators and learners ─► fitting

`mare.fitting` works out what to ask, with which share and on which grid, so a true size in its hands would sooner or later end up
in a step, a share or a release (docs/privacy.md). It therefore never holds the stage, a view or an array of rows: import rules
keep it away from `mare.stage`, and every verb of this door gives nothing back, or something that answers only with noise and
against payment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from mare.codec import TableCodec
from mare.domain import Coarsenings, Domain
from mare.graph.groups import ColumnGroup
from mare.ports import Source
from mare.privacy.curator import Curator, Gate
from mare.privacy.learner import Learner
from mare.relational.relations import TableRelations
from mare.relational.unrolling import Unrolling
from mare.stage import Cuts, LocalNotes, Staged, StagedColumn, TableNeeds, needs, stage
from mare.stage.intake import Vocabularies
from mare.stage.loading import Collations
from mare.stage.raw_columns import CODE, ITEM, Measure, StrangeKeys, differences, listed_view, measured_column
from mare.stage.staged import KEY, ROWS

__all__ = ["CODE", "ITEM", "KEY", "ROWS", "Cuts", "LocalNotes", "Measure", "StageDoor", "TableNeeds", "needs", "open_stage"]


@contextmanager
def open_stage(
    source: Source,
    tables: tuple[TableNeeds, ...],
    gate: Gate,
    *,
    folder: Path | None = None,
    vocabularies: Vocabularies | None = None,
    collations: Collations | None = None,
) -> Iterator[StageDoor]:
    """Read the tables from an open source, once, and truncate them with the gate's own key. Gone when this is left."""
    key = gate.secret("truncation")
    with stage(source, tables, key, folder=folder, vocabularies=vocabularies, collations=collations) as staged:
        yield StageDoor(staged, gate)


class StageDoor:
    """One fit's stage, from outside. A ``share`` is a fraction of the gate's whole budget; ``most_rows`` is S, as the plan
    derived it from the caps that are enforced."""

    __slots__ = ("_gate", "_staged")

    def __init__(self, staged: Staged, gate: Gate) -> None:
        self._staged, self._gate = staged, gate

    # ------------------------------------------------------------------ before anything has a domain

    def entities(self, table: str, share: float) -> Curator:
        """For the number of entities."""
        return self._gate.curator(self._staged.entity_view(f"{table}.sizes", table), share)

    def rows_each(self, table: str, entity: str, starts: Sequence[int], share: float) -> Curator:
        """For how many rows of a table each entity has (its column is `ROWS`), in cells that begin at these numbers."""
        return self._gate.curator(self._staged.rows_view(f"{table}.sizes", table, entity, starts), share)

    def public_keys(self, label: str, table: str, reference: str | None, keys: int, most_rows: int, share: float) -> Curator:
        """For which public keys the rows of a table refer to (its column is `KEY`); then come those that the public table does
        not have, and NULL."""
        return self._gate.curator(self._staged.key_view(label, table, reference, keys, most_rows), share)

    def listed(self, table: str, name: str, cells: Mapping[str, int], most_rows: int, share: float) -> Curator:
        """For which values of a public list a column holds, each counted in its cell (its column is `CODE`); then come values
        that are none of them, and NULL."""
        return self._gate.curator(listed_view(self._staged, table, name, cells, most_rows), share)

    def unlisted(self, table: str, name: str, most_rows: int, share: float, delta_share: float) -> Learner:
        """For the values of a column that nobody has listed."""
        return self._gate.learner(StagedColumn(self._staged, table, name, most_rows), share, delta_share)

    def strange_keys(self, table: str, reference: str, most_rows: int, share: float, delta_share: float) -> Learner:
        """For the keys of a reference that its public table does not have."""
        return self._gate.learner(StrangeKeys(self._staged, table, reference, most_rows), share, delta_share)

    def add_keys(self, table: str, reference: str, keys: Sequence[str], first: int) -> None:
        """Keys to be looked for as well: their codes begin where those of the public table end."""
        self._staged.add_keys(f"{table}.{reference}", keys, first)

    def drop_rest(self, table: str, unrolling: Unrolling) -> None:
        """Drop the rows of an association that the rest of its vocabulary has no place for."""
        self._staged.drop_rest(table, unrolling)

    # ------------------------------------------------------------------ once values can be read, before there are bins

    def read(self, table: str, codec: TableCodec, related: TableRelations | None = None) -> None:
        """Read a table whose bins may still be open; tables above it come first."""
        self._staged.read(table, codec, related)

    def numbers(
        self,
        table: str,
        name: str,
        measure: Measure,
        codec: TableCodec,
        most_rows: int,
        share: float,
        low: int = 0,
        step: int = 1,
    ) -> Learner:
        """For where the numbers of a column lie, in steps of so many ticks, counted from ``low``, of the table as it was read
        last."""
        column = measured_column(self._staged, table, name, measure, codec, most_rows, step)
        return self._gate.learner(replace(column, ticks=column.ticks - low), share)

    def differences(
        self, table: str, name: str, beside: str | None, codec: TableCodec, most_rows: int, share: float, center: int
    ) -> Learner:
        """For how far a number is from the one of the column ``beside`` it, or from its own in the row before (None), in ticks
        from ``center`` on, of the table as it was read last."""
        column = differences(self._staged, table, name, beside, codec, most_rows)
        return self._gate.learner(replace(column, ticks=column.ticks - center), share)

    def numbers_by_item(
        self,
        table: str,
        name: str,
        codec: TableCodec,
        most_rows: int,
        share: float,
        edges: Sequence[Sequence[float]],
        lows: Sequence[int],
        label: str,
        measure: Measure = "values",
    ) -> Curator:
        """For the items of a column (`ITEM`), and the cells (``label``) that their numbers fall into on the grid of each item,
        counted from its low end."""
        column = measured_column(self._staged, table, name, measure, codec, most_rows)
        return self._gate.curator(column.by_item(edges, lows, label), share)

    # ------------------------------------------------------------------ once everything has a domain

    def encode(self, table: str, codec: TableCodec, related: TableRelations | None = None) -> None:
        """Values into codes, from here on all that is left of the table."""
        self._staged.encode(table, codec, related)

    def group(
        self,
        group: ColumnGroup,
        columns: Domain,
        history: Domain,
        most_rows: int,
        most_sequences: int,
        levels: Coarsenings,
        share: float,
    ) -> Curator:
        """For a model: the rows of one column group, history joined upwards. An entity has at most so many sequences of them."""
        view = self._staged.view(group, columns, history, most_rows, levels)
        return self._gate.curator(replace(view, most_sequences=most_sequences), share)

    def note(self, notes: Callable[[LocalNotes], None]) -> None:
        """Hand the true numbers of what was left out to the person who runs the fit: internal, not private."""
        notes(self._staged.notes)
