"""`Codes`: rows as small integers, column by column.

`remaining_codes`: how many rows of a sequence are still to come, each of the last few rows on its own, then by doublings.
A row in the middle of fifty has to know that it is not the fourth from the end: what happens next takes a fiftieth of the time
that is left, not a fourth of it. In a short sequence codes that hardly any row has would only cost noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

CodeArray = NDArray[np.unsignedinteger]


def smallest_dtype(size: int) -> np.dtype[np.unsignedinteger]:
    """The narrowest unsigned type that holds the codes 0 … size-1."""
    for kind in (np.uint8, np.uint16, np.uint32, np.uint64):
        if size - 1 <= np.iinfo(kind).max:
            return np.dtype(kind)
    raise ValueError(f"a domain of {size} codes does not fit 64 bits")


@dataclass(frozen=True, eq=False)
class Codes:
    """A batch of coded rows. Columns share one length; the arrays are not to be written to."""

    rows: int
    columns: Mapping[str, CodeArray]

    def __post_init__(self) -> None:
        for name, values in self.columns.items():
            if len(values) != self.rows:
                raise ValueError(f"column {name!r} has {len(values)} rows, not {self.rows}")
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))

    def __getitem__(self, name: str) -> CodeArray:
        return self.columns[name]

    def with_columns(self, more: Mapping[str, CodeArray]) -> Codes:
        """The same rows with more columns: for models of one's own, which draw a column after those that it looks at
        (`examples/own_model`)."""
        return Codes(self.rows, {**self.columns, **more})

    def take(self, index: NDArray[np.integer]) -> Codes:
        """The rows at these positions: how a parent's columns reach its children (a gather)."""
        return Codes(len(index), {name: values[index] for name, values in self.columns.items()})


EACH = 4
"""The last row, the one before it, and so on: so many have a code of their own (recipe, step 9)."""
USUAL = 2.0
"""Up to so many times the usual length of a sequence rows to come are told apart."""


def remaining_size(most: float) -> int:
    """How many codes tell apart 0 … ``most`` rows to come."""
    return int(np.searchsorted(_BEGINS, most, side="right")) + 1


def usual_size(mean_length: float) -> int:
    """How many codes sequences of this length on average (noisy: post-processing) are worth."""
    return max(EACH + 1, remaining_size(USUAL * mean_length))


def remaining_codes(rows: NDArray[np.integer], size: int) -> NDArray[np.intp]:
    """The codes of so many rows to come; the last code holds all that is more."""
    return np.minimum(np.searchsorted(_BEGINS, rows, side="right"), size - 1)


_BEGINS = np.array([*range(1, EACH), *(EACH << doubling for doubling in range(40))], dtype=np.int64)
"""Where every code but the first begins: 1, 2, 3, 4, 8, 16, …"""
