"""`CodedSet`: every feature of every table as small integers, for each side that was read.

The values of a table are looked at once, side by side; afterwards codes of one byte are all that pairs and sequences need, and
one number a row is all that finds copies.
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
from .hashing import Hashes, hashed_values

Sides = Mapping[SetName, Side]
"""`real` and those that were read beside it."""


@dataclass(frozen=True, eq=False)
class CodedSet:
    """One set of rows: how they stand to each other is their side's, what they hold is in codes."""

    side: Side
    codes: dict[tuple[str, str], Codes] = field(default_factory=dict)
    """By table and feature."""
    hashes: dict[str, Hashes] = field(default_factory=dict)
    """By table: one number a row, of all its own columns."""

    def hash_also(self, table: str, place: int, column: Values) -> None:
        """Let the row's number depend on this column, too."""
        hashed = hashed_values(column, place)
        self.hashes[table] = self.hashes[table] + hashed if table in self.hashes else hashed


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

    def histogram(self, feature: Feature) -> NDArray[np.int64]:
        """Of the real rows."""
        codes = self.sets["real"].codes[feature.table, feature.name]
        return np.bincount(codes, minlength=self.size(feature)).astype(np.int64)


def code_sides(sides: Sides) -> Coded:
    """Code all sides in bins of the real one."""
    real = sides["real"]
    sets: dict[SetName, CodedSet] = {name: CodedSet(side) for name, side in sides.items()}
    known: dict[str, tuple[Feature, ...]] = {}
    bins: dict[tuple[str, str], Bins] = {}
    columns: list[ColumnFidelity] = []
    related: dict[str, tuple[tuple[str, ...], dict[SetName, NDArray[np.float64]]]] = {}
    for table in real.tables:
        known[table] = features(real.schema, table, below(real, table))
        numbers: dict[SetName, list[NDArray[np.float64]]] = {name: [] for name in sides}
        for place, feature in enumerate(known[table]):
            held = {name: values(side, feature) for name, side in sides.items()}
            key = table, feature.name
            bins[key] = common_bins(held["real"])
            for name, column in held.items():
                sets[name].codes[key] = bins[key].codes(column)
                if feature.how in ("column", "moment"):
                    sets[name].hash_also(table, place, column)
                if feature.paired and feature.kind == "number" and column.numbers is not None:
                    numbers[name].append(column.numbers)
            columns.append(_compared(feature, bins[key], sets, held))
        listed = tuple(f.name for f in known[table] if f.paired and f.kind == "number")
        related[table] = listed, {name: correlations(every) for name, every in numbers.items() if every}
    return Coded(sets, known, bins, tuple(columns), related)


def below(side: Side, table: str) -> tuple[str, ...]:
    """The tables whose rows stand below those of this one."""
    return tuple(name for name in side.tables if side.above(name) == table)


def _compared(feature: Feature, bins: Bins, sets: Mapping[SetName, CodedSet], held: Mapping[SetName, Values]) -> ColumnFidelity:
    key = feature.table, feature.name
    counts = {name: np.bincount(coded.codes[key], minlength=bins.size).astype(np.int64) for name, coded in sets.items()}
    others: list[SetName] = [name for name in sets if name != "real"]
    return ColumnFidelity(
        table=feature.table,
        name=feature.name,
        kind=feature.kind,
        paired=feature.paired,
        labels=bins.labels,
        counts=counts,
        tvd={name: tvd(counts["real"], counts[name]) for name in others},
        shape={name: shape(held["real"], held[name]) for name in others},
    )
