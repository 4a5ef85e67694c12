"""`OrdinalCodec`: what has an order and stands for itself, as the bin it falls into. Shared by all ordered types."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mare.domain import CodeArray
from mare.errors import InternalError

from .bins import Bins, OpenBins
from .slots import ORDINARY, Kinds, Reading, Slots, SpecialValues, unreadable
from .ticks import Ticks, TickScale

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class OrdinalCodec:
    """Codes 0 … bins-1 are the bins, then come the special values; the last code is NULL where the column is nullable.

    A NULL in a column that declares none is clamped into the first bin: a domain is what the schema says, whatever the
    data holds.
    """

    scale: TickScale
    placed: Bins | OpenBins
    slots: Slots = field(default_factory=Slots)

    @property
    def bins(self) -> Bins:
        if isinstance(self.placed, OpenBins):
            raise InternalError("bins that are still open were asked for")
        return self.placed

    @property
    def nullable(self) -> bool:
        return self.slots.nullable

    @property
    def size(self) -> int:
        return self.bins.count + self.slots.extra

    @property
    def values(self) -> SpecialValues:
        return SpecialValues(self.scale, self.slots.specials)

    def read(self, values: pa.Array) -> Reading:
        read, kinds = self.values.read(values)
        return Reading(read.ticks, kinds, unreadable(values, kinds))

    def code(self, reading: Reading) -> CodeArray:
        return self.slots.code(reading, self.bins.assign(reading.measure), self.bins.count)

    def encode(self, values: pa.Array) -> CodeArray:
        return self.code(self.read(values))

    def draw(self, codes: NDArray[np.integer], rng: np.random.Generator) -> tuple[Ticks, Kinds]:
        """A tick of every ordinary row, and what each row is."""
        kinds = self.slots.kinds_of(codes, self.bins.count)
        return self.bins.draw(np.where(kinds == ORDINARY, codes, 0), rng), kinds

    def decode(self, codes: NDArray[np.integer], rng: np.random.Generator) -> pa.Array:
        return self.values.write(*self.draw(codes, rng))
