"""The neutral kind of a type, and what its declaration says about size. Used by the reflection of every SQL source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mare.schema.reflection import StorageKind

if TYPE_CHECKING:
    from sqlalchemy.types import TypeEngine


def without_domain(stored: TypeEngine[object]) -> TypeEngine[object]:
    """The type under a PostgreSQL domain, and under the domains below it."""
    from sqlalchemy.dialects.postgresql import DOMAIN

    while isinstance(stored, DOMAIN):
        stored = stored.data_type
    return stored


def kind_of(stored: TypeEngine[object]) -> StorageKind:
    """The kind of a SQLAlchemy type, generic or a dialect's own."""
    from sqlalchemy import types as t
    from sqlalchemy.dialects import mysql
    from sqlalchemy.dialects import postgresql as pg

    if isinstance(stored, (pg.ARRAY, t.ARRAY)):
        return "other"
    if isinstance(stored, (t.Boolean,)):
        return "boolean"
    if isinstance(stored, mysql.TINYINT) and stored.display_width == 1:
        return "boolean"  # MySQL has no boolean: BOOL is written TINYINT(1)
    if isinstance(stored, mysql.BIT):
        return "boolean" if (stored.length or 1) == 1 else "other"
    if isinstance(stored, (t.Integer, mysql.YEAR)):
        return "integer"
    if isinstance(stored, pg.MONEY):
        return "number"
    if isinstance(stored, (t.Numeric, t.Float)):
        return "integer" if _whole(stored) else "number"
    simple: tuple[tuple[type | tuple[type, ...], StorageKind], ...] = (
        (t.Uuid, "uuid"),
        (t.Enum, "string"),
        (t.JSON, "json"),
        (t.DateTime, "datetime"),
        (t.Date, "date"),
        (t.Time, "time"),
        (t.Interval, "duration"),
        (pg.INTERVAL, "duration"),
        (t.LargeBinary, "binary"),
        (t.BINARY, "binary"),
        (t.VARBINARY, "binary"),
        ((mysql.TINYBLOB, mysql.MEDIUMBLOB, mysql.LONGBLOB), "binary"),
        (t.String, "string"),
        (pg.CITEXT, "string"),
        (t.NullType, "unknown"),
    )
    return next((kind for known, kind in simple if isinstance(stored, known)), "other")


def _whole(stored: object) -> bool:
    from sqlalchemy import types as t

    return (
        isinstance(stored, t.Numeric) and not isinstance(stored, t.Float) and stored.precision is not None and stored.scale == 0
    )


def digits_of(stored: TypeEngine[object]) -> tuple[int | None, int | None]:
    """(all digits, decimals) of a numeric type that declares them."""
    from sqlalchemy import types as t

    if isinstance(stored, t.Numeric) and not isinstance(stored, t.Float) and stored.precision is not None:
        return int(stored.precision), int(stored.scale or 0)
    return None, None


def length_of(stored: TypeEngine[object]) -> int | None:
    """The longest text that the type takes."""
    from sqlalchemy import types as t
    from sqlalchemy.dialects import mysql

    if isinstance(stored, (t.Enum, mysql.SET)):  # their length is that of a word in their list
        return None
    if isinstance(stored, t.String) and stored.length is not None:
        return int(stored.length)
    return None


def lowest_of(stored: TypeEngine[object]) -> int | None:
    """Zero for the unsigned numbers of MySQL."""
    return 0 if getattr(stored, "unsigned", False) else None
