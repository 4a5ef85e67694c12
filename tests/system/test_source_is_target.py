"""A target that is the source is refused under whatever name it comes, before a budget is spent and before anything is changed.

Every source here carries the mark of mare, so that the mark alone would let it be replaced: it must be known by where it is.
"""

from __future__ import annotations

import os
import socket
import socketserver
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pytest

from mare.finding import open_sink, open_source, refuse_overlap
from mare.ports import SinkTable
from mare.schema.reflection import ReflectedColumn, ReflectedForeignKey, ReflectedTable
from tests.command_line import Done, mare
from tests.memory_source import HOSPITAL, hospital_rows
from tests.servers import MysqlServer, PostgresServer
from tests.targets import read

TABLES = (
    ReflectedTable(
        "patients",
        (
            ReflectedColumn("pid", "integer", nullable=False),
            ReflectedColumn("sex", "string", max_length=1),
            ReflectedColumn("age", "integer"),
        ),
        key=("pid",),
    ),
    ReflectedTable(
        "stays",
        (
            ReflectedColumn("sid", "integer", nullable=False),
            ReflectedColumn("pid", "integer", nullable=False),
            ReflectedColumn("begins", "datetime"),
            ReflectedColumn("ends", "datetime"),
            ReflectedColumn("ward", "string", max_length=1),
        ),
        key=("sid",),
        foreign_keys=(ReflectedForeignKey(("pid",), "patients", ("pid",)),),
    ),
)
SAID = "is the source"


def make_hospital(location: str) -> None:
    rows = hospital_rows(patients=6)
    with open_sink(location) as sink:
        sink.create([SinkTable(table) for table in TABLES])
        for table in TABLES:
            sink.write(table.name, pa.RecordBatch.from_pylist(rows[table.name]))


@dataclass(frozen=True)
class Desk:
    """A folder with a schema and a budget file, where the command is run."""

    folder: Path

    def synth(self, source: str, target: str, *options: str) -> Done:
        paid = ("--epsilon", "1", "--delta", "0", "--budget-file", self.folder / "budget", "--quiet")
        return mare("synth", self.folder / "s.yaml", "--from", source, "--to", target, *paid, *options, folder=self.folder)

    def refuses(self, source: str, target: str, *options: str, said: str = SAID) -> None:
        """Nothing is spent, nothing is changed, nothing new lies about, and the word is right."""
        before, budget = read(source), (self.folder / "budget").read_bytes()
        files = {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}
        done = self.synth(source, target, *options)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert said in done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert read(source) == before
        assert (self.folder / "budget").read_bytes() == budget
        assert {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()} == files


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "s.yaml").write_text(HOSPITAL)
    assert mare("budget", "create", tmp_path / "budget", "--epsilon", "100", "--delta", "0").returncode == 0
    return Desk(tmp_path)


def _linked(path: Path, hard: bool = False) -> Path:
    link = path.with_name(f"link{path.suffix}")
    os.link(path, link) if hard else link.symlink_to(path)
    return link


def _through_a_linked_folder(path: Path) -> Path:
    (path.parent / "elsewhere").symlink_to(path.parent)
    return path.parent / "elsewhere" / path.name


def _through_two_links(path: Path) -> Path:
    first = path.with_name(f"first{path.suffix}")
    first.symlink_to(path.name)
    second = path.with_name(f"second{path.suffix}")
    second.symlink_to(first)
    return second


def _up_and_down(path: Path) -> str:
    (path.parent / "sub").mkdir()
    return f"./sub/../{path.name}"


def _escaped(path: Path, scheme: str) -> str:
    return f"{scheme}:///{path.parent}/" + "".join(f"%{ord(letter):02X}" for letter in path.name)


