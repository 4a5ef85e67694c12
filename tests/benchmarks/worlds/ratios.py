"""The generated worlds in `make bench`: mare beside its own model of columns alone, at the same ε. Never worse is the bar."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from tests.benchmarks.timing import Ratio

from .__main__ import KINDS, measured
from .catalogue import WORLDS

EPSILON, FITS, INDEPENDENT = 2.0, 3, 3


def worlds_ratios() -> Iterator[Ratio]:
    """Of the generated worlds alone: a clone has no others."""
    for world in WORLDS.values():
        if world.generate is None:
            continue
        (record,) = measured(world, [EPSILON], FITS, INDEPENDENT, False)
        ours, theirs = record["mare"], record["independent"]
        seconds = median(fit["seconds"] for fit in ours)
        for kind, words in KINDS.items():
            if kind in ours[0]["tvd"]:
                mean, other = (median(fit["tvd"][kind] for fit in fits) for fits in (ours, theirs))
                name = f"pair TVD {words}, {world.name} ({mean:.3f}), ε = {EPSILON:g}"
                yield Ratio(name, "the model `independent`", mean / other, 1.0, seconds)
