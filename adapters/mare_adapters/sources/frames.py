"""`FramesSource`: a dictionary of tables: frames of pandas, or whatever Arrow reads (polars, Arrow itself, DuckDB's answers).

A dtype is no catalogue: pandas infers it from the values, and one odd value turns a column of whole numbers into objects. So a
dtype is told as inferred; what comes out has the types of the schema. The categories of a categorical column were collected from
data too, and are not taken for its domain. The index is no column: `reset_index()` makes it one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa

from mare.errors import SourceError
from mare.ports import Place
from mare.schema.reflection import LeftOut, ReflectedColumn, ReflectedTable, Reflection, StorageKind
from mare_adapters.letters import spelled_values

from .arrow_kinds import conformed_array, kind_of_arrow
from .columnar import BATCH_ROWS
from .table_source import Batches, TableSource, find_table

if TYPE_CHECKING:
    Dtype = np.dtype[np.generic] | pd.api.extensions.ExtensionDtype


class FramesSource(TableSource[dict[str, "pd.DataFrame"]]):
    """Frames in memory, as a `mare.ports.Source`."""

    def __init__(self, location: Mapping[str, object]) -> None:
        super().__init__()
        self._given = location

    def __repr__(self) -> str:
        return f"FramesSource({', '.join(map(str, self._given))})"

    @property
    def label(self) -> str:
        return "data frames"

    def __enter__(self) -> Self:
        faults, frames = [], {}
        for name, frame in self._given.items():
            if not isinstance(name, str):
                faults.append(f"{name!r} is the name of a table: write it as text")
            elif (table := frame if isinstance(frame, pd.DataFrame) else _by_arrow(frame)) is None:
                faults.append(f"{name} is a {type(frame).__name__}, not a frame of pandas or polars, nor an Arrow table")
            else:
                faults += _faults(name, table)
                # A copy that shares the values until somebody changes them: what is read is one state.
                frames[name] = table.copy(deep=False)
        if faults:
            raise SourceError(f"these frames cannot be read: {'; '.join(faults)}.")
        self._opened = frames
        return self

    def _reflect(self) -> Reflection:
        tables, left_out = [], []
        for name, frame in self._open.items():
            kinds = {str(column): _kind(frame.dtypes.iloc[n]) for n, column in enumerate(frame.columns)}
            # Any column may hold NULL: pandas tells nothing else.
            columns = tuple(ReflectedColumn(column, kind, inferred=True) for column, kind in kinds.items())
            tables.append(ReflectedTable(name, columns))
            for level in frame.index.names:
                if level is not None and str(level) not in kinds:
                    remedy = f"Hand over the frame with it as a column: {name}.reset_index()"
                    left_out.append(LeftOut(f"{name}.{level}", "it is the frame's index, and no column", remedy))
        return Reflection(self.label, tuple(tables), tuple(left_out))

    def about(self, table: str) -> int | None:
        return len(self._open[find_table(self.reflect(), table).name])

    def place(self) -> Place:
        return Place(frozenset({("dictionary", id(self._given))}))

    def _stream(self, table: ReflectedTable, columns: Sequence[ReflectedColumn], names: Sequence[str]) -> Batches:
        frame = self._open[table.name]
        for start in range(0, len(frame), BATCH_ROWS):
            part = frame.iloc[start : start + BATCH_ROWS]
            arrays = [_array(part[column.name], column) for column in columns]
            yield pa.RecordBatch.from_arrays(arrays, names=list(names))


def _by_arrow(table: object) -> pd.DataFrame | None:
    """A table of another library, by the interface that all of them share; its values stay where they are."""
    if not hasattr(table, "__arrow_c_stream__"):
        return None
    try:
        frame: pd.DataFrame = pa.table(table).to_pandas(types_mapper=pd.ArrowDtype)
    except (TypeError, ValueError, pa.ArrowException):
        return None
    return frame


def _faults(name: str, frame: pd.DataFrame) -> list[str]:
    faults = [
        f"{name} has a column called {column!r}: write it as text" for column in frame.columns if not isinstance(column, str)
    ]
    twice = sorted({str(column) for column in frame.columns[frame.columns.duplicated()]})
    return faults + ([f"{name} has more than one column called {', '.join(twice)}"] if twice else [])


def _kind(dtype: Dtype) -> StorageKind:
    if isinstance(dtype, pd.CategoricalDtype):
        # What its categories are is known; which they are is data.
        return _kind(dtype.categories.dtype) if dtype.categories is not None else "unknown"
    if isinstance(dtype, pd.ArrowDtype):
        kind = kind_of_arrow(dtype.pyarrow_dtype)
        # Objects of bytes are spelled, so these are too: somebody's text among them would make objects of all.
        return "unknown" if kind == "binary" else kind
    types = pd.api.types
    tests: tuple[tuple[StorageKind, bool], ...] = (
        ("boolean", types.is_bool_dtype(dtype)),
        ("integer", types.is_integer_dtype(dtype)),
        ("number", types.is_float_dtype(dtype)),
        ("datetime", types.is_datetime64_any_dtype(dtype)),
        ("duration", types.is_timedelta64_dtype(dtype)),
        ("string", isinstance(dtype, pd.StringDtype)),
    )
    # A column of objects may hold anything: like a CSV file, it does not tell.
    return next((kind for kind, is_kind in tests if is_kind), "unknown")


def _array(values: pd.Series[Any], column: ReflectedColumn) -> pa.Array:
    if column.kind != "unknown":
        with suppress(ValueError, TypeError, OverflowError, pa.ArrowException):
            array = pa.Array.from_pandas(values)
            return conformed_array(array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array, column)[0]
    return spelled_values(None if missing else value for value, missing in zip(values, pd.isna(values), strict=True))
