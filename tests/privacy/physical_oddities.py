"""What one patient may be like, format by format: values that a column can hold although nobody would expect them there.

Each is the change of one row of the odd patient's (`physical_hospital.odd_patient`), by table and column. The contract is the
same for all: reading is total, and whatever this patient's rows hold, nobody else's rows, no type and no order are others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from math import inf, nan
from typing import Any

import pyarrow as pa

Changes = Mapping[str, Mapping[str, object]]


@dataclass(frozen=True)
class Odd:
    """One oddity, and how the columns are declared where the usual types do not hold it."""

    changes: Changes
    special: Mapping[str, Any] = field(default_factory=dict)
    everybody: Mapping[str, object] = field(default_factory=dict)
    """What all patients hold in a column that is declared so."""
    described: str = ""
    """What the schema then says of `sex`."""


def patient(**values: object) -> Changes:
    return {"patients": values}


def at_a_time(value: object, declared: object, usual: object = "12:30:00") -> Odd:
    """`sex` made a time of day."""
    return Odd(patient(sex=value), {"patients.sex": declared}, {"sex": usual}, "{type: time, nullable: true, bins: 4}")


def for_a_while(value: object, declared: object, usual: object) -> Odd:
    """`sex` made a duration."""
    described = "{type: duration, min: 0s, max: 100h, nullable: true, bins: 4}"
    return Odd(patient(sex=value), {"patients.sex": declared}, {"sex": usual}, described)


LONG = "x" * 2_000_000

EVERYWHERE: Mapping[str, Odd] = {
    "nothing odd": Odd({}),
    "nothing but NULL": Odd(patient(sex=None, smoker=None, born=None, weight=None, visits=None, town=None)),
    "no order": Odd({"stays": {"step": None}, "events": {"seq": None}}),
    "NULL keys": Odd({"stays": {"sid": None}, "events": {"sid": None}}),
    "stays that nobody owns": Odd({"stays": {"pid": None}}),
    "events of a stay that is not there": Odd({"events": {"sid": 4711}}),
    "a value of their own": Odd({"patients": {"town": "nowhere", "sex": "X"}, "stays": {"ward": "z"}}),
    "the longest text": Odd(patient(town=LONG, sex="")),
    "values far outside": Odd({"patients": {"weight": -1e300, "visits": -(2**63)}, "stays": {"step": 2**63 - 1}}),
    "minus zero": Odd({"patients": {"weight": -0.0}, "events": {"value": -0.0}}),
    "the year 1": Odd({"patients": {"born": date(1, 1, 1)}, "stays": {"begins": datetime(1, 1, 1)}}),
    "the year 9999": Odd({"patients": {"born": date(9999, 12, 31)}, "stays": {"begins": datetime(9999, 12, 31, 23, 59, 59)}}),
}
"""What every format can hold."""

NOT_NUMBERS: Mapping[str, Odd] = {
    "no number": Odd({"patients": {"weight": nan}, "events": {"value": nan}}),
    "infinity": Odd({"patients": {"weight": inf}, "events": {"value": -inf}}),
}

SQLITE: Mapping[str, Odd] = {
    "text in a date": Odd(patient(born="unknown")),
    "text in a moment": Odd({"stays": {"begins": "after lunch"}}),
    "24:00": Odd({"stays": {"begins": "2001-02-03 24:00:00"}}),
    "the 30th of February": Odd(patient(born="2001-02-30")),
    "an empty date": Odd(patient(born="0000-00-00")),
    "a date before Christ": Odd(patient(born="-0044-03-15")),
    "a date after 9999": Odd({"stays": {"begins": "12001-02-03 04:05:06"}}),
    "a number too large for a date": Odd({"stays": {"begins": 1e300}}),
    "infinity for a date": Odd({"stays": {"begins": inf}}),
    "bytes in a date": Odd({"stays": {"begins": memoryview(b"\x00\xff")}}),
    "a fraction in an integer": Odd(patient(visits=1.5)),
    "text in an integer": Odd(patient(visits="many")),
    "infinity in an integer": Odd(patient(visits=inf)),
    "beyond 63 bits": Odd(patient(visits="99999999999999999999")),
    "two in a boolean": Odd(patient(smoker=2)),
    "text in a boolean": Odd(patient(smoker="perhaps")),
    "text in a number": Odd(patient(weight="heavy")),
    "bytes in a number": Odd(patient(weight=memoryview(b"\x01"))),
    "infinity": Odd(patient(weight=inf)),
    "text in an order": Odd({"stays": {"step": "first"}}),
    "a fraction in an order": Odd({"stays": {"step": 9.5}}),
    "text that is not UTF-8": Odd(patient(town=b"Z\xfcrich")),
    "a zero byte in a text": Odd(patient(town="a\x00b")),
    "bytes in a text": Odd(patient(town=memoryview(b"\xff\xfe"))),
    "a number in a text": Odd(patient(sex=7, town=1.25)),
    "text in a key": Odd({"patients": {"pid": "six"}, "stays": {"pid": "six"}}),
    "a fraction in a key": Odd({"stays": {"sid": 160.5}}),
    "bytes in a key": Odd({"stays": {"sid": memoryview(b"\xff")}}),
    "text in a time": at_a_time("late", "TIME"),
    "text in an interval": for_a_while("long", "INTERVAL", "10:00:00"),
    "text in a decimal": Odd(patient(weight="much"), {"patients.weight": "DECIMAL(30, 2)"}),
    "many digits in a decimal": Odd(patient(weight="1" * 60), {"patients.weight": "DECIMAL(30, 2)"}),
    "text in a blob": Odd(patient(town="text"), {"patients.town": "BLOB"}),
    "anything where nothing is declared": Odd(
        patient(town=1.5, sex=memoryview(b"\xff")), {"patients.town": "", "patients.sex": ""}
    ),
}
"""SQLite stores anything anywhere."""

FRAMES: Mapping[str, Odd] = {
    "text in an integer": Odd(patient(visits="many")),
    "a fraction in an integer": Odd(patient(visits=1.5)),
    "NULL in an integer": Odd(patient(visits=None)),
    "NULL in an order": Odd({"stays": {"step": None}}),
    "text in an order": Odd({"stays": {"step": "first"}}),
    "a fraction in an order": Odd({"events": {"seq": 8.5}}),
    "beyond 63 bits": Odd(patient(visits=2**63)),
    "beyond 64 bits": Odd({"patients": {"visits": 2**70}, "stays": {"step": 2**70}}),
    "NULL in a boolean": Odd(patient(smoker=None)),
    "a number in a boolean": Odd(patient(smoker=2)),
    "text in a boolean": Odd(patient(smoker="perhaps")),
    "text in a number": Odd(patient(weight="heavy")),
    "a decimal in a number": Odd(patient(weight=Decimal("1.5"))),
    "a complex number": Odd(patient(weight=1 + 2j)),
    "text in a moment": Odd({"stays": {"begins": "after lunch"}}),
    "a zone in a moment": Odd({"stays": {"begins": datetime(2001, 2, 3, 4, 5, tzinfo=UTC)}}),
    "a date among moments": Odd({"stays": {"begins": date(2001, 2, 3)}}),
    "a moment beyond nanoseconds": Odd({"stays": {"begins": datetime(1, 1, 1)}}),
    "microseconds": Odd({"stays": {"begins": datetime(2001, 2, 3, 4, 5, 6, 7)}}),
    "a moment among dates": Odd(patient(born=datetime(1950, 2, 3, 4, 5))),
    "a time among dates": Odd(patient(born=time(4, 5))),
    "a duration among moments": Odd({"stays": {"begins": timedelta(days=1)}}),
    "bytes in a text": Odd(patient(town=b"Z\xfcrich")),
    "a number in a text": Odd(patient(town=7)),
    "a list in a text": Odd(patient(town=["a", "b"])),
    "a dictionary in an integer": Odd(patient(visits={"a": 1})),
    "half a letter": Odd(patient(town="\ud800"), everybody={"town": 7}),
    "text in a key": Odd({"patients": {"pid": "six"}, "stays": {"pid": "six"}}),
    "NULL in a key": Odd({"stays": {"sid": None}}),
    "a fraction in a key": Odd({"events": {"sid": 160.5}}),
    "a truth value in a key": Odd({"events": {"sid": True}}),
    "a large number in a key": Odd({"stays": {"sid": 2**60 + 1}, "events": {"sid": 2**60 + 1}}),
}
"""A column of a frame has the dtype that all its values allow: pandas looks at them."""

CSV: Mapping[str, Odd] = {
    "text in an integer": Odd(patient(visits="many")),
    "text in a date": Odd(patient(born="unknown")),
    "text in an order": Odd({"stays": {"step": "first"}}),
    "a sign in an order": Odd({"stays": {"step": "-9"}, "events": {"seq": "+8"}}),
    "a number in other letters": Odd({"patients": {"weight": "1,5", "visits": "7.0"}, "stays": {"step": "9.0"}}),
    "text that is not UTF-8": Odd(patient(town=b"Z\xfcrich")),
    "a zero byte": Odd(patient(town="a\x00b")),
    "line breaks and quotes": Odd(patient(town='a"\r\n,;\t|\n', sex="\n")),
    "a row longer than a block": Odd(patient(town="x" * 18_000_000)),
    "a mark of byte order": Odd(patient(town="\ufeff", sex="\ufeffF")),
    "blanks": Odd({"patients": {"sex": " F ", "visits": " 7 "}, "stays": {"pid": f"{6} "}}),
}

PARQUET: Mapping[str, Odd] = {
    "milliseconds beyond microseconds": Odd(
        {"stays": {"begins": pa.array([2**60], pa.timestamp("ms"))}}, {"stays.begins": pa.timestamp("ms")}
    ),
    "a moment with a zone": Odd({"stays": {"begins": pa.array([-(2**62)], pa.timestamp("us", tz="+05:30"))}},
                                {"stays.begins": pa.timestamp("us", tz="+05:30")}),
    "a date beyond all years": Odd(patient(born=pa.array([2**31 - 1], pa.int32()).cast(pa.date32()))),
    "milliseconds in a date": Odd(
        patient(born=pa.array([10**15 + 1], pa.int64()).cast(pa.date64())), {"patients.born": pa.date64()}),
    "the last moment": Odd({"stays": {"begins": pa.array([2**63 - 1], pa.timestamp("us"))}}),
    "64 bits": Odd(patient(visits=2**64 - 1), {"patients.visits": pa.uint64()}),
    "39 digits and more": Odd(
        patient(weight=Decimal("9" * 60)), {"patients.weight": pa.decimal256(70, 2)}, {"weight": Decimal("70.5")}),
    "38 digits": Odd(patient(weight=Decimal("9" * 36)), {"patients.weight": pa.decimal128(38, 2)}, {"weight": Decimal("70.5")}),
    "text that is not UTF-8": Odd(patient(town=pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\x00\x00\x00\x00\x02\x00\x00\x00"), pa.py_buffer(b"\xff\xfe")]))),
    "a time of more than a day": at_a_time(
        pa.array([2**40], pa.int64()).cast(pa.time64("us"), safe=False), pa.time64("us"), time(12, 30)),
    "a time of more than a day, as a word": Odd(
        patient(sex=pa.array([2**40], pa.int64()).cast(pa.time64("us"), safe=False)), {"patients.sex": pa.time64("us")},
        {"sex": time(12, 30)}, "{type: category, values: ['12:30:00'], nullable: true}"),
    "an endless duration": for_a_while(pa.array([2**62], pa.duration("s")), pa.duration("s"), timedelta(hours=10)),
    "half precision": Odd(patient(weight=pa.array([6e4], pa.float32()).cast(pa.float16())), {"patients.weight": pa.float16()}),
}  # fmt: skip

DUCKDB: Mapping[str, Odd] = {
    "infinity for a date": Odd({"patients": {"born": "='infinity'::DATE"}, "stays": {"begins": "='-infinity'::TIMESTAMP"}}),
    "a date before Christ": Odd(patient(born="='4712-01-01 (BC)'::DATE")),
    "a date after 9999": Odd(patient(born="='120000-01-01'::DATE")),
    "24:00": at_a_time("='24:00:00'::TIME", "TIME"),
    "a long interval": for_a_while("=INTERVAL '200000000 days'", "INTERVAL", "10:00:00"),
    "an interval of months": for_a_while("=INTERVAL '2147483647 months'", "INTERVAL", "10:00:00"),
    "128 bits": Odd(patient(visits="=(-170141183460469231731687303715884105727)::HUGEINT"), {"patients.visits": "HUGEINT"}),
    "64 bits": Odd(patient(visits="=18446744073709551615::UBIGINT"), {"patients.visits": "UBIGINT"}),
    "38 digits": Odd(patient(weight=f"={'9' * 36}.99::DECIMAL(38, 2)"), {"patients.weight": "DECIMAL(38, 2)"}),
    "nanoseconds": Odd({"stays": {"begins": "='2262-04-11 23:47:16.854775806'::TIMESTAMP_NS"}}, {"stays.begins": "TIMESTAMP_NS"}),
    "seconds": Odd({"stays": {"begins": "='290000-01-01'::TIMESTAMP_S"}}, {"stays.begins": "TIMESTAMP_S"}),
    "a zone": Odd({"stays": {"begins": "='infinity'::TIMESTAMPTZ"}}, {"stays.begins": "TIMESTAMP WITH TIME ZONE"}),
    "a time with a zone": at_a_time("='23:59:59+15:59'::TIMETZ", "TIME WITH TIME ZONE", "12:30:00+00"),
    "a value that nobody else of an enum has": Odd(patient(sex="X"), {"patients.sex": "ENUM ('F', 'M', 'X')"}),
    "bytes": Odd(patient(town="='\\xFF'::BLOB"), {"patients.town": "BLOB"}),
    "a list": Odd(patient(town="=['a', NULL]"), {"patients.town": "VARCHAR[]"}, {"town": "=['north']"}),
}

BY_FORMAT: Mapping[str, Mapping[str, Odd]] = {
    "sqlite": {**EVERYWHERE, **SQLITE},
    "duckdb": {**EVERYWHERE, **NOT_NUMBERS, **DUCKDB},
    "frames": {**EVERYWHERE, **NOT_NUMBERS, **FRAMES},
    "csv": {**EVERYWHERE, **NOT_NUMBERS, **CSV},
    "parquet": {**EVERYWHERE, **NOT_NUMBERS, **PARQUET},
}
