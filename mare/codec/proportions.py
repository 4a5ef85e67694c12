"""Fractions of the time that is left, exactly: the k-th of n ticks as a place from 0 to WHOLE, and back.

A value between two others is coded as a fraction of the distance between them (recipe, step 4): whatever is drawn, it stays
inside. 0 is the start itself, WHOLE the end: "this closes the interval" is an atom of its own.
"""

from __future__ import annotations

import numpy as np

from .ticks import Ticks

BITS = 20
WHOLE = 1 << BITS
LONGEST = 1 << 52
"""Longer intervals are clamped: the products below fit 63 bits."""
_HALF = BITS // 2


def fractions_of(parts: Ticks, wholes: Ticks) -> Ticks:
    """⌊WHOLE·k/n⌋ for 0 ≤ k ≤ n; never 0 but for k = 0, and WHOLE for k = n (also where n = 0: nothing is left to close)."""
    whole = np.clip(wholes, 1, LONGEST)
    part = np.clip(parts, 0, whole)
    # long division in two digits of ten bits each: nothing overflows, nothing is rounded
    high, rest = np.divmod(part << _HALF, whole)
    place = (high << _HALF) + (rest << _HALF) // whole
    inside = np.where(part > 0, np.maximum(place, 1), 0)
    return np.where((part >= whole) | (wholes <= 0), WHOLE, inside)


def parts_at(places: Ticks, wholes: Ticks) -> Ticks:
    """The first k whose place is at least this one: the inverse of `fractions_of`, ⌈n·place/WHOLE⌉."""
    whole = np.clip(wholes, 0, LONGEST)
    high, low = whole >> 26, whole & ((1 << 26) - 1)
    first = ((high * places) << (26 - BITS)) - (-(low * places) >> BITS)
    # the place 1 is shared by all that is above the start and below one part of WHOLE
    return np.where(places <= 1, np.minimum(places, whole), first)


def drawn_parts(places: Ticks, lows: Ticks, highs: Ticks, wholes: Ticks) -> Ticks:
    """The k for a place that was drawn between ``lows`` and ``highs`` (exclusive): one of the k that have such a place.

    Where the interval is so short that no tick has one, the nearest.
    """
    wanted = parts_at(places, wholes)
    first = parts_at(lows, wholes)
    last = np.where(highs > WHOLE, np.clip(wholes, 0, LONGEST), parts_at(highs, wholes) - 1)
    return np.clip(np.where(last >= first, np.clip(wanted, first, last), wanted), 0, np.clip(wholes, 0, LONGEST))
