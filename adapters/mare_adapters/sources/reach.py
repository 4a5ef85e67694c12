"""Moments and lengths of time further off than Python and Arrow reach, brought to the last that they do.

PostgreSQL and DuckDB know `infinity`, years before Christ and after 9999, 24:00 o'clock and intervals of a million years; tables
hold the first as «valid until further notice». Such a value lies outside any domain all the same: read as the last day of the
year 9999 it is moved into the domain and counted there as any other, where an error would end a fit that was paid for.
"""

from __future__ import annotations

from mare.schema.reflection import StorageKind

_ENDS: dict[StorageKind, tuple[str, str]] = {
    "date": ("DATE '0001-01-01'", "DATE '9999-12-31'"),
    "datetime": ("TIMESTAMP '0001-01-01 00:00:00'", "TIMESTAMP '9999-12-31 23:59:59.999999'"),
    "time": ("TIME '00:00:00'", "TIME '23:59:59.999999'"),
    "duration": ("INTERVAL '-100000000 days'", "INTERVAL '100000000 days'"),
}


_ZONED = "TIMESTAMPTZ '0001-01-01 00:00:00+00'", "TIMESTAMPTZ '9999-12-31 23:59:59.999999+00'"


def within_reach(value: str, kind: StorageKind, *, zoned: bool = False) -> str:
    """The expression, no further off than can be read. What is NULL stays NULL."""
    if kind not in _ENDS:
        return value
    low, high = _ZONED if zoned else _ENDS[kind]
    return f"CASE WHEN {value} < {low} THEN {low} WHEN {value} > {high} THEN {high} ELSE {value} END"
