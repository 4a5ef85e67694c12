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

from .features import Numbers, Values

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
            there = ~np.isnan(values.numbers)
            numbers = values.numbers[there]
            if self.edges is not None:
                coded[there] = np.searchsorted(self.edges, numbers, side="right")
            elif self.single is not None and len(self.single):
                place = np.minimum(np.searchsorted(self.single, numbers), len(self.single) - 1)
                coded[there] = np.where(self.single[place] == numbers, place, self.rest)
            else:
                coded[there] = self.rest
        return coded


def common_bins(real: Values) -> Bins:
    """The bins that these values decide."""
    edges = single = None
    labels: list[str] = []
    if real.numbers is not None:
        ascending = np.sort(real.numbers[~np.isnan(real.numbers)])
        different = ascending[np.r_[True, np.diff(ascending) > 0]] if len(ascending) else ascending
        if len(different) > QUANTILES:
            edges = np.unique(np.quantile(ascending, np.linspace(0, 1, QUANTILES + 1)[1:-1]))
            shown = [f"{edge:.6g}" for edge in edges]
            middle = [f"{low} to {high}" for low, high in pairwise(shown)]
            labels += [f"below {shown[0]}", *middle, f"{shown[-1]} and more"]
        else:
            single = different
            labels += [f"{value:.6g}" for value in different]
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
