"""`RowDraws`: random numbers that belong to rows. A row's numbers depend on its own key, never on who is drawn beside it.

Counter-based: a number is a hash of (key of the row, purpose, how many numbers were drawn for that purpose before). So rows
may be drawn in chunks of any size, by any number of threads and in any order, and come out the same.
"""

from __future__ import annotations

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
        found = self.bits()
        found >>= np.uint64(11)
        return np.multiply(found, _TO_UNIT, dtype=np.float64)

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
