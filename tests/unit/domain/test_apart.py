"""Values that have to differ within a group: they are moved no further than it takes, and nothing else is."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mare.domain import RowDraws, as_generator, move_apart, repeated
from mare.domain.apart import spread

_LOW, _HIGH = -4, 7


def moved(parent: list[int], values: list[int], seed: int = 1) -> list[int]:
    rows = len(values)
    numbers = {"n": np.array(values, dtype=np.int64)}
    ends = {"n": (np.full(rows, _LOW), np.full(rows, _HIGH))}
    draws = RowDraws(np.arange(rows, dtype=np.uint64), seed)
    move_apart(np.array(parent, dtype=np.int64), numbers, ends, np.arange(rows), as_generator(draws))
    return [int(value) for value in numbers["n"]]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(_LOW, _HIGH)), max_size=40), st.integers(0, 5))
def test_rows_of_one_parent_differ_as_far_as_there_are_values(rows: list[tuple[int, int]], seed: int) -> None:
    parent, before = [p for p, _ in rows], [v for _, v in rows]
    after = moved(parent, before, seed)
    for group in set(parent):
        old, new = ([v for p, v in zip(parent, values, strict=True) if p == group] for values in (before, after))
        assert len(set(new)) == min(len(old), _HIGH - _LOW + 1)
        assert set(new) <= set(range(_LOW, _HIGH + 1))
        if len(set(old)) == len(old):
            assert new == old
        if len(old) <= _HIGH - _LOW + 1:
            assert all(abs(a - b) < len(old) for a, b in zip(old, new, strict=True))
            order = np.argsort(old, kind="stable")
            assert (np.diff(np.array(new)[order]) > 0).all()


def test_values_move_to_both_sides() -> None:
    group, ends = np.zeros(5, dtype=np.int64), (np.zeros(5, dtype=np.int64), np.full(5, 99))
    assert spread(group, np.full(5, 50), *ends, np.array([0])).tolist() == [48, 49, 50, 51, 52]
    assert spread(group, np.full(5, 0), *ends, np.array([0])).tolist() == [0, 1, 2, 3, 4]
    assert spread(group, np.full(5, 99), *ends, np.array([1])).tolist() == [95, 96, 97, 98, 99]


def test_moments_in_microseconds_are_no_sum_too_far() -> None:
    low, high = -(1 << 61), (1 << 61) - 1
    ends = np.full(2, low), np.full(2, high)
    assert spread(np.zeros(2, dtype=np.int64), np.full(2, high), *ends, np.array([1])).tolist() == [high - 1, high]


def test_what_lies_outside_the_ends_stays_and_is_in_nobodys_way() -> None:
    assert moved([0, 0, 0, 0], [9, 9, 3, 5]) == [9, 9, 3, 5]


def test_the_column_with_most_room_is_changed() -> None:
    rows, parent = np.arange(3), np.zeros(3, dtype=np.int64)
    values = {"year": np.array([1995, 1995, 1996]), "stint": np.array([1, 1, 1])}
    ends = {"stint": (np.full(3, 1), np.full(3, 4)), "year": (np.full(3, 1990), np.full(3, 2024))}
    move_apart(parent, values, ends, rows, as_generator(RowDraws(rows.astype(np.uint64), 1)))
    assert values["stint"].tolist() == [1, 1, 1]
    assert len(set(values["year"].tolist())) == 3


def test_the_rows_that_are_alike_are_those_after_the_first() -> None:
    assert repeated(np.array([0, 0, 1, 0]), [np.array([5, 5, 5, 5])]).tolist() == [1, 3]
    assert repeated(np.array([0, 0, 1, 0]), [np.array([5, 5, 5, 5])], 2).tolist() == [3]
