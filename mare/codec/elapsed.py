"""How far a sequence is when a row begins: free history, for a gap often depends on all the time before it (recipe, step 9).

Where a row above sets an end, it is what is left until then (the rest of a stay, of a follow-up). Else it is measured as the
first value of the sequence is: from the row above that this depends on (the age at an admission), or as it stands. A row begins
where the previous one ended; the first begins at its own value, which the context knows. The fit looks at the values that rows
have, the sampler at those that it has drawn so far.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from mare.domain import CodeArray, smallest_dtype
from mare.schema.relative import PREVIOUS_ROW, SAME_ROW

from .bins import Bins
from .building import OrderedCodec, TableCodec
from .points import Points
from .relative import FirstCodec, RelativeCodec
from .siblings import Above, Index, Siblings, limits_of
from .ticks import FURTHEST, Side, Ticks


def elapsed_name(column: str) -> str:
    """What the free history of a sequence's column is called."""
    return f"elapsed({column})"


def elapsed_ticks(
    codec: TableCodec, name: str, points: Mapping[str, Points], above: Above, siblings: Siblings, at: Index
) -> Ticks:
    """Where the rows ``at`` begin. Of ``points``, those of earlier rows are looked at, and of first rows their own."""
    one, first = _sequence(codec, name)
    side, column = _follows(one)
    own, back = points[name].take(at), points[column].take(np.maximum(at - 1, 0))
    begins = siblings.position[at] == 0
    start = np.where(begins, own.lower, back.bound(side, one.scale))
    if one.placing.ends_above:
        # The end alone: what comes before the first row is another sequence's.
        end_of = replace(one.placing, after=None) if side == "after" else replace(one.placing, before=None)
        limits, there = limits_of(end_of, one.scale, points, above, siblings, at)
        end = limits.high if side == "after" else limits.low
        measured = np.abs((0 if end is None else end) - start)
    else:
        limits, there = limits_of(first.placing, first.scale, points, above, siblings, at)
        measured, _ = first.measure(start, limits)
    # What begins nowhere has come no way at all.
    return np.where(there & np.where(begins, own.known, back.known), measured, -FURTHEST)


def elapsed_codes(codec: TableCodec, ticks: Mapping[str, Ticks]) -> dict[str, CodeArray]:
    """The codes of what was measured; what lies beyond the bins is at their end. Nothing where bins are still open."""
    bins = {name: first.lasting for name, first in codec.firsts.items() if name in ticks}
    settled = {name: placed for name, placed in bins.items() if isinstance(placed, Bins)}
    return {name: placed.assign(ticks[name]).astype(smallest_dtype(placed.count)) for name, placed in settled.items()}


def leading(codec: TableCodec, name: str) -> TableCodec:
    """The codecs of the columns that say where rows begin, and nothing else."""
    one, _ = _sequence(codec, name)
    wanted, waiting = {name}, [name, _follows(one)[1]]
    while waiting:
        column = waiting.pop()
        wanted.add(column)
        anchored = codec.columns[column]
        for anchor in anchored.placing.anchors if isinstance(anchored, RelativeCodec) else ():
            if anchor.scope in (SAME_ROW, PREVIOUS_ROW) and anchor.column not in wanted:
                waiting.append(anchor.column)
    kept: dict[str, OrderedCodec] = {column: one for column, one in codec.ordered.items() if column in wanted}
    return TableCodec(codec.table, kept)


def _sequence(codec: TableCodec, name: str) -> tuple[RelativeCodec, FirstCodec]:
    one = codec.columns[name]
    if not isinstance(one, RelativeCodec) or one.first is None:
        raise ValueError(f"{codec.table}.{name} is no sequence with a first value")
    return one, one.first


def _follows(one: RelativeCodec) -> tuple[Side, str]:
    """The column of the previous row that a row depends on, and on which side of it the row is."""
    sides: tuple[Side, ...] = ("after", "before")
    for side, anchor in zip(sides, (one.placing.after, one.placing.before), strict=True):
        if anchor is not None and anchor.scope == PREVIOUS_ROW:
            return side, anchor.column
    raise ValueError("a sequence that does not follow its previous row has no first value")
