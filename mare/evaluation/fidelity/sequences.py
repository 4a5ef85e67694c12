"""Along sequences and below parents: how many rows there are, how often a value stays, what comes first and last, what follows
what, what stands together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mare.evaluation.measured import Lengths, SetName, Stickiness, Together, Transitions
from mare.evaluation.sides import Side
from mare.schema.columns import Boolean, Listed

from .coded_sets import Coded, CodedSet, Sides
from .common_bins import common_bins
from .distances import Counts, ks_distance, tvd
from .features import Feature, Values, children_of
from .pairs import Steps, is_sequence


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
    return Lengths(
        table=table,
        per=per,
        labels=bins.labels[:-1],
        counts=histograms,
        tvd={name: tvd(histograms["real"], histograms[name]) for name in others},
        shape={name: 1 - ks_distance(held["real"], held[name]) for name in others},
        mean={name: float(counts.mean()) if len(counts) else 0.0 for name, counts in numbers.items()},
        none={name: float((counts == 0).mean()) if len(counts) else 0.0 for name, counts in numbers.items()},
        most={name: float(counts.max(initial=0)) for name, counts in numbers.items()},
    )


def sequences(coded: Coded) -> tuple[str, ...]:
    return tuple(table for table in coded.features if is_sequence(coded.sets["real"].side, table))


def stickiness(coded: Coded, steps: Steps) -> Iterator[Stickiness]:
    """Between any two rows of a parent, where they stand in no sequence; then along sequences."""
    along = sequences(coded)
    features = {
        key: feature for table in coded.features for feature in coded.paired(table) if (key := (table, feature.name)) in steps
    }
    for table, column in sorted(features, key=lambda key: key[0] in along):
        feature, moves = features[table, column], steps[table, column]
        alone = coded.histogram(feature)
        same: dict[SetName, float] = {name: float(np.trace(counts) / max(1, counts.sum())) for name, counts in moves.items()}
        same["shuffled"] = float(np.square(alone / max(1, alone.sum())).sum())  # any row may stand beside
        if table not in along:
            yield Stickiness(table, column, same, {}, {}, siblings=True)
            continue
        edges: dict[SetName, tuple[Counts, Counts]] = {}
        for name, counts in moves.items():  # the first rows are those without one before, the last are before none
            owned = _owned(coded, feature, name)
            edges[name] = owned - counts.sum(axis=1), owned - counts.sum(axis=0)
        edges["shuffled"] = alone, alone  # any row may be the first or the last
        compared = [name for name in edges if name != "real"]
        yield Stickiness(
            table=table,
            column=column,
            same=same,
            first_tvd={name: tvd(edges["real"][0], edges[name][0]) for name in compared},
            last_tvd={name: tvd(edges["real"][1], edges[name][1]) for name in compared},
        )


def _owned(coded: Coded, feature: Feature, name: SetName) -> Counts:
    """Of the rows that have a parent."""
    held = coded.sets[name]
    alone = held.codes[feature.table, feature.name][held.side.parent[feature.table] < 0]
    return coded.histogram(feature, name) - np.bincount(alone, minlength=coded.size(feature))


def main_event(coded: Coded, table: str) -> Feature | None:
    """The column that says what happens in a row: the first of at least three values, else the first of any."""
    listed = []
    for feature in coded.paired(table):
        described = coded.sets["real"].side.schema.tables[table].columns.get(feature.column)
        if feature.kind == "category" and (described is None or isinstance(described, Listed)):
            listed.append((isinstance(described, Boolean) or coded.size(feature) < 5, feature))  # `other` and NULL are two
    return min(listed, key=lambda pair: pair[0])[1] if listed else None


def transitions(coded: Coded, steps: Steps) -> Iterator[Transitions]:
    for table in sequences(coded):
        feature = main_event(coded, table)
        if feature is None:
            continue
        counts = {name: held.T for name, held in steps[table, feature.name].items()}
        distances = {name: tvd(counts["real"], counts[name]) for name in coded.others}
        alone = coded.histogram(feature)
        distances["shuffled"] = tvd(counts["real"], np.outer(alone, alone))
        yield Transitions(table, feature.name, coded.bins[table, feature.name].labels, counts, distances)


def together(coded: Coded) -> Iterator[Together]:
    """Which keys of an associative table (drugs of a stay) one parent row has together."""
    for table in coded.features:
        link = coded.sets["real"].side.schema.parent(table)
        if link is None or link.type != "associative" or not link.column_via:
            continue
        feature = next((f for f in coded.paired(table) if f.column == link.column_via[0]), None)
        if feature is None:
            continue
        listed = coded.size(feature) - 2  # without `other` and NULL
        shares = {name: _shares(held, feature, listed) for name, held in coded.sets.items()}
        real = shares["real"]
        apart = ~np.eye(listed, dtype=np.bool_)
        errors: dict[SetName, float] = {name: float(np.abs(shares[name] - real)[apart].sum()) for name in coded.others}
        pairs, total = max(1, int(apart.sum())), float(real[apart].sum())
        yield Together(
            table=table,
            labels=coded.bins[table, feature.name].labels[:listed],
            shares=shares,
            error={name: error / pairs for name, error in errors.items()},
            relative={name: error / total if total else float(error > 0) for name, error in errors.items()},
        )


def _shares(held: CodedSet, feature: Feature, listed: int) -> NDArray[np.float64]:
    """Of all parents, the share that has both."""
    parent, codes = held.side.parent[feature.table], held.codes[feature.table, feature.name]
    parents = held.side.parents(feature.table)
    counted = np.zeros((listed, listed))
    kept = (parent >= 0) & (codes < listed)
    order = np.argsort(parent[kept], kind="stable")
    parent, codes = parent[kept][order], codes[kept][order]
    step = 1 << 17  # parents at a time
    for start in range(0, parents, step):
        here = slice(*np.searchsorted(parent, [start, start + step]))
        has = np.zeros((min(step, parents - start), listed), dtype=np.float32)
        has[parent[here] - start, codes[here]] = 1
        counted += has.T @ has
    return counted / max(1, parents)
