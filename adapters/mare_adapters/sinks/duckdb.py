"""`DuckdbSink`: a DuckDB file that appears complete or not at all.

Written to a new file beside the target and renamed into place. DuckDB checks keys and foreign keys as rows come in, and can
add no foreign key later: one that refers to its own table or to a later one is checked here at the end instead.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa

from mare.errors import SinkError
from mare.ports import SinkTable
from mare.schema.reflection import ReflectedColumn, ReflectedForeignKey, ReflectedTable, StorageKind
from mare_adapters.engine import open_duckdb
from mare_adapters.locations import duckdb_path
from mare_adapters.sources.columnar import arrow_type

from .file_target import FileTarget
from .target import Step, dangling, entered, fitted, is_mark, mark_of, marked
from .target_tables import Limits, WriteOrder
from .wording import Wording, changed_types, create_indexes, is_listed, own_type, sized

_HELD = """
SELECT schema_name, table_name, comment FROM duckdb_tables() WHERE database_name = current_database() AND NOT internal
 UNION ALL
SELECT schema_name, view_name, NULL FROM duckdb_views() WHERE database_name = current_database() AND NOT internal ORDER BY 1, 2
"""
_WORDS: dict[StorageKind, str] = {
    "boolean": "BOOLEAN",
    "integer": "BIGINT",
    "number": "DOUBLE",
    "string": "VARCHAR",
    "date": "DATE",
    "datetime": "TIMESTAMP",
    "time": "TIME",
    "duration": "INTERVAL",
    "uuid": "UUID",
    "binary": "BLOB",
    "json": "JSON",
}


def _type(column: ReflectedColumn, table: ReflectedTable) -> str:
    return own_type(column, table, "duckdb") or sized(replace(column, max_length=None), _WORDS, "DECIMAL", "VARCHAR", 0)


WORDING = Wording(type_of=_type, enumerated=lambda column, table: is_listed(_type(column, table)))


class DuckdbSink(FileTarget):
    """A DuckDB file, as a `mare.ports.Sink`."""

    limits = Limits("DuckDB", folds_case=True, dialect="duckdb")

    def __init__(self, location: str | Path, *, replace: bool = False) -> None:
        super().__init__(Path(duckdb_path(location, SinkError)), replace=replace)
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._order = WriteOrder.of(())
        self._later: set[tuple[str, ReflectedForeignKey]] = set()

    @property
    def notes(self) -> tuple[str, ...]:
        later = (f"{table} ({', '.join(key.columns)}) refers to {key.table}" for table, key in sorted(self._later, key=str))
        types = changed_types(self._targets.tables, "duckdb", _type)
        return (
            *self._targets.notes,
            *types,
            *(f"{words}: it was checked, but DuckDB can declare no such key" for words in later),
        )

    def create(self, tables: Sequence[SinkTable], release: str = "") -> None:
        self._order, self._later = WriteOrder.of(tables), set()
        super().create(tables, release)

    def _begin(self, path: Path) -> None:
        self._connection = open_duckdb(str(path))

    def _create(self, table: ReflectedTable) -> None:
        extra = [*WORDING.key(table), *(WORDING.unique(table, columns) for columns in table.uniques)]
        for key in table.foreign_keys:
            if self._order.leads_ahead(table.name, key.columns, key.table):
                self._later.add((table.name, key))
            else:
                extra.append(WORDING.foreign_key(key))
        connection, mark = entered(self._connection), mark_of(table.name, self._release)
        connection.execute(WORDING.create_table(table, extra=extra))
        connection.execute(f"COMMENT ON TABLE {WORDING.name(table.name)} IS {WORDING.constant(marked(table.comment, mark))}")
        for column in table.columns:
            if column.comment:
                at = f"{WORDING.name(table.name)}.{WORDING.name(column.name)}"
                connection.execute(f"COMMENT ON COLUMN {at} IS {WORDING.constant(column.comment)}")

    def foresee(self, tables: Sequence[SinkTable]) -> tuple[str, ...]:
        self._order = WriteOrder.of(tables)
        return super().foresee(tables)

    def _rehearse(self) -> None:
        real, self._connection = self._connection, open_duckdb(":memory:")
        try:
            self._try_out()
        finally:
            self._connection = real

    def _write(self, table: ReflectedTable, batch: pa.RecordBatch) -> None:
        if not batch.num_rows:
            return
        ready = fitted(batch, table, _arrow_type)
        arrow = pa.table(ready.columns, names=[f"c{number}" for number in range(ready.num_columns)])
        values = ", ".join(f"CAST(c{n} AS {_type(column, table)})" for n, column in enumerate(table.columns))
        names = WORDING.names(column.name for column in table.columns)
        connection = entered(self._connection)
        connection.register("mare_batch", arrow)
        connection.execute(f"INSERT INTO {WORDING.name(table.name)} ({names}) SELECT {values} FROM mare_batch")
        connection.unregister("mare_batch")

    def _held(self) -> dict[str, bool]:
        real = Path(os.path.realpath(self._target))
        if (log := real.with_name(f"{real.name}.wal")).exists():
            # DuckDB would take it for the new file's, and refuse to open either.
            raise SinkError(
                f"{log} lies beside the target: somebody has {self._target} open, or did not close it. Close it (or open it once "
                "with DuckDB, which writes the log back), or give another path."
            )
        if not self._target.exists() or not self._target.stat().st_size:
            return {}
        try:
            with open_duckdb(str(self._target), read_only=True) as connection:
                # A table of another schema is never mare's, whatever it is called.
                listed = connection.execute(_HELD).fetchall()
                return {n if at == "main" else f"{n} of schema {at}": at == "main" and is_mark(mark, n) for at, n, mark in listed}
        except duckdb.Error as error:
            raise SinkError(
                f"{self._target} exists already and cannot be replaced ({type(error).__name__}): it is no DuckDB file, or "
                "somebody has it open. Give another path."
            ) from None

    def _finish(self) -> None:
        connection = entered(self._connection)
        indexes = [Step(f"the indexes of table {n}", (n,), index) for n, index in create_indexes(self._targets.tables, WORDING)]
        orphans = {Step(f"the foreign keys of table {n}", (n,), dangling(WORDING, n, key)): (n, key) for n, key in self._later}
        self._count_on()
        for step in self._finishing.over([*indexes, *orphans, Step("the file", tuple(self._finishing.rows), "CHECKPOINT")]):
            answer = connection.execute(step.statement)
            if step in orphans and answer.fetchone() is not None:
                name, key = orphans[step]
                raise SinkError(
                    f"table {name!r} refers to rows of {key.table!r} that are not there. {self._target} was left as it was."
                )

    def _count_on(self) -> None:
        """A sequence cannot be moved, so it is made when the last row is there, to go on after it."""
        connection = entered(self._connection)
        counted: dict[str, list[tuple[ReflectedTable, ReflectedColumn]]] = defaultdict(list)
        for table in self._targets.tables:
            for column in table.columns:
                if column.counter is not None:
                    counted[column.counter.sequence or f"{table.name}_{column.name}_seq"].append((table, column))
        for name, columns in counted.items():
            last, step = 0, max(1, *(column.counter.step for _, column in columns if column.counter is not None))
            for table, column in columns:
                query = f"SELECT coalesce(max({WORDING.name(column.name)}), 0) FROM {WORDING.name(table.name)}"
                last = max(last, *(int(value) for (value,) in connection.execute(query).fetchall()))
            connection.execute(f"CREATE SEQUENCE {WORDING.name(name)} INCREMENT BY {step} START WITH {last + step}")
            for table, column in columns:
                at = f"{WORDING.name(table.name)} ALTER COLUMN {WORDING.name(column.name)}"
                connection.execute(f"ALTER TABLE {at} SET DEFAULT nextval({WORDING.constant(name)})")

    def _let_go(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _arrow_type(column: ReflectedColumn) -> pa.DataType:
    """Moments with a zone come in as such: turning one into the other would need an extension."""
    zoned = column.kind == "datetime" and "WITH TIME ZONE" in column.sql_type
    return pa.timestamp("us", tz="UTC") if zoned else arrow_type(column)
