"""`DuckdbSink`: a DuckDB file that appears complete or not at all.

Written to a new file beside the target and renamed into place. DuckDB checks keys and foreign keys as rows come in, and can
add no foreign key later: one that refers to its own table or to a later one is checked here at the end instead.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from mare.errors import InternalError, SinkError
from mare.ports import Place, SinkTable, Watch
from mare.schema.reflection import ReflectedColumn, ReflectedForeignKey, ReflectedTable
from mare.whereabouts import file_place
from mare_adapters.boundary import writing
from mare_adapters.engine import open_duckdb
from mare_adapters.locations import file_location
from mare_adapters.sources.columnar import arrow_type

from .beside import Beside, refuse_others, refuse_what_is_there
from .finishing import Finishing, Step
from .layout import Layout, Limits, WriteOrder, lay_out
from .marks import is_mark, mark_of
from .types import DUCKDB, changed_types, is_listed, own_type, sized
from .values import fitted
from .wording import Wording, index_names

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_LIMITS = Limits("DuckDB", folds_case=True)
_HELD = """
SELECT schema_name, table_name, comment FROM duckdb_tables() WHERE database_name = current_database() AND NOT internal
 UNION ALL
SELECT schema_name, view_name, NULL FROM duckdb_views() WHERE database_name = current_database() AND NOT internal ORDER BY 1, 2
"""


class DuckdbSink:
    """A DuckDB file, as a `mare.ports.Sink`."""

    def __init__(self, location: str | Path, *, replace: bool = False) -> None:
        self._target = Path(file_location(location, "duckdb", SinkError))
        self._replace = replace
        self._new: Beside | None = None
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._layout = Layout(())
        self._finishing = Finishing()
        self._later: set[tuple[str, ReflectedForeignKey]] = set()

    def __repr__(self) -> str:
        return f"DuckdbSink({self.label!r})"

    @property
    def label(self) -> str:
        return str(self._target)

    @property
    def notes(self) -> tuple[str, ...]:
        later = (f"{table} ({', '.join(key.columns)}) refers to {key.table}" for table, key in sorted(self._later, key=str))
        types = changed_types(self._layout.tables, "duckdb", _type)
        return (*self._layout.notes, *types, *(f"{words}: it was checked, but DuckDB can declare no such key" for words in later))

    def __enter__(self) -> Self:
        if self._target.is_dir():
            raise SinkError(f"{self._target} is a folder. Give the path of a file.")
        if not self._replace:
            refuse_what_is_there(self._target, self._held(), replace=False)
        self._new = Beside(self._target)
        with self._new.opening(self.label):
            self._connection = open_duckdb(str(self._new.path))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if error is None and self._layout.tables:
                with writing(self.label, "the file"):
                    self._finish()
        finally:
            self._discard()

    def place(self) -> Place:
        return file_place(self._target, within_folder=False)

    def expect(self, tables: Sequence[str]) -> None:
        held = self._held()
        refuse_others(self._target, list(held), tables, "the tables")
        refuse_what_is_there(self._target, held, replace=self._replace)

    def create(self, tables: Sequence[SinkTable], release: str = "") -> None:
        self.expect([one.table.name for one in tables])
        self._layout = lay_out(tables, _LIMITS)
        order = WriteOrder.of(tables)
        self._later = {
            (table.name, key)
            for table in self._layout.tables
            for key in table.foreign_keys
            if order.leads_ahead(table.name, key.columns, key.table)
        }
        for table in self._layout.tables:
            extra = [*WORDING.key(table), *map(WORDING.unique, table.uniques)]
            extra += [WORDING.foreign_key(key) for key in table.foreign_keys if (table.name, key) not in self._later]
            with writing(self.label, f"table {table.name}"):
                self._open.execute(WORDING.create_table(table, extra=extra))
                self._open.execute(f"COMMENT ON TABLE {WORDING.name(table.name)} IS '{mark_of(table.name, release)}'")

    def write(self, table: str, batch: pa.RecordBatch) -> None:
        import pyarrow as pa

        laid = self._layout.table(table)
        if not laid.columns or not batch.num_rows:
            return
        ready = fitted(batch, laid, _arrow_type)
        arrow = pa.table(ready.columns, names=[f"c{number}" for number in range(ready.num_columns)])
        values = ", ".join(f"CAST(c{n} AS {_type(column, laid)})" for n, column in enumerate(laid.columns))
        names = WORDING.names(column.name for column in laid.columns)
        with writing(self.label, f"table {table}"):
            self._open.register("mare_batch", arrow)
            self._open.execute(f"INSERT INTO {WORDING.name(table)} ({names}) SELECT {values} FROM mare_batch")
            self._open.unregister("mare_batch")
        self._finishing.rows[table] += batch.num_rows

    def tell_finishing(self, watch: Watch) -> None:
        self._finishing.watch = watch

    @property
    def _open(self) -> duckdb.DuckDBPyConnection:
        if self._connection is None:
            raise InternalError("a sink was written to before it was entered")
        return self._connection

    def _held(self) -> dict[str, bool]:
        """What the file at the target holds, and whether mare created it. One that is not DuckDB's is nobody's to overwrite."""
        import duckdb

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
                return {n if at == "main" else f"{n} of schema {at}": at == "main" and is_mark(said, n) for at, n, said in listed}
        except duckdb.Error as error:
            raise SinkError(
                f"{self._target} exists already and cannot be replaced ({type(error).__name__}): it is no DuckDB file, or "
                "somebody has it open. Give another path."
            ) from None

    def _finish(self) -> None:
        connection = self._open
        names = index_names(self._layout.tables)
        indexes = [
            Step(
                f"the indexes of table {table.name}",
                (table.name,),
                f"CREATE INDEX {WORDING.name(names[table.name, columns])} "
                f"ON {WORDING.name(table.name)} ({WORDING.names(columns)})",
            )
            for table in self._layout.tables
            for columns in table.indexes
        ]
        orphans = {Step(f"the foreign keys of table {n}", (n,), _orphans(n, key)): (n, key) for n, key in self._later}
        for step in self._finishing.over([*indexes, *orphans, Step("the file", tuple(self._finishing.rows), "CHECKPOINT")]):
            found = connection.execute(step.statement)
            if step in orphans and found.fetchone() is not None:
                name, key = orphans[step]
                raise SinkError(
                    f"table {name!r} refers to rows of {key.table!r} that are not there. {self._target} was left as it was."
                )
        connection.close()
        self._connection = None
        if self._new is None:
            raise InternalError("a sink was finished before it was entered")
        self.expect([table.name for table in self._layout.tables])  # what is there now: somebody may have come meanwhile
        self._new.appear()

    def _discard(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._new is not None:
            self._new.discard()
            self._new = None


def _type(column: ReflectedColumn, table: ReflectedTable) -> str:
    return own_type(column, table, "duckdb") or sized(replace(column, max_length=None), DUCKDB, "DECIMAL", "VARCHAR", 0)


def _arrow_type(column: ReflectedColumn) -> pa.DataType:
    """Moments with a zone come in as such: turning one into the other would need an extension."""
    import pyarrow as pa

    zoned = column.kind == "datetime" and "WITH TIME ZONE" in column.sql_type
    return pa.timestamp("us", tz="UTC") if zoned else arrow_type(column)


WORDING = Wording(type_of=_type, enumerated=lambda column, table: is_listed(_type(column, table)))


def _orphans(table: str, key: ReflectedForeignKey) -> str:
    pairs = [(WORDING.name(here), WORDING.name(there)) for here, there in zip(key.columns, key.references, strict=True)]
    filled = " AND ".join(f"c.{here} IS NOT NULL" for here, _ in pairs)
    equal = " AND ".join(f"p.{there} = c.{here}" for here, there in pairs)
    parents = f"SELECT 1 FROM {WORDING.name(key.table)} AS p WHERE {equal}"
    return f"SELECT 1 FROM {WORDING.name(table)} AS c WHERE {filled} AND NOT EXISTS ({parents}) LIMIT 1"
