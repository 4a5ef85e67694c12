"""Levels and sizes of axes: public, and the same whatever the data."""

from __future__ import annotations

import numpy as np
import pytest

from mare.domain import Axis, Coarsening, Domain, axis_size

DOMAIN = Domain.of([("ward", 5), ("age", 4)])
LEVELS = {"ward": (Coarsening(np.array([0, 0, 1, 1, 2]), 3), Coarsening(np.zeros(5, dtype=np.int64), 1))}


@pytest.mark.parametrize(
    ("axis", "size"),
    [
        (Axis("ward"), 5),
        (Axis("ward", lag=2), 6),
        (Axis("ward", level=1), 3),
        (Axis("ward", lag=1, level=1), 4),
        (Axis("ward", level=2), 1),
        (Axis("ward", same_as_lag=1), 3),
        (Axis("ward", new_since=1), 6),
        (Axis("ward", level=1, new_since=1), 4),
        (Axis("ward", lag=1, level=1, same_as_lag=2), 3),
        (Axis("age"), 4),
    ],
)
def test_every_axis_has_a_public_size(axis: Axis, size: int) -> None:
    assert axis_size(axis, DOMAIN, LEVELS) == size


@pytest.mark.parametrize(
    ("axis", "said"),
    [
        (Axis("sex"), "no column 'sex'. Its columns: ward, age"),
        (Axis("age", level=1), "no level 1 of column 'age'. Its levels: 0 to 0"),
        (Axis("ward", level=3, same_as_lag=1), "no level 3 of column 'ward'. Its levels: 0 to 2"),
    ],
)
def test_what_is_not_there_has_no_size(axis: Axis, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        axis_size(axis, DOMAIN, LEVELS)


@pytest.mark.parametrize(
    ("codes", "size"),
    [([], 1), ([[0]], 1), ([0, 3], 3), ([-1, 0], 2), ([0], 0)],
    ids=["none", "matrix", "above", "under", "0"],
)
def test_a_coarsening_that_is_none_is_refused(codes: list[object], size: int) -> None:
    with pytest.raises(ValueError, match="coars"):
        Coarsening(np.array(codes), size)


def test_a_coarsening_cannot_be_written_to() -> None:
    given = np.array([0, 1])
    level = Coarsening(given, 2)
    given[0] = 1
    assert level.codes.tolist() == [0, 1]
    with pytest.raises(ValueError, match="read-only"):
        level.codes[0] = 1


@pytest.mark.parametrize("wrong", [{"new_since": -1}, {"new_since": 1, "lag": 1}, {"new_since": 1, "same_as_lag": 1}])
def test_what_is_new_is_told_of_the_row_itself(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="axis 'ward'"):
        Axis("ward", **wrong)
