"""`FolderSink`: a folder of Parquet or CSV files, one table a file, that appears complete or not at all.

    out                     Parquet
    out?format=csv          CSV: NULL is an empty field, the empty string a quoted one
    out?format=csv.gz       the same, compressed

Files hold no keys. NULL where none may be is refused; keys and references hold because the sampler made them so. The
folder's mark is a hidden file that lists what mare wrote there, each file with its size: one that has changed is somebody's.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mare.errors import SinkError
from mare.finding import folder_place
from mare.ports import TRUE_ROWS, Place
from mare.schema.reflection import ReflectedColumn, ReflectedTable
from mare.secrecy import is_path, require_path
from mare_adapters.boundary import writing
from mare_adapters.engine import quoted
from mare_adapters.sources.columnar import arrow_type

from .file_target import FileTarget
from .target import Step, csv_rows, entered, fitted, refuse_others, refuse_what_is_there
from .target_tables import Limits
from .wording import declared_digits

_FORMATS = ("parquet", "csv", "csv.gz")
_ROW_GROUP = 131_072
"""Rows that are written at once: a block of the sampler is far smaller, and small row groups make slow files."""
_DECIMAL = re.compile(r"decimal(?:32|64|128)\((\d+), (\d+)\)")
_MARK = ".mare.json"
"""Hidden, so that whoever reads the folder (mare, Spark, Arrow) takes it for no table."""
_FILE = re.compile(r"(.+)\.(?:parquet|csv|csv\.gz)", re.IGNORECASE)


class FolderSink(FileTarget):
    """A folder of files, as a `mare.ports.Sink`."""

    limits = Limits("a folder of files", length=240, measure=lambda name: len(name.encode()), unit="bytes", folds_case=True)
    is_folder = True

    def __init__(self, location: str | Path, *, replace: bool = False) -> None:
        path, _, options = str(location).partition("?format=")
        self._format = options or "parquet"
        require_path(path, SinkError, "the name of a folder")
        if self._format not in _FORMATS:
            asked = f"format={self._format}" if is_path(self._format) else "what follows ?format="
            raise SinkError(f"{asked} is not a format that mare writes. Known: {', '.join(_FORMATS)}.")
        super().__init__(Path(path), replace=replace)
        self._files: dict[str, _Parquet | _Csv] = {}

    def expect(self, tables: Sequence[str]) -> None:
        faults = [name for name in tables if "/" in name or "\\" in name or name.startswith(".")]
        if faults:
            raise SinkError(f"no file can be called {', '.join(map(repr, faults))}. Write to a database instead.")
        held = self._held()
        named = {match[1] if (match := _FILE.fullmatch(name)) else name: name for name in held}
        refuse_others(self._target, list(named), tables, "")
        refuse_what_is_there(self._target, held, replace=self._replace)

    def place(self) -> Place:
        return folder_place(self._target, [self._target / name for name in self._held()])

    def _begin(self, path: Path) -> None:
        path.mkdir()

    def _create(self, table: ReflectedTable) -> None:
        """A new file for the table. It exists from now on, with its columns: a table without rows is a table too."""
        path = entered(self._new).path / f"{table.name}.{self._format}"
        self._files[table.name] = _Parquet(path, table) if self._format == "parquet" else _Csv(path, table)

    def _write(self, table: ReflectedTable, batch: pa.RecordBatch) -> None:
        self._files[table.name].write(batch)

    def _finish(self) -> None:
        files = {Step(file.path.name, (table,)): file for table, file in self._files.items()}
        for step in self._finishing.over([*files, Step("the folder", tuple(self._files))]):
            with writing(self.label, step.what):
                if step in files:
                    files[step].close()
                else:
                    self._write_mark(entered(self._new).path)

    def _write_mark(self, folder: Path) -> None:
        sizes = {file.name: file.stat().st_size for file in sorted(folder.iterdir())}
        synthetic = self._release != TRUE_ROWS
        kind = {"release": self._release or "unknown"} if synthetic else {"rows": "TRUE ROWS (internal, not private)"}
        mark = {"created by": "mare", "synthetic": synthetic, **kind, "files": sizes}
        (folder / _MARK).write_text(json.dumps(mark, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    def _let_go(self) -> None:
        for file in self._files.values():
            file.abandon()
        self._files = {}

    def _held(self) -> dict[str, bool]:
        """By the names of the files; mare's are those whose size its mark lists."""
        if not self._target.is_dir():
            return {}
        sizes = _marked(self._target / _MARK)
        entries = [entry for entry in sorted(self._target.iterdir()) if entry.name != _MARK or sizes is None]
        return {entry.name: entry.is_file() and (sizes or {}).get(entry.name) == entry.stat().st_size for entry in entries}


