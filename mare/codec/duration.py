"""Lengths of time. A tick is a second of an interval, or one of the units that the source counts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np

from mare.schema.moments import parse_span

from .parsing import whole_numbers
from .ticks import DAY_US, Mask, TickArray, Ticks, filled, null_mask

if TYPE_CHECKING:
    import pyarrow as pa

StoredAs = Literal["interval", "seconds", "minutes", "hours", "days"]

_UNIT_US: dict[StoredAs, int] = {
    "interval": 1_000_000,
    "seconds": 1_000_000,
    "minutes": 60_000_000,
    "hours": 3_600_000_000,
    "days": DAY_US,
}
_LONGEST_DAYS = 3_650_000


@dataclass(frozen=True)
class DurationScale:
    """Whole seconds of an interval, or whole units of a stored number."""

    stored_as: StoredAs = "interval"

    @property
    def microseconds(self) -> int:
        return _UNIT_US[self.stored_as]

    @property
    def unit(self) -> Fraction:
        return Fraction(self.microseconds)

    @property
    def whole_days(self) -> bool:
        return False

    @property
    def limits(self) -> tuple[int, int]:
        longest = _LONGEST_DAYS * DAY_US // self.microseconds
        return -longest, longest

    @property
    def exact(self) -> DurationScale:
        return self

    def tick(self, value: str, *, up: bool = False) -> int:
        """Of a span as people write it."""
        span = parse_span(value)
        exact = (span.days * 86_400 + span.seconds) * 1_000_000 + span.microseconds
        return -(-exact // self.microseconds) if up else exact // self.microseconds

    def to_ticks(self, values: pa.Array) -> TickArray:
        """An interval comes as an Arrow duration, or as the stage keeps it: microseconds."""
        import pyarrow as pa

        if pa.types.is_duration(values.type):
            read = values.cast(pa.duration("us"), safe=False).cast(pa.int64())
            ticks = filled(read) // self.microseconds
        elif self.stored_as == "interval":
            read = whole_numbers(values)
            ticks = filled(read) // self.microseconds
        else:
            read = whole_numbers(values)
            ticks = filled(read)
        return TickArray(np.clip(ticks, *self.limits), null_mask(read))

    def to_values(self, ticks: Ticks, nulls: Mask) -> pa.Array:
        import pyarrow as pa

        if self.stored_as == "interval":
            return pa.array(np.where(nulls, 0, ticks) * self.microseconds, type=pa.int64(), mask=nulls).cast(pa.duration("us"))
        return pa.array(np.where(nulls, 0, ticks), type=pa.int64(), mask=nulls)

    def to_texts(self, ticks: Ticks, nulls: Mask) -> pa.Array:
        """A number of units; an interval as ``26:03:00``, which every database reads."""
        import pyarrow as pa

        if self.stored_as != "interval":
            return self.to_values(ticks, nulls).cast(pa.string())
        texts = [None if null else _clock(int(tick)) for tick, null in zip(ticks, nulls, strict=True)]
        return pa.array(texts, type=pa.string())


def _clock(seconds: int) -> str:
    whole = abs(seconds)
    return f"{'-' if seconds < 0 else ''}{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"
