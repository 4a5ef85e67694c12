"""`Ordinal`: what has an order is counted in ticks and binned. How many bins and steps it has follows from the declaration."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from mare.schema.determined import Relative
from mare.schema.faults import Fault, Path, unsettled
from mare.schema.reflection import Bound, StorageKind
from mare.schema.strict import Value, is_more

from .column import AnyColumn, LearnedDomain, repeated
from .ticks import AnyTicks
from .written import Written, canonical

if TYPE_CHECKING:
    from mare.schema.layout import Layout

DEFAULT_BINS = 20
"""Bins of an ordered column that does not say how many, at most: noisy quantiles."""
SINGLE_VALUES = 32
"""A declared linear domain of at most this many steps (days of a month, hours of a day) keeps a code for each."""
PACES = 24
"""Codes of how much time is left for each row until the calendar ends a sequence, by public powers."""
ROOMS = 10
"""Codes of how much time there is below a row, likewise."""
MAX_BINS = 1000
"""More bins than this are not a histogram that noise leaves anything of."""

Ends = tuple[int | None, int | None]


class Ordinal(LearnedDomain, Written, AnyColumn, Relative):
    """What has an order and is binned to be counted."""

    bins: int | tuple[float, ...] | None = None
    """How many bins, or their inner edges. Left out: noisy quantiles, paid for from the learning share."""
    scale: Literal["linear", "log"] = "linear"
    """`log` for what spans orders of magnitude (lengths of stay, doses, small parts of the time that is left)."""
    specials: tuple[Value, ...] = ()
    """Values that are no quantities (`"> 89"`, `-1`, `N`): kept as categories of their own."""

    if TYPE_CHECKING:
        min: object
        max: object

    has_order: ClassVar[bool] = True
    zero: ClassVar[object]
    """The value that stands for nothing."""

    # ---- what a type of ordered values says

    @abstractmethod
    def ticks(self, learned: Sequence[float] = ()) -> AnyTicks:
        """How its values are counted. Those of a number also depend on its range, and so on bounds that were ``learned``."""
        raise NotImplementedError

    @abstractmethod
    def compared(self, value: Value) -> float:
        """A value of a condition as something to compare with, a number or microseconds. A `ValueError` says what it is
        compared with, where the value is none."""
        raise NotImplementedError

    @property
    def depends_on_items(self) -> bool:
        """Whether its scale depends on another column (`by`)."""
        return False

    # ---- bounds and steps

    def bounds(self, ticks: AnyTicks) -> Ends:
        """Declared bounds in ticks, none outside the range; None where there is none."""
        low = None if self.min is None else ticks.tick(self.min, up=True)
        high = None if self.max is None else ticks.tick(self.max)
        # Between 0.2 and 0.8 there is no number without decimals: then it is the one below.
        return (high, high) if low is not None and high is not None and low > high else (low, high)

    @property
    def steps(self) -> int | None:
        """How many different values the declared domain has; None where it is learned or depends on other values."""
        try:
            if self.anchors:
                sides = 1 if self.around is None else 2
                return None if self.within is None else sides * self.ticks().reach(self.within) - int(self.strict) + 1
            low, high = self.bounds(self.ticks())
        except TypeError:  # a span for a number, or the other way round: the checks say so
            return None
        return None if low is None or high is None else high - low + 1

    @property
    def first_steps(self) -> int | None:
        """The same of a sequence's first value."""
        if self.first is None:
            return None
        ticks = self.ticks()
        if self.first.within is not None:
            return ticks.reach(self.first.within) + 1
        low, high = ticks.tick(self.first.min, up=True), ticks.tick(self.first.max)
        return max(1, high - low + 1)

    @property
    def is_paced(self) -> bool:
        """Whether it is a sequence of gaps that nothing but the calendar (`max`) ends: its rows share what is left."""
        return self.first is not None and self.max is not None and self.before is None and self.during is None

    @property
    def closes(self) -> bool:
        """Whether it is a distance from the first of its two anchors, and may be the second, or the end of the calendar."""
        return (self.is_between and (self.within is not None or self.learn)) or self.ends_with_calendar

    @property
    def ends_with_calendar(self) -> bool:
        """Whether it is a distance that nothing but `max` ends: what has not ended by that day ends on it."""
        alone = self.after is not None and not self.is_between and self.first is None
        return alone and self.max is not None and self.determined is None

    @property
    def is_between(self) -> bool:
        """Whether it has two anchors."""
        return self.during is not None or (self.after is not None and self.before is not None)

    # ---- sizes

    @property
    def is_learned(self) -> bool:
        return self.learn

    @property
    def measures_bins(self) -> bool:
        """Nothing says where they are, and values are many."""
        if self.determined is not None or self.bins is not None:
            return False
        return self.steps is None or not keeps_each(self.steps, linear=self.scale == "linear")

    @property
    def most_bins(self) -> int:
        """The most bins, without NULL and special values."""
        if isinstance(self.bins, tuple):
            return len(self.bins) + 1
        return _most_bins(self.steps, self.bins, linear=self.scale == "linear")

    @property
    def most_first_bins(self) -> int | None:
        """The most codes of a sequence's first value (`first`), without the one for "no row"; None where it has none."""
        return None if self.first is None else _most_bins(self.first_steps, None, linear=True)

    @property
    def most_codes(self) -> int | None:
        return self.most_bins + len(self.specials) + self.closes + self.nullable

    @property
    def distinct_values(self) -> int | None:
        return None if self.steps is None else self.steps + len(self.specials) + self.nullable

    # ---- checks

    def faults(self, layout: Layout, table: str, path: Path) -> Iterator[Fault]:
        low, high = self.min, self.max
        if low is not None and high is not None and is_more(low, high):
            yield Fault((*path, "min"), f"min {low} is more than max {high}", "Exchange them, or mend one of them")
        yield from repeated(self.specials, path, "specials")
        yield from self.word_faults(path, self.specials)
        yield from self.form_faults(path)
        if self.determined is None:
            yield from self.range_faults(path)
        yield from self.bin_faults(path)
        if self.scale == "log":
            yield from self.log_faults(path)

    def form_faults(self, path: Path) -> Iterator[Fault]:
        """What is wrong with how its texts are written."""
        return iter(())

    def range_faults(self, path: Path) -> Iterator[Fault]:
        """Bounds that are missing, or too many."""
        low, high = self.min, self.max
        if (low is None) != (high is None) and not self.learn and not self.anchors:
            there, missing = ("min", "max") if high is None else ("max", "min")
            remedy = f"Write `{missing}:` too, or `learn: true` to learn it with budget"
            yield Fault((*path, there), f"there is a {there}, but no {missing}", remedy)
        elif low is not None and high is not None and self.learn and not self.anchors:
            remedy = "Keep `min` and `max`, or `learn`"
            yield Fault((*path, "learn"), "the bounds are declared, so there is nothing to learn", remedy)
        elif low is None and high is None and not self.learn and not self.anchors:
            remedy = "Write `min:` and `max:` (what is possible, not what occurs), or `learn: true` to learn them with budget"
            yield unsettled(path, "nothing says between which bounds it lies", remedy)

    def bin_faults(self, path: Path) -> Iterator[Fault]:
        """What is wrong with the number of its bins, or with their edges."""
        if isinstance(self.bins, int) and not 1 <= self.bins <= MAX_BINS:
            yield Fault((*path, "bins"), f"{self.bins} bins", f"Write 1 to {MAX_BINS}; 20 is a good start")
        if isinstance(self.bins, tuple):
            what = f"the bins of a {self.type} have no listed edges"
            yield Fault((*path, "bins"), what, "Write their number: `bins: 20`")

    def log_faults(self, path: Path) -> Iterator[Fault]:
        """Why its scale cannot be logarithmic."""
        if not self.anchors:
            remedy = "Write `scale: linear`, or say `after:` which other time it is a distance from"
            yield Fault((*path, "scale"), "a logarithmic scale is for distances, not for points in time", remedy)

    # ---- conditions

    def never(self, value: Value) -> str | None:
        if canonical(value) not in map(canonical, self.specials):
            try:
                self.compared(value)
            except ValueError as words:
                return f"{words}; {value!r} is not one"
        return None

    # ---- what is stored and what comes out

    @property
    def instead_of_null(self) -> object:
        return self.zero if self.min is None else self.min

    def tells(self, stored: StorageKind) -> bool:
        # Numbers among which `"> 89"` or NA stands can only be stored as text.
        return bool(self.specials or self.nulls or self.map) and stored == "string"

    def hint(self, stored: StorageKind) -> str:
        return ", or name the values that are no numbers: specials: […]" if stored == "string" else ""

    @property
    def stored_kind(self) -> StorageKind:
        # `"> 89"` among numbers: as the file had them. A number that means something else is still a number.
        return "string" if any(isinstance(special, str) for special in self.specials) else self.fits[0]

    def promised(self, side: Literal["min", "max"]) -> Bound | None:
        """Of a column that stands for itself, not for a distance from another."""
        if self.depends_on_items or self.anchors or self.specials:
            return None
        bound = self.min if side == "min" else self.max
        return bound if isinstance(bound, Bound) else None


def compared_number(value: Value) -> float:
    """A value of a condition on numbers."""
    if isinstance(value, str | bool):
        raise ValueError("is a number")
    return float(value)


def keeps_each(steps: int, *, linear: bool) -> bool:
    """Whether a domain of so many steps keeps a code for each where nothing says how many bins it has."""
    return steps <= (SINGLE_VALUES if linear else DEFAULT_BINS)


def _most_bins(steps: int | None, wanted: int | None, *, linear: bool) -> int:
    if steps is None:
        return DEFAULT_BINS if wanted is None else wanted
    if wanted is not None:
        return min(wanted, steps)
    return steps if keeps_each(steps, linear=linear) else DEFAULT_BINS
