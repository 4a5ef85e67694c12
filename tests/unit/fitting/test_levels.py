"""The levels that a view is handed: public, of the right size, with a code for a row that is not there."""

from __future__ import annotations

import numpy as np

from mare.codec import OrdinalCodec, TableCodec
from mare.codec.bins import make_bins
from mare.codec.ordinal import Slots
from mare.codec.scales import WholeScale
from mare.domain import Domain
from mare.fitting.settling import group_levels
from mare.graph.groups import ColumnGroup, GroupColumn, HistoryColumn

AGE = OrdinalCodec(WholeScale(), make_bins(0, 159, 16, "linear"), slots=Slots(nullable=True))
CODED = {"people": TableCodec("people", {"age": AGE}), "visits": TableCodec("visits", {"age": AGE})}

GROUP = ColumnGroup(
    "visits",
    "rows",
    (GroupColumn("age", "value", "age"), GroupColumn("ward", "value", "ward")),
    (
        HistoryColumn("people", "rows", "age", "ancestor"),
        HistoryColumn("visits", "context", "count", "context"),
        HistoryColumn("visits", "rows", "age", "previous", 1),
        HistoryColumn("visits", "rows", "ward", "previous", 1),
        HistoryColumn("visits", "rows", "position", "free"),
    ),
)
COLUMNS = Domain.of([("age", 17), ("ward", 3)])
HISTORY = Domain.of(
    [
        ("people.age", 17),
        ("visits.context.count", 41),
        ("visits.age[-1]", 18),
        ("visits.ward[-1]", 4),
        ("visits.free.position", 4),
    ]
)
LEVELS = group_levels(GROUP, COLUMNS, HISTORY, CODED, {"visits": 8.0})


def sizes(name: str) -> list[int]:
    return [level.size for level in LEVELS.get(name, ())]


def test_every_level_is_told_on_the_codes_of_its_column() -> None:
    domain = HISTORY.merge(COLUMNS)
    assert all(len(level.codes) == domain.size(name) for name, levels in LEVELS.items() for level in levels)


def test_neighbouring_bins_go_together_and_null_stays_apart() -> None:
    assert sizes("age") == sizes("people.age") == [9, 5]
    assert LEVELS["age"][0].codes[-3:].tolist() == [7, 7, 8]


def test_a_row_that_is_not_there_has_a_code_on_every_level() -> None:
    assert sizes("visits.age[-1]") == [10, 6, 2]
    assert LEVELS["visits.age[-1]"][0].codes[-2:].tolist() == [8, 9]


def test_the_coarsest_level_of_an_earlier_row_tells_whether_it_is_there() -> None:
    assert LEVELS["visits.ward[-1]"][-1].codes.tolist() == [0, 0, 0, 1]


def test_small_numbers_of_children_are_told_exactly_and_roughly_by_what_is_usual() -> None:
    fine, coarse = LEVELS["visits.context.count"]
    assert fine.codes[:6].tolist() == [0, 1, 2, 3, 4, 5]
    assert coarse.codes[[0, 1, 3, 4, 7, 8, 15, 16, 31, 32, 40]].tolist() == [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert (np.diff(fine.codes) >= 0).all()


def test_what_has_no_order_and_what_is_free_have_no_levels() -> None:
    assert not sizes("ward")
    assert not sizes("visits.free.position")
