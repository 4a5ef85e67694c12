"""Sparse noise against dense noise of the same law (bar: 1/50 of the time), and its memory at 10⁹ cells (bar: 200 MB)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from math import ceil

import numpy as np

from mare.privacy.bits import OsBits
from mare.privacy.noise import Mechanism, prepare_noise, standard_deviation
from mare.privacy.sparse import prepare_sparse_noise

from .timing import Ratio, compare

CELLS = 10_000_000
LISTED = 10_000
SCALE = 114.0
MEGABYTES = 200

_MECHANISMS: tuple[Mechanism, ...] = ("discrete gaussian", "discrete laplace")

_HUGE = """
import pathlib, resource, sys, time
import numpy as np
from mare.privacy.bits import OsBits
from mare.privacy.sparse import prepare_sparse_noise
mechanism, scale, threshold = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
listed = np.arange(0, 10**9, 10**5, dtype=np.int64)
start = time.perf_counter()
prepare_sparse_noise(mechanism, scale, 10**9, threshold).draw(listed, np.full(len(listed), 1000), OsBits())
took = time.perf_counter() - start
status = pathlib.Path("/proc/self/status")
if status.exists():  # Linux, where ru_maxrss starts at the parent's peak: a fork inherits it
    peak = next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM"))
else:  # macOS, in bytes
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
print(peak, took)
"""


def sparse_ratios() -> Iterator[Ratio]:
    listed = np.arange(LISTED, dtype=np.int64) * (CELLS // LISTED)
    counts = np.full(LISTED, 400, dtype=np.int64)
    for mechanism in _MECHANISMS:
        deviation = standard_deviation(mechanism, SCALE)
        threshold = ceil(3 * deviation)

        def ours(mechanism: Mechanism = mechanism, threshold: int = threshold) -> object:
            return prepare_sparse_noise(mechanism, SCALE, CELLS, threshold).draw(listed, counts, OsBits())

        def reference(mechanism: Mechanism = mechanism, threshold: int = threshold) -> object:
            noisy = prepare_noise(mechanism, SCALE, CELLS).draw(OsBits())
            noisy[listed] += counts
            kept = np.flatnonzero(noisy >= threshold)
            return kept, noisy[kept]

        yield compare(f"sparse {mechanism}, 10⁷ cells, 10⁴ listed, r = 3σ", ours, reference, "the same, dense", bar=1 / 50)
        yield _memory(mechanism, ceil(5 * deviation))


def _memory(mechanism: Mechanism, threshold: int) -> Ratio:
    """In a process of its own: numpy and the interpreter included."""
    command = [sys.executable, "-c", _HUGE, mechanism, str(SCALE), str(threshold)]
    kilobytes, took = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    used = int(kilobytes) / 1024 / MEGABYTES
    return Ratio(f"sparse {mechanism}, 10⁹ cells, r = 5σ: peak memory", f"{MEGABYTES} MB", used, 1.0, float(took))
