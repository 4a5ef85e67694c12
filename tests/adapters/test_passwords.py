"""A password reaches no message, no repr, no traceback and no log, however it is written into a URL."""

from __future__ import annotations

import logging
import re
import socket
import traceback
from pathlib import Path
from urllib.parse import quote

import pytest

from mare.errors import MareError, SourceError
from mare.finding import open_sink, open_source
from mare_adapters.locations import sql_location
from tests.servers import MysqlServer, PostgresServer

SECRETS = ["simple-s3cret", "p@ss/w:rd", "100%sure", "a b&c=d?#e", "Pa$$'\"wörd"]


def everything_told(error: BaseException) -> str:
    """All that an error can show: its text, its repr, and the traceback with every chained error, suppressed or not."""
    texts: list[str] = []
    seen: BaseException | None = error
    while seen is not None:
        texts += [str(seen), repr(seen), *map(str, getattr(seen, "__notes__", ()))]
        seen = seen.__cause__ or seen.__context__
    return "\n".join([*texts, "".join(traceback.format_exception(error))])


def fragments(secret: str) -> list[str]:
    """The password as it may leak: whole, encoded, or a piece of it that was taken for something else."""
    pieces = [piece for piece in secret.replace("@", "/").replace("?", "/").replace("#", "/").split("/") if len(piece) > 3]
    return [secret, quote(secret, safe=""), *pieces]


@pytest.mark.parametrize("secret", SECRETS)
def test_an_encoded_password_is_understood_and_never_shown(secret: str) -> None:
    location = sql_location(f"postgresql://ann:{quote(secret, safe='')}@db.example:5433/ehr")
    assert location.password == secret
    assert (location.user, location.host, location.port, location.database) == ("ann", "db.example", 5433, "ehr")
    assert location.label == "postgresql://ann@db.example:5433/ehr"
    assert not [piece for piece in fragments(secret) if piece in repr(location)]


@pytest.mark.parametrize("secret", ["simple-s3cret", "p@ss", "100%sure", "p@@ss", "with:colon"])
def test_a_password_that_is_not_encoded_is_read_as_it_was_meant(secret: str) -> None:
    location = sql_location(f"mysql://ann:{secret}@db.example/ehr")
    assert location.password == secret
    assert location.label == "mysql://ann@db.example/ehr"


@pytest.mark.parametrize("name", ["password", "passwd", "pwd"])
@pytest.mark.parametrize("secret", SECRETS)
def test_a_password_among_the_options_is_taken_out_of_them(name: str, secret: str) -> None:
    location = sql_location(f"postgresql://ann@db.example/ehr?sslmode=require&{name}={quote(secret, safe='')}")
    assert location.password == secret
    assert location.options == {"sslmode": "require"}
    assert not [piece for piece in fragments(secret) if piece in repr(location) + location.label]


@pytest.mark.parametrize(
    "secret",
    ["zorp?quux", "zorp?quux=frob", "123?quux", "zorp/quux", "123/quux", "zorp#quux", "123#quux", "1/2@quux", "1234?a=b"],
)
def test_a_url_that_can_be_read_in_two_ways_is_refused_without_being_shown(secret: str) -> None:
    with pytest.raises(SourceError, match="Percent-encode") as refused:
        sql_location(f"postgresql://ann:{secret}@db.example/ehr")
    told = everything_told(refused.value).replace(__file__, "")
    assert not [piece for piece in re.split("[?/#@]", secret) if len(piece) > 2 and f"{piece}" in told]


@pytest.mark.parametrize(
    "text", ["postgresql:/ann:hidden-word@h/db", "postgresql//ann:hidden-word@h/db", "ann:hidden-word@h/db.sqlite"]
)
def test_a_mistyped_url_is_not_shown_as_a_missing_file(text: str) -> None:
    with pytest.raises(SourceError, match="not there") as refused:
        open_source(text)
    assert "hidden-word" not in everything_told(refused.value)


