"""The causes behind the codes of PostgreSQL, MySQL and MariaDB, in words that complete «the server …» or «the target …».

Only codes are looked at, and fixed words where libpq gives no code: what a message says beyond them may be a password.
"""

from __future__ import annotations

REFUSED = "refused the user or the password"
NO_DATABASE = "has no such database"
NO_RIGHT = "gives this user no right to do that"
DISK_FULL = "has no room left on its disk"
LOST = "closed the connection"
READ_ONLY = "is read-only"
LOCKED = "is in use by somebody else, who did not let go in time"

_BUSY = "has no connection left"
_EXPIRED = "asks this user for a new password before anything else"
_FOREIGN = "found a reference to a row that is not there"
_UNIQUE = "found a key twice"
_CHECK = "found a row that breaks a CHECK constraint"
_NULL = "found a value missing where none may be"
_UNFIT = "found a value that does not fit its column's type"
_DEPENDENT = "holds views or tables that depend on the one to be replaced; drop them first"
_NO_COLUMN = "already has that table, without a column that it would need"
OF_WRITING = frozenset({_FOREIGN, _UNIQUE, _CHECK, _NULL, _UNFIT, _DEPENDENT, _NO_COLUMN})
"""What only a writer can be told in these words."""
STOPPED = "stopped the statement: it took longer than this server lets one (statement_timeout)"
STANDBY = "is a standby, which did not keep what was being read"

_BY_SQLSTATE = {
    "28P01": REFUSED,
    "28000": REFUSED,
    "3D000": NO_DATABASE,
    "42501": NO_RIGHT,
    "53100": DISK_FULL,
    "53300": _BUSY,
    "57P03": "is starting up or shutting down",
    "57P01": LOST,
    "57P02": LOST,
    "57P05": LOST,
    "25P03": LOST,
    "57014": STOPPED,
    "40001": STANDBY,
    "25006": READ_ONLY,
    "55P03": LOCKED,
    "40P01": LOCKED,
    "23503": _FOREIGN,
    "23505": _UNIQUE,
    "23514": _CHECK,
    "23502": _NULL,
    "2BP01": _DEPENDENT,
    "42703": _NO_COLUMN,
}
_BY_SQLSTATE_CLASS = {"08": LOST, "22": _UNFIT}
_BY_MYSQL_CODE = {
    1045: REFUSED,
    1698: REFUSED,
    3118: REFUSED,
    1130: "takes no connection from this machine",
    3159: "takes connections with TLS only",
    1820: _EXPIRED,
    1862: _EXPIRED,
    1049: NO_DATABASE,
    1044: NO_RIGHT,
    1142: NO_RIGHT,
    1143: NO_RIGHT,
    1227: NO_RIGHT,
    1040: _BUSY,
    1203: _BUSY,
    1226: _BUSY,
    1021: DISK_FULL,
    1114: DISK_FULL,
    3675: DISK_FULL,
    1290: READ_ONLY,
    1836: READ_ONLY,
    1205: LOCKED,
    1213: LOCKED,
    1053: LOST,
    1927: LOST,
    4031: LOST,
    2006: LOST,
    2013: LOST,
    2055: LOST,
    1216: _FOREIGN,
    1452: _FOREIGN,
    1062: _UNIQUE,
    1586: _UNIQUE,
    3819: _CHECK,
    4025: _CHECK,
    1048: _NULL,
    1364: _NULL,
    1264: _UNFIT,
    1265: _UNFIT,
    1292: _UNFIT,
    1366: _UNFIT,
    1406: _UNFIT,
    3140: _UNFIT,
    1451: _DEPENDENT,
    1054: _NO_COLUMN,
    1071: "takes no key of that length: it holds 3072 bytes, four for a letter",
    3750: "takes no table without a primary key (sql_require_primary_key), and this one has none",
}


_EMBEDDED = (
    ("UNIQUE constraint failed", _UNIQUE),
    ("Duplicate key", _UNIQUE),
    ("duplicate key", _UNIQUE),
    ("CHECK constraint failed", _CHECK),
    ("NOT NULL constraint failed", _NULL),
    ("foreign key constraint", _FOREIGN),
    ("Could not set lock on file", LOCKED),
    ("database is locked", LOCKED),
)
"""What SQLite and DuckDB say."""


def origin_of(error: BaseException) -> BaseException:
    """The driver's own error, where SQLAlchemy has wrapped it."""
    origin = getattr(error, "orig", None)
    return origin if isinstance(origin, BaseException) else error


def cause_of(error: BaseException) -> str | None:
    """What went wrong, or None where the code says nothing that is known here."""
    origin = origin_of(error)
    code = origin.args[0] if getattr(origin, "args", ()) else None
    if isinstance(code, int):  # MySQL's states are coarser than its codes
        return _BY_MYSQL_CODE.get(code)
    state = getattr(origin, "sqlstate", None) or getattr(origin, "pgcode", None)
    if state is not None:
        return _BY_SQLSTATE.get(state) or _BY_SQLSTATE_CLASS.get(state[:2])
    return _cause_in_words(str(origin))


def _cause_in_words(text: str) -> str | None:
    """libpq gives no code for what goes wrong while connecting, and the embedded engines have few.

    Only the fixed words are looked for, none is passed on.
    """
    if "password authentication failed" in text or "no password supplied" in text or "no pg_hba.conf entry" in text:
        return REFUSED
    if 'database "' in text and "does not exist" in text:
        return NO_DATABASE
    if "role" in text and ("does not exist" in text or "not permitted to log in" in text):
        return REFUSED
    lost = ("server closed the connection", "connection is lost", "the connection is closed", "consuming input failed")
    if any(words in text for words in lost):
        return LOST
    return next((cause for words, cause in _EMBEDDED if words in text), None)


def place_of(error: BaseException) -> str:
    """Where, by the names that the server gives apart from its message: never a value."""
    diagnosis = getattr(origin_of(error), "diag", None)
    names = [(word, getattr(diagnosis, f"{field}_name", None)) for word, field in _NAMED]
    told = ", ".join(f"{word} {name}" for word, name in names if name)
    return f" ({told})" if told else ""


_NAMED = (("table", "table"), ("column", "column"), ("constraint", "constraint"))
