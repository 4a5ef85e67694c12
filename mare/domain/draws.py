"""`RowDraws`: random numbers that belong to rows. A row's numbers depend on its own key, never on who is drawn beside it.

Counter-based: a number is a hash of (key of the row, purpose, how many numbers were drawn for that purpose before). So rows
may be drawn in chunks of any size, by any number of threads and in any order, and come out the same.

`EvenDraws`: random numbers of rows that are spread evenly over blocks of rows, and still belong to each row alone.

Of 10,000 patients with a chance of 30 % to have no admission, chance makes 2,900 or 3,100 have none. Nobody asked for that
noise. So the numbers of a block stand at (i + u) / 1,024, each row at another i (a Latin hypercube; McKay, Beckman and Conover
1979): every row on its own is drawn as before, and all of them together come out as they should.

`Ladder`: ascending steps, and a fast way to find where numbers stand between them: how distributions are drawn from.

A table says for each of many equal stretches where its search begins (Chen and Asai 1974), so most numbers are found at once. A
binary search of a large ladder misses the cache at every level, and takes five to ten times as long.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

Keys = NDArray[np.uint64]

_STEP = 0x9E3779B97F4A7C15
_WORD = (1 << 64) - 1
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = tuple(map(np.uint64, (30, 27, 31)))
_TO_UNIT = 2.0**-53
_EXACT = 1 << 50
"""Up to so wide a range a uniform double reaches every whole number as often as any other, to seven digits."""


class RowDraws:
    """Stands in for a `numpy` generator where one number a row is drawn at a time: `random` and `integers`.

    Anything else a generator can do is missing on purpose: it would not know which row a number is for.
    """

    def __init__(self, keys: Keys, purpose: int) -> None:
        self._keys, self._purpose, self._drawn = keys, purpose, 0

    def __len__(self) -> int:
        return len(self._keys)

    def at(self, label: str, rows: NDArray[np.integer] | None = None) -> RowDraws:
        """The numbers of these rows for a purpose within this one. Asked for again, they are the same."""
        keys = self._keys if rows is None else self._keys[rows]
        return RowDraws(keys, purpose_of(label, self._purpose))

    def bits(self) -> Keys:
        """64 random bits a row."""
        self._drawn += 1
        return mixed(self._keys + np.uint64((self._purpose + self._drawn * _STEP) & _WORD))

    def random(self, size: int | None = None) -> NDArray[np.float64]:
        """A number in [0, 1) a row."""
        self._check(size)
        words = self.bits()
        words >>= np.uint64(11)
        return np.multiply(words, _TO_UNIT, dtype=np.float64)

    def integers(self, low: ArrayLike, high: ArrayLike, size: int | None = None, dtype: object = np.int64) -> NDArray[np.int64]:
        """A whole number a row, from ``low`` up to but without ``high``; both may differ from row to row."""
        self._check(size)
        start, end = np.asarray(low, dtype=np.int64), np.asarray(high, dtype=np.int64)
        width = end - start
        if int(width.max(initial=0)) <= _EXACT:
            drawn: NDArray[np.int64] = np.minimum((self.random() * width).astype(np.int64), width - 1)
        else:
            drawn = (self.bits() % width.astype(np.uint64)).astype(np.int64)
        drawn += start
        return drawn

    def _check(self, size: int | None) -> None:
        if size is not None and size != len(self._keys):
            raise ValueError(f"{size} numbers were asked for, but there are {len(self._keys)} rows")


def drawing(rng: np.random.Generator, label: str, rows: NDArray[np.integer] | None = None) -> np.random.Generator:
    """The part of a generator that draws for these rows and this purpose. A plain generator knows no rows: it draws on."""
    return as_generator(rng.at(label, rows)) if isinstance(rng, RowDraws) else rng


def as_generator(draws: RowDraws) -> np.random.Generator:
    """For those who ask for a generator and draw one number a row."""
    return cast(np.random.Generator, draws)


def purpose_of(label: str, within: int = 0) -> int:
    """A number for a purpose: those of other labels, or within other purposes, have nothing to do with it."""
    return int.from_bytes(blake2b(f"{within:x} {label}".encode(), digest_size=8).digest(), "little")


def numbered_keys(purpose: int, numbers: NDArray[np.integer]) -> Keys:
    """Keys of rows that depend on nothing but their numbers: of the entities, by seed."""
    keys = numbers.astype(np.uint64)
    keys *= np.uint64(_STEP)
    keys += np.uint64(purpose)
    return mixed(mixed(keys))


def child_keys(above: Keys, parent: NDArray[np.integer], position: NDArray[np.integer], purpose: int) -> Keys:
    """Keys of rows by the key of their parent and their place under it."""
    keys = position.astype(np.uint64)
    keys += np.uint64(1)
    keys *= np.uint64(_STEP)
    keys += above[parent]
    keys += np.uint64(purpose)
    return mixed(keys)


def mixed(keys: Keys) -> Keys:
    """In place: every bit of the result depends on every bit of the key (SplitMix64's finaliser; Steele, Lea and Flood 2014)."""
    spare = keys >> _SHIFTS[0]
    keys ^= spare
    keys *= _FIRST
    np.right_shift(keys, _SHIFTS[1], out=spare)
    keys ^= spare
    keys *= _SECOND
    np.right_shift(keys, _SHIFTS[2], out=spare)
    keys ^= spare
    return keys


EVEN_BITS = 10
EVEN_BLOCK = 1 << EVEN_BITS
"""Rows that share out the interval. A constant of the method: another one gives other rows."""
_FEWEST_BITS = 3
_ROUNDS = 3


def even_bits(rows: int) -> int:
    """Where fewer are usual, fewer share it out: of 28 entities, too, each 28th has one."""
    return min(EVEN_BITS, max(_FEWEST_BITS, (max(1, rows) - 1).bit_length()))


class EvenDraws(RowDraws):
    """Where there is one row per number: ``numbers`` say which block (of 2^size) a row is in, and its place there."""

    def __init__(self, keys: Keys, numbers: NDArray[np.int64], purpose: int, seed: int, size: int = EVEN_BITS) -> None:
        super().__init__(keys, purpose)
        self._numbers, self._seed, self._size = numbers, seed, size

    def at(self, label: str, rows: NDArray[np.integer] | None = None) -> EvenDraws:
        keys, numbers = (self._keys, self._numbers) if rows is None else (self._keys[rows], self._numbers[rows])
        return EvenDraws(keys, numbers, purpose_of(label, self._purpose), self._seed, self._size)

    def random(self, size: int | None = None) -> NDArray[np.float64]:
        """A number in [0, 1) a row."""
        self._check(size)
        words = self.bits()
        # A double holds 53 bits: the first say where in the block, the others where in between.
        words >>= np.uint64(64 - 53 + self._size)
        place = _shuffled(self._numbers, purpose_of(f"{self._drawn} of {self._seed}", self._purpose), self._size)
        # As bits, not as a sum of fractions: that would round up to 1.
        place <<= np.uint64(53 - self._size)
        place |= words
        return np.multiply(place, _TO_UNIT, dtype=np.float64)


def _shuffled(numbers: NDArray[np.int64], purpose: int, size: int) -> NDArray[np.uint64]:
    """A number's place in its block, in an order that depends on block and purpose: every step can be undone, so no two meet."""
    place = numbers.astype(np.uint64)
    bits, last = np.uint64(size), np.uint64((1 << size) - 1)
    word = place >> bits
    word += np.uint64(purpose)
    place &= last
    for _ in range(_ROUNDS):
        word = mixed(mixed(word))
        place *= word | np.uint64(1)
        place += word >> bits
        place &= last
        place ^= place >> np.uint64(size // 2)
    return place


Doubles = NDArray[np.float64]
_CAREFUL = 0.01
"""Of a stretch: so much before it does its search begin, far more than rounding can take a number astray."""
_ONE_BY_ONE = 8
"""Steps that are climbed one by one; what has not arrived by then is searched for."""


@dataclass(frozen=True, eq=False)
class Ladder:
    """Steps in ascending order. `Ladder.of` makes it."""

    steps: Doubles
    low: float
    scale: float
    """Stretches of a unit."""
    begins: NDArray[np.int32]
    """Of each stretch, where its search begins."""

    @classmethod
    def of(cls, steps: Doubles) -> Ladder:
        low, high = (float(steps[0]), float(steps[-1])) if len(steps) else (0.0, 1.0)
        stretches = max(1, 2 * len(steps))
        scale = stretches / (high - low) if high > low and np.isfinite(stretches / (high - low)) else 0.0
        starts = low + (np.arange(stretches) - _CAREFUL) / scale if scale else np.full(stretches, -np.inf)
        return cls(steps, low, scale, np.searchsorted(steps, starts, side="right").astype(np.int32))

    def find(self, numbers: Doubles) -> NDArray[np.int64]:
        """How many steps are no higher than each of the numbers: `numpy.searchsorted(steps, numbers, side="right")`."""
        stretch = np.clip((numbers - self.low) * self.scale, 0, len(self.begins) - 1).astype(np.int64)
        below = self.begins[stretch].astype(np.int64)
        top = len(self.steps)
        climbing = np.flatnonzero(self._passed(below, numbers))
        for _ in range(_ONE_BY_ONE):
            if not len(climbing):
                return below
            below[climbing] += 1
            climbing = climbing[self._passed(below[climbing], numbers[climbing])]
        below[climbing] = np.searchsorted(self.steps, numbers[climbing], side="right")
        return np.minimum(below, top)

    def _passed(self, below: NDArray[np.int64], numbers: Doubles) -> NDArray[np.bool_]:
        """Whether the next step is no higher either."""
        if not len(self.steps):
            return np.zeros(len(below), dtype=np.bool_)
        last = len(self.steps) - 1
        passed: NDArray[np.bool_] = (below <= last) & (self.steps[np.minimum(below, last)] <= numbers)
        return passed
