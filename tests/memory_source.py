"""A `mare.ports.Source` over Arrow tables in memory, and a small hospital to put into it: for tests of fit and stage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from types import TracebackType
from typing import Self

import numpy as np
import pyarrow as pa

from mare.schema import Schema
from mare.schema.loading import load_schema
from mare.schema.reflection import Peek, ReflectedColumn, ReflectedTable, Reflection, StorageKind

HOSPITAL = """
mare: 1
entity: patients
tables:
  patients:
    key: pid
    columns:
      sex: {type: category, values: [F, M]}
      age: {type: integer, min: 0, max: 99, bins: 5}
  stays:
    key: sid
    parent: {table: patients, column: pid, type: sequential, order_by: begins, memory: 2, max_rows: 3, keep: last}
    columns:
      begins: {type: datetime, after: previous.ends, first: {min: 2000-01-01, max: 2020-01-01}, within: 5y, scale: log, bins: 6}
      ends: {type: datetime, after: begins, within: 90d, scale: log, bins: 6}
      ward: {type: category, values: [a, b, c], nullable: true}
"""

Rows = dict[str, list[dict[str, object]]]


@cache
def hospital_schema() -> Schema:
    return load_schema(HOSPITAL)


def hospital_rows(patients: int = 40, seed: int = 5, heaviest: int = 12) -> Rows:
    """Patients with 0 … 6 stays, but for the first, who has ``heaviest``, all alike: the worst a sensitivity has to bear."""
    rng = np.random.default_rng(seed)
    rows: Rows = {"patients": [], "stays": []}
    for pid in range(1, patients + 1):
        rows["patients"].append({"pid": pid, "sex": "FM"[int(rng.integers(2))], "age": int(rng.integers(0, 100))})
        clock = datetime(2001, 1, 1) + timedelta(hours=int(rng.integers(0, 100_000)))
        for _ in range(heaviest if pid == 1 else int(rng.integers(0, 7))):
            ends = clock + timedelta(hours=24 if pid == 1 else int(rng.integers(1, 2000)))
            ward = "a" if pid == 1 else (None, "a", "b", "c")[int(rng.integers(4))]
            rows["stays"].append({"sid": len(rows["stays"]) + 1, "pid": pid, "begins": clock, "ends": ends, "ward": ward})
            clock = ends + timedelta(hours=24 if pid == 1 else int(rng.integers(1, 20_000)))
    return rows


def without(rows: Rows, pid: object) -> Rows:
    """The same data, had that one patient never come."""
    return {table: [row for row in content if row["pid"] != pid] for table, content in rows.items()}


class MemorySource:
    """Arrow tables as a source, in batches of a few rows."""

    def __init__(self, tables: Mapping[str, pa.Table], batch_rows: int = 64) -> None:
        self._tables = tables
        self._batch_rows = batch_rows
        self.read_columns: dict[str, tuple[str, ...]] = {}

    @classmethod
    def of(cls, rows: Rows, types: Mapping[str, Mapping[str, pa.DataType]] | None = None) -> MemorySource:
        types = types or _HOSPITAL_TYPES
        return cls({name: pa.Table.from_pylist(content, schema=pa.schema(types[name])) for name, content in rows.items()})

    @property
    def label(self) -> str:
        return "memory"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        pass

    def reflect(self) -> Reflection:
        return Reflection(
            "memory",
            tuple(
                ReflectedTable(name, tuple(ReflectedColumn(f.name, _kind(f.type)) for f in table.schema))
                for name, table in self._tables.items()
            ),
        )

    def read(self, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        self.read_columns[table] = tuple(columns)
        yield from self._tables[table].select(list(columns)).to_batches(max_chunksize=self._batch_rows)

    def peek(self, table: str, column: str, max_values: int) -> Peek:
        raise AssertionError("nothing may peek during a fit")


_HOSPITAL_TYPES: dict[str, dict[str, pa.DataType]] = {
    "patients": {"pid": pa.int64(), "sex": pa.string(), "age": pa.int64()},
    "stays": {
        "sid": pa.int64(),
        "pid": pa.int64(),
        "begins": pa.timestamp("us"),
        "ends": pa.timestamp("us"),
        "ward": pa.string(),
    },
}


def _kind(kind: pa.DataType) -> StorageKind:
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_floating(kind):
        return "number"
    if pa.types.is_date(kind):
        return "date"
    if pa.types.is_time(kind) or pa.types.is_duration(kind):
        return "time" if pa.types.is_time(kind) else "duration"
    return "datetime" if pa.types.is_timestamp(kind) else "string"
