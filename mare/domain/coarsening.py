"""`Coarsening`: a public way to say less about a column, and the size that an axis has with it.

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
from .marginal import Axis


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
