"""Targets that cannot be written: a clear word, nothing half-written, and no password anywhere."""

from __future__ import annotations

import errno
import logging
import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from urllib.parse import quote

import duckdb
import pyarrow as pa
import pytest
import sqlalchemy.exc

from mare.errors import InternalError, MareError, SinkError, SourceError
from mare.finding import open_sink, open_source
from mare.ports import SinkTable
from mare.schema.reflection import ReflectedColumn, ReflectedTable
from mare_adapters.boundary import reading, writing
from mare_adapters.locations import SqlLocation, sql_location
from tests.conftest import ROOT
from tests.servers import PostgresServer
from tests.targets import LINES, batch, fill, write

SECRETS = ["simple-s3cret", "p@ss/w:rd", "Pa$$'\"wörd"]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("scheme", ["postgresql", "mysql"])
def test_no_server_there_names_the_place_but_no_password(scheme: str, secret: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with socket.socket() as taken:  # bound, not listening: nobody answers
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        sink = open_sink(f"{scheme}://ann:{quote(secret, safe='')}@127.0.0.1:{port}/ehr")
        with pytest.raises(SinkError, match=rf"127\.0\.0\.1:{port}/ehr: no connection") as refused, sink:
            pass
    told = str(refused.value) + repr(refused.value.__context__) + repr(sink) + sink.label + caplog.text
    assert secret not in told
    assert quote(secret, safe="") not in told


@pytest.mark.parametrize("secret", SECRETS)
def test_a_wrong_password_and_a_missing_database_are_told(postgres_server: PostgresServer, secret: str) -> None:
    role = postgres_server.create_role("another")
    with pytest.raises(SinkError, match="refused the user or the password") as refused:
        open_sink(postgres_server.url("postgres", role, secret)).__enter__()
    assert secret not in str(refused.value) + repr(refused.value.__context__)
    with pytest.raises(SinkError, match="has no such database"):
        open_sink(postgres_server.url("nowhere")).__enter__()


def test_a_url_that_can_be_read_in_two_ways_is_refused_without_being_shown() -> None:
    with pytest.raises(SinkError, match="Percent-encode") as refused:
        open_sink("postgresql://ann:zorp?quux@db.example/ehr")
    assert "zorp" not in str(refused.value)


def test_another_driver_is_refused(postgres_server: PostgresServer) -> None:
    url = postgres_server.url("postgres").replace("postgresql://", "postgresql+asyncpg://")
    with pytest.raises(MareError, match=r"psycopg|pip install"):
        open_sink(url).__enter__()


def test_mysql_without_a_database_is_refused() -> None:
    with pytest.raises(SinkError, match="names no database"):
        open_sink("mysql://ann@127.0.0.1").__enter__()


@pytest.mark.parametrize("name", ["x.sqlite", "x.duckdb", "x"])
def test_a_folder_that_is_not_there_or_not_ours_is_said(tmp_path: Path, name: str) -> None:
    with pytest.raises(SinkError, match=r"x.* cannot be written \(No such file"):
        open_sink(tmp_path / "no" / name).__enter__()


@pytest.mark.parametrize("name", ["x.sqlite", "x.duckdb"])
def test_a_folder_in_the_place_of_a_file_is_said(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    scheme = "duckdb" if name.endswith("duckdb") else "sqlite"
    with pytest.raises(SinkError, match="is a folder"):
        open_sink(f"{scheme}:///{tmp_path / name}").__enter__()


def test_a_format_that_nobody_writes_is_refused_with_those_that_are_known(tmp_path: Path) -> None:
    with pytest.raises(SinkError, match=r"format=xlsx is not a format.*parquet, csv, csv\.gz"):
        open_sink(f"{tmp_path / 'out'}?format=xlsx")


@pytest.mark.parametrize("name", ["a/b", ".hidden", "a\\b"])
def test_a_table_that_no_file_can_be_called_after_is_refused(tmp_path: Path, name: str) -> None:
    table = ReflectedTable(name, (ReflectedColumn("a", "integer"),))
    with pytest.raises(SinkError, match="no file can be called"), open_sink(tmp_path / "out") as sink:
        sink.create([SinkTable(table)])
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_other_files_is_not_replaced(tmp_path: Path) -> None:
    write(str(tmp_path / "out"))
    (tmp_path / "out" / "thesis.tex").write_text("precious")
    with pytest.raises(SinkError, match=r"also holds +thesis\.tex, which would be lost"):
        write(str(tmp_path / "out"), replace=True)
    assert (tmp_path / "out" / "thesis.tex").read_text() == "precious"


def test_a_file_of_another_format_makes_room_for_the_same_table(tmp_path: Path) -> None:
    write(f"{tmp_path / 'out'}?format=csv")
    write(str(tmp_path / "out"), replace=True)
    assert {path.suffix for path in (tmp_path / "out").iterdir() if path.name != ".mare.json"} == {".parquet"}


@pytest.mark.parametrize("name", ["t.sqlite", "t.duckdb", "out"])
def test_a_link_stays_a_link_to_what_was_written(tmp_path: Path, name: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / name).symlink_to(tmp_path / "elsewhere" / name)
    write(str(tmp_path / name))
    write(str(tmp_path / name), replace=True)
    assert (tmp_path / name).is_symlink()
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == [name]


def test_rows_for_a_table_that_was_not_created_are_a_bug(tmp_path: Path) -> None:
    with open_sink(tmp_path / "t.sqlite") as sink, pytest.raises(InternalError, match="'lines' that was not created"):
        sink.write("lines", batch(LINES, []))


@pytest.mark.parametrize("scheme", ["sqlite", "duckdb"])
def test_a_database_that_somebody_has_open_is_not_replaced(tmp_path: Path, scheme: str) -> None:
    path = tmp_path / f"t.{scheme}"
    write(str(path))
    before = path.read_bytes()
    program = {
        "sqlite": "import sqlite3; c = sqlite3.connect({path!r}, isolation_level=None); c.execute('BEGIN EXCLUSIVE')",
        "duckdb": "import duckdb; c = duckdb.connect({path!r})",
    }[scheme].format(path=str(path))
    with subprocess.Popen(
        [sys.executable, "-c", f"{program}; print('ready', flush=True); input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"ready\n"
        with pytest.raises(SinkError):
            write(str(path), replace=True)
        holder.communicate(b"\n")
    assert path.read_bytes() == before


_FULL = """
import resource, sys
from mare.errors import SinkError
from mare.finding import open_sink
from mare.ports import SinkTable
from mare.schema.reflection import ReflectedColumn, ReflectedTable
import pyarrow as pa, numpy as np

table = ReflectedTable("t", (ReflectedColumn("a", "integer"), ReflectedColumn("b", "string")))
numbers = np.random.default_rng(1).integers(0, 2**60, 40_000)
batch = pa.record_batch({"a": numbers, "b": [hex(n) for n in numbers.tolist()]})
for target in sys.argv[1:]:
    try:
        with open_sink(target, replace=True) as sink:
            resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
            sink.create([SinkTable(table)])
            for _ in range(3):
                sink.write("t", batch)
    except SinkError as error:
        print(" ".join(str(error).split()))
    else:
        print("it was written")
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""


def test_a_disk_that_fills_leaves_the_target_as_it_was(tmp_path: Path) -> None:
    """A file that may not grow any further stands for a disk that has no more room. One process tries every kind of target."""
    pytest.importorskip("resource")
    names = ("t.sqlite", "t.duckdb", "parquet", "csv?format=csv", "gz?format=csv.gz")
    targets = [f"{tmp_path / name}" for name in names]
    small = ReflectedTable("t", (ReflectedColumn("a", "integer"), ReflectedColumn("b", "string")))
    for target in targets:
        with open_sink(target) as sink:
            fill(sink, {"t": [{"a": 1, "b": "old"}]}, (small,))
    done = subprocess.run([sys.executable, "-c", _FULL, *targets], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    told = done.stdout.splitlines()
    assert ["cannot be written" in line for line in told] == [True] * len(targets), done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(name.partition("?")[0] for name in names)
    for target in targets:
        with open_source(target.partition("?")[0]) as source:
            assert [batch.to_pylist()[0]["b"] for batch in source.read("t", ["b"])] == ["old"]


def test_the_operating_systems_word_for_a_full_disk_is_passed_on_as_ours() -> None:
    def full() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(SinkError, match=r"no room left on its disk\. Make room"), writing("here", "table t"):
        full()


def test_the_command_line_says_it_in_one_line_and_exits_with_2(tmp_path: Path) -> None:
    from tests.command_line import mare
    from tests.fitted_hospital import fitted_hospital

    release = tmp_path / "r.mare"
    fitted_hospital().save(release)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"postgresql://ann:s3cret-word@127.0.0.1:{taken.getsockname()[1]}/ehr"
        done = mare("sample", release, "--to", url, folder=tmp_path)
    assert done.returncode == 2
    assert "no connection" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "s3cret-word" not in done.stderr + done.stdout


def test_the_command_line_tells_what_was_left_out(tmp_path: Path) -> None:
    from tests.command_line import mare
    from tests.fitted_hospital import fitted_hospital

    release = tmp_path / "r.mare"
    fitted_hospital().save(release)
    done = mare("sample", release, "--to", tmp_path / "out", "--json", "--entities", "3", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert '"left_out": []' in done.stdout
    assert str(tmp_path / "out") in done.stdout


FOREIGN_WORDS = (
    duckdb.ConversionException("Could not convert string 'HIV positive' to INT32"),
    sqlite3.OperationalError("Could not decode to UTF-8 column 'name' with text 'HIV positive'"),
    sqlalchemy.exc.DataError("SELECT :secret", {"secret": "HIV positive"}, ValueError("year HIV positive is out of range")),
    pa.ArrowInvalid("CSV parse error: Expected 3 columns, got 4: 17,HIV positive"),
    OSError(5, "HIV positive"),
    UnicodeDecodeError("utf-8", b"HIV positive", 0, 1, "HIV positive"),
    OverflowError("HIV positive"),
)
"""What drivers and engines say: each quotes a value."""


@pytest.mark.parametrize("error", FOREIGN_WORDS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("around", [writing, reading])
@pytest.mark.parametrize("at", ["the label", sql_location("postgresql://u:word@h/d")], ids=["a file", "a server"])
def test_no_word_of_a_foreign_error_is_passed_on(
    error: Exception, around: Callable[[str | SqlLocation, str], AbstractContextManager[None]], at: str | SqlLocation
) -> None:
    with pytest.raises((SourceError, SinkError)) as told, around(at, "table t"):
        raise error
    assert not any(word in str(told.value) for word in ("HIV", "positive", "word"))
    assert told.value.__context__ is None
    assert told.value.__cause__ is None


def interrupting_rows() -> Iterator[pa.RecordBatch]:
    yield pa.record_batch({"a": [1]})
    raise KeyboardInterrupt


@pytest.mark.parametrize("around", [writing, reading])
def test_what_duckdb_makes_of_a_ctrl_c_is_one_again(around: Callable[[str, str], AbstractContextManager[None]]) -> None:
    with pytest.raises(KeyboardInterrupt), around("here", "table t"):
        raise RuntimeError("Query interrupted")
    with pytest.raises(RuntimeError, match="something else"), around("here", "table t"):
        raise RuntimeError("something else")
    with duckdb.connect() as connection:
        connection.register("rows", pa.RecordBatchReader.from_batches(pa.schema([("a", pa.int64())]), interrupting_rows()))
        with pytest.raises(KeyboardInterrupt), around("here", "table t"):
            connection.execute("SELECT sum(a) FROM rows").fetchall()
