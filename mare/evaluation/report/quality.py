"""How good each column group is, as a colour for the graph: by the pairs of its columns, and by how many rows there are."""

from __future__ import annotations

import numpy as np

from mare.evaluation.evaluation import Evaluation, excess
from mare.evaluation.verdict import grade
from mare.graph.drawing import Shade
from mare.graph.groups import ColumnGroup
from mare.graph.pdag import column_groups
from mare.schema import Schema

FILLS = {"close": "#cdeedd", "fair": "#fbe3b5", "poor": "#f8cfca"}
"""As the page's own colours for what can be trusted, lighter: there is text on them."""


def shades(evaluation: Evaluation, schema: Schema) -> dict[str, Shade]:
    """By group. Those of which nothing was compared have none."""
    distances = _distances(evaluation)
    lengths = {length.table: excess(length.tvd) for length in reversed(evaluation.lengths)}
    found: dict[str, Shade] = {}
    for group in column_groups(schema):
        known = [distance for distance in _of(group, distances, lengths) if np.isfinite(distance)]
        if known:
            distance = float(np.mean(known))
            word = grade(None, distance)
            found[group.name] = Shade(FILLS[word], f"is {word} (distance {distance:.2f}) and ")
    return found


def _distances(evaluation: Evaluation) -> dict[tuple[str, str], float]:
    """Of each column: the mean of its pairs, beyond chance; of one that is in none, its own."""
    pairs: dict[tuple[str, str], list[float]] = {}
    for pair in evaluation.pairs:
        pairs.setdefault((pair.table, pair.column), []).append(pair.excess)
    alone = {(column.table, column.name): excess(column.tvd) for column in evaluation.columns}
    return alone | {column: float(np.mean(held)) for column, held in pairs.items()}


def _of(group: ColumnGroup, distances: dict[tuple[str, str], float], lengths: dict[str, float]) -> list[float]:
    """Those of what the group generates: a time is what it is since, and a count the number of rows."""
    found: list[float] = []
    for column in group.columns:
        table = column.table or group.table
        if column.role == "count":
            found.append(lengths.get(table, np.nan))
        elif column.column is not None:
            found += [d for (t, name), d in distances.items() if t == table and _is_of(name, column.column)]
    return found


def _is_of(feature: str, column: str) -> bool:
    return feature in (column, f"year of {column}") or feature.startswith(f"{column} since ")
