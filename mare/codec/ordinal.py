"""`OrdinalCodec`: what has an order and stands for itself, as the bin it falls into. Shared by all ordered types.

How the codes of an ordered column are laid out (`Slots`), and what a value is before it becomes a code (`Reading`):

    bins ─ special values ─ "first row of its sequence" ─ "where the second anchor is" ─ NULL

A `Reading` holds no code yet: bins may still be open when values are read. What it holds follows from the schema alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mare.domain import CodeArray, smallest_dtype
from mare.errors import InternalError
from mare.schema.determined import Anchor
from mare.schema.strict import Value

from .bins import Bins, OpenBins
from .category import canonical
from .nearness import Nearness
from .parsing import is_text
from .rhythm import Rhythm
from .scales import AnyScale
from .ticks import Mask, TickArray, Ticks, null_mask

ORDINARY, NULL, FIRST_ROW, CLOSING = -1, -2, -3, -4
"""What a row is, other than the number of a special value."""

Kinds = NDArray[np.int16]


@dataclass(frozen=True, eq=False)
class Reading:
    """Of each row, what it is, and where it is ordinary, the tick that its bin is found by."""

    measure: Ticks
    kinds: Kinds
    outside: int = 0
    """How many rows were clamped or could not be read. True, hence secret: for the person at the keyboard."""

    @property
    def ordinary(self) -> Mask:
        ordinary: Mask = self.kinds == ORDINARY
        return ordinary


@dataclass(frozen=True)
class Slots:
    """Everything of an ordered column's codes but the bins."""

    specials: tuple[Value, ...] = ()
    nullable: bool = False
    sequence: bool = False
    """Whether there is a code for the first row of a sequence, whose value is in the context."""
    closes: bool = False
    """Whether there is a code for a value that is its second anchor (the last transfer ends with the stay)."""

    @property
    def extra(self) -> int:
        return len(self.specials) + self.sequence + self.closes + self.nullable

    def first_row(self, bins: int) -> int:
        if not self.sequence:
            raise ValueError("only a column that follows the previous row has a first value")
        return bins + len(self.specials)

    def null(self, bins: int) -> int:
        if not self.nullable:
            raise ValueError("a column that is not nullable has no code for NULL")
        return bins + self.extra - 1

    def code(self, reading: Reading, assigned: NDArray[np.integer], bins: int) -> CodeArray:
        """Codes, from the bins that ordinary rows were assigned to."""
        codes = np.where(reading.ordinary, assigned, 0).astype(np.int64)
        special = reading.kinds >= 0
        codes[special] = bins + reading.kinds[special]
        if self.sequence:
            codes[reading.kinds == FIRST_ROW] = self.first_row(bins)
        if self.closes:
            codes[reading.kinds == CLOSING] = bins + len(self.specials) + self.sequence
        if self.nullable:
            codes[reading.kinds == NULL] = self.null(bins)
        return codes.astype(smallest_dtype(bins + self.extra))

    def kinds_of(self, codes: NDArray[np.integer], bins: int) -> Kinds:
        """What each row is, by its code."""
        kinds = np.full(len(codes), ORDINARY, dtype=np.int16)
        beyond = codes.astype(np.int64) - bins
        special = (beyond >= 0) & (beyond < len(self.specials))
        kinds[special] = beyond[special]
        if self.sequence:
            kinds[beyond == len(self.specials)] = FIRST_ROW
        if self.closes:
            kinds[beyond == len(self.specials) + self.sequence] = CLOSING
        if self.nullable:
            kinds[beyond == self.extra - 1] = NULL
        return kinds


@dataclass(frozen=True)
class SpecialValues:
    """Values that are no quantities: found among the values of a scale, and put back among them."""

    scale: AnyScale
    listed: tuple[Value, ...]

    @cached_property
    def ticks(self) -> tuple[int | None, ...]:
        """Those that the scale itself can hold (-1, a date that means never), exactly; None for those that are text."""
        if not self.listed:
            return ()
        read = self.scale.exact.to_ticks(pa.array([canonical(value) for value in self.listed], type=pa.string()))
        return tuple(None if null else int(tick) for tick, null in zip(read.ticks, read.nulls, strict=True))

    @property
    def are_text(self) -> bool:
        """Whether a column with them can only be stored as text."""
        return None in self.ticks

    def read(self, values: pa.Array) -> tuple[TickArray, Kinds]:
        """Ticks, and what each row is. What is there but cannot be read counts as NULL."""
        read = self.scale.to_ticks(values)
        kinds = np.where(read.nulls, NULL, ORDINARY).astype(np.int16)
        if not self.listed:
            return read, kinds
        exact = self.scale.exact.to_ticks(values).ticks
        for place, tick in enumerate(self.ticks):
            if tick is not None:
                kinds[~read.nulls & (exact == tick)] = place
        if self.are_text and is_text(values):
            known = {canonical(value): place for place, value in enumerate(self.listed)}
            distinct = values.dictionary_encode()
            table = np.array([known.get(text.strip(), ORDINARY) for text in distinct.dictionary.to_pylist()] + [ORDINARY])
            places = table[np.asarray(distinct.indices.fill_null(len(table) - 1), dtype=np.int64)]
            kinds = np.where(places >= 0, places, kinds).astype(np.int16)
        return read, kinds

    def write(self, ticks: Ticks, kinds: Kinds) -> pa.Array:
        """Values again; as text where a special value is one."""
        nulls = kinds == NULL
        if not self.listed:
            return self.scale.to_values(ticks, nulls)
        if self.are_text:
            written = self.scale.to_texts(ticks, nulls)
            words = pa.array([canonical(value) for value in self.listed], type=pa.string())
        else:
            written = self.scale.to_values(ticks, nulls)
            exact = np.array([tick or 0 for tick in self.ticks], dtype=np.int64)
            words = self.scale.exact.to_values(exact, np.zeros(len(exact), dtype=np.bool_))
        special = kinds >= 0
        index = pa.array(np.where(special, kinds, 0).astype(np.int64))
        return pc.if_else(pa.array(special), words.take(index), written)