WORDS_OF_OTHERS = [
    "jdbc:postgresql://h/db?user=bob&password=hidden-word",
    "host=h password=hidden-word",
    "Server=h;Pwd=hidden-word",
    "md:db?motherduck_token=hidden-word",
    "postgresql:/h/hidden-word",
    "sqlite://bob:hidden-word@h/db",
    "sqlite://bob:hidden-word/db",
    "sqlite:///host=h password=hidden-word",
    "duckdb://bob:hidden-word@h/x",
    "DuckDB://bob:hidden-word@h/x",
    "duckdb:///bob:hidden-word@h/x",
    "duckdb:///nowhere.duckdb?motherduck_token=hidden-word",
    "postgresql://h/db;password=hidden-word",
    "postgresql://h/db&password=hidden-word",
    "postgresql://h/db?schema=public;password=hidden-word",
    "postgresql://127.0.0.1:1/db?dbname=password%3Dhidden-word",
    "postgresql:///?dbname=postgresql://bob:hidden-word%40h/db",
    "postgresql:///db?host=bob%3Ahidden-word%40h",
    "mysql://h/db?hidden-word",
    "oracle://bob:hidden-word@h/db",
    f"{'x' * 300}=hidden-word",
]


@pytest.mark.parametrize("kind", ["source", "sink"])
@pytest.mark.parametrize("text", WORDS_OF_OTHERS)
def test_what_is_no_location_of_ours_is_refused_unseen(
    text: str, kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    opened: list[object] = []
    told = ""
    try:
        opened.append(open_source(text) if kind == "source" else open_sink(text))
        opened[0].__enter__()  # type: ignore[attr-defined]
        opened[0].__exit__(None, None, None)  # type: ignore[attr-defined]
    except MareError as refused:
        told = everything_told(refused)
    # A secret among the options of a file is dropped with them, so that the file may be written.
    assert told or (kind == "sink" and "nowhere.duckdb" in text)
    assert "hidden-word" not in told + repr(opened)
    assert not [entry for entry in tmp_path.iterdir() if "hidden-word" in entry.name]


@pytest.mark.parametrize("text", ["postgresql://h/db?=a&hidden-word", "postgresql://h/db?hidden-word"])
def test_no_error_of_a_library_lives_on_behind_ours(text: str) -> None:
    with pytest.raises(SourceError) as refused:
        sql_location(text)
    assert refused.value.__context__ is None
    assert refused.value.__cause__ is None


def test_a_driver_s_error_does_not_live_on_behind_ours() -> None:
    with pytest.raises(SourceError, match="no connection") as refused, open_source("postgresql://ann@127.0.0.1:1/db?nonsense=1"):
        pass
    assert refused.value.__context__ is None


def test_a_user_s_name_that_holds_the_password_too_is_cut_before_it() -> None:
    location = sql_location("postgresql://ann%3Ahidden-word@h/db")
    assert location.user == "ann:hidden-word"
    assert location.label == "postgresql://ann@h/db"
    assert "hidden-word" not in repr(location)


def test_a_path_that_is_there_is_shown_whatever_signs_it_holds(tmp_path: Path) -> None:
    folder = tmp_path / "ann@corp" / "year=2024"
    folder.mkdir(parents=True)
    assert open_source(folder).label == str(folder)
    assert open_sink(folder / "new.sqlite").label == str(folder / "new.sqlite")
    with pytest.raises(SourceError, match=r"year=2024/gone\.sqlite is not there"):
        open_source(folder / "gone.sqlite")


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("scheme", ["postgresql", "mysql"])
def test_no_server_there_names_host_port_and_database_but_no_password(
    scheme: str, secret: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with socket.socket() as taken:  # bound and not listening: nobody answers there
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        for url in (
            f"{scheme}://ann:{quote(secret, safe='')}@127.0.0.1:{port}/ehr",
            f"{scheme}://ann@127.0.0.1:{port}/ehr?password={quote(secret, safe='')}",
        ):
            source = open_source(url)
            with pytest.raises(SourceError, match=rf"127\.0\.0\.1:{port}/ehr: no connection") as refused, source:
                pass
            told = everything_told(refused.value) + repr(source) + source.label + caplog.text
            assert not [piece for piece in fragments(secret) if piece in told]


@pytest.mark.parametrize("secret", SECRETS)
def test_postgres_refuses_a_wrong_password_without_it_being_told(
    postgres_server: PostgresServer, secret: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    role = postgres_server.create_role("another")
    url = postgres_server.url("postgres", role, secret)
    with pytest.raises(SourceError, match="refused the user or the password") as refused, open_source(url):
        pass
    assert f"{postgres_server.host}:{postgres_server.port}/postgres" in str(refused.value)
    assert not [piece for piece in fragments(secret) if piece in everything_told(refused.value) + caplog.text]


@pytest.mark.parametrize("secret", SECRETS)
def test_postgres_takes_the_right_password_in_the_url_and_among_the_options(postgres_server: PostgresServer, secret: str) -> None:
    role = postgres_server.create_role(secret)
    database = postgres_server.create_database("CREATE TABLE t (a int); GRANT SELECT ON t TO public")
    name = database.rpartition("/")[2]
    given = f"postgresql://{role}@{postgres_server.host}:{postgres_server.port}/{name}?password={quote(secret, safe='')}"
    for url in (postgres_server.url(name, role, secret), given):
        with open_source(url) as source:
            assert [table.name for table in source.reflect()] == ["t"]
            assert not [piece for piece in fragments(secret) if piece in repr(source.reflect()) + repr(source)]


def test_postgres_tells_a_database_that_is_not_there(postgres_server: PostgresServer) -> None:
    with pytest.raises(SourceError, match=r"/nowhere: the server has no such database.*after the last /"):
        open_source(postgres_server.url("nowhere")).__enter__()


def test_postgres_tells_an_option_that_it_does_not_know_without_showing_the_url(postgres_server: PostgresServer) -> None:
    url = postgres_server.url("postgres") + f"?no_such_option={SECRETS[0]}"
    with pytest.raises(SourceError, match="no connection") as refused, open_source(url):
        pass
    assert SECRETS[0] not in everything_told(refused.value)


@pytest.mark.slow
@pytest.mark.parametrize("secret", SECRETS)
def test_mariadb_and_mysql_refuses_a_wrong_password_and_takes_the_right_one(either_server: MysqlServer, secret: str) -> None:
    role = either_server.create_role(secret)
    name = either_server.create_database("CREATE TABLE t (a int)").rpartition("/")[2]
    either_server.run(name, f"GRANT SELECT ON t TO {role}")
    with open_source(either_server.url(name, role, secret)) as source:
        assert [table.name for table in source.reflect()] == ["t"]
    with pytest.raises(SourceError, match="refused the user or the password") as refused:
        open_source(either_server.url(name, role, f"not {secret}")).__enter__()
    assert not [piece for piece in fragments(secret) if piece in everything_told(refused.value)]


@pytest.mark.slow
def test_mariadb_and_mysql_tells_a_database_that_is_not_there_or_not_named(either_server: MysqlServer) -> None:
    with pytest.raises(SourceError, match=r"/nowhere: the server has no such database"):
        open_source(either_server.url("nowhere")).__enter__()
    with pytest.raises(SourceError, match="names no database"):
        open_source(either_server.url("")).__enter__()


@pytest.mark.slow
def test_mysql_without_tls_asks_for_the_package_that_it_needs(mysql_server: MysqlServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A password goes out sealed with the server's key (caching_sha2_password), unless the connection is sealed itself."""
    pytest.importorskip("cryptography", reason="cryptography, which the extra mysql brings, is not installed")
    name, role = mysql_server.create_database().rpartition("/")[2], mysql_server.create_role(SECRETS[0])
    mysql_server.run(name, f"GRANT SELECT ON `{name}`.* TO {role}")
    for options in ("", "?ssl_disabled=1"):
        open_source(mysql_server.url(name, role, SECRETS[0]) + options).__enter__().__exit__(None, None, None)
        with pytest.raises(SourceError, match="refused the user or the password"):
            open_source(mysql_server.url(name, role, "another") + options).__enter__()
    monkeypatch.setattr("pymysql._auth._have_cryptography", False)
    with pytest.raises(MareError, match=r"pip install 'mare-synth\[mysql\]'") as refused:
        open_source(mysql_server.url(name, role, SECRETS[1]) + "?ssl_disabled=1").__enter__()
    assert not [piece for piece in fragments(SECRETS[1]) if piece in everything_told(refused.value)]


@pytest.mark.parametrize(("scheme", "module", "extra"), [("postgresql", "psycopg", "postgres"), ("mysql", "pymysql", "mysql")])
def test_a_driver_that_is_not_installed_answers_with_the_command(
    monkeypatch: pytest.MonkeyPatch, scheme: str, module: str, extra: str
) -> None:
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(MareError, match=rf"pip install 'mare-synth\[{extra}\]'") as refused:
        open_source(f"{scheme}://ann:{SECRETS[0]}@127.0.0.1/ehr").__enter__()
    assert SECRETS[0] not in everything_told(refused.value)


def test_an_unknown_scheme_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(SourceError, match=r"opens oracle://.*postgresql://") as refused:
        open_source(f"oracle://ann:{SECRETS[0]}@h/db")
    assert SECRETS[0] not in everything_told(refused.value)
