"""`Noise`: which distribution, at which scale, for how many cells. Prepared before the charge, drawn after it.

Integers in, integers out: floating-point noise gives the true count away (Mironov 2012). Gaussian noise may be off
from its distribution by `total_variation`, which the accountant takes from δ; Laplace noise is never off.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, isfinite, nextafter, sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mare.errors import PrivacyError

from .bits import BitSource
from .gaussian import LARGEST_SIGMA, gaussian_table, rejected_gaussian, table_size
from .laplace import LARGEST_SCALE, discrete_laplace

Mechanism = Literal["discrete gaussian", "discrete laplace"]

LARGEST_COUNT = 2**61
"""Counts stay below it and answers are clamped to it: sums with noise (at most 2^62) never wrap."""

_LARGEST_SCALES: dict[str, float] = {"discrete gaussian": LARGEST_SIGMA, "discrete laplace": LARGEST_SCALE}
_SMALLEST_SCALE = 2.0**-10
FEWEST_BITS = 8
"""Where entities are scaled down, counts and their noise come in units of at least 2^-8 of a row (`answers.clipping`)."""

_LARGEST_TABLE = 1 << 18
_WORTHWHILE = 8
"""A table pays when it is at most this many times longer than the number of draws."""


def largest_scale(pure: bool) -> float:
    """The most noise that can be drawn under pure ε, or under (ε, δ)."""
    return LARGEST_SCALE if pure else LARGEST_SIGMA


@dataclass(frozen=True)
class Noise:
    """Independent draws of one distribution on the integers, centred on 0."""

    mechanism: Mechanism
    scale: float
    """σ of the Gaussian, b of the Laplace."""
    cells: int
    exact: bool
    """True when drawn without any numerical error."""

    @property
    def total_variation(self) -> float:
        """How far all draws together may be from their distribution (a bound; 0 when exact)."""
        if self.exact:
            return 0.0
        bound = self.cells * gaussian_table(self.scale).total_variation
        return min(1.0, nextafter(float(bound), inf))

    def draw(self, bits: BitSource) -> NDArray[np.int64]:
        if self.mechanism == "discrete laplace":
            return discrete_laplace(self.scale, self.cells, bits)
        if self.exact:
            return rejected_gaussian(self.scale, self.cells, bits)
        return gaussian_table(self.scale).draw(self.cells, bits)


def prepare_noise(mechanism: Mechanism, scale: float, cells: int, *, exact: bool = False) -> Noise:
    """The noise for so many cells. ``exact`` forbids the table; it is also left out where it does not pay."""
    if mechanism not in _LARGEST_SCALES:
        raise PrivacyError(f"there is no noise mechanism {mechanism!r}. Mechanisms: {', '.join(_LARGEST_SCALES)}.")
    if cells < 1:
        raise PrivacyError(f"noise for {cells} cells was asked; at least one is needed.")
    if not (isfinite(scale) and 0 < scale <= _LARGEST_SCALES[mechanism]):
        raise PrivacyError(
            f"the scale of the {mechanism} noise would be {scale:g}; it must be above 0 and at most "
            f"{_LARGEST_SCALES[mechanism]:g}. Spend more (a larger epsilon or share), or lower the cap on rows per entity."
        )
    # more noise is always allowed, and below this nothing but the time to draw it would change
    scale = max(scale, _SMALLEST_SCALE)
    table = table_size(scale) if mechanism == "discrete gaussian" else 0
    fits = table <= _LARGEST_TABLE and table <= max(4096, _WORTHWHILE * cells)
    return Noise(mechanism, scale, cells, exact or mechanism == "discrete laplace" or not fits)


def standard_deviation(mechanism: Mechanism, scale: float) -> float:
    """Of one draw. The discrete Gaussian's is at most σ; the discrete Laplace's is √(2p)/(1-p) with p = e^(-1/b)."""
    if mechanism == "discrete gaussian":
        return scale
    p = exp(-1 / scale)
    return sqrt(2 * p) / (1 - p)
