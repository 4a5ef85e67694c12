"""The nouns of the domain are valid once built."""

from __future__ import annotations

import numpy as np
import pytest

from mare.domain import Axis, Codes, Domain, Marginal, Task, smallest_dtype


@pytest.mark.parametrize(("names", "sizes"), [(("a", "a"), (2, 2)), (("a",), (0,)), (("a",), (-1,)), (("a", "b"), (2,))])
def test_a_domain_that_cannot_be_is_refused(names: tuple[str, ...], sizes: tuple[int, ...]) -> None:
    with pytest.raises(ValueError):
        Domain(names, sizes)


def test_merging_keeps_one_size_a_name() -> None:
    left = Domain.of([("a", 2), ("b", 3)])
    assert left.merge(Domain.of([("b", 3), ("c", 4)])).names == ("a", "b", "c")
    with pytest.raises(ValueError, match="'b'"):
        left.merge(Domain.of([("b", 5)]))


def test_an_axis_occurs_once_in_a_marginal_but_may_occur_at_another_lag() -> None:
    assert len(Marginal((Axis("unit"), Axis("unit", lag=1))).axes) == 2
    with pytest.raises(ValueError):
        Marginal.of("unit", "unit")
    with pytest.raises(ValueError):
        Axis("unit", lag=-1)


def test_codes_have_one_length_and_reach_children_by_a_gather() -> None:
    parents = Codes(3, {"sex": np.array([0, 1, 0], dtype=np.uint8)})
    children = parents.take(np.array([2, 1, 1, 0]))
    assert children.rows == 4
    assert children["sex"].tolist() == [0, 1, 1, 0]
    with pytest.raises(ValueError, match="'sex'"):
        Codes(2, {"sex": np.zeros(3, dtype=np.uint8)})


def test_codes_do_not_change_when_the_mapping_they_came_from_does() -> None:
    columns = {"a": np.zeros(2, dtype=np.uint8)}
    codes = Codes(2, columns)
    columns["b"] = np.zeros(9, dtype=np.uint8)
    assert set(codes.columns) == {"a"}


@pytest.mark.parametrize(("size", "bits"), [(1, 8), (256, 8), (257, 16), (65_536, 16), (65_537, 32), (2**32 + 1, 64)])
def test_codes_take_no_more_room_than_they_need(size: int, bits: int) -> None:
    assert smallest_dtype(size).itemsize * 8 == bits


def test_a_task_sees_history_and_columns_as_one_domain() -> None:
    task = Task("admissions.rows", Domain.of([("type", 9)]), Domain.of([("patients.sex", 2)]))
    assert task.domain.names == ("patients.sex", "type")
