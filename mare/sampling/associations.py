"""Associations unrolled: from the columns of a context to rows, each with its public key (mare-2024, IV.B).

"For each context row, the columns with true or non-null values are unrolled to create partial child rows containing the
public relationship and derived columns. Then, the child table model is sampled to fill in the missing common columns."
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mare.domain import CodeArray, Codes, Keys, RowDraws, child_keys, purpose_of
from mare.relational.placing import NOWHERE, Index
from mare.relational.unrolling import Unrolling

from .possible_codes import REDRAWS


@dataclass(frozen=True, eq=False)
class UnrolledRows:
    """The rows that a context asks for, sorted by parent."""

    parent: Index
    key: Index
    """The code of the public key; `NOWHERE` for rows of the rest, whose key is still to be drawn."""
    derived: Mapping[str, NDArray[np.int64]]
    """Codes of the derived columns; -1 where they are still to be drawn."""

    def take(self, index: Index) -> UnrolledRows:
        return UnrolledRows(self.parent[index], self.key[index], {n: v[index] for n, v in self.derived.items()})


def agree_on_absence(
    unrolling: Unrolling,
    context: dict[str, CodeArray],
    sizes: Mapping[str, int],
    redraw: Callable[[Index, str], Codes],
    draws: RowDraws,
) -> None:
    """Several derived columns of one slot are there or not together: the first says which.

    Where another is missing although the row is there, the model is asked again, until it draws a value.
    """
    if len(unrolling.derived) < 2:
        return
    names = list(context)
    columns = [unrolling.labels(f"{name}({unrolling.key})", names) for name in unrolling.derived]
    for first, *others in zip(*columns, strict=True):
        absent = context[first] == sizes[first] - 1
        for label in others:
            codes, none = context[label], sizes[label] - 1
            for attempt in range(REDRAWS):
                lost = np.flatnonzero(~absent & (codes == none)).astype(np.int64)
                if not len(lost):
                    break
                codes[lost] = redraw(lost, f"{label} {attempt}")[label]
            lost = np.flatnonzero(~absent & (codes == none)).astype(np.int64)
            codes[lost] = draws.at(f"{label} any", lost).integers(0, max(1, none))
            codes[absent] = none


def unroll(unrolling: Unrolling, context: Mapping[str, CodeArray], sizes: Mapping[str, int], draws: RowDraws) -> UnrolledRows:
    """The rows of all parents. ``sizes`` holds how many codes each context column has, ``draws`` the parents' numbers."""
    names = list(context)
    parents, keys = list[Index](), list[Index]()
    derived: dict[str, list[Index]] = {name: [] for name in unrolling.derived}

    def add(parent: Index, key: Index, values: Mapping[str, NDArray[np.integer]]) -> None:
        parents.append(parent.astype(np.int64))
        keys.append(key.astype(np.int64))
        for name, column in derived.items():
            column.append(values[name].astype(np.int64) if name in values else np.full(len(parent), -1, dtype=np.int64))

    if unrolling.derived:
        columns = {name: unrolling.labels(f"{name}({unrolling.key})", names) for name in unrolling.derived}
        first = columns[unrolling.derived[0]]
        for slot, label in enumerate(first):
            there = np.flatnonzero(context[label] != sizes[label] - 1)
            key = np.full(len(there), unrolling.chosen[slot // unrolling.multiplicity])
            add(there, key, {name: context[labels[slot]][there] for name, labels in columns.items()})
    else:
        for number, label in enumerate(unrolling.labels(f"exists({unrolling.key})", names)):
            there = np.repeat(np.arange(len(context[label])), context[label])
            add(there, np.full(len(there), unrolling.chosen[number]), {})
    rest = _rest(unrolling, context, names, draws)
    add(*rest, {})
    parent, key = np.concatenate(parents), np.concatenate(keys)
    order = np.argsort(parent, kind="stable")
    rows = UnrolledRows(parent, key, {name: np.concatenate(values) for name, values in derived.items()})
    return rows.take(order.astype(np.int64))


def at_most(rows: UnrolledRows, cap: int, above: Keys) -> UnrolledRows:
    """No parent with more rows than the cap: of more, some at random. ``above`` are the keys of the parents."""
    counts = np.bincount(rows.parent, minlength=len(above))
    if not len(rows.parent) or int(counts.max(initial=0)) <= cap:
        return rows
    place = np.arange(len(rows.parent), dtype=np.int64) - (np.cumsum(counts) - counts)[rows.parent]
    keys = child_keys(above, rows.parent, place, purpose_of("before the cap"))
    order = np.lexsort((RowDraws(keys, 0).random(), rows.parent))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = place  # sorted by parent before and after: the ranks of a parent's rows are 0, 1, 2 … again
    return rows.take(np.flatnonzero(rank < cap).astype(np.int64))


def _rest(unrolling: Unrolling, context: Mapping[str, CodeArray], names: list[str], draws: RowDraws) -> tuple[Index, Index]:
    """Rows whose key has no column: to be drawn by the head, or any of its group that is not there yet."""
    if unrolling.rest == "rows" and (unrolling.slot < 0).any():
        parent = np.repeat(np.arange(len(context["count"])), context["count"])
        return parent, np.full(len(parent), NOWHERE)
    parents, keys = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    if unrolling.rest == "hierarchy":
        own = unrolling.labels(f"exists({unrolling.key})", names)
        grouped = [label for label in names if label.startswith("exists(") and label not in own]
        for group, label in enumerate(sorted(grouped, key=_number)):
            members = unrolling.members(group)
            times = np.minimum(context[label], len(members) * unrolling.multiplicity).astype(np.int64)
            parent = np.repeat(np.arange(len(times)), times)
            at = np.arange(len(parent)) - np.repeat(np.cumsum(times) - times, times)
            if len(members):
                # One draw a parent, then on through the group: a key does not come more often than it may.
                start = draws.at(label).integers(0, len(members), size=len(times))[parent]
                parents.append(parent)
                keys.append(members[(start + at) % len(members)])
    return np.concatenate(parents), np.concatenate(keys)


def _number(label: str) -> int:
    number = label.rpartition("#")[2]
    return int(number) if number.isdecimal() else 0
