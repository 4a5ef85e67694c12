"""Loading: what a source stores becomes what the schema declares, and what does not fit is NULL and counted."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest

from mare.graph.pdag import column_groups
from mare.schema.loading import load_schema
from mare.stage import needs
from mare.stage.database import staging_database
from mare.stage.loading import load_rows

AT = datetime(2150, 3, 4, 5, 6, 7)
CASES = {
    "text as integers": ("{type: integer, min: 0, max: 9}", pa.array(["3", " 4 ", "4.0", "x", None]), [3, 4, 4, None, None], 1),
    "text as numbers": ("{type: number, min: 0, max: 9}", pa.array(["3.5", "nan?", "1e3", ""]), [3.5, None, 1000.0, None], 2),
    "a decimal as a word": (
        "{type: category, learn: true}",
        pa.array([Decimal("1.500000000000000000"), Decimal("10"), Decimal("0.000000000000000001")], pa.decimal128(30, 18)),
        ["1.5", "10", "0.000000000000000001"],
        0,
    ),
    "words kept": ('{type: integer, min: 0, max: 89, specials: ["> 89"]}', pa.array(["7", "> 89", "?"]), ["7", "> 89", "?"], 0),
    "a special number": ("{type: integer, min: 0, max: 89, specials: [-1]}", pa.array([-1, 7]), [-1, 7], 0),
    "dates with a format": (
        "{type: date, min: 2000-01-01, max: 2200-01-01, format: '%d.%m.%Y'}",
        pa.array(["04.03.2150", "2150-03-04"]),
        [date(2150, 3, 4), None],
        1,
    ),
    "dates as integers": (
        "{type: date, min: 2000-01-01, max: 2200-01-01, format: '%Y%m%d'}",
        pa.array([21500304, 7]),
        [date(2150, 3, 4), None],
        0,
    ),
    "moments as text": ("{type: datetime, min: 2000-01-01, max: 2200-01-01}", pa.array([str(AT), "soon"]), [AT, None], 1),
    "times": ("{type: time}", pa.array([time(5, 6), None]), [time(5, 6), None], 0),
    "times as text": ("{type: time, format: '%H.%M'}", pa.array(["05.06", "5pm"]), [time(5, 6), None], 1),
    "intervals": ("{type: duration, min: 0s, max: 9d}", pa.array([timedelta(days=2, seconds=1)]), [172_801_000_000], 0),
    "intervals as text": ("{type: duration, min: 0s, max: 9d}", pa.array(["26:00:00", "long"]), [93_600_000_000, None], 1),
    "hours": ("{type: duration, min: 0s, max: 9d, stored_as: hours}", pa.array([5, None]), [5.0, None], 0),
}


@pytest.mark.parametrize(("declared", "stored", "expected", "unread"), CASES.values(), ids=CASES.keys())
def test_values_are_staged_as_declared(declared: str, stored: pa.Array, expected: list[object], unread: int) -> None:
    schema = load_schema(f"mare: 1\nentity: t\ntables:\n  t:\n    key: id\n    columns: {{x: {declared}}}\n")
    (table,) = needs(schema, column_groups(schema))
    batch = pa.record_batch(dict.fromkeys(table.columns, stored))
    with staging_database() as connection:
        counted = load_rows(connection, "t", table, [batch, batch])
        rows = connection.sql("SELECT v0 FROM t").fetchall()
        load_rows(connection, "empty", table, [])
        kinds = [connection.sql(f"DESCRIBE {name}").fetchall() for name in ("t", "empty")]
    assert [row[0] for row in rows] == expected * 2
    assert counted.get("x", 0) == 2 * unread
    assert [row[1] for row in kinds[0] if row[0] == "v0"] == [row[1] for row in kinds[1] if row[0] == "v0"]
