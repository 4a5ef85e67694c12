"""One table's file, Parquet or CSV, while a folder is being written."""

from __future__ import annotations

import gzip
import re
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol, cast

from mare.schema.reflection import ReflectedColumn, ReflectedTable
from mare_adapters.sources.columnar import arrow_type

from .types import declared_digits
from .values import fitted, seconds

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = ("parquet", "csv", "csv.gz")
_ROW_GROUP = 131_072
"""Rows that are written at once: a block of the sampler is far smaller, and small row groups make slow files."""
_DECIMAL = re.compile(r"decimal(?:32|64|128)\((\d+), (\d+)\)")


class TableFile(Protocol):
    """A file that is being written."""

    @property
    def path(self) -> Path: ...
    def write(self, batch: pa.RecordBatch) -> None: ...
    def close(self) -> None:
        """Write the rest. May fail: the disk may be full."""
        ...

    def abandon(self) -> None:
        """Let go of the file, whatever state it is in. May be called again."""
        ...


def open_file(folder: Path, table: ReflectedTable, form: str) -> TableFile:
    """A new file for the table. It exists from now on, with its columns: a table without rows is a table too."""
    path = folder / f"{table.name}.{form}"
    return _Parquet(path, table) if form == "parquet" else _Csv(path, table)


class _Parquet:
    def __init__(self, path: Path, table: ReflectedTable) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.path = path
        self._table = table
        self._schema = pa.schema([_field(column, table) for column in table.columns])
        # Texts repeat. Keys and times do not: a dictionary of them takes longer than all the rest, and makes larger files.
        texts = [f.name for f in self._schema if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)]
        self._writer: pq.ParquetWriter | None = pq.ParquetWriter(path, self._schema, use_dictionary=texts)
        self._waiting: list[pa.RecordBatch] = []

    def write(self, batch: pa.RecordBatch) -> None:
        types = {field.name: field.type for field in self._schema}
        self._waiting.append(fitted(batch, self._table, lambda column: types[column.name]))
        if sum(one.num_rows for one in self._waiting) >= _ROW_GROUP:
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
        import pyarrow as pa

        if self._waiting and self._writer is not None:
            self._writer.write_table(pa.Table.from_batches(self._waiting, schema=self._schema))
        self._waiting = []


class _Csv:
    def __init__(self, path: Path, table: ReflectedTable) -> None:
        self.path = path
        self._table = table
        # Without a time of its own: the same rows are the same bytes.
        self._raw = path.open("wb")
        packed = gzip.GzipFile("", "wb", compresslevel=6, fileobj=self._raw, mtime=0) if path.suffix == ".gz" else None
        self._file = cast("IO[bytes]", packed or self._raw)
        header = ",".join('"' + column.name.replace('"', '""') + '"' for column in table.columns)
        self._file.write(f"{header}\n".encode())

    def write(self, batch: pa.RecordBatch) -> None:
        import pyarrow as pa

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


def csv_rows(batch: pa.RecordBatch) -> bytes:
    """Rows as CSV: NULL is nothing between the commas, a text always stands in quotes, bytes are ``\\x`` and hexadecimal."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    columns = [_written(column) for column in batch.columns]
    sink = pa.BufferOutputStream()
    plain = pa.table(columns, names=[f"c{number}" for number in range(len(columns))])
    arrow_csv.write_csv(plain, sink, arrow_csv.WriteOptions(include_header=False))
    return cast(bytes, sink.getvalue().to_pybytes())


def _whole_seconds(column: pa.Array) -> pa.Array:
    """Moments and times without the zeros after the second, as people write them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_timestamp(column.type) and not pa.types.is_time(column.type):
        return column
    return pc.replace_substring_regex(pc.cast(column, pa.string()), r"\.0+$", "")


def _written(column: pa.Array) -> pa.Array:
    import pyarrow as pa

    if pa.types.is_duration(column.type):
        return seconds(column)
    if pa.types.is_binary(column.type):
        return pa.array([None if value is None else f"\\x{value.hex()}" for value in column.to_pylist()], type=pa.string())
    return column


def _field(column: ReflectedColumn, table: ReflectedTable) -> pa.Field:
    import pyarrow as pa

    return pa.field(column.name, _parquet_type(column, table), nullable=column.nullable and column.name not in table.key)


def _parquet_type(column: ReflectedColumn, table: ReflectedTable) -> pa.DataType:
    """The source's own Arrow type, or the one of the kind; a decimal where the source declares its digits."""
    import pyarrow as pa

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
