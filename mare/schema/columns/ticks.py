"""Ticks: an ordered column's values as whole numbers of its smallest step (a day, a second, 0.01).

Here is what follows from the declaration alone: how long a tick is, which ticks there are, and which one a declared bound is.
`mare.codec` reads and writes the values of rows with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from fractions import Fraction
from math import ceil, floor, log10
from sys import float_info
from typing import ClassVar, Literal, Self

from mare.schema.strict import parse_span

Order = Literal["number", "moment", "clock", "length"]
"""What is compared with what: numbers, points in time, times of day, lengths of time."""

DAY_US = 86_400_000_000
"""Microseconds of a day: times count in microseconds when they are compared."""
FURTHEST = 1 << 60
"""No tick lies further out: what does is clamped, so that the difference of two ticks never overflows."""
OPEN_DECIMALS = 6
"""Decimals of a number while nothing is known of its range."""

_SIGNIFICANT = 6
"""Digits that a number's range is told apart to where the schema gives no precision."""
_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_LONGEST_US = 3_650_000 * DAY_US
_HELD_US: dict[Order, tuple[int, int]] = {
    "moment": ((datetime.min - _EPOCH) // _MICROSECOND, (datetime.max - _EPOCH) // _MICROSECOND),
    "clock": (0, DAY_US - 1),
    "length": (-_LONGEST_US, _LONGEST_US),
}
"""The first and the last that can be written at all, in microseconds: years 1 to 9999, a whole day, ten thousand years."""


@dataclass(frozen=True)
class NumberForm:
    """How texts write numbers: 1.234,5 has a comma before its decimals and points between its thousands."""

    decimal: str = "."
    thousands: str | None = None

    @property
    def pattern(self) -> str:
        """A regular expression that a text so written matches as a whole. It is RE2, for DuckDB and Arrow alike."""
        grouped = "" if self.thousands is None else f"[0-9]{{1,3}}({self.between}[0-9]{{2,3}})*{self.between}[0-9]{{3}}|"
        mark = f"[{self.decimal}]"
        return f"[-+]?(({grouped}[0-9]+)({mark}[0-9]*)?|{mark}[0-9]+)([eE][-+]?[0-9]{{1,3}})?"

    @property
    def between(self) -> str:
        """A regular expression of what stands between thousands. A blank may be one that does not break the line."""
        return "[ \u00a0\u2009\u202f]" if self.thousands == " " else "['’]" if self.thousands == "'" else f"[{self.thousands}]"

    def text(self, plain: str) -> str:
        """A number's plain text, as it is written here: without thousands."""
        return plain.replace(".", self.decimal)


PLAIN = NumberForm()


@dataclass(frozen=True)
class WholeTicks:
    """Multiples of a step."""

    step: int = 1
    form: NumberForm = PLAIN
    whole_days: ClassVar[bool] = False

    @property
    def unit(self) -> Fraction:
        return Fraction(self.step)

    @property
    def limits(self) -> tuple[int, int]:
        return -(FURTHEST // self.step), FURTHEST // self.step

    @property
    def exact(self) -> Self:
        """The finest ticks of the same type: special values are compared on them, not after rounding."""
        return replace(self, step=1)

    def tick(self, value: object, *, up: bool = False) -> int:
        """The last tick that is not above a declared bound, or with ``up`` the first that is not below it; clamped."""
        exact, (first, last) = Fraction(_number(value)) / self.step, self.limits
        tick = -(-exact.numerator // exact.denominator) if up else exact.numerator // exact.denominator
        return min(max(tick, first), last)

    def reach(self, within: object) -> int:
        """The furthest distance from an anchor, in ticks: never less than one."""
        return max(1, self.tick(within))


@dataclass(frozen=True)
class DecimalTicks:
    """Decimal fractions with a fixed number of decimals (negative: tens, hundreds …)."""

    decimals: int
    fixed: bool = False
    """Written with all of its decimals where it is stored as text: the schema says how many there are."""
    form: NumberForm = PLAIN
    whole_days: ClassVar[bool] = False

    @property
    def unit(self) -> Fraction:
        return Fraction(10) ** -self.decimals

    @property
    def limits(self) -> tuple[int, int]:
        return -FURTHEST, FURTHEST

    @property
    def exact(self) -> Self:
        return replace(self, decimals=max(self.decimals, OPEN_DECIMALS))

    def tick(self, value: object, *, up: bool = False) -> int:
        # 0.3 is a hair less than three tenths: what is nearly a whole tick is one.
        scaled = _number(value) * 10.0**self.decimals
        near = round(scaled)
        if abs(scaled - near) <= 1e-6 * max(1.0, abs(scaled) * 1e-6):
            return near
        return ceil(scaled) if up else floor(scaled)

    def reach(self, within: object) -> int:
        return max(1, self.tick(within))


def open_ticks(precision: int | None) -> DecimalTicks:
    """The ticks of a number of whose range nothing is known."""
    return DecimalTicks(OPEN_DECIMALS if precision is None else min(OPEN_DECIMALS, precision), precision is not None)


def range_ticks(low: float, high: float, precision: int | None) -> DecimalTicks:
    """The ticks of a number between these bounds: decimals as declared, less where the range would not fit 60 bits."""
    span = min(max(abs(low), abs(high), high - low, 1e-12), float_info.max)
    wanted = precision if precision is not None else max(0, _SIGNIFICANT - ceil(log10(span)))
    return DecimalTicks(min(wanted, floor(log10(FURTHEST / span))), precision is not None)


@dataclass(frozen=True)
class TimeTicks:
    """Multiples of a unit of time: since 1970, since midnight, or of a length. Dates of 1844 and 2200 are ordinary ones."""

    order: Order
    microseconds: int
    """Of a tick."""
    finest: int
    """Microseconds of the finest tick that values of this type can have."""
    arrow: str
    """Arrow's word for the values: `date32`, `timestamp[us]`, `time64[us]`, `duration[us]`; `int64` where units are counted."""
    formats: tuple[str, ...] = ()
    """strptime formats of texts: the first that fits is read, and the first of all is written."""
    whole_days: bool = False
    """A date stands for all of its day: what happens on that day is neither before nor after it."""

    @property
    def unit(self) -> Fraction:
        return Fraction(self.microseconds)

    @property
    def limits(self) -> tuple[int, int]:
        first, last = _HELD_US[self.order]
        return first // self.microseconds, last // self.microseconds

    @property
    def exact(self) -> Self:
        return replace(self, microseconds=self.finest)

    def tick(self, value: object, *, up: bool = False) -> int:
        exact = microseconds_of(value, self.order)
        tick = -(-exact // self.microseconds) if up and not self.whole_days else exact // self.microseconds
        return min(tick, self.limits[1])

    def reach(self, within: object) -> int:
        return max(1, microseconds_of(within, "length") // self.microseconds)


AnyTicks = WholeTicks | DecimalTicks | TimeTicks


def microseconds_of(value: object, order: Order) -> int:
    """Of a moment since 1970, of a time of day since midnight, of a span as people write it."""
    match order, value:
        case "moment", datetime():
            local = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
            return (local - _EPOCH) // _MICROSECOND
        case "moment", date():
            return (datetime(value.year, value.month, value.day) - _EPOCH) // _MICROSECOND
        case "clock", time():
            return (value.hour * 3600 + value.minute * 60 + value.second) * 1_000_000 + value.microsecond
        case "length", str():
            return parse_span(value) // _MICROSECOND
    raise TypeError(f"{type(value).__name__} is no bound of this column")


def _number(value: object) -> int | float:
    if isinstance(value, int | float):
        return value
    raise TypeError(f"{type(value).__name__} is no bound of this column")
