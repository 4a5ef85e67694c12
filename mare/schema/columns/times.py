"""Dates, moments, times of day and lengths of time: one scale with four units."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, time
from typing import TYPE_CHECKING, ClassVar, Literal

from mare.schema.faults import Fault, Path
from mare.schema.reflection import StorageKind
from mare.schema.strict import Clock, Day, Moment, Names, Span, Value

from .column import Raw
from .ordinal import Ends, Ordinal, compared_number
from .ticks import DAY_US, AnyTicks, Order, TimeTicks, microseconds_of
from .written import quoted, trimmed_sql

Resolution = Literal["day", "hour", "minute", "second", "millisecond", "microsecond"]

_US: dict[str, int] = {
    "day": DAY_US,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}


class TimeColumn(Ordinal):
    """A point in time or a time of day: stored as such, or as a text that a format reads."""

    if TYPE_CHECKING:
        format: Names | None

    arrow: ClassVar[str]
    """Arrow's word for its values."""
    parsed_as: ClassVar[str] = "TIMESTAMP"
    """DuckDB's type of a text that was read without a format."""
    example: ClassVar[str] = "%Y-%m-%d"
    """A format, for a message."""

    @property
    def formats(self) -> tuple[str, ...]:
        """How texts write it, in the order in which they are tried."""
        return (self.format,) if isinstance(self.format, str) else self.format or ()

    def form_faults(self, path: Path) -> Iterator[Fault]:
        for form in self.formats:
            if "%" not in form:
                yield Fault((*path, "format"), f"{form} is not a strptime format", "Write one as in %Y%m%d")

    def tells(self, stored: StorageKind) -> bool:
        return super().tells(stored) or (self.format is not None and stored in ("string", "integer"))

    def hint(self, stored: StorageKind) -> str:
        return f', or say how it is written: format: "{self.example}"' if stored in ("string", "integer") else ""

    @property
    def stored_kind(self) -> StorageKind:
        # A year is a number wherever it is stored. Where several formats are mixed, none is how the source writes it.
        if self.formats == ("%Y",):
            return "integer"
        if len(self.formats) == 1:
            return "string"
        # A day that means never is still a day.
        return super().stored_kind if any(map(_is_word, self.specials)) else self.fits[0]

    @property
    def text_format(self) -> str | None:
        return self.formats[0] if self.formats else None

    def read_sql(self, column: str, raw: Raw, *, spelled: bool) -> str | None:
        moment = self._parsed_sql(column, raw, spelled)
        return f"CASE WHEN isfinite({moment}) THEN {moment} END"

    def _parsed_sql(self, column: str, raw: Raw, spelled: bool) -> str:
        if self.format is None or raw not in ("text", "integer"):
            return f"TRY_CAST({column} AS {self.parsed_as})"
        text = trimmed_sql(f"CAST({column} AS VARCHAR)")
        written = f"try_strptime({text}, {quoted(self.formats[0])})"
        if len(self.formats) > 1:
            written = f"coalesce({', '.join(_shaped_sql(text, form) for form in self.formats)})"
        if self.parsed_as != "TIMESTAMP" and spelled:
            written = f"TRY_CAST({written} AS {self.parsed_as})"
        return f"coalesce({written}, TRY_CAST({column} AS {self.parsed_as}))" if spelled else written

    def says_its_text(self, raw: Raw) -> bool:
        return self.format is None and raw == "timestamp" and not self.is_rewritten

    def compared(self, value: Value) -> float:
        return compared_time(value, datetime.fromisoformat, "moment", "a date or moment as '2150-12-31' or '2150-12-31 07:30'")


class Date(TimeColumn):
    """A calendar date."""

    type: Literal["date"]
    min: Day | None = None
    """Earliest date."""
    max: Day | None = None
    """Latest date."""
    format: Names | None = None
    """strptime format, where dates are stored as text (`%Y%m%d`), or a list of which the first that fits is read."""

    order: ClassVar[Order | None] = "moment"
    has_day: ClassVar[bool] = True
    fits: ClassVar[tuple[StorageKind, ...]] = ("date", "datetime")
    arrow: ClassVar[str] = "date32"
    staged_type: ClassVar[str] = "DATE"
    zero: ClassVar[object] = date(1970, 1, 1)

    def ticks(self, learned: Sequence[float] = ()) -> AnyTicks:
        return TimeTicks("moment", DAY_US, DAY_US, self.arrow, self.formats, whole_days=True)

    def read_sql(self, column: str, raw: Raw, *, spelled: bool) -> str | None:
        return f"TRY_CAST({super().read_sql(column, raw, spelled=spelled)} AS DATE)"


class Datetime(TimeColumn):
    """A date with a time of day."""

    type: Literal["datetime"]
    min: Moment | None = None
    """Earliest moment."""
    max: Moment | None = None
    """Latest moment."""
    resolution: Resolution = "second"
    """What values are rounded to when they come back."""
    format: Names | None = None
    """strptime format, where moments are stored as text, or a list of them."""

    order: ClassVar[Order | None] = "moment"
    has_day: ClassVar[bool] = True
    has_clock: ClassVar[bool] = True
    fits: ClassVar[tuple[StorageKind, ...]] = ("datetime", "date")
    arrow: ClassVar[str] = "timestamp[us]"
    staged_type: ClassVar[str] = "TIMESTAMP"
    zero: ClassVar[object] = datetime(1970, 1, 1)

    def ticks(self, learned: Sequence[float] = ()) -> AnyTicks:
        return TimeTicks("moment", _US[self.resolution], 1, self.arrow, self.formats)