FILE_DISGUISES: dict[str, Callable[[Path, str], object]] = {
    "the same path": lambda path, scheme: path,
    "a relative path": lambda path, scheme: path.name,
    "up and down": lambda path, scheme: _up_and_down(path),
    "slashes and dots": lambda path, scheme: f"{path.parent}//.//{path.name}",
    "a symbolic link": lambda path, scheme: _linked(path),
    "a hard link": lambda path, scheme: _linked(path, hard=True),
    "a link to a link": lambda path, scheme: _through_two_links(path),
    "a link above": lambda path, scheme: _through_a_linked_folder(path),
    "an absolute URL": lambda path, scheme: f"{scheme}:///{path}",
    "a relative URL": lambda path, scheme: f"{scheme}:///{path.name}",
    "an escaped URL": _escaped,
    "a URL in capitals": lambda path, scheme: f"{scheme.upper()}:///{path}",
    "the process's own name for it": lambda path, scheme: f"{scheme}:////proc/self/cwd/{path.name}",
    "the folder that holds it": lambda path, scheme: path.parent,
}


QUICK = ("the same path", "a hard link", "an escaped URL", "the folder that holds it")
"""What `make test` tries of DuckDB's files; the others are tried of SQLite's there, and of both in `make test-all`."""


@pytest.mark.parametrize(
    ("scheme", "disguise"),
    [
        pytest.param(scheme, disguise, marks=[] if scheme == "sqlite" or disguise in QUICK else [pytest.mark.slow])
        for scheme in ("sqlite", "duckdb")
        for disguise in FILE_DISGUISES
    ],
)
def test_a_file(desk: Desk, scheme: str, disguise: str) -> None:
    source = desk.folder / f"real.{scheme}"
    make_hospital(str(source))
    target = str(FILE_DISGUISES[disguise](source, scheme))
    desk.refuses(str(source), target, "--replace")


@pytest.mark.parametrize("scheme", ["sqlite", "duckdb"])
def test_a_file_without_saying_replace_or_in_another_adapters_name(desk: Desk, scheme: str) -> None:
    source, other = desk.folder / f"real.{scheme}", "duckdb" if scheme == "sqlite" else "sqlite"
    make_hospital(str(source))
    desk.refuses(str(source), str(source), said="exists already")
    os.link(source, desk.folder / f"real.{other}")
    desk.refuses(str(source), str(desk.folder / f"real.{other}"), "--replace")
    desk.refuses(f"{scheme}:///{source}", f"{other}:///{source}", "--replace")


@pytest.mark.parametrize(
    "url", ["file:real.sqlite", "file:{0}/real.sqlite", "file://{0}/real.sqlite", "FILE:real.sqlite?mode=rwc"]
)
def test_a_file_url_is_read_by_nobody_and_makes_no_file_of_that_name(desk: Desk, url: str) -> None:
    source = desk.folder / "real.sqlite"
    make_hospital(str(source))
    desk.refuses(str(source), url.format(desk.folder), "--replace", said="a file: URL is not read")
    for before in ("sqlite:", "sqlite:///"):
        desk.refuses(str(source), before + url.format(desk.folder), "--replace", said="mare: ")
    assert "a file: URL is not read" in desk.synth(url.format(desk.folder), "out.sqlite").stderr


@pytest.mark.parametrize("ending", ["-wal", "-journal"])
def test_the_log_beside_a_file(desk: Desk, ending: str) -> None:
    source = desk.folder / "real.sqlite"
    make_hospital(str(source))
    desk.refuses(str(source), f"sqlite:///{source}{ending}", "--replace")


FOLDER_DISGUISES: dict[str, Callable[[Path], object]] = {
    "the same folder": lambda folder: folder,
    "as CSV": lambda folder: f"{folder}?format=csv",
    "a relative path": lambda folder: f"{folder.name}/",
    "up and down": lambda folder: f"{folder}/../{folder.name}",
    "a link": _linked,
    "a folder in it": lambda folder: folder / "synthetic",
    "a folder two below": lambda folder: _made(folder / "sub") / "synthetic",
    "the folder around it": lambda folder: folder.parent,
    "a link to the folder around it": lambda folder: _through_a_linked_folder(folder).parent,
    "a file of it, linked": lambda folder: _hard(folder / "patients.parquet", folder.parent / "x.sqlite"),
    "a folder that holds one of its files": lambda folder: (
        _hard(folder / "patients.parquet", _made(folder.parent / "two") / "patients.parquet").parent
    ),
    "the folder that one of its files is a link to": lambda folder: _moved(folder / "stays.parquet", folder.parent / "far"),
}


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _hard(path: Path, link: Path) -> Path:
    os.link(path, link)
    return link


