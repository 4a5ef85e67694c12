"""How round a number is: how many zeros it ends in, and whether 5, 25 or 75 stand before them.

It tells the steps in which people count: thousands, fifties, quarters of a point.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .ticks import Ticks

MOST_ZEROS = 18
"""10^18 is the last power of ten below the furthest tick."""
KINDS = 3
"""Of numbers with as many zeros: those with 25 or 75 before them, with another 5, with none."""
ZERO = KINDS * (MOST_ZEROS + 1)
"""What zero itself counts as, which is round in any step."""


def roundness(ticks: Ticks) -> NDArray[np.int64]:
    """0 to `ZERO`, `KINDS` for each number of zeros."""
    zeros = np.zeros(len(ticks), dtype=np.int64)
    rest = np.where(ticks == 0, 1, ticks)
    for _ in range(MOST_ZEROS):
        more = rest % 10 == 0
        if not more.any():
            break
        zeros += more
        rest = np.where(more, rest // 10, rest)
    kind = np.where(rest % 5 != 0, 0, np.where(rest % 25 != 0, 1, 2))
    return np.where(ticks == 0, ZERO, KINDS * zeros + kind)


def steps_up_to(zeros: int) -> list[int]:
    """The steps that are told apart, of so many zeros at most."""
    return [part * 10**power for power in range(zeros + 1) for part in (1, 5, 25)]
