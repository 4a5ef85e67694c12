"""Which files of a folder are tables, and under which names. Looks at names only, never into a file.

patients.parquet, patients.csv, patients.csv.gz     one table, called after the file
hosp/patients.csv.gz                                a folder one level down (MIMIC's hosp, icu): plain names too,
                                                    ``hosp.patients`` where two folders hold the same name
patients.parquet/part-0.parquet, …/part-1.parquet   a folder of parts, as Spark writes it: one table
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mare.errors import SourceError
from mare.schema.reflection import LeftOut

_SUFFIX = re.compile(r"(?P<stem>.+)\.(?P<suffix>csv|csv\.gz|parquet|pq)", re.IGNORECASE)
_PART = re.compile(r"part[-_.]?\d.*", re.IGNORECASE)


@dataclass(frozen=True)
class DataFile:
    """One table: a file, or the parts of one."""

    label: str
    format: Literal["csv", "parquet"]
    paths: tuple[Path, ...]

    @property
    def place(self) -> str:
        """For messages."""
        return str(self.paths[0])


def find_files(folder: Path) -> tuple[list[DataFile], list[LeftOut]]:
    """The tables of a folder, and what in it is not one."""
    left_out: list[LeftOut] = []
    stems: list[tuple[str, str, DataFile]] = []
    for entry in _entries(folder):
        if entry.is_dir():
            stems += _inside(entry, left_out)
        elif (file := _as_table([entry])) is not None:
            stems.append(("", file.label, file))
        else:
            left_out.append(LeftOut(entry.name, "not a CSV or Parquet file"))
    if not stems:
        raise SourceError(
            f"{folder} holds no CSV or Parquet file. Each table is a file of its own: patients.csv, .csv.gz or .parquet."
        )
    _refuse_twins(stems)
    times = Counter(stem.casefold() for _, stem, _ in stems)
    files = [
        DataFile(f"{group}.{stem}" if group and times[stem.casefold()] > 1 else stem, file.format, file.paths)
        for group, stem, file in stems
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
    left_out += [LeftOut(f"{folder.name}/{entry.name}", "not a CSV or Parquet file") for entry in files if entry not in tables]
    return [(folder.name, file.label, file) for entry in tables if (file := _as_table([entry])) is not None]


def _as_table(paths: Sequence[Path]) -> DataFile | None:
    match = _SUFFIX.fullmatch(paths[0].name)
    if match is None:
        return None
    formats: set[Literal["csv", "parquet"]] = {"csv" if ".csv" in path.name.lower()[-7:] else "parquet" for path in paths}
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