def _marked(file: Path) -> dict[str, object] | None:
    """The files that a folder's mark lists, with their sizes; None where it is no mark of mare's."""
    try:
        mark = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    files = mark.get("files") if isinstance(mark, dict) and mark.get("created by") == "mare" else None
    return files if isinstance(files, dict) else None


class _Parquet:
    """A file that is being written. To close it may fail: the disk may be full. To abandon it lets go of it in whatever state it
    is, and may be called again."""

    def __init__(self, path: Path, table: ReflectedTable) -> None:
        self.path = path
        self._table = table
        self._schema = pa.schema(
            pa.field(column.name, _parquet_type(column, table), nullable=column.nullable and column.name not in table.key)
            for column in table.columns
        )
        # Texts repeat. Keys and times do not: a dictionary of them takes longer than all the rest, and makes larger files.
        texts = [f.name for f in self._schema if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)]
        self._writer: pq.ParquetWriter | None = pq.ParquetWriter(path, self._schema, use_dictionary=texts)
        self._waiting: list[pa.RecordBatch] = []

    def write(self, batch: pa.RecordBatch) -> None:
        types = {field.name: field.type for field in self._schema}
        self._waiting.append(fitted(batch, self._table, lambda column: types[column.name]))
        if sum(batch.num_rows for batch in self._waiting) >= _ROW_GROUP:
            self._flush()

    def close(self) -> None:
        self._flush()
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def abandon(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            with suppress(Exception):  # what is half-written is thrown away; the first error is the one to tell
                writer.close()

    def _flush(self) -> None:
        if self._waiting and self._writer is not None:
            self._writer.write_table(pa.Table.from_batches(self._waiting, schema=self._schema))
        self._waiting = []


class _Csv:
    """The same in CSV."""

    def __init__(self, path: Path, table: ReflectedTable) -> None:
        self.path = path
        self._table = table
        # Without a time of its own: the same rows are the same bytes.
        self._raw = path.open("wb")
        packed = gzip.GzipFile("", "wb", compresslevel=6, fileobj=self._raw, mtime=0) if path.suffix == ".gz" else None
        self._file = cast("IO[bytes]", packed or self._raw)
        header = ",".join(quoted(column.name) for column in table.columns)
        self._file.write(f"{header}\n".encode())

    def write(self, batch: pa.RecordBatch) -> None:
        ready = fitted(batch, self._table)
        columns = [_whole_seconds(column) for column in ready.columns]
        self._file.write(csv_rows(pa.RecordBatch.from_arrays(columns, names=[str(n) for n in range(len(columns))])))

    def close(self) -> None:
        self._file.close()
        self._raw.close()

    def abandon(self) -> None:
        with suppress(Exception):
            self._file.close()
        with suppress(Exception):
            self._raw.close()


def _whole_seconds(column: pa.Array) -> pa.Array:
    """Moments and times without the zeros after the second, as people write them."""
    if not pa.types.is_timestamp(column.type) and not pa.types.is_time(column.type):
        return column
    return pc.replace_substring_regex(pc.cast(column, pa.string()), r"\.0+$", "")


def _parquet_type(column: ReflectedColumn, table: ReflectedTable) -> pa.DataType:
    """The source's own Arrow type, or the one of the kind; a decimal where the source declares its digits."""
    if table.dialect == "arrow":
        if own_size := _DECIMAL.fullmatch(column.sql_type):
            return pa.decimal128(int(own_size[1]), int(own_size[2]))
        if zone := re.fullmatch(r"timestamp\[(\w+), tz=[\w/+:-]+\]", column.sql_type):
            return pa.timestamp(zone[1], tz="UTC")
        with suppress(ValueError):
            own = pa.type_for_alias(column.sql_type)
            if not pa.types.is_null(own):
                return own
    size = declared_digits(column)
    return pa.decimal128(*size) if size else arrow_type(column)
