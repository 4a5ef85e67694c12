"""References while staging: from key values to places. A row of another entity is never found, whatever the key says.

Both sides are joined inside one entity, so a reference that leads out of it is one that leads nowhere (privacy.md, leak 8).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mare.domain import CodeArray, smallest_dtype
from mare.release.placing import NOWHERE, Index

from .needs import Link

if TYPE_CHECKING:
    import duckdb


def find_rows(
    connection: duckdb.DuckDBPyConnection, relation: str, number: int, link: Link, target: str, *, within: str
) -> Index:
    """Of each row, the place of the row that its reference leads to within the same ``entity`` or ``parent``."""
    keys = [f"k{place}" for place in link.refers]
    # One place for each key: rows of one's own may be there once for every reference to them.
    there = f"SELECT {within}, {', '.join(keys)}, min(place) AS place FROM {target} WHERE NOT unknown GROUP BY ALL"
    join = " AND ".join(f"p.r{number}_{i} = t.{key}" for i, key in enumerate(keys))
    return _ordered(
        connection,
        f"SELECT p.place AS line, coalesce(t.place, {NOWHERE}) AS found FROM {relation} p "
        f"LEFT JOIN ({there}) t ON {join} AND p.{within} = t.{within}",
    )


def find_keys(connection: duckdb.DuckDBPyConnection, relation: str, names: Sequence[str], vocabulary: str) -> Index:
    """Of each row, the code of the public key that these staged columns hold, or `NOWHERE`."""
    join = " AND ".join(f"p.{name} = v.x{i}" for i, name in enumerate(names))
    return _ordered(
        connection,
        f"SELECT p.place AS line, coalesce(v.code, {NOWHERE}) AS found FROM {relation} p LEFT JOIN {vocabulary} v ON {join}",
    )


def _ordered(connection: duckdb.DuckDBPyConnection, query: str) -> Index:
    found = connection.sql(f"SELECT found FROM ({query}) ORDER BY line").fetchnumpy()
    return np.asarray(found["found"], dtype=np.int64)


def rank_codes(target: Index, entity: Index, there: Index, size: int, nullable: bool) -> CodeArray:
    """A same-entity reference as the place of its row among the entity's own: ``there`` holds the entity of each target row."""
    first = np.searchsorted(there, entity)
    none = size - 1 if nullable else 0
    codes = np.where(target < 0, none, np.minimum(target - first, size - 1 - nullable))
    return codes.astype(smallest_dtype(size))


def back_codes(target: Index, back: int, itself: bool) -> CodeArray:
    """An earlier reference as how many rows back; then the row itself, where allowed; last "none, or further"."""
    distance = np.arange(len(target), dtype=np.int64) - target
    none = back + itself
    codes = np.full(len(target), none, dtype=np.int64)
    near = (target >= 0) & (distance >= 1) & (distance <= back)
    codes[near] = distance[near] - 1
    if itself:
        codes[(target >= 0) & (distance == 0)] = back
    return codes.astype(smallest_dtype(none + 1))


def previous_of_item(parent: Index, items: Sequence[CodeArray]) -> Index:
    """Of each row, the previous row of the same parent with the same items, or `NOWHERE`. Rows come in order."""
    rows = len(parent)
    order = np.lexsort((np.arange(rows), *items, parent))
    same = np.zeros(rows, dtype=bool)
    if rows:
        same[1:] = parent[order][1:] == parent[order][:-1]
        for item in items:
            same[1:] &= item[order][1:] == item[order][:-1]
    found = np.full(rows, NOWHERE, dtype=np.int64)
    found[order[same]] = order[np.flatnonzero(same) - 1]
    return found
