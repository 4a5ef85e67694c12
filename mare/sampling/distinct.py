"""Keys with modelled parts: rows of one parent that came out alike are drawn again, a bounded number of times.

First by the model itself, given the same history; then at random over the domain; what is still alike is dropped, before
anything depends on it. Only a domain that is hardly larger than the list ever comes to that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from mare.domain import CodeArray, RowDraws
from mare.relational.placing import Index, Placed, place_children

from .structure import REDRAWS

AT_RANDOM = 64
"""How often codes are drawn over the whole domain once the model has been asked often enough."""


def repeated(parent: Index, columns: Sequence[CodeArray], times: int = 1) -> Index:
    """The rows that have ``times`` earlier ones with the same parent and the same codes."""
    rows = len(parent)
    order = np.lexsort((np.arange(rows), *columns, parent))
    first = np.ones(rows, dtype=bool)
    if rows:
        first[1:] = parent[order][1:] != parent[order][:-1]
        for column in columns:
            first[1:] |= column[order][1:] != column[order][:-1]
    run = np.maximum.accumulate(np.where(first, np.arange(rows), 0)) if rows else np.zeros(0, dtype=np.int64)
    return np.sort(order[np.arange(rows) - run >= times]).astype(np.int64)


def keep_apart(
    parent: Index,
    codes: dict[str, CodeArray],
    names: Sequence[str],
    sizes: Mapping[str, int],
    redraw: Callable[[Index, str], None],
    draws: RowDraws,
    nulls: Mapping[str, int] | None = None,
) -> Index:
    """Draw rows again until those of one parent differ in ``names``. Returns the rows that still do not.

    ``sizes`` holds those of the names whose codes may be drawn over the whole domain, ``nulls`` the codes that are NULL: which is
    like nothing, as databases have it.
    """

    def alike() -> Index:
        known = np.ones(len(parent), dtype=np.bool_)
        for name, null in (nulls or {}).items():
            known &= codes[name] != null
        whole = np.flatnonzero(known).astype(np.int64)
        return whole[repeated(parent[whole], [codes[name][whole] for name in names])]

    found = alike()
    for attempt in range(REDRAWS):
        if not len(found):
            return found
        redraw(found, str(attempt))
        found = alike()
    for attempt in range(AT_RANDOM):
        if not len(found):
            return found
        for name in sizes:
            codes[name][found] = draws.at(f"{name} {attempt}", found).integers(0, sizes[name])
        found = alike()
    return found


def without(placed: Placed, gone: Index) -> Placed:
    """The same table without these rows. Nothing may depend on it yet."""
    kept = np.setdiff1d(np.arange(placed.rows), gone)
    counts = np.bincount(placed.parent[kept], minlength=int(placed.parent.max(initial=-1)) + 1).astype(np.int64)
    parent, position, siblings = place_children(counts)
    rows = {name: values[kept] for name, values in placed.codes["rows"].items()}
    head = {name: values[kept] for name, values in placed.codes["head"].items()}
    return replace(
        placed,
        rows=len(kept),
        parent=parent,
        position=position,
        siblings=siblings,
        codes={"rows": rows, "head": head, "context": placed.codes["context"]},
        free={name: values[kept] for name, values in placed.free.items()},
        targets={name: values[kept] for name, values in placed.targets.items()},
        same_item=None,
    )
