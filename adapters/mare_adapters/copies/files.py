"""Folders of CSV or Parquet without some rows: every other row is written as it stood, and a part that is left with none is not.

Tables that lose nothing are linked, not copied.
"""

from __future__ import annotations

import csv
import gzip
import io
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from mare.errors import SourceError
from mare.ports import RemovedRows
from mare_adapters.sources.csv_files import read_header
from mare_adapters.sources.files import DataFile, find_files

if TYPE_CHECKING:
    from mare.finding import Location

_NONE = RemovedRows((), frozenset(), 0)


def copy_folder(location: Location, folder: Path, removed: Mapping[str, RemovedRows]) -> Location:
    """The files under the names that they have."""
    source = Path(str(location))
    for file in find_files(source)[0]:
        rows = removed.get(file.label, _NONE)
        counted = _copied(file, source, folder, rows) if rows.places else _linked(file, source, folder, rows)
        if counted != rows.rows:
            raise SourceError(
                f"{file.place} has other rows than were read of it, so it cannot be copied without an entity. "
                "Audit a copy that nothing else writes to."
            )
    return folder


def _linked(file: DataFile, source: Path, folder: Path, rows: RemovedRows) -> int:
    for path in file.paths:
        _target(path, source, folder).symlink_to(path.resolve())
    return rows.rows


def _copied(file: DataFile, source: Path, folder: Path, rows: RemovedRows) -> int:
    """How many rows there were."""
    seen, copy = 0, _copied_csv if file.format == "csv" else _copied_parquet
    written: list[Path] = []
    for path in file.paths:
        target = _target(path, source, folder)
        read, kept = copy(path, target, {place - seen for place in rows.places if place >= seen})
        seen += read
        if kept or path == file.paths[0]:
            written.append(target)
        else:
            target.unlink()  # had they never been there, nobody would have written it
    first = written[0]
    if len(written) > 1 and _is_empty(first, file.format):
        first.unlink()
    return seen


def _is_empty(path: Path, form: str) -> bool:
    if form == "parquet":
        import pyarrow.parquet as pq

        return bool(pq.read_metadata(path).num_rows == 0)
    with _opened(path, "r") as file:
        return sum(1 for _ in zip(file, range(2), strict=False)) < 2


def _target(path: Path, source: Path, folder: Path) -> Path:
    target = folder / path.relative_to(source)
    target.parent.mkdir(exist_ok=True, mode=0o700)
    return target


def _copied_parquet(path: Path, target: Path, gone: set[int]) -> tuple[int, int]:
    """Rows that were read and that were kept. Row group by row group, in the schema of the file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    read = kept = 0
    try:
        with pq.ParquetFile(path) as original, pq.ParquetWriter(target, original.schema_arrow) as copy:
            for number in range(original.num_row_groups):
                group = original.read_row_group(number)
                stay = [place for place in range(group.num_rows) if read + place not in gone]
                read += group.num_rows
                kept += len(stay)
                if stay:
                    copy.write_table(group.take(pa.array(stay, type=pa.int64())))
    except pa.ArrowException as error:
        raise SourceError(f"{path} cannot be copied without an entity ({type(error).__name__}).") from None
    return read, kept


def _copied_csv(path: Path, target: Path, gone: set[int]) -> tuple[int, int]:
    """Rows that were read and that were kept, letter by letter: a row may go over several lines."""
    columns, separator = read_header(path)
    read = kept = 0
    with _opened(path, "r") as original, _opened(target, "w") as copy, _fields_of_any_length():
        lines: list[str] = []
        records = csv.reader(_noted(original, lines), delimiter=separator)
        for number, record in enumerate(records):
            fields = len(record) or int(len(columns) == 1)  # in a single column, an empty line is a NULL
            if number and fields == len(columns):  # the header is no row, nor is what has more or fewer fields
                read += 1
                stays = read - 1 not in gone
                kept += stays
            else:
                stays = True
            if stays:
                copy.writelines(lines)
            lines.clear()
    return read, kept


def _noted(file: IO[str], lines: list[str]) -> Iterator[str]:
    for line in file:
        lines.append(line)
        yield line


@contextmanager
def _opened(path: Path, mode: str) -> Iterator[IO[str]]:
    """As letters of one byte each, so that whatever is in it comes out as it went in."""
    packed = path.name.lower().endswith(".gz")
    with (
        path.open(f"{mode}b") as stored,
        gzip.GzipFile(fileobj=stored, mode=f"{mode}b") if packed else nullcontext(stored) as plain,
    ):
        file = io.TextIOWrapper(cast(IO[bytes], plain), encoding="latin-1", newline="")
        yield file
        file.detach()  # flushes, and leaves it to be closed below


@contextmanager
def _fields_of_any_length() -> Iterator[None]:
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)
