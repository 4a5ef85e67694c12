"""`Codes`: rows as small integers, column by column."""

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

    def take(self, index: NDArray[np.integer]) -> Codes:
        """The rows at these positions: how a parent's columns reach its children (a gather)."""
        return Codes(len(index), {name: values[index] for name, values in self.columns.items()})