def unreadable(values: pa.Array, kinds: Kinds) -> int:
    """How many values are there that say nothing the column can hold."""
    return int(((kinds == NULL) & ~null_mask(values)).sum())


def beyond(bins: Bins, reading: Reading) -> int:
    """How many ordinary rows lie outside the domain and are clamped into it."""
    measure = reading.measure[reading.ordinary]
    return int(((measure < bins.low) | (measure > bins.high)).sum())


@dataclass(frozen=True)
class Binned:
    """The bins of a scale: placed, or still open."""

    scale: AnyScale
    placed: Bins | OpenBins
    rhythm: Rhythm | None = field(default=None, kw_only=True)
    """Of moments: what hours and days are usual inside of a cell."""

    @property
    def bins(self) -> Bins:
        return settled_bins(self.placed)

    def drawn(self, bins: NDArray[np.integer], rng: np.random.Generator) -> Ticks:
        """A tick of each of these bins."""
        ticks = self.bins.draw(bins, rng)
        if self.rhythm is None:
            return ticks
        limits = np.full(len(ticks), self.bins.low), np.full(len(ticks), self.bins.high)
        return self.rhythm.draw(ticks, self.bins.around(ticks), limits, rng)


@dataclass(frozen=True)
class Within:
    """A reference to another row of the same entity, between two times of which a value lies wherever it leads to one."""

    reference: str
    table: str
    begin: str
    end: str

    @property
    def anchors(self) -> tuple[Anchor, Anchor]:
        """What the two ends are called among the points that a table is given."""
        return Anchor(f"{self.reference} ->", self.begin), Anchor(f"{self.reference} ->", self.end)

    @property
    def until(self) -> Anchor:
        """The same of the first end that a row or one after it in its sequence has to come before."""
        return Anchor(f"{self.reference} ->>", self.end)


@dataclass(frozen=True)
class BinnedCodec(Binned):
    """Codes 0 … bins-1 are the bins, then comes what has no place among them; the last code is NULL where that may be."""

    slots: Slots = field(default_factory=Slots, kw_only=True)
    within: Within | None = field(default=None, kw_only=True)
    """Where a reference leads, its row's interval holds the value."""

    @property
    def nullable(self) -> bool:
        return self.slots.nullable

    @property
    def size(self) -> int:
        return self.bins.count + self.slots.extra

    @property
    def values(self) -> SpecialValues:
        return SpecialValues(self.scale, self.slots.specials)

    def code(self, reading: Reading) -> CodeArray:
        return self.slots.code(reading, self.bins.assign(reading.measure), self.bins.count)


@dataclass(frozen=True)
class OrdinalCodec(BinnedCodec):
    """The bins, then the special values; NULL.

    A NULL in a column that declares none is clamped into the first bin: a domain is what the schema says, whatever the
    data holds.
    """

    declared: tuple[int | None, int | None] = (None, None)
    """The bounds that the schema says, in ticks; None where they are learned."""
    near: tuple[Nearness, ...] = ()
    """How near its values are to others, which have theirs before."""

    def read(self, values: pa.Array) -> Reading:
        read, kinds = self.values.read(values)
        return Reading(read.ticks, kinds, unreadable(values, kinds))

    def encode(self, values: pa.Array) -> CodeArray:
        return self.code(self.read(values))

    def draw(self, codes: NDArray[np.integer], rng: np.random.Generator) -> tuple[Ticks, Kinds]:
        """A tick of every ordinary row, and what each row is."""
        kinds = self.slots.kinds_of(codes, self.bins.count)
        return self.drawn(np.where(kinds == ORDINARY, codes, 0), rng), kinds

    def decode(self, codes: NDArray[np.integer], rng: np.random.Generator) -> pa.Array:
        return self.values.write(*self.draw(codes, rng))


def settled_bins(placed: Bins | OpenBins) -> Bins:
    """Bins that are placed."""
    if isinstance(placed, OpenBins):
        raise InternalError("bins that are still open were asked for")
    return placed
