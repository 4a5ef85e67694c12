"""SQLAlchemy engines as mare opens them: one connection at a time, values never in a log, a silent server given up."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from .letters import letters
from .locations import SqlLocation

if TYPE_CHECKING:
    from sqlalchemy import Engine

_PATIENCE = 15
"""Seconds to wait for a server that does not answer; ``?connect_timeout=`` in the URL changes it."""


def database_engine(location: SqlLocation) -> Engine:
    """The engine of a location. A SQLite file is opened read-only: it is a source."""
    from sqlalchemy import URL, create_engine
    from sqlalchemy.pool import NullPool

    if location.family == "sqlite":
        return create_engine("sqlite://", creator=lambda: _open_file(location.database), poolclass=NullPool, hide_parameters=True)
    url = URL.create(
        location.driver,
        username=location.user or None,
        password=location.password,
        host=location.host or None,
        port=location.port,
        database=location.database or None,
    )
    given: dict[str, str | bytes | int] = {"connect_timeout": _PATIENCE, **location.options}
    if location.family == "mysql":  # its driver takes numbers as numbers
        given = {name: int(text) if isinstance(text, str) and text.isdecimal() else text for name, text in given.items()}
    if location.driver == "mysql+pymysql":
        # Before anything is asked: a server may be set to other quotes and escapes than those that SQLAlchemy and we read.
        given.setdefault("sql_mode", "STRICT_ALL_TABLES")
    if location.driver == "mysql+pymysql" and location.password is not None:
        given["password"] = location.password.encode()  # the driver would write letters beyond ASCII in Latin-1
    return create_engine(url, poolclass=NullPool, hide_parameters=True, connect_args=given)


def _open_file(path: str) -> object:
    import sqlite3

    if not Path(path).is_file():
        raise FileNotFoundError(path)
    connection = sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)
    # SQLite stores any bytes as text. The driver would end the whole read at the first that are not UTF-8.
    connection.text_factory = letters
    return connection


def driver_connection(location: SqlLocation, stack: ExitStack) -> object:
    """The driver's own connection, for what SQLAlchemy has no words for (COPY). It is closed with the stack."""
    engine = database_engine(location)
    stack.callback(engine.dispose)
    pooled = engine.raw_connection()
    connection = pooled.driver_connection
    pooled.detach()  # the pool would try to reset it in the end, and log that a broken connection cannot be
    stack.callback(_close, connection)
    return connection


def _close(connection: object) -> None:
    with suppress(Exception):  # a connection that broke was told of already
        connection.close()  # type: ignore[attr-defined]
