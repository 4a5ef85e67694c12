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

from .features import AT_ONCE, Numbers, Values

QUANTILES, MOST_WORDS = 20, 40

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


def common_bins(real: Values) -> Bins:
    """The bins that these values decide."""
    edges = single = None
    labels: list[str] = []
    if real.numbers is not None:
        single = real.ranked.different(QUANTILES)
        if single is None:
            edges = np.unique(real.ranked.quantiles(np.linspace(0, 1, QUANTILES + 1)[1:-1]))
            shown = [f"{edge:.6g}" for edge in edges]
            middle = [f"{low} to {high}" for low, high in pairwise(shown)]
            labels += [f"below {shown[0]}", *middle, f"{shown[-1]} and more"]
        else:
            labels += [f"{value:.6g}" for value in single]
    listed = _most_common(real)
    words = {word: len(labels) + place for place, word in enumerate(listed)}
    rest = [] if edges is not None and not words else ["other"]
    return Bins((*labels, *listed, *rest, "NULL"), words, edges, single)


def _most_common(real: Values) -> list[str]:
    if real.words is None or not real.dictionary:
        return []
    counts = np.bincount(real.words[real.words >= 0], minlength=len(real.dictionary))
    order = np.argsort(-counts, kind="stable")[:MOST_WORDS]
    return [real.dictionary[place] for place in order if counts[place]]
