"""Rows that the user gives, as Arrow tables: from a CSV or Parquet file, or from a frame. The one place where sampling reads.

    patients.csv, .csv.gz, .parquet, a pandas frame, an Arrow table ─► columns ─► `mare.sampling.given`

An unquoted empty field of a CSV file is NULL, a quoted one is empty. What is read is the user's own: no source is asked.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv as arrow_csv

from mare.errors import SourceError
from mare.ports import Sink
from mare.secrecy import require_path
from mare.whereabouts import refuse_files_in

if TYPE_CHECKING:
    import pandas as pd

GivenRows: TypeAlias = "str | Path | pd.DataFrame | pa.Table"
Given: TypeAlias = "Mapping[str, GivenRows]"
"""Per table, its rows."""

_SEPARATORS = ",;\t|"


def read_given(table: str, rows: GivenRows) -> pa.Table:
    """The rows that are given for a table."""
    if isinstance(rows, pa.Table):
        given = rows
    elif isinstance(rows, str | Path):
        given = _read_file(table, rows)
    else:
        try:
            given = pa.Table.from_pandas(rows, preserve_index=False)
        except (pa.ArrowException, AttributeError, TypeError):
            raise SourceError(
                f"given {table}: it is neither a frame nor the path of a file, or its columns hold values of several types."
            ) from None
    twice = sorted({name for name in given.column_names if given.column_names.count(name) > 1})
    if twice:
        raise SourceError(f"given {table}: the columns {', '.join(twice)} are there more than once.")
    return given.combine_chunks()


def refuse_given_in(sink: Sink, given: Given) -> None:
    """A target that is replaced must not take along the files that somebody gives."""
    refuse_files_in(sink, ((f"given for {table}", Path(rows)) for table, rows in given.items() if isinstance(rows, str | Path)))


def parse_given(options: list[str]) -> dict[str, str]:
    """`TABLE=FILE`, as the command line has it."""
    files: dict[str, str] = {}
    for option in options:
        table, mark, path = option.partition("=")
        if not mark or not table.strip() or not path.strip():
            raise SourceError(f"--given is {option!r}; write TABLE=FILE, as in patients=new_patients.csv.")
        if table.strip() in files:
            raise SourceError(f"--given {table.strip()} is there twice. Put all of its rows into one file.")
        files[table.strip()] = path.strip()
    return files


def _read_file(table: str, location: str | Path) -> pa.Table:
    path, name = Path(location), Path(location).name.lower()
    require_path(path, SourceError, "the name of a file")
    try:
        if name.endswith((".parquet", ".pq")):
            return pq.read_table(path, partitioning=None)
        if name.endswith((".csv", ".csv.gz")):
            return _read_csv(path)
    except FileNotFoundError:
        raise SourceError(f"given {table}: there is no file {path}.") from None
    except (OSError, EOFError, UnicodeDecodeError, pa.ArrowException) as error:
        raise SourceError(
            f"given {table}: {path} cannot be read ({type(error).__name__}). It must be a CSV file in UTF-8 with a line of "
            "names, or a Parquet file, as its name says."
        ) from None
    raise SourceError(f"given {table}: {path} is neither .csv, .csv.gz nor .parquet.")


def _read_csv(path: Path) -> pa.Table:
    """Every value as text: the schema says what it means."""
    with pa.input_stream(str(path), compression="detect") as file:
        text = file.read(1 << 20).split(b"\n", 1)[0].decode("utf-8-sig").rstrip("\r")
    separator = max(_SEPARATORS, key=lambda sign: (text.count(sign), -_SEPARATORS.index(sign)))
    names = next(csv.reader([text], delimiter=separator), [])
    with pa.input_stream(str(path), compression="detect") as file:
        return arrow_csv.read_csv(
            file,
            parse_options=arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True, ignore_empty_lines=len(names) > 1),
            convert_options=arrow_csv.ConvertOptions(
                column_types={name: pa.string() for name in names},
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
