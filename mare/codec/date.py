"""Calendar dates. A tick is a day since 1970: dates of 1844 and 2200 are ordinary ones."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from .parsing import formatted, is_text, moments
from .ticks import DAY_US, Mask, TickArray, Ticks, filled, null_mask

if TYPE_CHECKING:
    import pyarrow as pa

_EPOCH = date(1970, 1, 1)
FIRST_DAY, LAST_DAY = (date.min - _EPOCH).days, (date.max - _EPOCH).days


@dataclass(frozen=True)
class DateScale:
    """Days since 1970."""

    format: str | None = None

    @property
    def unit(self) -> Fraction:
        return Fraction(DAY_US)

    @property
    def whole_days(self) -> bool:
        return True

    @property
    def limits(self) -> tuple[int, int]:
        return FIRST_DAY, LAST_DAY

    @property
    def exact(self) -> DateScale:
        return self

    def tick(self, value: date, *, up: bool = False) -> int:
        return (date(value.year, value.month, value.day) - _EPOCH).days

    def to_ticks(self, values: pa.Array) -> TickArray:
        import pyarrow as pa

        read = values
        if is_text(values) or (pa.types.is_integer(values.type) and self.format is not None):
            read = moments(values, self.format)
        if pa.types.is_timestamp(read.type):
            days = filled(read.cast(pa.timestamp("us"), safe=False).cast(pa.int64())) // DAY_US
        else:
            days = filled(read.cast(pa.date32()).cast(pa.int32()))
        return TickArray(np.clip(days, FIRST_DAY, LAST_DAY), null_mask(read))

    def to_values(self, ticks: Ticks, nulls: Mask) -> pa.Array:
        import pyarrow as pa

        return pa.array(np.where(nulls, 0, ticks).astype(np.int32), type=pa.int32(), mask=nulls).cast(pa.date32())

    def to_texts(self, ticks: Ticks, nulls: Mask) -> pa.Array:
        return formatted(self.to_values(ticks, nulls), self.format)
