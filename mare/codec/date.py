"""Calendar dates. A tick is a day since 1970: dates of 1844 and 2200 are ordinary ones."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .bins import Ticks
from .ticks import DAY_US, TickArray, null_mask

if TYPE_CHECKING:
    import pyarrow as pa

_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True)
class DateScale:
    """Days since 1970."""

    @property
    def microseconds(self) -> int:
        return DAY_US

    def tick(self, value: date) -> int:
        return (date(value.year, value.month, value.day) - _EPOCH).days

    def to_ticks(self, values: pa.Array) -> TickArray:
        import pyarrow as pa
        import pyarrow.compute as pc

        nulls = null_mask(values)
        days = pc.fill_null(values.cast(pa.date32()).cast(pa.int32()), 0)
        return TickArray(np.asarray(days, dtype=np.int64), nulls)

    def to_values(self, ticks: Ticks, nulls: NDArray[np.bool_]) -> pa.Array:
        import pyarrow as pa

        return pa.array(np.where(nulls, 0, ticks).astype(np.int32), type=pa.int32(), mask=nulls).cast(pa.date32())
