"""The staging database: closed to the outside, gone when it is left, and silent about what it held."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from mare.errors import SourceError
from mare.stage.intake import staging_database

VALUE = "a patient's own words"


def test_nothing_is_left_of_it_whatever_happened(tmp_path: Path) -> None:
    with staging_database(tmp_path) as connection:
        assert connection.execute("SELECT 1").fetchall() == [(1,)]
        (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not list(tmp_path.iterdir())
    with pytest.raises(ZeroDivisionError), staging_database(tmp_path):
        raise ZeroDivisionError
    assert not list(tmp_path.iterdir())


def test_it_reaches_no_file_and_installs_nothing(tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("a\n1\n")
    for statement in (
        f"SELECT * FROM '{tmp_path / 'other.csv'}'",
        f"COPY (SELECT 1) TO '{tmp_path / 'out.csv'}'",
        "INSTALL httpfs",
    ):
        with pytest.raises(SourceError, match="staging failed"), staging_database(tmp_path) as connection:
            connection.execute(statement)
    assert [path.name for path in tmp_path.iterdir()] == ["other.csv"]


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (duckdb.OutOfMemoryException, "out of memory or of disk. Set TMPDIR"),
        (duckdb.IOException, "the disk may be full. Set TMPDIR"),
        (duckdb.ConversionException, r"staging failed \(ConversionException\)"),
    ],
    ids=["memory", "disk", "other"],
)
def test_its_errors_quote_no_value(tmp_path: Path, kind: type[duckdb.Error], says: str) -> None:
    # Made here: an error that outlives the test would hold the frames it passed through, and with them the connection.
    with pytest.raises(SourceError, match=says) as refused, staging_database(tmp_path):
        raise kind(VALUE)
    assert VALUE not in str(refused.value)
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_a_stop_while_rows_are_asked_for_is_a_stop(tmp_path: Path, stop: type[BaseException]) -> None:
    def rows() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"a": [1]})
        raise stop

    def count() -> None:
        with staging_database(tmp_path) as connection:
            connection.register("thin", pa.RecordBatchReader.from_batches(pa.schema([("a", pa.int64())]), rows()))
            connection.execute("SELECT sum(a) FROM thin").fetchall()

    with pytest.raises(KeyboardInterrupt):
        count()


def test_an_interrupted_query_is_a_ctrl_c(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), staging_database(tmp_path):
        raise RuntimeError("Query interrupted")
    with pytest.raises(RuntimeError, match="something else"), staging_database(tmp_path):
        raise RuntimeError("something else")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SourceError, match="Set TMPDIR to one with room"), staging_database(tmp_path / "file"):
        pass
