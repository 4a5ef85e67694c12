"""Gaps that leave too little time for the rows still to come, where the calendar ends a sequence: the model is asked again.

How many rows a sequence has is drawn before them. A model that looks at how much time each of them has (`pace`) draws gaps that
fit; where noise hides how gaps depend on it, its gaps are those of everybody, and a sequence that is late would come to
the last day and stay there. So a gap is kept as often as it should be among gaps whose sum is known. Were gaps exponential, the
rows beyond those that usually fit would lie evenly over the time that is left: that none of them lies in the gap is as
likely as the rest of that time, to their number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mare.codec import RelativeCodec
from mare.codec.elapsed import Advance, pace_name
from mare.domain import CodeArray, RowDraws
from mare.models import FittedModel
from mare.relational.placing import Index

from .possible_codes import REDRAWS

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
