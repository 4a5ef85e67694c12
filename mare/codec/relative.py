"""`RelativeCodec`: a value as its distance from an anchor, so that order holds by construction (mare-2024, III.C).

Anchored at the same row (`after: admittime`), or at the row before it (`after: previous.dischtime`): then the first
value of the sequence lives in the context, and the first row's gap is a code of its own that says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mare.domain import CodeArray, smallest_dtype
from mare.schema.relative import Anchor

from .bins import Bins, Ticks
from .ordinal import OrdinalCodec
from .ticks import TickArray, TickScale


@dataclass(frozen=True)
class RelativeCodec:
    """Codes: the bins of the gap; then "first row", where anchored at the previous one; last NULL, where nullable."""

    scale: TickScale
    bins: Bins
    """Of the gap, in this column's ticks; from 1 where the order is strict."""
    anchor: Anchor
    nullable: bool = False
    first: OrdinalCodec | None = None
    """Of the sequence's first value. Its last code means that the parent has no row at all."""

    @property
    def size(self) -> int:
        return self.bins.count + (self.first is not None) + self.nullable

    @property
    def first_row(self) -> int:
        """The code of the first row of a sequence: its value is in the context."""
        if self.first is None:
            raise ValueError("only a column that follows the previous row has a first value")
        return self.bins.count

    @property
    def null(self) -> int:
        return self.size - 1

    def encode_gap(self, values: TickArray, anchors: Ticks, is_first: NDArray[np.bool_]) -> CodeArray:
        """Gaps from the anchors, clamped into the domain; ``is_first`` marks the rows that have no previous one."""
        codes = self.bins.assign(values.ticks - anchors)
        if self.first is not None:
            codes[is_first] = self.first_row
        # A missing value that may not be missing is taken to follow its anchor at once.
        missing = values.nulls if self.first is None or self.nullable else values.nulls & ~is_first
        codes[missing] = self.null if self.nullable else 0
        return codes.astype(smallest_dtype(self.size))

    def decode_gap(self, codes: NDArray[np.integer], anchors: Ticks, firsts: Ticks | None, rng: np.random.Generator) -> TickArray:
        """Values again: anchor plus gap, or the sequence's first value where the code says so."""
        nulls = codes == self.null if self.nullable else np.zeros(len(codes), dtype=np.bool_)
        gap = self.bins.draw(np.where(codes < self.bins.count, codes, 0), rng)
        ticks = anchors + gap
        if self.first is not None and firsts is not None:
            ticks = np.where(codes == self.first_row, firsts, ticks)
        return TickArray(ticks, nulls)
