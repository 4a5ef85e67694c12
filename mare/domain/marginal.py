"""`Axis` and `Marginal`: what may be counted, said without any data.

`Coarsening`: a public way to say less about a column, and the size that an axis has with it.

A coarsening comes from the settled plan (a hierarchy of codes, neighbouring bins taken together), never from the data, so
the size of every axis is public. Level 0 is the column as it is coded; level k is the k-th coarsening of that column, each
one told on the codes of level 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .domain import Domain


@dataclass(frozen=True, order=True)
class Axis:
    """One axis of a cross-tab over the rows of a view.

    ``column`` is a name of the view's domain. A history column is an axis like any other: the view joins it
    upwards (n:1), so no row is counted twice.
    """

    column: str
    lag: int = 0
    """0 is the row itself; k is the row k steps earlier in the same sequence. Where no such row is, the code is one more
    than the column has: the last."""
    level: int = 0
    """0 is the column as coded; k is its k-th public coarsening."""
    same_as_lag: int = 0
    """When positive the axis is the row-local predicate "equal to its own value that many rows earlier": 0 different,
    1 the same, 2 one of the two rows is not there."""
    new_since: int = 0
    """When positive the axis is the value where it is new: where the row that many earlier has another one, or is not there.
    Where that row has the same, the code is one more than the column has: the last."""

    def __post_init__(self) -> None:
        if min(self.lag, self.level, self.same_as_lag, self.new_since) < 0:
            raise ValueError(f"axis {self.column!r}: lag, level, same_as_lag and new_since are never negative")
        if self.new_since and (self.lag or self.same_as_lag):
            raise ValueError(f"axis {self.column!r}: what is new is told of the row itself, without lag and same_as_lag")


@dataclass(frozen=True)
class Marginal:
    """A cross-tab of one or more axes, in this order."""

    axes: tuple[Axis, ...]

    def __post_init__(self) -> None:
        if len(set(self.axes)) != len(self.axes):
            raise ValueError(f"an axis occurs twice in {self.axes}")

    @classmethod
    def of(cls, *columns: str) -> Marginal:
        """The plain case: columns of the row itself, uncoarsened."""
        return cls(tuple(Axis(c) for c in columns))


@dataclass(frozen=True, eq=False)
class Coarsening:
    """Code ``i`` of the column becomes ``codes[i]``, one of 0 … size-1."""

    codes: NDArray[np.int64]
    size: int

    def __post_init__(self) -> None:
        codes = np.array(self.codes, dtype=np.int64)
        if codes.ndim != 1 or not len(codes):
            raise ValueError("a coarsening lists one coarse code for each code of its column")
        if self.size < 1 or codes.min() < 0 or codes.max() >= self.size:
            raise ValueError(f"a coarse code is outside 0 … {self.size - 1}")
        codes.setflags(write=False)
        object.__setattr__(self, "codes", codes)


Coarsenings = Mapping[str, tuple[Coarsening, ...]]
"""Per column, its levels from 1 on. A column that is not there has level 0 only."""

SAME, DIFFERENT, NO_ROW = 1, 0, 2
"""The codes of a `same_as_lag` axis: equal, not equal, and "one of the two rows is not there"."""


def axis_size(axis: Axis, domain: Domain, coarsenings: Coarsenings) -> int:
    """How many codes an axis has: public, whatever the data.

    A lagged axis has one code more, the last: "there is no such row"; so has a `new_since` axis: "the same as before". A
    `same_as_lag` axis has three. Raises `ValueError`
    for a column or a level that is not there.
    """
    if axis.column not in domain:
        raise ValueError(f"no column {axis.column!r}. Its columns: {', '.join(domain)}")
    levels = coarsenings.get(axis.column, ())
    if axis.level > len(levels):
        raise ValueError(f"no level {axis.level} of column {axis.column!r}. Its levels: 0 to {len(levels)}")
    if axis.same_as_lag:
        return 3
    size = levels[axis.level - 1].size if axis.level else domain.size(axis.column)
    return size + (axis.lag > 0 or axis.new_since > 0)
