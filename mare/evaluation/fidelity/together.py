"""Co-occurrence: which keys of an associative table (drugs of a stay) one parent row has together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mare.evaluation.evaluation import SetName, Together

from .coding import Coded, CodedSet
from .features import Feature


def together(coded: Coded) -> Iterator[Together]:
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
    above = held.side.above(feature.table)
    parents = len(held.side.entity[above]) if above in held.side.entity else held.side.entities
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
