"""Common bins: every side is coded in bins that the real rows decide, so that histograms can be held against each other.

Numbers of many values go into 20 bins of equal weight, others have a bin each; of categories the 40 most common have one, and the
rest share one. NULL is a bin of its own. (So does the yardstick of the benchmarks, whose figures these are.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .features import AT_ONCE, Values
from .ranks import Numbers

QUANTILES, MOST_WORDS = 20, 40
_FIRST_DAY, _LAST_DAY, _WEEKS = -719_162, 2_932_896, 60
"""Days since 1970 of the years 1 and 9999; and from which span on days are told apart enough."""

Codes = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Bins:
    """Codes: the bins of numbers, then words, then the rest (unless numbers leave none), then NULL."""

    labels: tuple[str, ...]
    words: Mapping[str, int]
    edges: Numbers | None = None
    """Inner edges: a number goes into the bin whose lower edge it reaches."""
    single: Numbers | None = None
    """Numbers that have a bin each, ascending."""

    @property
    def size(self) -> int:
        return len(self.labels)

    @property
    def rest(self) -> int:
        return self.size - 2 if self.labels[-2:-1] == ("other",) else self.size - 1

    def codes(self, values: Values) -> Codes:
        coded = np.full(len(values), self.size - 1, dtype=np.uint8)
        if values.words is not None:
            known = np.array([*(self.words.get(word, self.rest) for word in values.dictionary), self.size - 1], dtype=np.uint8)
            coded = known[values.words]
        if values.numbers is not None:
            for start in range(0, len(coded), AT_ONCE):
                numbers, here = values.numbers[start : start + AT_ONCE], coded[start : start + AT_ONCE]
                np.copyto(here, self._bin(numbers), where=~np.isnan(numbers))
        return coded

    def _bin(self, numbers: Numbers) -> Codes:
        """How many edges each reaches: a pass for each of so few is faster than to look every number up."""
        reached, ends = np.zeros(len(numbers), dtype=np.uint8), self.single if self.edges is None else self.edges
        for end in ends if ends is not None else ():
            reached += numbers >= end
        if self.edges is not None:
            return reached
        if ends is None or not len(ends):
            return np.full(len(numbers), self.rest, dtype=np.uint8)
        place = np.maximum(reached, 1) - np.uint8(1)
        return np.where(ends[place] == numbers, place, np.uint8(self.rest))


def common_bins(real: Values, *, dated: bool = False) -> Bins:
    """The bins that these values decide. Days since 1970 are written as dates where they are ``dated``."""
    written = as_dates if dated else as_numbers
    edges = single = None
    labels: list[str] = []
    if real.numbers is not None:
        single = real.ranked.different(QUANTILES)
        if single is None:
            edges = np.unique(real.ranked.quantiles(np.linspace(0, 1, QUANTILES + 1)[1:-1]))
            shown = written(edges)
            middle = [f"{low} to {high}" for low, high in pairwise(shown)]
            labels += [f"below {shown[0]}", *middle, f"{shown[-1]} and more"]
        else:
            labels += written(single)
    listed = _most_common(real)
    words = {word: len(labels) + place for place, word in enumerate(listed)}
    rest = [] if edges is not None and not words else ["other"]
    return Bins((*labels, *listed, *rest, "NULL"), words, edges, single)


def as_numbers(numbers: Numbers) -> list[str]:
    return [f"{number:.6g}" for number in numbers]


def as_dates(days: Numbers) -> list[str]:
    """With the time of day where they lie within a few weeks."""
    if not len(days) or days[0] < _FIRST_DAY or days[-1] > _LAST_DAY:
        return as_numbers(days)
    unit = "m" if days[-1] - days[0] < _WEEKS and (days % 1).any() else "D"
    moments = np.rint(days * 86_400_000).astype("datetime64[ms]").astype(f"datetime64[{unit}]")
    return [str(moment).replace("T", " ") for moment in moments]


def _most_common(real: Values) -> list[str]:
    if real.words is None or not real.dictionary:
        return []
    counts = np.bincount(real.words[real.words >= 0], minlength=len(real.dictionary))
    order = np.argsort(-counts, kind="stable")[:MOST_WORDS]
    return [real.dictionary[place] for place in order if counts[place]]
