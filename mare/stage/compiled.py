"""The two loops that a fit spends its time in, compiled: counting rows into cells, and the norm of an entity's histogram.

Where numba is not installed (`pip install 'mare-synth[fast]'`), or does not go with this numpy, the kernel counts with numpy, to
the same integers. Compiled code is kept beside this file, or where NUMBA_CACHE_DIR says; the first fit on a machine compiles,
which takes some seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Codes = NDArray[np.uint16]

MOST_AXES = 4
"""Cross-tabs of more axes are counted by numpy."""


@dataclass(frozen=True)
class CompiledLoops:
    """Codes come as four axes, row-major; those that are not needed are zero, of size 1."""

    tally: Callable[..., None]
    """(codes × 4, sizes, owner, weights, total): adds every row to its cell, by its entity's weight where there are weights."""
    norms: Callable[..., None]
    """(codes × 4, sizes, owner, seen, norms): adds to every entity's norm; ``seen`` is scratch, zero before and after."""


@cache
def compiled_loops() -> CompiledLoops | None:
    """The loops, or None where nothing can compile them."""
    try:
        import numba
    except ImportError:
        # Not installed; or installed, and too old or too new for this numpy.
        return None
    try:
        return CompiledLoops(*(numba.njit(nogil=True, cache=True)(loop) for loop in (_tally, _norms)))
    except RuntimeError:
        # Nowhere to keep what is compiled: a read-only installation. Then it is compiled each time.
        return CompiledLoops(*(numba.njit(nogil=True)(loop) for loop in (_tally, _norms)))


def _tally(
    a: Codes, b: Codes, c: Codes, d: Codes, sizes: tuple[int, int, int], owner: Integers, weights: Integers, total: Integers
) -> None:
    size_b, size_c, size_d = sizes
    if weights.size:
        for row in range(a.size):
            total[((a[row] * size_b + b[row]) * size_c + c[row]) * size_d + d[row]] += weights[owner[row]]
    else:
        for row in range(a.size):
            total[((a[row] * size_b + b[row]) * size_c + c[row]) * size_d + d[row]] += 1


def _norms(
    a: Codes, b: Codes, c: Codes, d: Codes, sizes: tuple[int, int, int], owner: Integers, seen: Integers, norms: Integers
) -> None:
    size_b, size_c, size_d = sizes
    start = 0
    while start < a.size:
        entity, stop, norm = owner[start], start, 0
        while stop < a.size and owner[stop] == entity:
            cell = ((a[stop] * size_b + b[stop]) * size_c + c[stop]) * size_d + d[stop]
            # (n + 1)² - n², summed over the rows of a cell, is the square of their number.
            norm += 2 * seen[cell] + 1
            seen[cell] += 1
            stop += 1
        norms[entity] += norm
        for row in range(start, stop):
            seen[((a[row] * size_b + b[row]) * size_c + c[row]) * size_d + d[row]] = 0
        start = stop
