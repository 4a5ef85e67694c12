"""A whole table into codes: absolute columns value by value, relative ones along their sequence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mare.domain import CodeArray, smallest_dtype
from mare.schema.relative import PREVIOUS_ROW

from .bins import Ticks
from .building import TableCodec
from .ordinal import OrdinalCodec
from .relative import RelativeCodec
from .ticks import TickArray, convert_ticks

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class Siblings:
    """Where rows stand: sorted by parent and order, so that the previous row of a sequence is the row above."""

    parents: int
    """How many parent rows there are, with and without children."""
    parent: NDArray[np.int64]
    """Of each row, its parent's place."""
    position: NDArray[np.int64]
    """Of each row, its place among its siblings, from 0."""


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """Codes of the rows, and of the first values that live in the context (one per parent row)."""

    rows: Mapping[str, CodeArray]
    firsts: Mapping[str, CodeArray]


def encode_table(codec: TableCodec, values: Mapping[str, pa.Array], siblings: Siblings) -> EncodedTable:
    """Codes of every column. A row's codes depend on itself and on earlier rows of its own sequence, on nothing else."""
    rows: dict[str, CodeArray] = {}
    ordered = {name: one for name, one in codec.columns.items() if isinstance(one, OrdinalCodec | RelativeCodec)}
    ticks = {name: one.scale.to_ticks(values[name]) for name, one in ordered.items()}
    resolved = _resolve(codec, ordered, ticks, siblings)
    is_first = siblings.position == 0
    for name, one in codec.columns.items():
        if isinstance(one, RelativeCodec):
            rows[name] = one.encode_gap(ticks[name], _anchors(one, ordered, resolved), is_first)
        else:
            rows[name] = one.encode(values[name])
    return EncodedTable(rows, {name: _first_codes(first, resolved[name], siblings) for name, first in codec.firsts.items()})


def _first_codes(first: OrdinalCodec, resolved: Ticks, siblings: Siblings) -> CodeArray:
    """The first value under every parent; the last code where there is no row."""
    codes = np.full(siblings.parents, first.size - 1, dtype=smallest_dtype(first.size))
    at = np.flatnonzero(siblings.position == 0)
    codes[siblings.parent[at]] = first.bins.assign(resolved[at])
    return codes


def _anchors(one: RelativeCodec, ordered: Mapping[str, OrdinalCodec | RelativeCodec], resolved: Mapping[str, Ticks]) -> Ticks:
    """Where each row's gap starts. The first rows of sequences get a number that `encode_gap` ignores."""
    anchor = convert_ticks(resolved[one.anchor.column], ordered[one.anchor.column].scale, one.scale)
    return np.roll(anchor, 1) if one.anchor.scope == PREVIOUS_ROW else anchor


def _resolve(
    codec: TableCodec,
    ordered: Mapping[str, OrdinalCodec | RelativeCodec],
    ticks: Mapping[str, TickArray],
    siblings: Siblings,
) -> dict[str, Ticks]:
    """Every ordered column as something to be anchored at: a NULL stands where its own anchor stands.

    The sampler walks the same way, position by position, so what comes out was encoded by the same rule.
    """
    resolved = {name: values.ticks.copy() for name, values in ticks.items()}
    for name, one in ordered.items():
        if isinstance(one, OrdinalCodec):
            resolved[name] = one.resolved(ticks[name])
    relative = [(name, one) for name, one in ordered.items() if isinstance(one, RelativeCodec)]
    if not any(ticks[name].nulls.any() for name, _ in relative):
        return resolved
    for position in range(int(siblings.position.max(initial=-1)) + 1):
        at = np.flatnonzero(siblings.position == position)
        for name, one in relative:
            missing = at[ticks[name].nulls[at]]
            if one.first is not None and position == 0:
                resolved[name][missing] = one.first.bins.low
                continue
            source = missing - 1 if one.anchor.scope == PREVIOUS_ROW else missing
            resolved[name][missing] = convert_ticks(
                resolved[one.anchor.column][source], ordered[one.anchor.column].scale, one.scale
            )
    return resolved
