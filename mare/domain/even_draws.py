"""`EvenDraws`: random numbers of rows that are spread evenly over blocks of rows, and still belong to each row alone.

Of 10,000 patients with a chance of 30 % to have no admission, chance makes 2,900 or 3,100 have none. Nobody asked for that
noise. So the numbers of a block stand at (i + u) / 1,024, each row at another i (a Latin hypercube; McKay, Beckman and Conover
1979): every row on its own is drawn as before, and all of them together come out as they should.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .draws import Keys, RowDraws, mixed, purpose_of

_BITS = 10
EVEN_BLOCK = 1 << _BITS
"""Rows that share out the interval. A constant of the method: another one gives other rows."""

_LAST = np.uint64(EVEN_BLOCK - 1)
_WITHIN, _BELOW = np.uint64(53 - _BITS), np.uint64(64 - 53 + _BITS)
"""A double holds 53 bits: the first say where in the block, the others where in between."""
_TO_UNIT = 2.0**-53
_ROUNDS = 3


class EvenDraws(RowDraws):
    """Where there is one row per number: ``numbers`` say which block a row is in, and its place there."""

    def __init__(self, keys: Keys, numbers: NDArray[np.int64], purpose: int, seed: int) -> None:
        super().__init__(keys, purpose)
        self._numbers, self._seed = numbers, seed

    def at(self, label: str, rows: NDArray[np.integer] | None = None) -> EvenDraws:
        keys, numbers = (self._keys, self._numbers) if rows is None else (self._keys[rows], self._numbers[rows])
        return EvenDraws(keys, numbers, purpose_of(label, self._purpose), self._seed)

    def random(self, size: int | None = None) -> NDArray[np.float64]:
        """A number in [0, 1) a row."""
        self._check(size)
        found = self.bits()
        found >>= _BELOW
        place = _shuffled(self._numbers, purpose_of(f"{self._drawn} of {self._seed}", self._purpose))
        # As bits, not as a sum of fractions: that would round up to 1.
        place <<= _WITHIN
        place |= found
        return np.multiply(place, _TO_UNIT, dtype=np.float64)


def _shuffled(numbers: NDArray[np.int64], purpose: int) -> NDArray[np.uint64]:
    """A number's place in its block, in an order that depends on block and purpose: every step can be undone, so no two meet."""
    place = numbers.astype(np.uint64)
    word = place >> np.uint64(_BITS)
    word += np.uint64(purpose)
    place &= _LAST
    for _ in range(_ROUNDS):
        word = mixed(mixed(word))
        place *= word | np.uint64(1)
        place += word >> np.uint64(_BITS)
        place &= _LAST
        place ^= place >> np.uint64(_BITS // 2)
    return place
