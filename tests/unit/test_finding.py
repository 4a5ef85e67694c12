"""From a location to the adapter that opens it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mare.errors import SinkError, SourceError
from mare.finding import open_sink, open_source


@pytest.mark.parametrize(
    ("location", "adapter"),
    [
        ("postgresql://h/db", "SqlSource"),
        ("postgres://h/db", "SqlSource"),
        ("postgresql+psycopg://h/db", "SqlSource"),
        ("mysql://h/db", "SqlSource"),
        ("mariadb://h/db", "SqlSource"),
        ("sqlite:///x.db", "SqlSource"),
        ("SQLite:///x.db", "SqlSource"),
        ("duckdb:///x.duckdb", "DuckdbSource"),
        (".", "FolderSource"),
    ],
)
def test_a_url_or_a_folder_names_its_adapter_without_opening_anything(location: str, adapter: str) -> None:
    assert type(open_source(location)).__name__ == adapter


@pytest.mark.parametrize(("suffix", "adapter"), [(".sqlite", "SqlSource"), (".DB", "SqlSource"), (".duckdb", "DuckdbSource")])
def test_the_suffix_of_a_file_names_its_adapter(tmp_path: Path, suffix: str, adapter: str) -> None:
    path = tmp_path / f"x{suffix}"
    path.touch()
    assert type(open_source(path)).__name__ == adapter
    assert type(open_source(str(path))).__name__ == adapter


def test_a_folder_whose_name_has_a_suffix_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "export.db").mkdir()
    assert type(open_source(tmp_path / "export.db")).__name__ == "FolderSource"


def test_a_new_folder_with_a_dot_in_its_name_is_written_with_a_slash_at_its_end(tmp_path: Path) -> None:
    for location in (f"{tmp_path}/run.2/", f"{tmp_path}/run.2/?format=csv"):
        assert type(open_sink(location)).__name__ == "FolderSink"
    with pytest.raises(SinkError, match=r"opens a \.2 file\. Known: .* with a slash at its end\."):
        open_sink(f"{tmp_path}/run.2")


def test_what_is_not_there_is_told_with_what_may_be_given(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"gone\.sqlite is not there\. Give a URL"):
        open_source(tmp_path / "gone.sqlite")
    with pytest.raises(SourceError, match=r"gone is not there\. Give a URL"):
        open_source(tmp_path / "gone")


def test_a_file_that_nothing_opens_is_told_with_what_is_known(tmp_path: Path) -> None:
    (tmp_path / "x.xlsx").touch()
    (tmp_path / "bare").touch()
    with pytest.raises(SourceError, match=r"opens a \.xlsx file\. Known: .*a folder.*a \.sqlite file"):
        open_source(tmp_path / "x.xlsx")
    with pytest.raises(SourceError, match=r"bare has no suffix.*sqlite:///"):
        open_source(tmp_path / "bare")


def test_a_sqlite_file_without_a_suffix_opens_by_url(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "bare")) as connection:
        connection.execute("CREATE TABLE t (a INTEGER)")
    with open_source(f"sqlite:///{tmp_path}/bare") as source:
        assert [table.name for table in source.reflect()] == ["t"]


def test_a_target_that_nothing_writes_is_refused_as_a_target(tmp_path: Path) -> None:
    with pytest.raises(SinkError, match=r"opens oracle://"):
        open_sink("oracle://h/db")
