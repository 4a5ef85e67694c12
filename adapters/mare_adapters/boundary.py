"""The one boundary where the errors of drivers and engines become mare's own.

A driver's message may hold a password (a connection string that it could not parse) or a value (a text that it could
not decode). So its text is never passed on: the cause is told from its code (`Dialect.cause_of`), and our error is raised alone.
"""

from __future__ import annotations

import errno
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
from sqlalchemy.exc import SQLAlchemyError

from mare.errors import MareError, MissingExtra, SinkError, SourceError, is_a_stop
from mare.secrecy import raise_alone

if TYPE_CHECKING:
    from .locations import SqlLocation

# The causes, in words that complete «the server …» or «the target …».
REFUSED = "refused the user or the password"
EXPIRED = "asks this user for a new password before anything else"
NO_DATABASE = "has no such database"
NO_RIGHT = "gives this user no right to do that"
BUSY = "has no connection left"
DISK_FULL = "has no room left on its disk"
LOST = "closed the connection"
READ_ONLY = "is read-only"
LOCKED = "is in use by somebody else, who did not let go in time"
STOPPED = "stopped the statement: it took longer than this server lets one (statement_timeout)"
STANDBY = "is a standby, which did not keep what was being read"
FOREIGN = "found a reference to a row that is not there"
UNIQUE = "found a key twice"
CHECK = "found a row that breaks a CHECK constraint"
NULL = "found a value missing where none may be"
UNFIT = "found a value that does not fit its column's type"
DEPENDENT = "holds views or tables that depend on the one to be replaced; drop them first"
NO_COLUMN = "already has that table, without a column that it would need"
_OF_WRITING = frozenset({FOREIGN, UNIQUE, CHECK, NULL, UNFIT, DEPENDENT, NO_COLUMN})
"""What only a writer can be told in these words."""

_EMBEDDED = (
    ("UNIQUE constraint failed", UNIQUE),
    ("Duplicate key", UNIQUE),
    ("duplicate key", UNIQUE),
    ("CHECK constraint failed", CHECK),
    ("NOT NULL constraint failed", NULL),
    ("foreign key constraint", FOREIGN),
    ("Could not set lock on file", LOCKED),
    ("database is locked", LOCKED),
)
"""What SQLite and DuckDB say, which have few codes."""

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
            raise_alone(MissingExtra(f"{verb} {location.label}", location.dialect.extra or location.family))
        raise_alone(fault(_refusal(location, error, _SINK_REMEDIES if fault is SinkError else _REMEDIES)))


@contextmanager
def reading(at: str | SqlLocation, what: str) -> Iterator[None]:
    """Around a query at a place that is known by its label. ``what`` names the table or the catalogue in the message."""
    try:
        with _stops():
            yield
    except _foreign_errors() as error:
        cause = _cause_of(error, at)
        if cause is not None and cause not in _OF_WRITING:
            raise_alone(SourceError(f"{what} cannot be read: {_label(at)} {cause}. {_REMEDIES.get(cause, 'Try again later.')}"))
        raise_alone(SourceError(f"{what} of {_label(at)} cannot be read ({_kind(error)}).{_hint(error)}"))


@contextmanager
def writing(at: str | SqlLocation, what: str, after: str = "It was left as it was.") -> Iterator[None]:
    """Around a statement that writes. ``what`` names the table, or what was going on; ``after`` how the target was left."""
    try:
        with _stops():
            yield
    except _foreign_errors() as error:
        cause = _disk(error) or _cause_of(error, at)
        if cause is None:
            raise_alone(SinkError(f"{_label(at)}: {what} cannot be written ({_kind(error)}). {after}"))
        remedy = _SINK_REMEDIES.get(cause)
        raise_alone(
            SinkError(
                f"{_label(at)}: {what} cannot be written: the target {cause}{_place_of(error)}. "
                f"{f'{remedy} ' if remedy else ''}{after}"
            )
        )


def origin_of(error: BaseException) -> BaseException:
    """The driver's own error, where SQLAlchemy has wrapped it."""
    origin = getattr(error, "orig", None)
    return origin if isinstance(origin, BaseException) else error


def cause_in_words(error: BaseException) -> str | None:
    """The cause that an embedded engine tells. Only fixed words are looked for, none is passed on."""
    text = str(origin_of(error))
    return next((cause for words, cause in _EMBEDDED if words in text), None)


def _cause_of(error: BaseException, at: str | SqlLocation) -> str | None:
    return cause_in_words(error) if isinstance(at, str) else at.dialect.cause_of(error)


def _label(at: str | SqlLocation) -> str:
    return at if isinstance(at, str) else at.label


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
    # A driver that was never loaded raises nothing.
    drivers = [sys.modules[name].Error for name in ("psycopg", "pymysql") if name in sys.modules]
    return (SQLAlchemyError, sqlite3.Error, duckdb.Error, pa.ArrowException, OSError, UnicodeError, OverflowError, *drivers)


def _refusal(location: SqlLocation, error: Exception, remedies: Mapping[str, str]) -> str:
    if location.dialect.is_file:
        return (
            f"{location.database} cannot be read as a {location.dialect.title} database ({_kind(error)}). "
            "Give the path of a database file that exists and that this user may read."
        )
    cause = location.dialect.cause_of(error)
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


def _place_of(error: BaseException) -> str:
    """Where, by the names that the server gives apart from its message: never a value."""
    diagnosis = getattr(origin_of(error), "diag", None)
    names = [(word, getattr(diagnosis, f"{word}_name", None)) for word in ("table", "column", "constraint")]
    named = ", ".join(f"{word} {name}" for word, name in names if name)
    return f" ({named})" if named else ""
