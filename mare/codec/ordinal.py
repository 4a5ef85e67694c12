"""`OrdinalCodec`: what has an order and stands for itself, as the bin it falls into. Shared by all ordered types."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mare.domain import CodeArray
from mare.errors import InternalError
from mare.schema.relative import Anchor

from .bins import Bins, OpenBins
from .nearness import Nearness
from .rhythm import Rhythm
from .scales import AnyScale
from .slots import ORDINARY, Kinds, Reading, Slots, SpecialValues, unreadable
from .ticks import Ticks


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