def _moved(file: Path, folder: Path) -> Path:
    file.rename(_made(folder) / file.name)
    file.symlink_to(folder / file.name)
    return folder


@pytest.mark.parametrize("disguise", FOLDER_DISGUISES)
def test_a_folder(desk: Desk, disguise: str) -> None:
    source = desk.folder / "real"
    make_hospital(str(source))
    desk.refuses(str(source), str(FOLDER_DISGUISES[disguise](source)), "--replace")


def test_what_only_looks_like_the_source_is_written(desk: Desk) -> None:
    folder, file = desk.folder / "real", desk.folder / "real.sqlite"
    make_hospital(str(folder))
    make_hospital(str(file))
    for source, target in ((folder, folder / "new.sqlite"), (file, desk.folder / "other.sqlite"), (file, desk.folder / "out")):
        before = read(str(source))
        done = desk.synth(str(source), str(target))
        assert done.returncode == 0, done.stderr
        assert read(str(source)) == before


def test_files_beside_the_target_are_not_taken_along(desk: Desk) -> None:
    source, out = desk.folder / "real.sqlite", desk.folder / "out"
    make_hospital(str(source))
    out.mkdir()
    desk.refuses(str(source), str(out), "-o", str(out / "r.mare"), said="the release file")
    desk.refuses(str(source), str(out), "--internal-notes", str(out / "notes"), said="the internal notes")
    desk.refuses(str(source), "x.sqlite", "-o", "x.sqlite", said="the release file")


@contextmanager
def forwarded(port: int) -> Iterator[int]:
    """Another port of this machine behind which the same server answers."""

    class Forward(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with socket.create_connection(("127.0.0.1", port)) as there:
                back = threading.Thread(target=_pump, args=(there, self.request), daemon=True)
                back.start()
                _pump(self.request, there)
                back.join()

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Forward) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()


def _pump(one: socket.socket, other: socket.socket) -> None:
    try:
        while part := one.recv(65536):
            other.sendall(part)
        other.shutdown(socket.SHUT_WR)
    except OSError:
        return


@dataclass(frozen=True)
class Served:
    """A database on a server, and what its URL is made of."""

    server: PostgresServer | MysqlServer
    url: str
    scheme: str
    others: tuple[str, ...]
    """Other words for the scheme."""
    socket: str
    """The part of a URL that leads to the server's socket."""

    @property
    def name(self) -> str:
        return self.url.rpartition("/")[2]

    def at(self, host: str, port: int | str = "", user: str = "", scheme: str = "", rest: str | None = None) -> str:
        name, word = user or self._user, quote(self.server.password if not user else "word", safe="")
        return f"{scheme or self.scheme}://{name}:{word}@{host}:{port or self.server.port}/{self.name if rest is None else rest}"

    @property
    def _user(self) -> str:
        return "postgres" if isinstance(self.server, PostgresServer) else "root"

    def bare(self, query: str) -> str:
        return f"{self.scheme}://{self._user}:{quote(self.server.password, safe='')}@/{query}"


SERVER_DISGUISES: dict[str, Callable[[Served, int, str], str]] = {
    "the same URL": lambda at, port, role: at.url,
    "localhost": lambda at, port, role: at.at("localhost"),
    "a short address": lambda at, port, role: at.at("127.1"),
    "an address as one number": lambda at, port, role: at.at("2130706433"),
    "another port": lambda at, port, role: at.at("127.0.0.1", port),
    "the socket": lambda at, port, role: at.bare(f"{at.name}?{at.socket}"),
    "another scheme": lambda at, port, role: at.at("127.0.0.1", scheme=at.others[0]),
    "a scheme with a driver": lambda at, port, role: at.at("127.0.0.1", scheme=at.others[1]),
    "a scheme in capitals": lambda at, port, role: at.at("127.0.0.1", scheme=at.scheme.upper()),
    "an escaped name": lambda at, port, role: at.at("127.0.0.1", rest=f"%{ord(at.name[0]):02X}{at.name[1:]}"),
    "the name as an option": lambda at, port, role: at.at("127.0.0.1", rest=f"?dbname={at.name}"),
    "host and port as options": lambda at, port, role: at.bare(f"{at.name}?host=localhost&port={at.server.port}"),
    "another user": lambda at, port, role: at.at("127.0.0.1", user=role),
    "another user, another port": lambda at, port, role: at.at("localhost", port, user=role),
}


