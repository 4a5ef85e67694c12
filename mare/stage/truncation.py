"""Truncation: how many rows of a parent and of an entity stay, and where they stand then.

The guarantee rests on these caps. Which rows stay is decided inside the entity alone: by the order that the schema names, or
by a keyed hash of the row, whose key is drawn for each fit and never released. A rule that looked at other entities (a global
row number, a sample) would let one entity move another's rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mare.relational.placing import Index

from .needs import TableNeeds
from .ordering import Mask, OwnedRows


@dataclass(frozen=True)
class Cuts:
    """How many rows of a table were cut, by what took them. True numbers: for whoever runs the fit, never for a released file."""

    unknown_key: int = 0
    """Associative: their public key is not in the public table."""
    multiplicity: int = 0
    max_rows: int = 0
    """Beyond the cap per parent row, wherever the schema has that from."""
    max_per_entity: int = 0
    above: int = 0
    """They depended on a row that was left out."""

    @property
    def total(self) -> int:
        return self.unknown_key + self.multiplicity + self.max_rows + self.max_per_entity + self.above


def truncate_rows(rows: OwnedRows, needs: TableNeeds) -> tuple[OwnedRows, Cuts]:
    """Enforce the caps: a public key at most ``multiplicity`` times under a parent, at most ``max_rows`` rows, then whole lists
    until the entity's own cap holds. Rows whose public key is not known cannot be unrolled and are dropped."""
    known = rows if rows.key is None else rows.take(rows.key >= 0)
    once = known if known.key is None else known.take(_turns(known, needs, known.parent, known.key) < needs.multiplicity)
    capped = once.take(_turns(once, needs, once.parent) < needs.max_rows)
    kept = capped if needs.max_per_entity is None else capped.take(_whole_lists(capped, needs.max_per_entity))
    left = [len(each) for each in (rows, known, once, capped, kept)]
    return kept, Cuts(*(before - after for before, after in pairwise(left)))


def positions(parent: NDArray[np.integer]) -> Index:
    """Of each row, its place among its siblings: of what is kept, so that "first" and "last" mean the kept rows."""
    return np.arange(len(parent), dtype=np.int64) - _run_starts(parent)


def _turns(rows: OwnedRows, needs: TableNeeds, *groups: Index) -> Index:
    """Of each row, how many of its group are kept before it."""
    last = np.arange(len(rows), dtype=np.int64)
    if needs.keep == "first" and len(groups) == 1:
        return positions(groups[0])
    order: dict[str, NDArray[np.integer]] = {"first": last, "last": -last, "random": rows.hash}
    return turns(order[needs.keep], *groups)


def turns(order: NDArray[np.integer], *groups: NDArray[np.integer]) -> Index:
    """Of each row, how many rows of the same groups come before it. Equals stand as the rows do: by what they hold."""
    sequence = np.lexsort((order, *reversed(groups)))
    change = np.zeros(len(order), dtype=np.bool_)
    for group in groups:
        change[1:] |= group[sequence][1:] != group[sequence][:-1]
    number = np.arange(len(order), dtype=np.int64)
    found = np.empty(len(order), dtype=np.int64)
    found[sequence] = number - np.maximum.accumulate(np.where(change, number, 0))
    return found


def _whole_lists(rows: OwnedRows, most: int) -> Mask:
    """The rows of the lists that fit, taken in the order of a hash of the list: cutting inside one would falsify counts and
    "last"."""
    if not len(rows):
        return np.zeros(0, dtype=np.bool_)
    starts = np.flatnonzero(np.r_[True, rows.parent[1:] != rows.parent[:-1]])
    lengths, entity = np.diff(starts, append=len(rows)), rows.entity[starts]
    order = np.lexsort((np.arange(len(starts)), np.minimum.reduceat(rows.hash, starts), entity))
    total = np.cumsum(lengths[order])
    first = np.r_[True, entity[order][1:] != entity[order][:-1]]
    before = np.where(first, total - lengths[order], 0)
    stays = np.empty(len(starts), dtype=np.bool_)
    stays[order] = total - np.maximum.accumulate(before) <= most
    return np.repeat(stays, lengths)


def _run_starts(ordered: NDArray[np.integer]) -> Index:
    """Of each row, where the run of equal values that it stands in begins."""
    count = len(ordered)
    change = np.zeros(count, dtype=np.bool_)
    change[1:] = ordered[1:] != ordered[:-1]
    return np.maximum.accumulate(np.where(change, np.arange(count, dtype=np.int64), 0)) if count else np.zeros(0, dtype=np.int64)
