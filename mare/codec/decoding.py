"""Codes into a whole table: the mirror of `encoding`. Relative values are rebuilt along their sequence, so order holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mare.domain import CodeArray
from mare.schema.relative import PREVIOUS_ROW

from .bins import Ticks
from .building import TableCodec
from .encoding import Siblings
from .ordinal import OrdinalCodec
from .relative import RelativeCodec
from .ticks import TickArray, convert_ticks

if TYPE_CHECKING:
    import pyarrow as pa


def decode_table(
    codec: TableCodec,
    rows: Mapping[str, CodeArray],
    firsts: Mapping[str, CodeArray],
    siblings: Siblings,
    rng: np.random.Generator,
) -> dict[str, pa.Array]:
    """The values of every column. ``firsts`` holds the codes of the first values, one per parent row."""
    values: dict[str, pa.Array] = {}
    ticks: dict[str, TickArray] = {}
    resolved: dict[str, Ticks] = {}
    for name, one in codec.columns.items():
        if isinstance(one, OrdinalCodec):
            ticks[name] = one.draw_ticks(rows[name], rng)
            resolved[name] = one.resolved(ticks[name])
        elif not isinstance(one, RelativeCodec):
            values[name] = one.decode(rows[name], rng)
    relative = {name: one for name, one in codec.columns.items() if isinstance(one, RelativeCodec)}
    if relative:
        _along(codec, relative, rows, firsts, siblings, ticks, resolved, rng)
    for name, one in codec.columns.items():
        if isinstance(one, OrdinalCodec | RelativeCodec):
            values[name] = one.scale.to_values(ticks[name].ticks, ticks[name].nulls)
    return values


def _along(
    codec: TableCodec,
    relative: Mapping[str, RelativeCodec],
    rows: Mapping[str, CodeArray],
    firsts: Mapping[str, CodeArray],
    siblings: Siblings,
    ticks: dict[str, TickArray],
    resolved: dict[str, Ticks],
    rng: np.random.Generator,
) -> None:
    """Fill the relative columns position by position: a row's anchor has its value before the row needs it."""
    count = len(siblings.position)
    for name in relative:
        ticks[name] = TickArray(np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.bool_))
        resolved[name] = np.zeros(count, dtype=np.int64)
    starts = {name: first.draw_ticks(firsts[name], rng).ticks for name, first in codec.firsts.items()}
    for at in _steps(siblings.position, sequential=bool(starts)):
        for name, one in relative.items():
            first = starts[name][siblings.parent[at]] if name in starts else None
            source = at - 1 if one.anchor.scope == PREVIOUS_ROW else at
            anchor = codec.columns[one.anchor.column]
            if not isinstance(anchor, OrdinalCodec | RelativeCodec):
                raise TypeError(f"{one.anchor.column!r} has no order to be anchored at")
            # Before the first row there is none: whatever stands there, the first value takes its place.
            anchors = convert_ticks(resolved[one.anchor.column][np.maximum(source, 0)], anchor.scale, one.scale)
            drawn = one.decode_gap(rows[name][at], anchors, first, rng)
            stand = anchors if first is None else np.where(siblings.position[at] == 0, first, anchors)
            ticks[name].ticks[at] = drawn.ticks
            ticks[name].nulls[at] = drawn.nulls
            resolved[name][at] = np.where(drawn.nulls, stand, drawn.ticks)


def _steps(position: NDArray[np.int64], *, sequential: bool) -> list[NDArray[np.int64]]:
    if not sequential:
        return [np.arange(len(position), dtype=np.int64)]
    return [np.flatnonzero(position == step) for step in range(int(position.max(initial=-1)) + 1)]
