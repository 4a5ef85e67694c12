"""Upper bounds of domains from the declaration alone, and never below what a codec makes of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from pydantic import TypeAdapter

from mare.errors import PlanError
from mare.schema import Column, Schema
from mare.schema.columns import Ordinal
from tests.strategies import schemas

_COLUMN: TypeAdapter[Column] = TypeAdapter(Column)


@pytest.mark.parametrize(
    ("column", "codes", "learned"),
    [
        ({"type": "category", "values": ["a", "b"]}, 2, False),
        ({"type": "category", "values": ["a", "b"], "nullable": True, "rest": "?"}, 4, False),
        ({"type": "category", "values": ["a", "?"], "rest": "?"}, 2, False),
        ({"type": "category", "learn": True}, 101, True),
        ({"type": "category", "learn": True, "max_values": 7}, 8, True),
        ({"type": "category", "learn": True, "max_values": 7, "rest": "?", "nullable": True}, 9, True),
        ({"type": "category"}, None, False),
        ({"type": "boolean", "nullable": True}, 3, False),
        ({"type": "integer", "min": 0, "max": 9}, 10, False),
        ({"type": "integer", "min": 0, "max": 90, "step": 10}, 10, False),
        ({"type": "integer", "min": 0, "max": 999}, 20, False),
        ({"type": "integer", "min": 0, "max": 999, "bins": 7, "specials": ["N", -1], "nullable": True}, 10, False),
        ({"type": "integer", "min": 0, "max": 999, "bins": [10, 100]}, 3, False),
        ({"type": "integer", "min": 0, "max": 3, "bins": 50}, 4, False),
        ({"type": "integer", "min": 0, "max": 50, "scale": "log"}, 20, False),
        ({"type": "integer", "learn": True}, 20, True),
        ({"type": "number", "min": 0, "max": 1}, 20, False),
        ({"type": "number", "min": 0, "max": 1, "precision": 1}, 11, False),
        ({"type": "number", "by": "x", "learn": True}, 20, True),
        ({"type": "date", "min": "2100-01-01", "max": "2100-01-31"}, 31, False),
        ({"type": "datetime", "min": "2100-01-01", "max": "2100-01-02", "resolution": "hour"}, 25, False),
        ({"type": "datetime", "after": "x", "within": "3d", "resolution": "day"}, 4, False),
        ({"type": "datetime", "after": "x", "within": "3d", "resolution": "day", "strict": True}, 3, False),
        ({"type": "datetime", "after": "x", "before": "y"}, 20, False),
        ({"type": "time", "resolution": "hour"}, 24, False),
        ({"type": "time"}, 20, False),
        ({"type": "duration", "min": "0s", "max": "9d", "stored_as": "days"}, 10, False),
        ({"type": "code", "values": ["A", "B"]}, 2, False),
        ({"type": "code", "vocabulary": "icd"}, None, False),
        ({"type": "code", "vocabulary": "icd", "max_values": 30, "hierarchy": {"prefix": [1]}}, 31, False),
        ({"type": "text"}, None, False),
        ({"type": "identifier"}, None, False),
    ],
)
def test_the_most_codes_a_column_can_have(column: dict[str, object], codes: int | None, learned: bool) -> None:
    described = _COLUMN.validate_python(column)
    assert (described.most_codes, described.is_learned) == (codes, learned)


@pytest.mark.parametrize(
    ("first", "codes"),
    [
        ({"min": "2100-01-01", "max": "2100-01-10"}, 10),
        ({"min": "2100-01-01", "max": "2200-01-01"}, 20),
        ({"after": "parent.x", "within": "5d"}, 6),
    ],
)
def test_the_most_codes_of_a_first_value(first: dict[str, object], codes: int) -> None:
    column = _COLUMN.validate_python({"type": "date", "after": "previous.x", "within": "1y", "first": first})
    assert isinstance(column, Ordinal)
    assert column.most_first_bins == codes


@given(schemas())
def test_no_codec_has_more_codes_than_the_bound(schema: Schema) -> None:
    from mare.codec import OpenBins, OpenCodec, evenly, table_codec

    for name, table in schema.tables.items():
        for column, says in table.columns.items():
            try:
                codec = evenly(table_codec(schema, name, [column])).columns[column]
            except PlanError:
                continue
            bound = says.most_codes
            first_row = isinstance(says, Ordinal) and says.first is not None
            assert bound is not None or isinstance(codec, OpenCodec)
            if isinstance(codec, OpenCodec):
                continue
            open_bins = getattr(codec, "placed", None)
            size = open_bins.most + codec.slots.extra if isinstance(open_bins, OpenBins) else codec.size
            assert size <= bound + first_row