QUICK_DISGUISES = ("the same URL", "another port", "the socket", "a scheme with a driver", "another user, another port")
"""What `make test` tries."""


def _refused_under_these_names(desk: Desk, at: Served, role: str, disguises: Iterable[str]) -> None:
    with forwarded(at.server.port) as port:
        for disguise in disguises:
            try:
                desk.refuses(at.url, SERVER_DISGUISES[disguise](at, port, role), "--replace")
            except AssertionError as error:
                raise AssertionError(f"{disguise}: {error}") from error
    desk.refuses(at.url, at.url)


def postgres(server: PostgresServer) -> Served:
    import psycopg

    url = server.create_database()
    make_hospital(url)
    with psycopg.connect(url) as connection:
        (folder,) = connection.execute("SHOW unix_socket_directories").fetchone() or ("",)
    options = f"host={quote(folder, safe='')}&port={server.port}"
    return Served(server, url, "postgresql", ("postgres", "postgresql+psycopg"), options)


@pytest.mark.parametrize(
    "disguises", [QUICK_DISGUISES, pytest.param(SERVER_DISGUISES, marks=pytest.mark.slow)], ids=["some names", "every name"]
)
def test_a_postgresql_database(desk: Desk, postgres_server: PostgresServer, disguises: Iterable[str]) -> None:
    at = postgres(postgres_server)
    role = postgres_server.create_role("word")
    postgres_server.run(at.name, f"GRANT ALL ON SCHEMA public TO {role}; GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}")
    _refused_under_these_names(desk, at, role, disguises)
    # Who may not ask for the cluster's identifier is known all the same.
    postgres_server.run(at.name, "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
    desk.refuses(at.url, at.at("localhost", user=role), "--replace")
    desk.refuses(at.at("localhost", user=role), at.url, "--replace")


@pytest.mark.slow
def test_schemas_of_one_postgresql_database(desk: Desk, postgres_server: PostgresServer) -> None:
    at = postgres(postgres_server)
    postgres_server.run(at.name, "CREATE SCHEMA other; CREATE SCHEMA hosp; CREATE TABLE hosp.mine (a int)")
    for source, target in (
        ("", "?schema=public"),
        ("?schema=public", ""),
        ("?schema=hosp,public", ""),
        ("?schema=hosp,public", "?schema=hosp"),
        ("?options=-csearch_path%3Dhosp,public", "?schema=public"),
        ("?schema=public", "?options=-csearch_path%3Dpublic,hosp"),
    ):
        desk.refuses(at.url + source, at.url + target, "--replace")
    before = read(at.url)
    for target in (f"{at.url}?schema=other", postgres_server.create_database()):
        done = desk.synth(at.url, target)
        assert done.returncode == 0, done.stderr
    assert read(at.url) == before


def mysql(server: MysqlServer) -> Served:
    url = server.create_database()
    make_hospital(url)
    ((_, path),) = server.rows(url, "SHOW VARIABLES LIKE 'socket'")
    return Served(
        server, url, server.scheme, ("mysql" if server.scheme == "mariadb" else "mariadb", "mysql+pymysql"), f"unix_socket={path}"
    )


@pytest.mark.slow
def test_a_mariadb_or_mysql_database(desk: Desk, either_server: MysqlServer) -> None:
    at = mysql(either_server)
    role = either_server.create_role("word")
    either_server.run(None, f"GRANT ALL ON `{at.name}`.* TO {role}@'%'")
    _refused_under_these_names(desk, at, role, SERVER_DISGUISES)
    either_server.run(None, f"CREATE DATABASE `{at.name.upper()}`")
    with open_source(at.url) as source, open_sink(either_server.url(at.name.upper())) as sink:
        refuse_overlap(source, sink)  # another one: this server tells case apart
    before = read(at.url)
    done = desk.synth(at.url, either_server.create_database())
    assert done.returncode == 0, done.stderr
    assert read(at.url) == before
