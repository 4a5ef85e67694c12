"""Loading: what a source stores becomes what the schema declares, and what does not fit is NULL and counted."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest

from mare.graph.pdag import column_groups
from mare.schema.loading import load_schema
from mare.stage import needs
from mare.stage.intake import staging_database
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
    "decimal commas": (
        "{type: number, min: 0, max: 9, decimal: ',', thousands: '.'}",
        pa.array(["3,5", " 1.234,5 ", "1.5", "1.234", ",5", "-3,", "1e3", "1.23,4", "1,2,3", "x"]),
        [3.5, 1234.5, 1.5, 1234.0, 0.5, -3.0, 1000.0, None, None, None],
        3,
    ),
    "thousands": (
        "{type: number, min: 0, max: 9, thousands: ' '}",
        pa.array(["1 234.5", "1\u00a0234", "1\u202f234\u202f567", "12 34", "12,34,567"]),
        [1234.5, 1234.0, 1234567.0, None, None],
        2,
    ),
    "whole thousands": (
        "{type: integer, min: 0, max: 9, thousands: ','}",
        pa.array(["1,234", "12,34,567", "12", "1,2", "9,007,199,254,740,993"]),
        [1234, 1234567, 12, None, 9007199254740993],
        1,
    ),
    "a number that the source stores has no comma": (
        "{type: number, min: 0, max: 9, decimal: ',', thousands: '.', nulls: [999]}",
        pa.array([1.125, 999.0, None]),
        [1.125, None, None],
        0,
    ),
    "numbers that mean NULL": (
        "{type: number, min: 0, max: 9, decimal: ',', nulls: [999, NA, '-']}",
        pa.array(["999", "999,00", " NA ", "-", "3,5", "na"]),
        [None, None, None, None, 3.5, None],
        1,
    ),
    "units": (
        "{type: number, min: 0, max: 9, unit: mg, units: {g: 1000, µg: 0.001}, decimal: ','}",
        pa.array(["3,5 mg", "2 g", "2g", "7", "500 µg", "5 kg", "mg"]),
        [3.5, 2000.0, 2000.0, 7.0, 0.5, None, None],
        2,
    ),
    "texts that are numbers": (
        "{type: integer, min: 0, max: 9, map: {none: 0, many: 9}, nulls: ['?']}",
        pa.array(["none", "many", "3", "?", "few"]),
        [0, 9, 3, None, None],
        1,
    ),
    "words among decimal commas": (
        "{type: number, min: 0, max: 9, decimal: ',', thousands: '.', specials: ['> 89']}",
        pa.array(["3,5", "1.234,5", "> 89", "1.125"]),
        ["3,5", "1234,5", "> 89", "1125"],
        0,
    ),
    "words with a decimal comma of their own": (
        "{type: number, min: 0, max: 9, decimal: ',', thousands: '.', specials: ['<0,5', 'ca. 3']}",
        pa.array(["3,5", "<0,5", " <0,5 ", "ca. 3", "<0.5"]),
        ["3,5", "<0,5", "<0,5", "ca. 3", "<0.5"],
        0,
    ),
    "dates in several formats": (
        "{type: date, min: 2000-01-01, max: 2200-01-01, format: ['%d.%m.%Y', '%Y-%m-%d', '%m/%d/%y'], nulls: ['00.00.0000']}",
        pa.array(["04.03.2150", " 2150-03-04", "4.3.2150", "03/04/50", "00.00.0000", "13/13/13"]),
        [date(2150, 3, 4), date(2150, 3, 4), date(2150, 3, 4), date(2050, 3, 4), None, None],
        1,
    ),
    "dates that the source stores": (
        "{type: date, min: 2000-01-01, max: 2200-01-01, format: '%d.%m.%Y', nulls: ['2001-01-01']}",
        pa.array([date(2150, 3, 4), date(2001, 1, 1)]),
        [date(2150, 3, 4), None],
        0,
    ),
    "mapped words": (
        "{type: category, values: [M, F], map: {m: M, w: F}, nulls: ['?'], trim: true}",
        pa.array(["m", " w", " M ", "?", "d", None]),
        ["M", "F", "M", None, "d", None],
        0,
    ),
    "words in any case": (
        "{type: category, values: [Male, Ärztin], case: ignore, nulls: [NA]}",
        pa.array(["MALE", "male ", "ärztin", "na", "Other"]),
        ["Male", "Male", "Ärztin", None, "Other"],
        0,
    ),
    "words in capitals": ("{type: code, learn: true, case: upper, trim: true}", pa.array([" a00 ", "A00"]), ["A00", "A00"], 0),
    "truth in other words": (
        "{type: boolean, map: {ja: true, nein: false}, case: ignore}",
        pa.array(["Ja", "NEIN", "yes", "FALSE", "?"]),
        ["true", "false", "true", "false", "?"],
        0,
    ),
    "numbers that are codes": ("{type: category, values: [1, 2], nulls: [9]}", pa.array([1, 2, 9]), ["1", "2", None], 0),
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
    assert counted.unread.get("x", 0) == 2 * unread
    assert [row[1] for row in kinds[0] if row[0] == "v0"] == [row[1] for row in kinds[1] if row[0] == "v0"]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_bytes_that_are_no_letters_are_marked_in_values_and_told_apart_in_keys(kind: pa.DataType) -> None:
    text = "mare: 1\nentity: t\ntables:\n  t:\n    key: id\n    columns: {x: {type: category, learn: true}}\n"
    schema = load_schema(text)
    (table,) = needs(schema, column_groups(schema))
    texts = pa.array(["K\uefb6ln", "K\uefb7ln", "Bonn", "Köln", None]).cast(kind)
    with staging_database() as connection:
        odd = load_rows(connection, "t", table, [pa.record_batch({"id": texts, "x": texts})])
        rows = connection.sql("SELECT k0, v0 FROM t").fetchall()
    assert [value for _, value in rows] == ["K\ufffdln", "K\ufffdln", "Bonn", "Köln", None]
    assert len({key for key, _ in rows}) == 5
    assert odd.undecoded == {"id": 2, "x": 2}
