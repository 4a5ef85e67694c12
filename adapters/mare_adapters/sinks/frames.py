"""`FramesSink`: a dictionary that gets a pandas frame per table, all of them at the end or none.

The mark of a frame is among its `attrs`. A frame without it (one that was read, say) is not replaced in its dictionary.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from types import TracebackType
from typing import Self, cast

import pandas as pd
import pyarrow as pa

from mare.errors import SinkError
from mare.ports import Place, SinkTable

from .target import Target, entered, fitted, is_mark, mark_of, refuse_unmarked
from .target_tables import Limits, target_tables

_LIMITS = Limits("a dictionary of frames")
_MARK = "mare"


class FramesSink(Target):
    """A dictionary, as a `mare.ports.Sink`."""

    def __init__(self, location: Mapping[str, object], *, replace: bool = False) -> None:
        if not isinstance(location, MutableMapping):
            raise SinkError("frames are written into a dictionary: give an empty one ({}).")
        super().__init__("data frames", replace=replace)
        self._target = cast("MutableMapping[str, object]", location)
        self._parts: dict[str, list[pa.RecordBatch]] | None = None
        self._release = ""

    def __enter__(self) -> Self:
        self._parts = {}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        parts, self._parts = self._parts or {}, None
        if error is None:
            # The conversion may fail, the assignment may not: so all frames are made before one is handed over.
            frames = {name: _frame(pa.Table.from_batches(batches)) for name, batches in parts.items() if batches}
            for name, frame in frames.items():
                frame.attrs[_MARK] = mark_of(name, self._release)
            self.expect(list(frames))  # what is there now
            self._target.update(frames)

    def place(self) -> Place:
        return Place(frozenset({("dictionary", id(self._target))}))

    def expect(self, tables: Sequence[str]) -> None:
        held = [name for name in tables if name in self._target]
        if held and not self._replace:
            raise SinkError(f"the dictionary already holds {', '.join(held)}. Give an empty one, or say replace=True.")
        foreign = [name for name in held if not is_mark(getattr(self._target[name], "attrs", {}).get(_MARK), name)]
        refuse_unmarked("the dictionary", foreign, "Take it out yourself, or give an empty dictionary.")

    def create(self, tables: Sequence[SinkTable], release: str = "") -> None:
        self.expect([given.table.name for given in tables])
        self._targets, self._release = target_tables(tables, _LIMITS), release
        self._parts = {table.name: [] for table in self._targets.tables}

    def write(self, table: str, batch: pa.RecordBatch) -> None:
        entered(self._parts)[table].append(fitted(batch, self._targets.table(table)))


def _frame(rows: pa.Table) -> pd.DataFrame:
    """As pandas has them, but for whole numbers and truth values among which some are missing: as floats, keys would read 3.0."""
    wide = {pa.bool_(): pd.BooleanDtype(), pa.int64(): pd.Int64Dtype()}
    frame: pd.DataFrame = rows.to_pandas()
    for name in rows.column_names:
        column = rows.column(name)
        if column.null_count and column.type in wide:
            frame[name] = column.to_pandas(types_mapper=wide.get)
    return frame
