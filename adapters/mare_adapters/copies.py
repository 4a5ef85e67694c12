"""Copies of sources without some of their rows, each in its own format: D′ of an audit. Found by entry point, as sources are.

A copy goes into a folder that the audit owns and removes. Servers have none: mare never writes to a source.
"""

from __future__ import annotations

import csv
import gzip
import io
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from mare.errors import SourceError
from mare.finding import Location
from mare.ports import RemovedRows

from .engine import open_duckdb, quoted
from .locations import duckdb_path, sql_location
from .sources.csv_files import UTF_8, fields_of_any_length, read_header, split_encoding
from .sources.duckdb import reflect_duckdb
from .sources.fhir import flattened, read_lines, resource_in
from .sources.folder import DataFile, find_files

if TYPE_CHECKING:
    import pandas as pd

_NONE = RemovedRows((), frozenset(), 0)
_AT_A_TIME = 500
"""Rows that one statement deletes."""


def copy_sqlite(location: Location, folder: Path, removed: Mapping[str, RemovedRows]) -> Location:
    """By SQLite's own backup, which sees one state of a file that others write to. The rows are deleted in the copy."""
    source, target = Path(sql_location(str(location)).database), folder / "copy.sqlite"
    try:
        with (
            closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as original,
            closing(sqlite3.connect(target)) as copy,
        ):
            original.backup(copy)
            # What a deletion sets off would change rows of others.
            triggers = [name for (name,) in copy.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")]
            for name in triggers:
                copy.execute(f"DROP TRIGGER {quoted(name)}")
            for table, rows in removed.items():
                _delete_from_sqlite(copy, table, rows)
            copy.commit()
    except sqlite3.Error as error:
        raise SourceError(f"{source} cannot be copied without an entity ({type(error).__name__}).") from None
    return target


def _delete_from_sqlite(copy: sqlite3.Connection, table: str, removed: RemovedRows) -> None:
    described = copy.execute(f"PRAGMA table_info({quoted(table)})").fetchall()
    listed = next((row for row in copy.execute("PRAGMA table_list") if row[1].lower() == table.lower()), None)
    # A table WITHOUT ROWID has a key instead.
    by = [quoted(row[1]) for row in described if row[5]] if listed is not None and listed[4] else ["rowid"]
    # With the columns that were read: an index that holds them all gives rows in its own order.
    asked = ", ".join([*by, *map(quoted, removed.columns)])
    rows = [row[: len(by)] for row in copy.execute(f"SELECT {asked} FROM {quoted(table)}")]
    _check(table, removed, len(rows))
    where = " AND ".join(f"{name} = ?" for name in by)
    copy.executemany(f"DELETE FROM {quoted(table)} WHERE {where}", [rows[place] for place in sorted(removed.places)])


def copy_duckdb(location: Location, folder: Path, removed: Mapping[str, RemovedRows]) -> Location:
    """The file, byte by byte; nobody else may have it open for writing. Children go before their parents, as DuckDB wants it."""
    source, target = Path(duckdb_path(str(location))), folder / "copy.duckdb"
    try:
        shutil.copyfile(source, target)
        with open_duckdb(str(target)) as copy:
            stored = reflect_duckdb(copy).by_label
            for table, rows in reversed(list(removed.items())):
                relation = stored[table].relation
                numbers = [number for (number,) in copy.execute(f"SELECT rowid FROM {relation} ORDER BY rowid").fetchall()]
                _check(table, rows, len(numbers))
                for part in _parts([numbers[place] for place in sorted(rows.places)]):
                    copy.execute(f"DELETE FROM {relation} WHERE rowid IN ({', '.join(map(str, part))})")
    except duckdb.Error as error:
        raise SourceError(f"{source} cannot be copied without an entity ({type(error).__name__}).") from None
    return target


def _parts(numbers: Sequence[int]) -> list[Sequence[int]]:
    return [numbers[start : start + _AT_A_TIME] for start in range(0, len(numbers), _AT_A_TIME)]


def _check(table: str, removed: RemovedRows, rows: int) -> None:
    """Places are good for nothing where the copy has other rows than were read."""
    if rows != removed.rows:
        raise SourceError(
            f"table {table!r} has {'more' if rows > removed.rows else 'fewer'} rows than were read of it, so it cannot be copied "
            "without an entity. Audit a copy that nothing else writes to."
        )


def copy_folder(location: Location, folder: Path, removed: Mapping[str, RemovedRows]) -> Location:
    """The files under the names that they have: every other row is written as it stood, and a part that is left with none is not.
    Tables that lose nothing are linked, not copied."""
    source, encoding = split_encoding(location)
    if encoding != UTF_8:
        raise SourceError(
            f"an audit copies the rows of files in UTF-8 alone, and {source} is read as {encoding}. Save it in UTF-8."
        )
    files, _ = find_files(source)
    source = source.parent if source.is_file() else source
    for file in files:
        rows = removed.get(file.label, _NONE)
        counted = _copied_parts(file, source, folder, rows) if rows.places else _linked(file, source, folder, rows)
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


def _copied_parts(file: DataFile, source: Path, folder: Path, rows: RemovedRows) -> int:
    """How many rows there were."""
    seen = 0
    copies: dict[str, Callable[[Path, Path, set[int]], tuple[int, int]]] = {
        "csv": _copied_csv,
        "parquet": _copied_parquet,
        "ndjson": partial(_copied_ndjson, file.resource),
    }
    written: list[Path] = []
    for path in file.paths:
        target = _target(path, source, folder)
        read, kept = copies[file.format](path, target, {place - seen for place in rows.places if place >= seen})
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
        return bool(pq.read_metadata(path).num_rows == 0)
    if form == "ndjson":
        return next(read_lines(path), None) is None
    with _opened(path, "r") as file:
        return sum(1 for _ in zip(file, range(2), strict=False)) < 2


def _target(path: Path, source: Path, folder: Path) -> Path:
    target = folder / path.relative_to(source)
    target.parent.mkdir(exist_ok=True, mode=0o700)
    return target


def _copied_parquet(path: Path, target: Path, gone: set[int]) -> tuple[int, int]:
    """Rows that were read and that were kept. Row group by row group, in the schema of the file."""
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
    with _opened(path, "r") as original, _opened(target, "w") as copy, fields_of_any_length():
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


def _copied_ndjson(resource: str, path: Path, target: Path, gone: set[int]) -> tuple[int, int]:
    """Rows that were read and that were kept. A line is one resource, of one entity, and goes with any of its rows."""
    read = kept = 0
    packed = path.name.lower().endswith(".gz")
    with gzip.GzipFile(target, "wb") if packed else target.open("wb") as copy:
        for line in read_lines(path):
            content = resource_in(line, resource)
            rows = 0 if content is None else sum(1 for _ in flattened(resource, content, ()))
            stays = gone.isdisjoint(range(read, read + rows))
            read += rows
            kept += rows if stays else 0
            if stays:
                copy.write(line if line.endswith(b"\n") else line + b"\n")  # one that was too long has lost its end
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


def copy_frames(location: Location, folder: Path, removed: Mapping[str, RemovedRows]) -> Location:
    """In memory: the folder stays empty. The frames have the dtypes that pandas would have given them had these rows never been
    there: one that merely lost its rows would keep those that they had caused, `object` for a word among numbers, `float64` for
    a missing one."""
    assert isinstance(location, Mapping)
    return {name: _copied_frame(frame, removed[name]) if name in removed else frame for name, frame in location.items()}  # type: ignore[arg-type]


def _copied_frame(frame: pd.DataFrame, rows: RemovedRows) -> pd.DataFrame:
    kept = frame.iloc[[place for place in range(len(frame)) if place not in rows.places]].infer_objects()
    return kept.assign(**{name: _whole(kept[name]) for name in kept.columns if _lost_its_gaps(frame[name], kept[name])})


def _lost_its_gaps(before: pd.Series[Any], now: pd.Series[Any]) -> bool:
    """Numbers with gaps are fractions to pandas; whole numbers without any are not."""
    return bool(before.dtype == "float64" and before.isna().any() and not now.isna().any() and (now % 1 == 0).all())


def _whole(numbers: pd.Series[Any]) -> pd.Series[Any]:
    return numbers.astype("int64") if (numbers.abs() < 2**53).all() else numbers
