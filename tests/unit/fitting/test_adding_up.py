"""Which sequences have come as far as their rows add up to: what begins at one place, and ends nowhere above."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mare.codec import Bins, RelativeCodec, TableCodec, evenly, table_codec
from mare.domain import Domain
from mare.fitting.settling import adding_up
from mare.graph.groups import ColumnGroup, GroupColumn, HistoryColumn
from mare.schema.loading import load_schema

SCHEMA = """
mare: 1
entity: p
tables:
  p:
    key: id
    columns:
      since: {type: date, min: 1900-01-01, max: 2000-01-01}
      leaves: {type: date, after: since, within: 120y}
  t:
    key: k
    parent: {table: p, column: p_id, type: sequential, order_by: day, max_rows: 40}
    columns:
      day: {type: date, after: previous.day, UNTIL first: {FIRST, within: 120y}, within: 62d}
      kind: {type: category, values: [a, b]}
"""
GROUP = ColumnGroup(
    "t",
    "rows",
    (GroupColumn("day", "value", "day"), GroupColumn("kind", "value", "kind")),
    (HistoryColumn("t", "rows", "day", "previous", 1), HistoryColumn("t", "rows", "elapsed(day)", "free")),
)
HISTORY = Domain.of([("t.day[-1]", 21), ("t.free.elapsed(day)", 20)])
YEAR = 365
AT_ONCE = Bins((0, 40 * YEAR), (0, 1, 40 * YEAR), (1.0, 0.0))
AT_ANY_AGE = Bins((0, 20 * YEAR, 40 * YEAR), (0, 20 * YEAR, 40 * YEAR), (1.0, 1.0))
COME = Bins((0, 30, 90, 180, 2 * YEAR, 60 * YEAR))
"""Quantiles: the first and the last of them are as far as anybody came."""


def coded(first: Bins, until: str = "", begins: str = "after: parent.since") -> TableCodec:
    codec = evenly(table_codec(load_schema(SCHEMA.replace("UNTIL", until).replace("FIRST", begins)), "t", ["day", "kind"]))
    day = codec.columns["day"]
    assert isinstance(day, RelativeCodec)
    assert day.first is not None
    learned = replace(day, first=replace(day.first, placed=first, lasting=COME))
    return replace(codec, columns={**codec.columns, "day": learned})


@pytest.mark.parametrize(
    ("codec", "wanted"),
    [
        pytest.param(coded(AT_ONCE), {"t.free.elapsed(day)": "day"}, id="all begin where the row above does"),
        pytest.param(coded(AT_ANY_AGE), {}, id="who begins late has come far at once"),
        pytest.param(
            coded(AT_ONCE, "before: parent.leaves,", "before: parent.leaves"), {}, id="what is left until an end is drawn above"
        ),
    ],
)
def test_what_sequences_come_to_row_by_row(codec: TableCodec, wanted: dict[str, str]) -> None:
    assert adding_up(GROUP, HISTORY, codec) == wanted
