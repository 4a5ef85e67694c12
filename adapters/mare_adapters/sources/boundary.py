"""The one boundary where the errors of drivers and engines become mare's own.

A driver's message may hold a password (a connection string that it could not parse) or a value (a text that it could
not decode). So its text is never passed on: the cause is told from its code, and the chain is cut with ``from None``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mare.errors import MareError, MissingExtra, SourceError

if TYPE_CHECKING:
    from .locations import SqlLocation

_EXTRAS = {"postgresql": "postgres", "mysql": "mysql"}

_REFUSED = "refused the user or the password"
_NO_DATABASE = "has no such database"
_NO_RIGHT = "gives this user no right to do that"

_BY_SQLSTATE = {
    "28P01": _REFUSED,
    "28000": _REFUSED,
    "3D000": _NO_DATABASE,
    "42501": _NO_RIGHT,
    "53300": "has no connection left",
    "57P03": "is starting up or shutting down",
}
_BY_MYSQL_CODE = {
    1045: _REFUSED,
    1698: _REFUSED,
    1049: _NO_DATABASE,
    1044: _NO_RIGHT,
    1142: _NO_RIGHT,
    1143: _NO_RIGHT,
    1040: "has no connection left",
}
_REMEDIES = {
    _REFUSED: "Check the user name and the password; percent-encode special characters in the URL (@ is %40).",
    _NO_DATABASE: "Check the name after the last / of the URL.",
    _NO_RIGHT: "Ask for SELECT on the tables that the schema names.",
}


@contextmanager
def connecting(location: SqlLocation) -> Iterator[None]:
    """Around opening a connection: the server is not there, refuses us, or its driver is not installed."""
    try:
        yield
    except MareError:
        raise
    except ImportError:
        raise MissingExtra(f"reading from {location.label}", _EXTRAS.get(location.family, location.family)) from None
    except Exception as error:  # whatever the driver raises: all of it is translated here
        raise _refusal(location, error) from None


@contextmanager
def reading(label: str, what: str) -> Iterator[None]:
    """Around a query. ``what`` names the table or the catalogue in the message."""
    try:
        yield
    except _foreign_errors() as error:
        cause = _cause(error)
        if cause is not None:
            raise SourceError(f"{what} cannot be read: {label} {cause}. {_REMEDIES.get(cause, 'Try again later.')}") from None
        raise SourceError(f"{what} of {label} cannot be read ({_kind(error)}).{_hint(error)}") from None


def _foreign_errors() -> tuple[type[Exception], ...]:
    """What a driver or an engine raises. Anything else is a bug of mare's and shows where it is."""
    import sqlite3

    import duckdb
    import pyarrow as pa
    from sqlalchemy.exc import SQLAlchemyError

    return (SQLAlchemyError, sqlite3.Error, duckdb.Error, pa.ArrowException, OSError, UnicodeError, OverflowError)


def _refusal(location: SqlLocation, error: Exception) -> SourceError:
    if location.family == "sqlite":
        return SourceError(
            f"{location.database} cannot be read as a SQLite database ({_kind(error)}). "
            "Give the path of a database file that exists and that this user may read."
        )
    cause = _cause(error)
    if cause is not None:
        return SourceError(f"{location.label}: the server {cause}. {_REMEDIES.get(cause, 'Try again later.')}")
    return SourceError(
        f"{location.label}: no connection ({_kind(error)}). Is a server running at "
        f"{location.server or 'the usual place'}, and may this machine reach it?"
    )


def _cause(error: BaseException) -> str | None:
    origin = getattr(error, "orig", None) or error
    state = getattr(origin, "sqlstate", None) or getattr(origin, "pgcode", None)
    if state in _BY_SQLSTATE:
        return _BY_SQLSTATE[state]
    code = origin.args[0] if getattr(origin, "args", ()) else None
    if isinstance(code, int) and code in _BY_MYSQL_CODE:
        return _BY_MYSQL_CODE[code]
    # libpq gives no code for what goes wrong while connecting. Only the fixed words are looked for, none is passed on.
    text = str(origin)
    if "password authentication failed" in text or "no password supplied" in text or "no pg_hba.conf entry" in text:
        return _REFUSED
    if 'database "' in text and "does not exist" in text:
        return _NO_DATABASE
    if "role" in text and ("does not exist" in text or "not permitted to log in" in text):
        return _REFUSED
    return None


def _kind(error: BaseException) -> str:
    origin = getattr(error, "orig", None) or error
    state = getattr(origin, "sqlstate", None)
    return f"{type(origin).__name__} {state}" if state else type(origin).__name__


def _hint(error: BaseException) -> str:
    origin = getattr(error, "orig", None) or error
    if "Could not decode to UTF-8" in str(origin):
        return " It holds text that is not UTF-8: correct it in the source."
    if type(origin).__name__ == "DataError":
        return " It holds a date that Python cannot (before year 1, after 9999, or infinity): correct it in the source."
    return ""
