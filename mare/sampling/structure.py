"""Codes that only some rows can have ("first row of its sequence", "no row at all"), put where they belong.

A model that looks at the position hardly ever errs; one that looks at nothing does. Where a row must have such a code it
gets it; where it cannot, the model is asked again: that draws from the model's own distribution, given that it is possible.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mare.codec import RelativeCodec, TableCodec
from mare.domain import CodeArray, Codes, RowDraws

REDRAWS = 16
"""How often a model is asked again before one of the possible codes is drawn at random."""

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class StructuralCode:
    """A code that a row has exactly where ``must`` says so. The codes below ``usable`` are ordinary ones."""

    column: str
    code: int
    must: Mask
    usable: int


def structural_codes(codec: TableCodec, drawn: dict[str, CodeArray], position: NDArray[np.int64] | None) -> list[StructuralCode]:
    """Those of a context (``position`` is None), or of rows at these positions."""
    if position is None:
        if "count" not in drawn:
            return []
        empty = drawn["count"] == 0
        return [StructuralCode(f"first({name})", one.size - 1, empty, one.bins.count) for name, one in codec.firsts.items()]
    found = []
    for name, one in codec.columns.items():
        if isinstance(one, RelativeCodec) and one.first is not None and name in drawn:
            # The first row's value may be missing or special too; then that is what its code says.
            other = (drawn[name] >= one.bins.count) & (drawn[name] != one.first_row)
            must = (position == 0) & ~other
            found.append(StructuralCode(name, one.first_row, must, one.bins.count))
    return found


def make_possible(
    drawn: dict[str, CodeArray],
    rules: Sequence[StructuralCode],
    resample: Callable[[Mask, str], Codes],
    draws: RowDraws,
) -> None:
    """Mend ``drawn`` in place. ``resample`` draws the rows of a mask once more, under a name for the attempt."""
    for rule in rules:
        codes = np.where(rule.must, rule.code, drawn[rule.column]).astype(drawn[rule.column].dtype)
        for attempt in range(REDRAWS):
            wrong = ~rule.must & (codes == rule.code)
            if not wrong.any():
                break
            codes[wrong] = resample(wrong, f"{rule.column} {attempt}")[rule.column]
        else:
            last = np.flatnonzero(~rule.must & (codes == rule.code))
            codes[last] = draws.at(f"{rule.column} any", last).integers(0, rule.usable)
        drawn[rule.column] = codes
