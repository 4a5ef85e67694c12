"""Along sequences and below parents: how many rows there are, how often a value stays, what comes first and last, what follows
what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from mare.evaluation.evaluation import Lengths, SetName, Stickiness, Transitions
from mare.evaluation.sides import Side
from mare.schema.columns import Boolean, Listed

from .bins import common_bins
from .coding import Coded, Sides
from .distances import Counts, ks_distance, tvd
from .features import Feature, Values, children_of
from .pairs import has_siblings, is_sequence


def lengths(sides: Sides) -> Iterator[Lengths]:
    """Children per parent, and rows per entity where that is something else."""
    real = sides["real"]
    for table in real.tables:
        above = real.above(table)
        if above is not None:
            yield _lengths(table, above, {name: children_of(side, table) for name, side in sides.items()})
        if above != real.dag.entity.name and table != real.dag.entity.name:
            yield _lengths(table, "entity", {name: rows_per_entity(side, table) for name, side in sides.items()})


def rows_per_entity(side: Side, table: str) -> Counts:
    entity = side.entity[table]
    return np.bincount(entity[entity >= 0], minlength=side.entities).astype(np.int64)


def _lengths(table: str, per: str, numbers: dict[SetName, Counts]) -> Lengths:
    held = {name: Values(numbers=counts.astype(np.float64)) for name, counts in numbers.items()}
    bins = common_bins(held["real"])
    histograms = {
        name: np.bincount(bins.codes(column), minlength=bins.size).astype(np.int64)[:-1] for name, column in held.items()
    }
    others = [name for name in numbers if name != "real"]
    floats = {name: counts.astype(np.float64) for name, counts in numbers.items()}
    return Lengths(
        table=table,
        per=per,
        labels=bins.labels[:-1],
        counts=histograms,
        tvd={name: tvd(histograms["real"], histograms[name]) for name in others},
        shape={name: 1 - ks_distance(floats["real"], floats[name]) for name in others},
        mean={name: float(counts.mean()) if len(counts) else 0.0 for name, counts in numbers.items()},
        none={name: float((counts == 0).mean()) if len(counts) else 0.0 for name, counts in numbers.items()},
        most={name: float(counts.max(initial=0)) for name, counts in numbers.items()},
    )


def sequences(coded: Coded) -> tuple[str, ...]:
    return tuple(table for table in coded.features if is_sequence(coded.sets["real"].side, table))


def stickiness(coded: Coded, seed: int) -> Iterator[Stickiness]:
    """Along sequences; where rows stand in none, between any two rows of a parent."""
    for table in coded.features:
        if has_siblings(coded.sets["real"].side, table):
            others = {name: held.side.sibling(table, seed) for name, held in coded.sets.items()}
            for feature in coded.paired(table):
                yield Stickiness(table, feature.name, _same(coded, feature, others), {}, {}, siblings=True)
    for table in sequences(coded):
        before = {name: held.side.previous(table, 1) for name, held in coded.sets.items()}
        ends = {name: _ends(held.side, table, before[name]) for name, held in coded.sets.items()}
        for feature in coded.paired(table):
            size, alone = coded.size(feature), coded.histogram(feature)
            edges: dict[SetName, tuple[Counts, Counts]] = {}
            for name, held in coded.sets.items():
                column = held.codes[table, feature.name]
                first, last = ends[name]
                edges[name] = np.bincount(column[first], minlength=size), np.bincount(column[last], minlength=size)
            edges["shuffled"] = alone, alone  # any row may be the first or the last
            compared = [name for name in edges if name != "real"]
            yield Stickiness(
                table=table,
                column=feature.name,
                same=_same(coded, feature, before),
                first_tvd={name: tvd(edges["real"][0], edges[name][0]) for name in compared},
                last_tvd={name: tvd(edges["real"][1], edges[name][1]) for name in compared},
            )


def _same(coded: Coded, feature: Feature, before: Mapping[SetName, NDArray[np.int32]]) -> dict[SetName, float]:
    """How often a row has the bin of the row before it; shuffled, any row may stand there."""
    same: dict[SetName, float] = {}
    for name, held in coded.sets.items():
        column, there = held.codes[feature.table, feature.name], before[name] >= 0
        stays = column[there] == column[before[name][there]]
        same[name] = float(stays.mean()) if len(stays) else 0.0
    alone = coded.histogram(feature)
    return same | {"shuffled": float(np.square(alone / max(1, alone.sum())).sum())}


def _ends(side: Side, table: str, before: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which rows are the first of their sequence, and which the last."""
    owned = side.parent[table] >= 0
    last = owned.copy()
    last[before[before >= 0]] = False
    return np.flatnonzero(owned & (before < 0)), np.flatnonzero(last)


def main_event(coded: Coded, table: str) -> Feature | None:
    """The column that says what happens in a row: the first of at least three values, else the first of any."""
    listed = []
    for feature in coded.paired(table):
        described = coded.sets["real"].side.schema.tables[table].columns.get(feature.column)
        if feature.kind == "category" and (described is None or isinstance(described, Listed)):
            listed.append((isinstance(described, Boolean) or coded.size(feature) < 5, feature))  # `other` and NULL are two
    return min(listed, key=lambda pair: pair[0])[1] if listed else None


def transitions(coded: Coded) -> Iterator[Transitions]:
    for table in sequences(coded):
        feature = main_event(coded, table)
        if feature is None:
            continue
        size, counts = coded.size(feature), dict[SetName, Counts]()
        for name, held in coded.sets.items():
            before, codes = held.side.previous(table, 1), held.codes[table, feature.name].astype(np.int64)
            there = before >= 0
            moves = codes[before[there]] * size + codes[there]
            counts[name] = np.bincount(moves, minlength=size * size).reshape(size, size)
        distances = {name: tvd(counts["real"], counts[name]) for name in coded.others}
        alone = coded.histogram(feature)
        distances["shuffled"] = tvd(counts["real"], np.outer(alone, alone))
        yield Transitions(table, feature.name, coded.bins[table, feature.name].labels, counts, distances)