class Time(TimeColumn):
    """A time of day. The whole day unless bounded."""

    type: Literal["time"]
    min: Clock | None = None
    """Earliest time of day."""
    max: Clock | None = None
    """Latest time of day."""
    resolution: Resolution = "second"
    """What values are rounded to."""
    format: Names | None = None
    """strptime format, where times of day are stored as text (`%H:%M`), or a list of them."""

    order: ClassVar[Order | None] = "clock"
    has_clock: ClassVar[bool] = True
    fits: ClassVar[tuple[StorageKind, ...]] = ("time",)
    arrow: ClassVar[str] = "time64[us]"
    staged_type: ClassVar[str] = "TIME"
    zero: ClassVar[object] = time.min
    parsed_as: ClassVar[str] = "TIME"
    example: ClassVar[str] = "%H:%M"

    def ticks(self, learned: Sequence[float] = ()) -> AnyTicks:
        return TimeTicks("clock", _US[self.resolution], 1, self.arrow, self.formats)

    def bounds(self, ticks: AnyTicks) -> Ends:
        low = ticks.tick(time.min if self.min is None else self.min, up=True)
        high = ticks.limits[1] if self.max is None else ticks.tick(self.max)
        return min(low, high), high

    def range_faults(self, path: Path) -> Iterator[Fault]:
        return iter(())

    def read_sql(self, column: str, raw: Raw, *, spelled: bool) -> str | None:
        return f"TRY_CAST({self._parsed_sql(column, raw, spelled)} AS TIME)"

    def says_its_text(self, raw: Raw) -> bool:
        return False

    def compared(self, value: Value) -> float:
        return compared_time(value, time.fromisoformat, "clock", "a time as '07:30'")


class Duration(Ordinal):
    """A length of time."""

    type: Literal["duration"]
    min: Span | None = None
    """Shortest, as a span: `0s`."""
    max: Span | None = None
    """Longest, as a span: `365d`."""
    stored_as: Literal["interval", "seconds", "minutes", "hours", "days"] = "interval"
    """How the source stores it: its own interval type, or a number of these."""

    order: ClassVar[Order | None] = "length"
    zero: ClassVar[object] = 0
    instead_of_null: ClassVar[object] = zero
    fits: ClassVar[tuple[StorageKind, ...]] = ("duration",)

    @property
    def is_interval(self) -> bool:
        """Whether it is stored as a length, not as a number of units."""
        return self.stored_as == "interval"

    def ticks(self, learned: Sequence[float] = ()) -> AnyTicks:
        """A second of an interval, or one of the units that the source counts."""
        unit = _US["second" if self.is_interval else self.stored_as.removesuffix("s")]
        return TimeTicks("length", unit, unit, "duration[us]" if self.is_interval else "int64")

    def log_faults(self, path: Path) -> Iterator[Fault]:
        return iter(())

    def tells(self, stored: StorageKind) -> bool:
        return not self.is_interval and stored in ("integer", "number")

    def hint(self, stored: StorageKind) -> str:
        if stored in ("integer", "number"):
            return ", or say what it counts: stored_as: days"
        return super().hint(stored)

    @property
    def staged_type(self) -> str:  # type: ignore[override]  # the only type that is staged in one of two
        return "BIGINT" if self.is_interval else "DOUBLE"

    def read_sql(self, column: str, raw: Raw, *, spelled: bool) -> str | None:
        """An interval in microseconds (a month is 30 days), or the number of units that the source stores."""
        if not self.is_interval:
            return f"TRY_CAST({column} AS DOUBLE)"
        if raw == "integer":
            return f"TRY_CAST({column} AS BIGINT)"
        return f"TRY_CAST(round(epoch(TRY_CAST({column} AS INTERVAL)) * 1000000) AS BIGINT)"

    def compared(self, value: Value) -> float:
        return compared_time(value, str, "length", "a span as '3d'") if self.is_interval else compared_number(value)


_SHAPES = {"Y": "[0-9]{4}", "y": "[0-9]{2}", "j": "[0-9]{1,3}", "f": "[0-9]{1,9}", **dict.fromkeys("dmHIMS", "[0-9]{1,2}")}


def _shaped_sql(text: str, form: str) -> str:
    """A text by a format that it looks like: to try one that does not fit takes ten times as long."""
    parts = re.split(r"%-?([A-Za-z%])", form)
    shape = "".join(_SHAPES.get(part, ".+") if number % 2 else re.escape(part) for number, part in enumerate(parts))
    return f"try_strptime(CASE WHEN regexp_full_match({text}, {quoted(shape)}) THEN {text} END, {quoted(form)})"


def _is_word(special: Value) -> bool:
    try:
        datetime.fromisoformat(str(special))
    except ValueError:
        return True
    return False


def compared_time(value: Value, read: Callable[[str], object], order: Order, words: str) -> float:
    """A text of a condition in microseconds, as staging reads it."""
    try:
        return float(microseconds_of(read(value) if isinstance(value, str) else value, order))
    except (ValueError, TypeError):
        raise ValueError(f"is compared with {words}") from None
