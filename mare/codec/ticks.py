"""`TickScale`: an ordered column's values as integer ticks and back. One implementation a column type, beside its codec."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from .bins import Ticks

if TYPE_CHECKING:
    import pyarrow as pa

DAY_US = 86_400_000_000
"""Microseconds of a day: the common measure of dates and moments."""


@dataclass(frozen=True, eq=False)
class TickArray:
    """Ticks, and where the value is NULL (the tick there means nothing)."""

    ticks: Ticks
    nulls: NDArray[np.bool_]


class TickScale(Protocol):
    """How one column type maps to ticks."""

    @property
    def microseconds(self) -> int:
        """Length of a tick; 0 for what is not a time."""
        ...

    def to_ticks(self, values: pa.Array) -> TickArray: ...

    def to_values(self, ticks: Ticks, nulls: NDArray[np.bool_]) -> pa.Array: ...


def convert_ticks(ticks: Ticks, source: TickScale, target: TickScale) -> Ticks:
    """Ticks of one scale as ticks of another, so that a column may be anchored at one of a finer or coarser type.

    A moment becomes its day. Within a day ticks are rounded up: a value that is not before the rounded anchor is
    not before the anchor either.
    """
    if source.microseconds == target.microseconds:
        return ticks
    if target.microseconds >= DAY_US:
        return ticks * source.microseconds // target.microseconds
    return -(-(ticks * source.microseconds) // target.microseconds)


def null_mask(values: pa.Array) -> NDArray[np.bool_]:
    return np.asarray(values.is_null().to_numpy(zero_copy_only=False), dtype=np.bool_)
