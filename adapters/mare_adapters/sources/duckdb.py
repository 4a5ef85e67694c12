"""`DuckdbSource`: a DuckDB file, read natively and read-only.

No other process can write while a file is open read-only, so what is read is one state of the database.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from mare.errors import InternalError, SourceError
from mare.ports import Place
from mare.schema.reflection import Peek, ReflectedColumn, ReflectedTable, Reflection
from mare.whereabouts import file_place
from mare_adapters.boundary import reading
from mare_adapters.engine import open_duckdb, quoted, stream
from mare_adapters.locations import file_location

from .arrow_kinds import conformed
from .catalogue import Found
from .columnar import BATCH_ROWS, Unread, record_batches
from .duckdb_catalogue import reflect_duckdb
from .lookup import find_columns, find_table
from .peeking import peek_column
from .reach import within_reach

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


_SIZE = (
    "SELECT estimated_size FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = ? AND table_name = ?"
)


class DuckdbSource:
    """A DuckDB file, as a `mare.ports.Source`."""

    def __init__(self, location: str | Path) -> None:
        self._path = file_location(location, "duckdb")
        self._stack = ExitStack()
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._reflection: Reflection | None = None
        self._found: dict[str, Found] = {}
        self.unread: Unread = Unread()

    def __repr__(self) -> str:
        return f"DuckdbSource({self.label!r})"

    @property
    def label(self) -> str:
        return self._path

    def __enter__(self) -> Self:
        import duckdb

        if not Path(self._path).is_file():
            raise SourceError(f"{self._path} is not there. Give the path of a DuckDB file that exists.")
        try:
            self._connection = self._stack.enter_context(open_duckdb(self._path, read_only=True))
            self._connection.execute("BEGIN TRANSACTION READ ONLY")
        except duckdb.Error as error:
            raise SourceError(
                f"{self._path} cannot be opened ({type(error).__name__}). Is it a DuckDB file, of a version that DuckDB "
                f"{duckdb.__version__} reads, and has no other process opened it for writing?"
            ) from None
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._connection, self._reflection = None, None
        self._stack.close()

    def reflect(self) -> Reflection:
        if self._reflection is None:
            with reading(self.label, "the catalogue"):
                catalogue = reflect_duckdb(self._open)
                self._found = dict(catalogue.found)
                self._reflection = Reflection(self.label, catalogue.tables, catalogue.left_out)
        return self._reflection

    def read(self, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        reflected = find_table(self.reflect(), table)
        return self._stream(reflected, find_columns(self.reflect(), reflected, columns), columns)

    def peek(self, table: str, column: str, max_values: int) -> Peek:
        reflected = find_table(self.reflect(), table)
        wanted = find_columns(self.reflect(), reflected, [column])[0]
        with reading(self.label, f"table {table}"):
            return peek_column(self._open, self._relation(reflected), _selected(wanted), wanted.kind, max_values)

    def about(self, table: str) -> int | None:
        name = find_table(self.reflect(), table).name
        found = self._found[name]
        with reading(self.label, "the catalogue"):
            # To its end: DuckDB 2 streams nothing as long as the last answer is not taken.
            told = self._open.execute(_SIZE, [found.schema, found.name]).fetchall()
        return int(told[0][0]) if told else None

    def place(self) -> Place:
        return file_place(self._path, beside=(".wal",))

    @property
    def _open(self) -> duckdb.DuckDBPyConnection:
        if self._connection is None:
            raise InternalError("a source was asked before it was entered")
        return self._connection

    def _relation(self, table: ReflectedTable) -> str:
        found = self._found[table.name]
        return f"{quoted(str(found.schema))}.{quoted(found.name)}"

    def _stream(
        self, table: ReflectedTable, columns: Sequence[ReflectedColumn], names: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        selected = ", ".join(f"{_selected(column)} AS c{number}" for number, column in enumerate(columns))
        with reading(self.label, f"table {table.name}"):
            reader = stream(self._open, f"SELECT {selected} FROM {self._relation(table)}", BATCH_ROWS)
            empty = True
            try:
                for batch in reader:
                    empty = False
                    yield conformed(batch, columns, names, table.name, self.unread)
            finally:
                reader.close()
            if empty:
                yield from record_batches([], columns, names, table.name)


def _selected(column: ReflectedColumn) -> str:
    """What has no type of its own in Arrow, in one that it has; moments with a zone as UTC, without the ICU extension."""
    name = quoted(column.name)
    if column.kind == "duration":
        return f"epoch_us({within_reach(name, column.kind)})"
    if column.kind == "datetime" and re.search("WITH TIME ZONE", column.sql_type):
        return f"make_timestamp(epoch_us({within_reach(name, column.kind, zoned=True)}))"
    if column.kind == "datetime":  # of nanoseconds or whole seconds, whose own ends are others
        return within_reach(f"TRY_CAST({name} AS TIMESTAMP)", column.kind)
    if column.kind in ("date", "time"):
        return within_reach(f"CAST({name} AS {column.kind})", column.kind)
    return f"CAST({name} AS VARCHAR)" if column.kind in ("string", "uuid", "json", "other") else name
