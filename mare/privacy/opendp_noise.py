"""OpenDP's samplers as a backend: for those who would rather trust a library that others have vetted, and can wait for it.

`Gate(budget, ledger, OpendpNoise())`, or `FitOptions(bits=OpendpNoise())`. The noise of counts, sizes, scores and learned values
is then drawn by OpenDP (discrete Laplace and discrete Gaussian, exact, 16 to 32 µs a cell). What OpenDP has no sampler for stays
mare's own: which empty cells of a sparse cross-tab cross its minimum, the coins of a choice, keys.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mare.errors import MissingExtra

from .laplace import SATURATION
from .noise import Mechanism, NoiseBackend


class OpendpNoise(NoiseBackend):
    """Draws through OpenDP's vector mechanisms over 64-bit integers."""

    def __init__(self) -> None:
        try:
            import opendp.prelude as opendp
        except ImportError:
            raise MissingExtra("the noise of OpenDP", "opendp") from None
        opendp.enable_features("contrib")  # OpenDP's own switch: what has no proof yet that it has reviewed, it calls so
        self._opendp = opendp
        self._vectors = opendp.vector_domain(opendp.atom_domain(T="i64"))

    def noise(self, mechanism: Mechanism, scale: float, cells: int) -> NDArray[np.int64]:
        opendp = self._opendp
        if mechanism == "discrete laplace":
            measurement = opendp.m.make_laplace(self._vectors, opendp.l1_distance(T="i64"), scale=scale)
        else:
            measurement = opendp.m.make_gaussian(self._vectors, opendp.l2_distance(T="f64"), scale=scale)
        drawn = np.array(measurement([0] * cells), dtype=np.int64)
        # mare's samplers saturate there too, so that sums with counts never wrap
        return np.clip(drawn, -SATURATION, SATURATION)
