"""History as gathers and shifts: what a row sees of its parents and of the rows before it."""

from __future__ import annotations

import numpy as np

from mare.domain import Domain
from mare.graph.groups import ColumnGroup, HistoryColumn
from mare.relational.placing import Placed, PlacedTables, place_children


def tables() -> PlacedTables:
    """Two patients; the first has stays a0 a1 a2, the second b0; stays have 1, 0, 2 and 1 drugs."""
    patients = Placed(2, np.arange(2), np.zeros(2, int), np.ones(2, int), {"rows": {"sex": np.array([1, 0])}, "context": {}})
    stays = Placed(
        4,
        *place_children(np.array([3, 1])),
        {"rows": {"ward": np.array([5, 6, 7, 8])}, "context": {"count": np.array([3, 1])}},
    )
    drugs = Placed(4, *place_children(np.array([1, 0, 2, 1])), {"rows": {}, "context": {"count": np.array([1, 0, 2, 1])}})
    return PlacedTables(
        {"patients": (), "stays": ("patients",), "drugs": ("stays",)}, {"patients": patients, "stays": stays, "drugs": drugs}
    )


def look(table: str, part: str, column: HistoryColumn, size: int, rows: int) -> list[int]:
    group = ColumnGroup(table, part, (), (column,))  # type: ignore[arg-type]
    seen = tables().history(group, Domain((str(column),), (size,)), np.arange(rows))
    return seen[str(column)].tolist()


def test_children_are_placed_under_their_parents() -> None:
    parent, position, siblings = place_children(np.array([2, 0, 3]))
    assert parent.tolist() == [0, 0, 2, 2, 2]
    assert position.tolist() == [0, 1, 0, 1, 2]
    assert siblings.tolist() == [2, 2, 3, 3, 3]


def test_a_row_sees_its_parent() -> None:
    assert look("stays", "rows", HistoryColumn("patients", "rows", "sex", "ancestor"), 2, 4) == [1, 1, 1, 0]


def test_a_row_sees_its_grandparent() -> None:
    assert look("drugs", "rows", HistoryColumn("patients", "rows", "sex", "ancestor"), 2, 4) == [1, 1, 1, 0]


def test_a_row_sees_its_own_context() -> None:
    assert look("stays", "rows", HistoryColumn("stays", "context", "count", "context"), 4, 4) == [3, 3, 3, 1]


def test_a_row_sees_the_rows_before_it_and_none_of_another_parent() -> None:
    assert look("stays", "rows", HistoryColumn("stays", "rows", "ward", "previous", 1), 10, 4) == [9, 5, 6, 9]
    assert look("stays", "rows", HistoryColumn("stays", "rows", "ward", "previous", 2), 10, 4) == [9, 9, 5, 9]


def test_a_context_sees_its_parent_row_and_the_context_before_it() -> None:
    assert look("drugs", "context", HistoryColumn("stays", "rows", "ward", "ancestor"), 9, 4) == [5, 6, 7, 8]
    assert look("drugs", "context", HistoryColumn("drugs", "context", "count", "previous", 1), 5, 4) == [4, 1, 0, 4]


def test_position_and_remaining_are_free_and_capped() -> None:
    assert look("stays", "rows", HistoryColumn("stays", "rows", "position", "free"), 2, 4) == [0, 1, 1, 0]
    assert look("stays", "rows", HistoryColumn("stays", "rows", "remaining", "free"), 5, 4) == [2, 1, 0, 0]
