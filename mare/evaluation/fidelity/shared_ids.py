"""Ids that two columns share though no reference says so: the number of an order in two tables of a person, in two columns of a
row. Each column of ids is made anew on its own, so they come apart, and a join by them finds nothing.

Which columns share theirs is asked of a sample of each first, in one pass over all others; only what passes there is counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mare.evaluation.key_places import matched
from mare.evaluation.sides import Side
from mare.schema.columns import Identifier

from .ties import FEWEST, KEPT, Found, Law

_SAMPLE = 512

Column = tuple[str, str]
"""Table and name."""
Held = set[tuple[str, int]]
"""Ids as texts, each with the entity that it is of."""


def shared_ids(real: Side) -> Iterator[Law]:
    """Ids of which (nearly) each is, of the same entity, in a second column, too."""
    samples = {column: _sample(real, column) for column in _ids(real)}
    samples = {column: sample for column, sample in samples.items() if len({key for key, _ in sample}) >= FEWEST}
    sought = sorted({key for sample in samples.values() for key, _ in sample})
    there = {column: _holding(real, column, sought) for column in samples}
    pairs = set[frozenset[Column]]()
    for mine, sample in reversed(samples.items()):  # of two that share all, the lower one follows the upper
        for theirs, held in there.items():
            if mine == theirs or frozenset((mine, theirs)) in pairs or len(sample - held) > 5 or not _is_of_one(sample, held):
                continue
            broken = partial(_apart, mine, theirs)
            wrong, of = broken(real)
            if of >= FEWEST and wrong <= (1 - KEPT) * of:
                pairs.add(frozenset((mine, theirs)))
                where, other = ".".join(mine), ".".join(theirs)
                yield Law(where, f"is no {other} of the same entity", (wrong, of), broken, about=f"{where} is no id")


def _ids(side: Side) -> Iterator[Column]:
    """Columns of ids, and keys, that lead nowhere by declaration."""
    for name in side.tables:
        table = side.schema.tables[name]
        leading = {c for reference in table.references for c in table.reference_columns(reference)}
        leading |= set(side.schema.parent_columns(name))
        keys = table.key if table.key is not None and len(table.key) == 1 else ()
        named = [column for column, described in table.columns.items() if isinstance(described, Identifier)]
        for column in dict.fromkeys((*keys, *named)):
            kind = side.tables[name].column(column).type if column in side.tables[name].column_names else pa.null()
            if column not in leading and (pa.types.is_integer(kind) or pa.types.is_string(kind)):
                yield name, column


def _sample(side: Side, column: Column) -> Held:
    held, whose = side.column(*column), side.entity[column[0]]
    rows = np.arange(0, len(whose), max(1, len(whose) // _SAMPLE))
    return _with_owners(held.take(pa.array(rows)), whose[rows])


def _holding(side: Side, column: Column, sought: list[str]) -> Held:
    """Those that are sought and that this column holds."""
    held = side.column(*column)
    wanted = pa.array(sought, type=pa.string())
    if pa.types.is_integer(held.type):
        numbers = [text for text in sought if text.lstrip("-").isdecimal() and len(text) < 19]
        wanted = pa.array(map(int, numbers), type=pa.int64()).cast(held.type, safe=False)
    rows = np.flatnonzero(np.asarray(pc.is_in(held, value_set=wanted)))
    return _with_owners(held.take(pa.array(rows)), side.entity[column[0]][rows])


def _with_owners(held: pa.Array, whose: NDArray[np.int64]) -> Held:
    pairs = zip(held.cast(pa.string()).to_pylist(), whose.tolist(), strict=True)
    return {(key, owner) for key, owner in pairs if key is not None and owner >= 0}


def _is_of_one(sample: Held, held: Held) -> bool:
    """Whether an id is one entity's: numbers that everybody has meet without having to do with each other."""
    keys = {key for key, _ in sample}
    return sum(key in keys for key, _ in held) <= 1.1 * len(keys)


def _apart(mine: Column, theirs: Column, side: Side) -> Found:
    (ids, others), (whose, owners) = zip(*((side.column(*c), side.entity[c[0]]) for c in (mine, theirs)), strict=True)
    there = np.asarray(ids.is_valid()) & (whose >= 0)
    matches = matched([ids, pa.array(whose)], [others, pa.array(owners)]) >= 0
    return int(np.count_nonzero(there & ~matches)), int(np.count_nonzero(there))
