"""`Advance`: the values of a sequence while its rows are still being drawn, so that a row knows how far the sequence has come.

Position by position: where rows begin is asked for, they are drawn, their codes are handed in, and the next ones begin there.
With the same random numbers `decode_table` comes to the same values later.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mare.domain import CodeArray, drawing

from .building import TableCodec
from .decoding import Walk
from .elapsed import elapsed_codes, elapsed_ticks, leading
from .ordinal import OrdinalCodec
from .relative import Limits, RelativeCodec
from .siblings import Above, Index, Siblings, limits_of
from .slots import NULL, ORDINARY


class Advance:
    """One column that a sequence goes along. ``firsts`` holds the codes of its first values, one per parent row."""

    def __init__(
        self, codec: TableCodec, column: str, firsts: CodeArray, siblings: Siblings, above: Above, rng: np.random.Generator
    ) -> None:
        self.codec, self.column, self.firsts = leading(codec, column), column, firsts
        self.siblings, self.above, self.rng = siblings, above, rng
        nothing = {
            name: (np.zeros(siblings.rows, dtype=np.int64), np.full(siblings.rows, NULL, dtype=np.int16))
            for name in self.codec.ordered
        }
        self.walk = Walk(self.codec, siblings, above, nothing)

    def begin(self, at: Index) -> CodeArray:
        """How far the sequences have come where the rows ``at`` begin. All rows before them have been handed in."""
        begins = at[self.siblings.position[at] == 0]
        if len(begins):
            self._begin_sequences(begins)
        ticks = elapsed_ticks(self.codec, self.column, self.walk.points, self.above, self.siblings, at)
        return elapsed_codes(self.codec, {self.column: ticks})[self.column]

    def hand_in(self, at: Index, rows: Mapping[str, CodeArray]) -> None:
        """The codes of the rows ``at``, now that they are drawn."""
        for name, one in self.codec.ordered.items():
            if isinstance(one, RelativeCodec):
                firsts = self.firsts if name == self.column else None
                self.walk.place(name, one, rows[name][at], firsts, at, self.rng)
            elif isinstance(one, OrdinalCodec):
                ticks, kinds = one.draw(rows[name][at], drawing(self.rng, name, at))
                points, there = self.walk.points[name], kinds == ORDINARY
                points.lower[at], points.upper[at] = np.where(there, ticks, one.bins.low), np.where(there, ticks, one.bins.high)
                points.known[at] = there

    def _begin_sequences(self, at: Index) -> None:
        one, points = self.codec.columns[self.column], self.walk.points[self.column]
        if not isinstance(one, RelativeCodec):
            raise ValueError(f"{self.column} is no sequence with a first value")
        # What the row itself has to stay before is not drawn yet; what a row above sets is known.
        limits = Limits()
        if one.placing.ends_above:
            limits, _ = limits_of(one.placing, one.scale, self.walk.points, self.above, self.siblings, at)
        start = self.walk.start(one, self.firsts, limits.high, at, drawing(self.rng, f"first({self.column})", at))
        points.lower[at] = points.upper[at] = start
        points.known[at] = True
