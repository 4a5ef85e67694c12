"""What is shown of a location can be typed again, and leads to the same place."""

from __future__ import annotations

import shlex
from pathlib import Path
from urllib.parse import quote

import pytest

from mare.errors import SourceError
from mare.finding import open_sink, open_source
from mare_adapters.locations import SqlLocation, sql_location
from tests.command_line import mare
from tests.servers import MysqlServer, PostgresServer

LABELS = {
    "postgresql://ann@db.example:5433/ehr": "postgresql://ann@db.example:5433/ehr",
    "postgres://db.example/ehr?schema=hosp,icu": "postgresql://db.example/ehr?schema=hosp,icu",
    "postgresql+psycopg://db.example/ehr": "postgresql://db.example/ehr",
    "postgresql://ann:hidden-word@/renal?host=/run/x y&schema=clinic": "postgresql://ann@/renal?host=/run/x%20y&schema=clinic",
    "postgresql://ann@%2Frun%2Fpg:5433/renal": "postgresql://ann@:5433/renal?host=/run/pg",
    "postgresql:///renal?host=/run/pg&port=5433&user=ann": "postgresql://ann@:5433/renal?host=/run/pg",
    "postgresql:///renal": "postgresql:///renal",
    "postgresql://ann@[::1]:5433/ehr": "postgresql://ann@[::1]:5433/ehr",
    "postgresql:///ehr?host=::1": "postgresql://[::1]/ehr",
    "postgresql://a%2Fb%40c@h/e%20h%2Fr%3F?schema=a%20b,c%26d": "postgresql://a%2Fb%40c@h/e%20h%2Fr%3F?schema=a%20b,c%26d",
    "mysql://ann@/ehr?unix_socket=/run/my.sock": "mysql://ann@/ehr?unix_socket=/run/my.sock",
    "mariadb://ann:hidden-word@localhost/ehr?unix_socket=/run/my&sock": None,
    "mariadb://ann:hidden-word@/ehr?unix_socket=/run/my%26sock&pwd=other": "mysql://ann@/ehr?unix_socket=/run/my%26sock",
    "mysql://[::1]:3307/ehr": "mysql://[::1]:3307/ehr",
    "sqlite:///ward.sqlite": "ward.sqlite",
    "sqlite:////data/ward%201.sqlite": "/data/ward 1.sqlite",
    "data/ward.sqlite": "data/ward.sqlite",
}


def parts(location: SqlLocation) -> tuple[object, ...]:
    return location.family, location.host, location.port, location.user, location.database, location.schemas, location.options


@pytest.mark.parametrize(("typed", "shown"), LABELS.items())
def test_a_label_is_a_location_of_the_same_place(typed: str, shown: str | None) -> None:
    if shown is None:
        with pytest.raises(SourceError, match="not name=value"):
            sql_location(typed)
        return
    location = sql_location(typed)
    assert location.label == shown
    assert parts(sql_location(location.label)) == parts(location)
    assert "hidden-word" not in repr(location)


@pytest.mark.parametrize("name", ["ward.duckdb", "ward.sqlite", "exports"])
@pytest.mark.parametrize("absolute", [False, True])
def test_the_label_of_a_file_or_a_folder_is_its_path(
    name: str, absolute: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "exports").mkdir()
    (tmp_path / "exports" / "people.csv").write_text("id\n1\n")
    (tmp_path / "ward.sqlite").touch()
    (tmp_path / "ward.duckdb").touch()
    typed = str(tmp_path / name) if absolute else name
    assert open_source(typed).label == open_sink(typed).label == typed
    if "." in name:
        scheme = name.partition(".")[2]
        assert open_source(f"{scheme}:///{typed}").label == open_sink(f"{scheme}:///{typed}").label == typed


@pytest.mark.parametrize("url", ["postgresql://ann@[::1]:{}/ehr", "mysql://ann@[::1]:{}/ehr"])
def test_an_address_in_brackets_reaches_the_driver_without_them(url: str) -> None:
    location = sql_location(url.format(1))
    assert location.dialect.engine(location).url.host == "::1"


def test_a_database_behind_a_socket_is_read_by_what_the_draft_says_comes_next(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    database = postgres_server.create_database("CREATE SCHEMA clinic; CREATE TABLE clinic.t (a int); CREATE TABLE u (a int)")
    name = database.rpartition("/")[2]
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(database) as connection:
        ((folder,),) = connection.execute("SHOW unix_socket_directories").fetchall()
    monkeypatch.setenv("PGPASSWORD", postgres_server.password)
    typed = f"postgresql://postgres:@:{postgres_server.port}/{name}?host={quote(folder)}"
    with open_source(typed) as source:
        reason = source.reflect().left_out[-1].reason
        assert reason.endswith("to read them too, add ?schema=public,clinic to the URL (&schema=… after other options)")
    done = mare("init", f"{typed}&schema=public,clinic", folder=tmp_path)
    assert done.returncode == 0
    *_, advice = done.stderr.splitlines()
    label = f"postgresql://postgres@:{postgres_server.port}/{name}?host={folder}&schema=public,clinic"
    assert shlex.split(advice) == ["Next:", "mare", "check", "FILE", "--from", label, "--read-rows"]
    with open_source(label) as source:
        assert [table.name for table in source.reflect()] == ["t", "u"]


@pytest.mark.slow
def test_mariadb_and_mysql_are_read_through_their_socket_by_the_label(either_server: MysqlServer) -> None:
    url = either_server.create_database("CREATE TABLE t (a int)")
    ((_, socket),) = either_server.rows(url, "SHOW VARIABLES LIKE 'socket'")
    name = url.rpartition("/")[2]
    with open_source(f"mysql://root:{either_server.password}@/{name}?unix_socket={socket}") as source:
        assert source.label == f"mysql://root@/{name}?unix_socket={socket}"
        assert [table.name for table in source.reflect()] == ["t"]
        place = source.place()
    with open_source(source.label.replace("root@", f"root:{either_server.password}@")) as again, open_source(url) as direct:
        assert again.place() == place == direct.place()
