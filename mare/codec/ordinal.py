"""`OrdinalCodec`: what has an order, as the bin it falls into. Shared by integers, numbers, dates and moments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mare.domain import CodeArray, smallest_dtype

from .bins import Bins, Ticks
from .ticks import TickArray, TickScale

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class OrdinalCodec:
    """Codes 0 … bins-1 are the bins; the last code is NULL where the column is nullable.

    A NULL in a column that declares none is clamped into the first bin: a domain is what the schema says, whatever the
    data holds.
    """

    scale: TickScale
    bins: Bins
    nullable: bool = False

    @property
    def size(self) -> int:
        return self.bins.count + self.nullable

    def encode(self, values: pa.Array) -> CodeArray:
        return self.encode_ticks(self.scale.to_ticks(values))

    def encode_ticks(self, values: TickArray) -> CodeArray:
        codes = self.bins.assign(values.ticks)
        codes[values.nulls] = self.bins.count if self.nullable else 0
        return codes.astype(smallest_dtype(self.size))

    def draw_ticks(self, codes: NDArray[np.integer], rng: np.random.Generator) -> TickArray:
        nulls = codes >= self.bins.count
        return TickArray(self.bins.draw(np.where(nulls, 0, codes), rng), nulls)

    def decode(self, codes: NDArray[np.integer], rng: np.random.Generator) -> pa.Array:
        drawn = self.draw_ticks(codes, rng)
        return self.scale.to_values(drawn.ticks, drawn.nulls)

    def resolved(self, values: TickArray) -> Ticks:
        """Every value as a tick inside the domain, NULL as the smallest: something that others may be anchored at."""
        return np.where(values.nulls, self.bins.low, values.ticks).astype(np.int64)
