"""The one boundary where the errors of drivers and engines become mare's own.

A driver's message may hold a password (a connection string that it could not parse) or a value (a text that it could
not decode). So its text is never passed on: the cause is told from its code, and our error is raised alone.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mare.errors import MareError, MissingExtra, SinkError, SourceError, is_a_stop
from mare.secrecy import raise_alone

from .error_codes import DISK_FULL, NO_DATABASE, NO_RIGHT, OF_WRITING, REFUSED, STANDBY, STOPPED, cause_of, origin_of, place_of

if TYPE_CHECKING:
    from .locations import SqlLocation

_EXTRAS = {"postgresql": "postgres", "mysql": "mysql"}

_REMEDIES = {
    REFUSED: "Check the user name and the password; percent-encode special characters in the URL (@ is %40).",
    NO_DATABASE: "Check the name after the last / of the URL.",
    NO_RIGHT: "Ask for SELECT on the tables that the schema names.",
    STOPPED: "Ask for more time for this user (ALTER ROLE … SET statement_timeout = 0).",
    STANDBY: "Try again, read from the primary server, or ask for a longer max_standby_streaming_delay.",
}
_SINK_REMEDIES = {
    **_REMEDIES,
    NO_RIGHT: "Ask for the right to create tables there (PostgreSQL: CREATE on the schema; with --replace, ownership of the old "
    "tables. MySQL: SELECT, INSERT, CREATE, ALTER, DROP and REFERENCES on the database).",
    DISK_FULL: "Make room, or give another target.",
}


@contextmanager
def connecting(location: SqlLocation, fault: type[MareError] = SourceError) -> Iterator[None]:
    """Around opening a connection: the server is not there, refuses us, or its driver is not installed."""
    try:
        yield
    except MareError:
        raise
    except Exception as error:  # whatever the driver raises: all of it is translated here
        if isinstance(error, ImportError) or _lacks_cryptography(error):
            verb = "writing to" if fault is SinkError else "reading from"
            raise_alone(MissingExtra(f"{verb} {location.label}", _EXTRAS.get(location.family, location.family)))
        raise_alone(fault(_refusal(location, error, _SINK_REMEDIES if fault is SinkError else _REMEDIES)))


@contextmanager
def reading(label: str, what: str) -> Iterator[None]:
    """Around a query. ``what`` names the table or the catalogue in the message."""
    try:
        with _stops():
            yield
    except _foreign_errors() as error:
        cause = cause_of(error)
        if cause is not None and cause not in OF_WRITING:
            raise_alone(SourceError(f"{what} cannot be read: {label} {cause}. {_REMEDIES.get(cause, 'Try again later.')}"))
        raise_alone(SourceError(f"{what} of {label} cannot be read ({_kind(error)}).{_hint(error)}"))


@contextmanager
def writing(label: str, what: str, after: str = "It was left as it was.") -> Iterator[None]:
    """Around a statement that writes. ``what`` names the table, or what was going on; ``after`` how the target was left."""
    try:
        with _stops():
            yield
    except _foreign_errors() as error:
        cause = _disk(error) or cause_of(error)
        if cause is None:
            raise_alone(SinkError(f"{label}: {what} cannot be written ({_kind(error)}). {after}"))
        remedy = _SINK_REMEDIES.get(cause)
        raise_alone(
            SinkError(
                f"{label}: {what} cannot be written: the target {cause}{place_of(error)}. {f'{remedy} ' if remedy else ''}{after}"
            )
        )


@contextmanager
def _stops() -> Iterator[None]:
    """What DuckDB makes of a Ctrl-C is a Ctrl-C again."""
    try:
        yield
    except Exception as error:
        if is_a_stop(error):
            raise KeyboardInterrupt from None
        raise


def _foreign_errors() -> tuple[type[Exception], ...]:
    """What a driver or an engine raises. Anything else is a bug of mare's and shows where it is."""
    import sqlite3

    import duckdb
    import pyarrow as pa
    from sqlalchemy.exc import SQLAlchemyError

    # A driver that was never loaded raises nothing.
    drivers = [sys.modules[name].Error for name in ("psycopg", "pymysql") if name in sys.modules]
    return (SQLAlchemyError, sqlite3.Error, duckdb.Error, pa.ArrowException, OSError, UnicodeError, OverflowError, *drivers)


def _refusal(location: SqlLocation, error: Exception, remedies: Mapping[str, str]) -> str:
    if location.family == "sqlite":
        return (
            f"{location.database} cannot be read as a SQLite database ({_kind(error)}). "
            "Give the path of a database file that exists and that this user may read."
        )
    cause = cause_of(error)
    if cause is not None:
        return f"{location.label}: the server {cause}. {remedies.get(cause, 'Try again later.')}"
    return (
        f"{location.label}: no connection ({_kind(error)}). Is a server running at "
        f"{location.server or 'the usual place'}, and may this machine reach it?"
    )


def _lacks_cryptography(error: Exception) -> bool:
    """PyMySQL says so where MySQL's usual way to log in (caching_sha2_password) meets a connection without TLS."""
    return isinstance(error, RuntimeError) and "'cryptography' package is required" in str(error)


def _disk(error: BaseException) -> str | None:
    """A full disk under a file: engines wrap the operating system's word for it in one of their own."""
    full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    return DISK_FULL if full or "disk is full" in str(error) or "No space left on device" in str(error) else None


def _kind(error: BaseException) -> str:
    origin = origin_of(error)
    state = getattr(origin, "sqlstate", None)
    return f"{type(origin).__name__} {state}" if state else type(origin).__name__


def _hint(error: BaseException) -> str:
    origin = origin_of(error)
    if "Could not decode to UTF-8" in str(origin):
        return " It holds text that is not UTF-8: correct it in the source."
    if type(origin).__name__ == "DataError":
        return " It holds a value that Python cannot: correct it in the source, or ignore its column in the schema."
    return ""
