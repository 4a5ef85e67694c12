"""`FolderSource`: a folder of CSV or Parquet files, one table a file.

Files have no snapshot. Instead, a file that changed between opening the folder and the end of reading it is an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from mare.errors import InternalError, SourceError
from mare.ports import Place
from mare.schema.reflection import LeftOut, Peek, ReflectedColumn, ReflectedTable, Reflection
from mare.secrecy import shown
from mare.whereabouts import folder_place
from mare_adapters.boundary import reading

from .arrow_kinds import conformed, reflected_field
from .columnar import BATCH_ROWS, Unread, record_batches
from .csv_files import read_header, stream_rows
from .files import DataFile, find_files
from .lookup import find_columns, find_table
from .peeking import peek_batches
from .sizes import rows_of_file

if TYPE_CHECKING:
    import pyarrow as pa

_FRAME_INDEX = "__index_level_"
"""pandas writes the index of a frame under such a name."""


class FolderSource:
    """A folder of files, as a `mare.ports.Source`."""

    def __init__(self, location: str | Path) -> None:
        self._folder = Path(location)
        self._files: dict[str, DataFile] | None = None
        self._left_out: list[LeftOut] = []
        self._stamps: dict[Path, tuple[int, int]] = {}
        self._reflection: Reflection | None = None
        self.unread: Unread = Unread()

    def __repr__(self) -> str:
        return f"FolderSource({self.label!r})"

    @property
    def label(self) -> str:
        return shown(self._folder)

    def __enter__(self) -> Self:
        if not self._folder.is_dir():
            raise SourceError(f"{shown(self._folder)} is not a folder that is there.")
        files, self._left_out = find_files(self._folder)
        self._files = {file.label: file for file in files}
        self._stamps = {path: _stamp(path) for file in files for path in file.paths}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._files, self._reflection = None, None

    def reflect(self) -> Reflection:
        if self._reflection is None:
            tables, faults, left_out = [], [], list(self._left_out)
            for file in self._open.values():
                try:
                    table = self._reflect_file(file)
                except SourceError as fault:
                    faults.append(str(fault))
                    continue
                indexes = [column.name for column in table if column.name.startswith(_FRAME_INDEX)]
                left_out += [LeftOut(f"{file.label}.{name}", "the row numbers of a data frame") for name in indexes]
                columns = tuple(column for column in table if column.name not in indexes)
                tables.append(ReflectedTable(file.label, columns, dialect="arrow" if file.format == "parquet" else ""))
            if faults:
                raise SourceError("\n".join(faults))
            self._reflection = Reflection(self.label, tuple(tables), tuple(left_out))
        return self._reflection

    def read(self, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        reflected = find_table(self.reflect(), table)
        return self._stream(reflected, find_columns(self.reflect(), reflected, columns), columns)

    def peek(self, table: str, column: str, max_values: int) -> Peek:
        reflected = find_table(self.reflect(), table)
        wanted = find_columns(self.reflect(), reflected, [column])
        with reading(self.label, f"table {table}"):
            return peek_batches(self._stream(reflected, wanted, [column]), wanted[0].kind, max_values)

    def about(self, table: str) -> int | None:
        file = self._open[find_table(self.reflect(), table).name]
        told = [rows_of_file(path, file.format) for path in file.paths]
        return None if None in told else sum(rows for rows in told if rows is not None)

    def _skipped(self, table: str) -> None:
        self.unread[table] += 1

    def place(self) -> Place:
        return folder_place(self._folder, [path for file in self._open.values() for path in file.paths])

    @property
    def _open(self) -> dict[str, DataFile]:
        if self._files is None:
            raise InternalError("a source was asked before it was entered")
        return self._files

    def _reflect_file(self, file: DataFile) -> tuple[ReflectedColumn, ...]:
        columns = _columns(file.format, file.paths[0])
        for part in file.paths[1:]:
            others = _columns(file.format, part)
            if [column.name for column in others] != [column.name for column in columns]:
                raise SourceError(f"{part} has other columns than {file.paths[0].name}, though both are parts of one table.")
            for mine, other in zip(columns, others, strict=True):
                if mine.kind != other.kind and not (mine.inferred or other.inferred):
                    raise SourceError(
                        f"{part} stores {mine.name} as {other.sql_type}, {file.paths[0].name} as {mine.sql_type}, though "
                        "both are parts of one table. Write all of them alike."
                    )
        return columns

    def _stream(
        self, table: ReflectedTable, columns: Sequence[ReflectedColumn], names: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        file = self._open[table.name]
        asked = [column.name for column in columns]
        empty = True
        for path in file.paths:
            if _stamp(path) != self._stamps[path]:
                raise _changed(path)
            for batch in self._batches(file, path, asked, table.name):
                empty = False
                # A name may be asked for twice, and a file gives its columns in its own order.
                found = batch.select(asked)
                if file.format == "csv":  # texts, all of them, and letters already
                    yield pa.RecordBatch.from_arrays(found.columns, names=list(names))
                else:
                    yield conformed(found, columns, names, table.name, self.unread)
            if _stamp(path) != self._stamps[path]:
                raise _changed(path)
        if empty:
            yield from record_batches([], columns, names, table.name)

    def _batches(self, file: DataFile, path: Path, asked: Sequence[str], table: str) -> Iterator[pa.RecordBatch]:
        if file.format == "csv":
            columns, separator = read_header(path)
            yield from stream_rows(path, [column.name for column in columns], separator, asked, partial(self._skipped, table))
            return
        import pyarrow.parquet as pq

        with reading(str(path), "the file"), pq.ParquetFile(path) as opened:
            yield from opened.iter_batches(batch_size=BATCH_ROWS, columns=list(dict.fromkeys(asked)))


def _columns(form: str, path: Path) -> tuple[ReflectedColumn, ...]:
    if form == "csv":
        return read_header(path)[0]
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(path)
    except (pa.ArrowException, OSError) as error:
        raise SourceError(
            f"{path} cannot be read as the Parquet file that its name says ({type(error).__name__}). "
            "Rename it if it is something else; copy it again if it was cut off."
        ) from None
    twice = sorted({name for name in schema.names if schema.names.count(name) > 1})
    if twice:
        raise SourceError(f"{path}: more than one column is called {', '.join(twice)}. Give each column a name of its own.")
    # A file that pandas wrote has the types that pandas inferred from the values of the frame.
    inferred = b"pandas" in (schema.metadata or {})
    return tuple(replace(reflected_field(field), inferred=inferred) for field in schema)


def _stamp(path: Path) -> tuple[int, int]:
    try:
        told = path.stat()
    except OSError as error:
        raise SourceError(f"{path} cannot be read ({type(error).__name__}).") from None
    return told.st_size, told.st_mtime_ns


def _changed(path: Path) -> SourceError:
    return SourceError(f"{path} changed while it was read. Read a copy that nothing else writes to.")
