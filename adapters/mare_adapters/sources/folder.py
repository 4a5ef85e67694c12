"""`FolderSource`: a folder of CSV or Parquet files, one table a file, or of FHIR resources (ndjson), one table a type.

patients.parquet, patients.csv, patients.csv.gz     one table, called after the file (also .tsv and .tsv.gz); or such a file alone
hosp/patients.csv.gz                                a folder one level down (MIMIC's hosp, icu): plain names too,
                                                    ``hosp.patients`` where two folders hold the same name
patients.parquet/part-0.parquet, …/part-1.parquet   a folder of parts, as Spark writes it: one table
Patient.000.ndjson, Patient.001.ndjson.gz           a FHIR bulk export: one table a type of resource (`fhir`)

Files have no snapshot. Instead, a file that changed between opening the folder and the end of reading it is an error.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Literal, Self, cast

import pyarrow as pa
import pyarrow.parquet as pq

from mare.errors import SourceError
from mare.finding import folder_place
from mare.ports import Place
from mare.schema.reflection import LeftOut, ReflectedColumn, ReflectedTable, Reflection
from mare.secrecy import shown
from mare_adapters.boundary import reading

from .arrow_kinds import conformed, reflected_field
from .columnar import BATCH_ROWS
from .csv_files import UTF_8, doubt_of_header, read_header, split_encoding, stream_rows
from .fhir import NO_TYPE, RESOURCES, columns_of, is_ndjson, resource_of, stream_resources
from .table_source import Batches, TableSource, find_table

Format = Literal["csv", "parquet", "ndjson"]
_FRAME_INDEX = "__index_level_"
"""pandas writes the index of a frame under such a name."""
_HEAD = 1 << 18
"""Bytes of a CSV file that stand for the rest of it."""
_SUFFIX = re.compile(r"(?P<stem>.+)\.(?P<suffix>[ct]sv|[ct]sv\.gz|parquet|pq)", re.IGNORECASE)
_PART = re.compile(r"part[-_.]?\d.*", re.IGNORECASE)


@dataclass(frozen=True)
class DataFile:
    """One table: a file, or the parts of one."""

    label: str
    format: Format
    paths: tuple[Path, ...]
    resource: str = ""
    """Of ndjson, what its lines are: Patient."""

    @property
    def place(self) -> str:
        """For messages."""
        return str(self.paths[0]) if self.paths else self.label


class FolderSource(TableSource[dict[str, DataFile]]):
    """A folder of files, as a `mare.ports.Source`."""

    def __init__(self, location: str | Path) -> None:
        super().__init__()
        self._folder, self._encoding = split_encoding(location)
        self._left_out: list[LeftOut] = []
        self._stamps: dict[Path, tuple[int, int]] = {}

    @property
    def label(self) -> str:
        return shown(self._folder) if self._encoding == UTF_8 else f"{shown(self._folder)}?encoding={self._encoding}"

    def __enter__(self) -> Self:
        files, self._left_out = find_files(self._folder)
        self._opened = {file.label: file for file in files}
        self._stamps = {path: _stamp(path) for file in files for path in file.paths}
        return self

    def _reflect(self) -> Reflection:
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
            tables.append(ReflectedTable(file.label, columns, dialect="" if file.format == "csv" else "arrow"))
        if faults:
            raise SourceError("\n".join(faults))
        by_headers = any(file.format == "csv" for file in self._open.values())
        return Reflection(self.label, tuple(tables), tuple(left_out), by_headers)

    def about(self, table: str) -> int | None:
        file = self._open[find_table(self.reflect(), table).name]
        sizes = [_rows_of_file(path, file.format) for path in file.paths]
        return None if None in sizes else sum(rows for rows in sizes if rows is not None)

    def doubts_of_headers(self) -> tuple[str, ...]:
        doubts = (doubt_of_header(file.paths[0], self._encoding) for file in self._open.values() if file.format == "csv")
        return tuple(doubt for doubt in doubts if doubt is not None)

    def place(self) -> Place:
        return folder_place(self._folder, [path for file in self._open.values() for path in file.paths])

    def _reflect_file(self, file: DataFile) -> tuple[ReflectedColumn, ...]:
        if file.format == "ndjson":
            return columns_of(file.resource)
        columns = _columns(file.format, file.paths[0], self._encoding)
        for part in file.paths[1:]:
            others = _columns(file.format, part, self._encoding)
            if [column.name for column in others] != [column.name for column in columns]:
                raise SourceError(f"{part} has other columns than {file.paths[0].name}, though both are parts of one table.")
            for mine, other in zip(columns, others, strict=True):
                if mine.kind != other.kind and not (mine.inferred or other.inferred):
                    raise SourceError(
                        f"{part} stores {mine.name} as {other.sql_type}, {file.paths[0].name} as {mine.sql_type}, though "
                        "both are parts of one table. Write all of them alike."
                    )
        return columns

    def _stream(self, table: ReflectedTable, columns: Sequence[ReflectedColumn], names: Sequence[str]) -> Batches:
        file = self._open[table.name]
        asked = [column.name for column in columns]
        for path in file.paths:
            if _stamp(path) != self._stamps[path]:
                raise _changed(path)
            if file.format == "ndjson":
                for batch in stream_resources(path, file.resource, columns, table.name, self.unread):
                    yield batch.rename_columns(list(names))
            for batch in self._stored(file, path, asked, table.name) if file.format != "ndjson" else ():
                # A name may be asked for twice, and a file gives its columns in its own order.
                selected = batch.select(asked)
                if file.format == "csv":  # texts, all of them, and letters already
                    yield pa.RecordBatch.from_arrays(selected.columns, names=list(names))
                else:
                    yield conformed(selected, columns, names, table.name, self.unread)
            if _stamp(path) != self._stamps[path]:
                raise _changed(path)

    def _stored(self, file: DataFile, path: Path, asked: Sequence[str], table: str) -> Batches:
        if file.format == "csv":
            columns, separator = read_header(path, self._encoding)
            skipped = yield from stream_rows(path, [column.name for column in columns], separator, asked, self._encoding)
            if skipped:
                self.unread[table] += skipped
            return
        with reading(str(path), "the file"), pq.ParquetFile(path) as opened:
            yield from opened.iter_batches(batch_size=BATCH_ROWS, columns=list(dict.fromkeys(asked)))


def _columns(form: str, path: Path, encoding: str) -> tuple[ReflectedColumn, ...]:
    if form == "csv":
        return read_header(path, encoding)[0]
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
        status = path.stat()
    except OSError as error:
        raise SourceError(f"{path} cannot be read ({type(error).__name__}).") from None
    return status.st_size, status.st_mtime_ns


def _changed(path: Path) -> SourceError:
    return SourceError(f"{path} changed while it was read. Read a copy that nothing else writes to.")


def _rows_of_file(path: Path, form: str) -> int | None:
    """About how many, without reading them: Parquet counts its rows; of CSV, the head is counted."""
    with suppress(OSError, EOFError, zlib.error, pa.ArrowException):
        if form == "parquet":
            return int(pq.read_metadata(path).num_rows)
        with path.open("rb") as raw:
            opened = gzip.GzipFile(fileobj=raw) if path.name.lower().endswith(".gz") else raw
            lines = cast(IO[bytes], opened).read(_HEAD).count(b"\n")
            return int(lines * path.stat().st_size / max(1, raw.tell()))
    return None


def find_files(folder: Path) -> tuple[list[DataFile], list[LeftOut]]:
    """The tables of a folder, and what in it is not one; or a single file. Looks at names only, never into a file."""
    if folder.is_file() and (alone := _as_table([folder])) is not None:
        return [alone], []
    if not folder.is_dir():
        raise SourceError(f"{shown(folder)} is not a folder that is there.")
    left_out: list[LeftOut] = []
    stems: list[tuple[str, str, DataFile]] = []
    for entry in _entries(folder):
        if entry.is_dir():
            stems += _inside(entry, left_out)
        elif (file := _as_table([entry])) is not None:
            stems.append(("", file.label, file))
        elif not is_ndjson(entry):
            left_out.append(LeftOut(entry.name, "not a CSV or Parquet file"))
    stems += _resources("", _entries(folder), left_out)
    if not stems:
        raise SourceError(
            f"{folder} holds no CSV or Parquet file. Each table is a file of its own: patients.csv, .csv.gz or .parquet. "
            "Of a FHIR export, each file says its type: Patient.ndjson."
        )
    _refuse_twins(stems)
    times = Counter(stem.casefold() for _, stem, _ in stems)
    files = [
        replace(file, label=f"{group}.{stem}" if group and times[stem.casefold()] > 1 else stem) for group, stem, file in stems
    ]
    return sorted(files, key=lambda file: file.label), left_out


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(entry for entry in folder.iterdir() if not entry.name.startswith((".", "_")))
    except OSError as error:
        raise SourceError(f"{folder} cannot be listed ({type(error).__name__}). May this user read it?") from None


def _inside(folder: Path, left_out: list[LeftOut]) -> list[tuple[str, str, DataFile]]:
    entries = _entries(folder)
    files = [entry for entry in entries if entry.is_file()]
    tables = [entry for entry in files if _SUFFIX.fullmatch(entry.name)]
    left_out += [LeftOut(f"{folder.name}/{entry.name}", "a folder further down") for entry in entries if entry.is_dir()]
    named = _SUFFIX.fullmatch(folder.name)
    if tables and (named or all(_PART.fullmatch(entry.name) for entry in tables)):
        table = _as_table(tables)
        return [] if table is None else [("", named["stem"] if named else folder.name, table)]
    left_out += [
        LeftOut(f"{folder.name}/{entry.name}", "not a CSV or Parquet file")
        for entry in files
        if entry not in tables and not is_ndjson(entry)
    ]
    plain = [(folder.name, file.label, file) for entry in tables if (file := _as_table([entry])) is not None]
    return [*plain, *_resources(folder.name, files, left_out)]


def _resources(group: str, entries: Sequence[Path], left_out: list[LeftOut]) -> list[tuple[str, str, DataFile]]:
    """The files of a FHIR export, by the type that their names say."""
    named: dict[str, list[Path]] = defaultdict(list)
    for entry in entries:
        if is_ndjson(entry) and entry.is_file():
            named[resource_of(entry) or ""].append(entry)
    left_out += [LeftOut(entry.name, NO_TYPE) for entry in named.pop("", [])]
    # All types, where there is one: an export has no file of what nobody has, and one patient may be all who has it.
    tables = {resource: RESOURCES[resource][0] for resource in (RESOURCES if named else ())}
    return [(group, label, DataFile(label, "ndjson", tuple(named.get(kind, ())), kind)) for kind, label in tables.items()]


def _as_table(paths: Sequence[Path]) -> DataFile | None:
    match = _SUFFIX.fullmatch(paths[0].name)
    if match is None:
        return None
    formats: set[Literal["csv", "parquet"]] = {
        "parquet" if path.name.lower().endswith((".parquet", ".pq")) else "csv" for path in paths
    }
    if len(formats) > 1:
        raise SourceError(f"{paths[0].parent} holds parts in CSV and in Parquet. Keep those of one format.")
    return DataFile(match["stem"], formats.pop(), tuple(paths))


def _refuse_twins(stems: Sequence[tuple[str, str, DataFile]]) -> None:
    """Two files of one folder for one table: which is meant cannot be told."""
    twins: dict[tuple[str, str], list[DataFile]] = defaultdict(list)
    for group, stem, file in stems:
        twins[group, stem.casefold()].append(file)
    faults = [
        f"{' and '.join(path.name for file in files for path in file.paths[:1])} are both the table {files[0].label!r}"
        for files in twins.values()
        if len(files) > 1
    ]
    if faults:
        raise SourceError(
            f"{'; '.join(faults)}. Names that differ only by case or suffix are one table: move one file of each away."
        )
