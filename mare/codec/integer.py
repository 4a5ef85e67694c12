"""Whole numbers. A tick is one `step`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .bins import Ticks
from .ticks import TickArray, null_mask

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class IntegerScale:
    """Multiples of a step."""

    step: int = 1

    @property
    def microseconds(self) -> int:
        return 0

    def tick(self, value: float) -> int:
        return int(value // self.step)

    def to_ticks(self, values: pa.Array) -> TickArray:
        import pyarrow as pa
        import pyarrow.compute as pc

        nulls = null_mask(values)
        whole = np.asarray(pc.fill_null(values.cast(pa.int64(), safe=False), 0), dtype=np.int64)
        return TickArray(whole // self.step, nulls)

    def to_values(self, ticks: Ticks, nulls: NDArray[np.bool_]) -> pa.Array:
        import pyarrow as pa

        return pa.array(ticks * self.step, type=pa.int64(), mask=nulls)
