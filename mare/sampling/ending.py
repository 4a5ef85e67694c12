"""Rows that end their sequence (`ends: {when: …}`): nobody is admitted again after a death.

How many rows a sequence has is drawn before them, and, where codes tell, whether it ends (`mare.relational.judging`). So the row
that ends it comes last, and neither rows nor ends are lost. What still ends a sequence too early, by its values as they come out,
ends it: the rows after it go, with all that depends on them.

And where the calendar ends a sequence, gaps that leave too little time for the rows still to come (`Pacing`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mare.codec import RelativeCodec
from mare.codec.elapsed import Advance, pace_name
from mare.codec.ticks import Mask
from mare.domain import CodeArray, RowDraws
from mare.models import FittedModel
from mare.relational.judging import CodedEnding, judged
from mare.relational.placing import Index, Placed
from mare.schema import Schema
from mare.schema.condition_grammar import Condition, parse_condition

from .conditions import OwnColumns
from .possible_codes import REDRAWS

if TYPE_CHECKING:
    from .writing import ChunkValues


def endings(schema: Schema) -> dict[str, Condition]:
    """By table, when a row is the last of its sequence."""
    return {name: parse_condition(table.ends.when) for name, table in schema.tables.items() if table.ends is not None}


class EndOfSequences:
    """The sequences of one table while their rows are drawn. The context says which of them end: there the last row does, and
    nobody else. So who was to die dies, after as many rows as were to be, and no noise in a row's model kills anybody."""

    def __init__(self, ending: CodedEnding, placed: Placed, draw: Callable[[Index, str], None], draws: RowDraws) -> None:
        self.ending, self.placed, self.draw, self.draws = ending, placed, draw, draws
        self.codes, self.ends = placed.codes["rows"], placed.codes["context"]["ends"] == 1

    def mend(self, index: Index, label: str) -> None:
        """The rows ``index``, which have just been drawn."""
        last = self.placed.position[index] + 1 == self.placed.siblings[index]
        ends = last & self.ends[self.placed.parent[index]]
        self._until(index[~ends], f"{label} goes on", ends=False)
        due = self._until(index[ends], f"{label} ends", ends=True)
        if ways := len(next(iter(self.ending.ways.values()), ())):
            way = self.draws.at(f"{label} ends", due).integers(0, ways)
            for name, codes in self.ending.ways.items():
                self.codes[name][due] = codes[way]

    def _until(self, rows: Index, label: str, *, ends: bool) -> Index:
        """Ask the model again, until rows end their sequence or do not; those that still do not do as they should."""
        for attempt in range(REDRAWS):
            rows = rows[self.ending.holds(self.codes, rows) != ends]
            if not len(rows):
                break
            self.draw(rows, f"{label} {attempt}")
        wrong: Index = rows[self.ending.holds(self.codes, rows) != ends]
        return wrong


def after_the_end(block: ChunkValues, table: str, condition: Condition, alive: Mask) -> Mask:
    """The rows of a table that come after one which ends their sequence."""
    placed = block.placed.tables[table]
    last = judged(condition, OwnColumns(block, table)).true & alive
    ends = np.full(int(placed.parent.max(initial=-1)) + 1, placed.rows, dtype=np.int64)
    np.minimum.at(ends, placed.parent[last], placed.position[last])
    after: Mask = placed.position > ends[placed.parent]
    return after


# A model that looks at how much time each row has (`pace`) draws gaps that fit; where noise hides how gaps depend on it, its
# gaps are those of everybody, and a sequence that is late would come to the last day and stay there. So the model is asked again,
# and a gap is kept as often as it should be among gaps whose sum is known. Were gaps exponential, the rows beyond those that
# usually fit would lie evenly over the time that is left: that none of them lies in the gap is as likely as the rest of that
# time, to their number.

BELIEVED = 0.3
"""So much of that, as a power: gaps come in bursts, and not all sequences run on until the end, so that those which are late must
not be hurried more than the others wait (decision 15)."""


@dataclass(frozen=True, eq=False)
class Pacing:
    """One sequence of a table while its rows are drawn."""

    advance: Advance
    usual: float
    """The mean gap, in ticks."""
    draws: RowDraws

    def mend(self, index: Index, codes: CodeArray, draw: Callable[[Index, str], None], label: str) -> None:
        """The rows ``index``, which have just been drawn into ``codes``, and which ``draw`` draws again."""
        rows = index
        for attempt in range(REDRAWS):
            least, left = self.advance.gaps(rows, codes[rows])
            surplus = np.maximum(self.advance.siblings.remaining[rows] + 1 - left / max(self.usual, 1e-9), 0.0)
            free = np.clip(1 - least / (left + 1.0), 0.0, 1.0)
            kept = (least <= left) & (self.draws.at(f"{label} {attempt}", rows).random() < free ** (BELIEVED * surplus))
            rows = rows[~kept]
            if not len(rows):
                return
            draw(rows, f"{label} {attempt}")


def usual_gap(model: FittedModel, name: str, codec: RelativeCodec) -> float | None:
    """The mean of all gaps, as the model has measured it; None where it looks at the pace, or does not say."""
    looks_at, clarity = getattr(model, "looks_at", None), getattr(model, "clarity", None)
    if looks_at is None or clarity is None or any(seen.endswith(pace_name(name)) for seen in looks_at):
        return None
    fractions = clarity.margins[name].fractions[: codec.bins.count] if name in clarity.margins else np.zeros(1)
    return float(fractions @ codec.bins.means / fractions.sum()) if fractions.sum() > 0 else None
