"""D′ from D: a source without one entity, whatever the source is. Adjacency is add or remove, with every owned row.

The rows also come in another order: a database promises none, so a release that depends on it leaks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import TYPE_CHECKING, Self

from mare.ports import Source

from .entities import Key, Ownership

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
    gone: Mapping[str, frozenset[Key]]
    """Per table, the keys of the entity's rows."""

    def read(self, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        needs = next((needs for needs in self.owners.tables if needs.name == table), None)
        if needs is None:
            yield from self.reader.read(table, columns)
            return
        import pyarrow as pa

        at_top = needs.parent is None
        lost = self.gone[table] if needs.parent is None else self.gone[needs.parent]
        probe = replace(needs, key=needs.key if at_top else (), order=(), values=())
        wanted = list(dict.fromkeys((*columns, *probe.columns)))
        for batch in self.reader.read(table, wanted):
            keys = self.owners.text_of(batch, probe)
            kept = [place for place, key in enumerate(keys) if key not in lost]
            yield batch.select(list(columns)).take(pa.array(kept[::-1], type=pa.int64()))
