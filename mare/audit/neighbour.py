"""D′ from D: a source without one entity, whatever the source is. Adjacency is add or remove, with every owned row.

The rows also come in another order: a database promises none, so a release that depends on it leaks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import TYPE_CHECKING, Self

from mare.ports import COMPARED, RemovedRows, Source
from mare.stage import TableNeeds

from .ownership import Key, Ownership, Removal, places_text

if TYPE_CHECKING:
    import pyarrow as pa

    from mare.schema.reflection import Peek, Reflection


@dataclass(frozen=True, eq=False)
class HeldSource:
    """A source that is already open, for many fits on one snapshot: entering and leaving it change nothing."""

    reader: Source

    @property
    def label(self) -> str:
        return self.reader.label

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        pass

    def reflect(self) -> Reflection:
        return self.reader.reflect()

    def read(self, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        return self.reader.read(table, columns)

    def peek(self, table: str, column: str, max_values: int) -> Peek:
        return self.reader.peek(table, column, max_values)


@dataclass(frozen=True, eq=False)
class KeptSource(HeldSource):
    """Keeps in memory what it has read, for a thousand fits of the same small data."""

    kept: dict[tuple[str, ...], list[pa.RecordBatch]] = field(default_factory=dict)

    def read(self, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        asked = (table, *columns)
        if asked not in self.kept:
            self.kept[asked] = list(self.reader.read(table, columns))
        yield from self.kept[asked]


@dataclass(frozen=True, eq=False)
class WithoutEntity(HeldSource):
    """The same source, had that one entity never been there."""

    owners: Ownership
    removal: Removal

    def read(self, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        needs = self._needs(table)
        if needs is None:
            yield from self.reader.read(table, columns)
            return
        for batch, gone in self._marked(needs, columns):
            kept = [place for place in range(batch.num_rows) if place not in gone]
            yield batch.select(list(columns)).take(pa.array(kept[::-1], type=pa.int64()))

    def removed(self) -> dict[str, RemovedRows]:
        """Of every table that loses rows, which: for whoever makes a copy without them."""
        found = {}
        for table in self.owners.tables:
            needs = None if table.held_by is not None else self._needs(table.name)
            if needs is None:
                continue
            places, rows, asked = list[int](), 0, tuple[str, ...]()
            for batch, gone in self._marked(needs, ()):
                places += [rows + place for place in sorted(gone)]
                rows += batch.num_rows
                asked = tuple(name.partition(COMPARED)[0] for name in batch.schema.names)
            found[needs.name] = RemovedRows(asked, frozenset(places), rows)
        return found

    def _needs(self, table: str) -> TableNeeds | None:
        """None where the table stays as it is: rows of one's own are nobody's once nobody refers to them, and the stage drops
        them with the row that did."""
        needs = next((needs for needs in self.owners.tables if needs.name == table), None)
        return None if needs is None or needs.owned_by else needs

    def _marked(self, needs: TableNeeds, columns: Sequence[str]) -> Iterator[tuple[pa.RecordBatch, set[int]]]:
        """The batches with at least these columns, and in each the places of the rows that go."""
        table = needs.name
        probe = replace(needs, key=needs.key if needs.parent is None else (), order=(), values=(), via=(), links=())
        whole = self.removal.lone is not None and self.removal.lone[0] == table
        wider = needs if whole else probe
        wanted = list(dict.fromkeys((*columns, *self.owners.reading(wider).columns(wider))))
        lost = self._lost(needs)
        alone = [self.removal.lone[1]] if whole and self.removal.lone is not None else []
        for batch in self.reader.read(table, wanted):
            gone = {place for place, key in enumerate(self.owners.text_of(batch, probe)) if key in lost}
            if alone:
                for place, (content,) in enumerate(self.owners.text_of(batch, needs, content=True)):
                    if [content] == alone:  # the same row may be there twice, as two entities: one of them goes
                        gone.add(place)
                        alone = []
            yield batch, gone

    def _lost(self, needs: TableNeeds) -> frozenset[Key]:
        """The keys (of the entity) or foreign keys whose rows go."""
        if needs.parent is None:
            return self.removal.keys[needs.name]
        lost = {tuple(key[place] for place in needs.refers) for key in self.removal.keys[needs.parent]}
        if self.removal.dangling is not None and self.removal.dangling[:2] == (needs.parent, places_text(needs)):
            lost |= {self.removal.dangling[2]} if needs.orphans == "entity" else set()
        return frozenset(lost)
