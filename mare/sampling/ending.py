"""Rows that end their sequence (`ends: {when: …}`): nobody is admitted again after a death.

How many rows a sequence has is drawn before them. So a row that ends it comes last: one that is drawn earlier is drawn once more,
where codes tell, and the last one ends the sequence in its place, so that neither rows nor ends are lost. What still ends a
sequence too early, by its values as they come out, ends it: the rows after it go, with all that depends on them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mare.codec import OrdinalCodec, RelativeCodec, TableCodec
from mare.codec.building import ValueCodec
from mare.codec.slots import NULL
from mare.domain import CodeArray
from mare.relational.placing import Index, Placed
from mare.schema import Schema
from mare.schema.columns import AnyColumn
from mare.schema.condition_grammar import Condition, IsNull, comparisons_in, parse_condition

from .conditions import OwnColumns, judged
from .possible_codes import REDRAWS

if TYPE_CHECKING:
    import pyarrow as pa

    from .writing import ChunkValues

Mask = NDArray[np.bool_]


def endings(schema: Schema) -> dict[str, Condition]:
    """By table, when a row is the last of its sequence."""
    return {name: parse_condition(table.ends.when) for name, table in schema.tables.items() if table.ends is not None}


@dataclass(frozen=True, eq=False)
class CodedEnding:
    """The condition where codes alone tell whether it holds."""

    condition: Condition
    columns: Mapping[str, AnyColumn]
    codec: TableCodec

    @classmethod
    def of(cls, condition: Condition, schema: Schema, codec: TableCodec) -> CodedEnding | None:
        """None where values have to be decoded first."""
        for test in comparisons_in(condition):
            known = (OrdinalCodec, RelativeCodec, ValueCodec) if isinstance(test, IsNull) else ValueCodec
            if not isinstance(codec.columns.get(test.column), known):
                return None
        return cls(condition, schema.tables[codec.table].columns, codec)

    def holds(self, codes: Mapping[str, CodeArray], index: Index) -> Mask:
        """Of these rows, which would be the last."""
        return judged(self.condition, _Coded(self, codes, index)).true


class EndOfSequences:
    """The sequences of one table while their rows are drawn. A row that would end one too early is drawn again, and the end is
    kept for the last row: who was to die dies, after as many rows as were to be."""

    def __init__(self, ending: CodedEnding, placed: Placed, draw: Callable[[Index, str], None]) -> None:
        self.ending, self.placed, self.draw, self.codes = ending, placed, draw, placed.codes["rows"]
        self.columns = [test.column for test in comparisons_in(ending.condition)]
        parents = int(placed.parent.max(initial=-1)) + 1
        self.kept = {name: np.zeros(parents, dtype=self.codes[name].dtype) for name in self.columns}
        self.ends = np.zeros(parents, dtype=np.bool_)

    def mend(self, index: Index, label: str) -> None:
        """The rows ``index``, which have just been drawn."""
        parent, last = self.placed.parent, self.placed.position[index] + 1 == self.placed.siblings[index]
        early = index[~last]
        early = early[self.ending.holds(self.codes, early)]
        self.ends[parent[early]] = True
        for name, kept in self.kept.items():
            kept[parent[early]] = self.codes[name][early]
        self._until(early, f"{label} goes on", ends=False)
        due = index[last & self.ends[parent[index]]]
        for name, kept in self.kept.items() if len(due := self._until(due, f"{label} ends", ends=True)) else ():
            self.codes[name][due] = kept[parent[due]]

    def _until(self, rows: Index, label: str, *, ends: bool) -> Index:
        """Ask the model again, until rows end their sequence or do not; those that still do not do as they should."""
        for attempt in range(REDRAWS):
            rows = rows[self.ending.holds(self.codes, rows) != ends]
            if not len(rows):
                break
            self.draw(rows, f"{label} {attempt}")
        wrong: Index = rows[self.ending.holds(self.codes, rows) != ends]
        return wrong


@dataclass(frozen=True, eq=False)
class _Coded:
    ending: CodedEnding
    codes: Mapping[str, CodeArray]
    index: Index

    def described(self, column: str) -> AnyColumn:
        return self.ending.columns[column]

    def held(self, column: str) -> pa.Array:
        import pyarrow as pa

        codec, codes = self.ending.codec.columns[column], self.codes[column][self.index]
        if isinstance(codec, OrdinalCodec | RelativeCodec):
            return pa.array(np.zeros(len(codes)), mask=codec.slots.kinds_of(codes, codec.bins.count) == NULL)
        assert isinstance(codec, ValueCodec)
        return pa.array(codec.labels, type=pa.string()).take(pa.array(codes.astype(np.int64)))

    def quantities(self, column: str) -> pa.Array:
        return self.held(column)


def after_the_end(block: ChunkValues, table: str, condition: Condition, alive: Mask) -> Mask:
    """The rows of a table that come after one which ends their sequence."""
    placed = block.placed.tables[table]
    last = judged(condition, OwnColumns(block, table)).true & alive
    ends = np.full(int(placed.parent.max(initial=-1)) + 1, placed.rows, dtype=np.int64)
    np.minimum.at(ends, placed.parent[last], placed.position[last])
    after: Mask = placed.position > ends[placed.parent]
    return after
