"""`CodedSet`: every feature of every table as small integers, for each set of rows that is held against the real ones.

The values of a table are looked at once, side by side; afterwards codes of one byte are all that pairs and sequences need.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mare.evaluation.evaluation import ColumnFidelity, SetName
from mare.evaluation.sides import Side

from .bins import Bins, Codes, common_bins
from .distances import correlations, shape, tvd
from .features import Feature, Values, features, values

Sides = Mapping[SetName, Side]
"""`real` and those that were read beside it."""


@dataclass(frozen=True, eq=False)
class CodedSet:
    """One set of rows: how they stand to each other is their side's, what they hold is in codes."""

    side: Side
    codes: dict[tuple[str, str], Codes] = field(default_factory=dict)
    """By table and feature."""


@dataclass(frozen=True, eq=False)
class Coded:
    """All sets, the real one first, and what their codes mean."""

    sets: dict[SetName, CodedSet]
    features: dict[str, tuple[Feature, ...]]
    bins: dict[tuple[str, str], Bins]
    columns: tuple[ColumnFidelity, ...]
    correlations: dict[str, tuple[tuple[str, ...], dict[SetName, NDArray[np.float64]]]]
    """By table: the features that are numbers, and Pearson's correlation of every two of them."""

    def paired(self, table: str) -> tuple[Feature, ...]:
        return tuple(feature for feature in self.features[table] if feature.paired)

    def size(self, feature: Feature) -> int:
        return self.bins[feature.table, feature.name].size

    @property
    def others(self) -> tuple[SetName, ...]:
        return tuple(name for name in self.sets if name != "real")


def code_sides(sides: Sides, seed: int) -> Coded:
    """Code all sides in bins of the real one, and make the two baselines of its codes."""
    real = sides["real"]
    sets: dict[SetName, CodedSet] = {name: CodedSet(side) for name, side in sides.items()}
    sets |= {"shuffled": CodedSet(real), "independent": CodedSet(real)}
    rng = np.random.default_rng(seed)
    known: dict[str, tuple[Feature, ...]] = {}
    bins: dict[tuple[str, str], Bins] = {}
    columns: list[ColumnFidelity] = []
    related: dict[str, tuple[tuple[str, ...], dict[SetName, NDArray[np.float64]]]] = {}
    for table in real.tables:
        known[table] = features(real.schema, table, below(real, table))
        numbers: dict[SetName, list[NDArray[np.float64]]] = {name: [] for name in sides}
        for feature in known[table]:
            held = {name: values(side, feature) for name, side in sides.items()}
            key = table, feature.name
            bins[key] = common_bins(held["real"])
            for name, column in held.items():
                sets[name].codes[key] = bins[key].codes(column)
            codes = sets["real"].codes[key]
            sets["shuffled"].codes[key] = rng.permutation(codes)
            sets["independent"].codes[key] = codes[rng.integers(0, max(1, len(codes)), len(codes))]
            columns.append(_compared(feature, bins[key], sets, held))
            if feature.paired and all(column.numbers is not None for column in held.values()):
                for name, column in held.items():
                    numbers[name].append(column.numbers)  # type: ignore[arg-type]  # all are there
        listed = tuple(f.name for f in known[table] if f.paired and f.kind == "number")
        related[table] = listed, {name: correlations(every) for name, every in numbers.items() if every}
    return Coded(sets, known, bins, tuple(columns), related)


def below(side: Side, table: str) -> tuple[str, ...]:
    """The tables whose rows stand below those of this one."""
    return tuple(name for name in side.tables if side.above(name) == table)


def _compared(feature: Feature, bins: Bins, sets: Mapping[SetName, CodedSet], held: Mapping[SetName, Values]) -> ColumnFidelity:
    key = feature.table, feature.name
    counts = {
        name: np.bincount(coded.codes[key], minlength=bins.size).astype(np.int64)
        for name, coded in sets.items()
        if name not in ("shuffled", "independent")
    }
    independent = np.bincount(sets["independent"].codes[key], minlength=bins.size).astype(np.int64)
    distances: dict[SetName, float] = {name: tvd(counts["real"], other) for name, other in counts.items() if name != "real"}
    distances |= {"shuffled": 0.0, "independent": tvd(counts["real"], independent)}
    return ColumnFidelity(
        feature.table, feature.name, feature.kind, feature.paired, bins.labels, counts, distances,
        {name: shape(held["real"], other) for name, other in held.items() if name != "real"},
    )  # fmt: skip
