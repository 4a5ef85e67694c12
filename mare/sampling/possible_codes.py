"""Codes that cannot be, put right: the model is asked again, a bounded number of times; then one of the possible codes is drawn.

Asking again draws from the model's own distribution, given that the code is possible. Three kinds of codes need it:
- those that only some rows can have ("first row of its sequence", "no row at all"). A model that looks at the position hardly
  ever errs; one that looks at nothing does. Where a row must have such a code it gets it;
- references that lead to no row: the fifth admission of a patient who has three. What nothing can be done for becomes NULL where
  the reference may be;
- keys with modelled parts: rows of one parent that came out alike. What is still alike is dropped, before anything depends on it.
  Only a domain that is hardly larger than the list ever comes to that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mare.codec import RelativeCodec, TableCodec
from mare.domain import CodeArray, Codes, RowDraws
from mare.relational.placing import Index
from mare.relational.relations import Ranked, Stepped

from .targets import Crowd

REDRAWS = 16
"""How often a model is asked again before one of the possible codes is drawn at random."""

AT_RANDOM = 64
"""How often codes are drawn over the whole domain once the model has been asked often enough."""

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class StructuralCode:
    """A code that a row has exactly where ``must`` says so. The codes below ``usable`` are ordinary ones."""

    column: str
    code: int
    must: Mask
    usable: int


def structural_codes(codec: TableCodec, drawn: dict[str, CodeArray], position: NDArray[np.int64] | None) -> list[StructuralCode]:
    """The structural codes of a context (``position`` is None), or of rows at these positions."""
    if position is None:
        if "count" not in drawn:
            return []
        empty = drawn["count"] == 0
        firsts = [
            StructuralCode(f"first({name})", column.size - 1, empty, column.bins.count) for name, column in codec.firsts.items()
        ]
        shared = [(s.name, codec.columns[s.column].size) for s in codec.shared if s.name in drawn]
        return [*firsts, *(StructuralCode(name, size, empty, size) for name, size in shared)]
    codes = []
    for name, column in codec.columns.items():
        if isinstance(column, RelativeCodec) and column.first is not None and name in drawn:
            # The first row's value may be missing or special too; then that is what its code says.
            other = (drawn[name] >= column.bins.count) & (drawn[name] != column.first_row)
            must = (position == 0) & ~other
            codes.append(StructuralCode(name, column.first_row, must, column.bins.count))
    return codes


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


@dataclass(frozen=True, eq=False)
class Limits:
    """Codes below ``limit`` lead to a row; then come, where allowed, the row itself and NULL."""

    column: str
    limit: Index
    """Of each row, how many codes from 0 on lead somewhere."""
    special: int
    """The first code that always may be: all from here on are possible."""
    fallback: int | None
    """The code for rows that nothing can be done for; None: any that leads somewhere."""
    onward: bool = False
    """Who would go further than there are rows stops at the last."""

    def wrong(self, codes: NDArray[np.integer]) -> Mask:
        wrong: Mask = (codes >= self.limit) & (codes < self.special)
        return wrong


def rank_limits(name: str, reference: Ranked, crowd: Crowd, entity: Index, reached: Index) -> Limits:
    """A reference by position leads to one of the rows that the entity has there from ``reached`` on, or is NULL if it may be."""
    rows = reference.size - reference.nullable
    left = np.minimum(crowd.count[entity] - reached, rows)
    return Limits(name, left, rows, rows if reference.nullable else None, reference.onward)


def step_limits(name: str, reference: Stepped, position: Index) -> Limits:
    """A reference to an earlier row leads to one of the rows before. Where it may not be NULL, "none" becomes the row itself."""
    back = reference.back
    return Limits(name, np.minimum(position, back), back, back + (reference.itself if reference.nullable else 0))


def keep_within(drawn: dict[str, CodeArray], limits: Limits, resample: Callable[[Mask, str], Codes], draws: RowDraws) -> None:
    """Mend ``drawn`` in place. ``resample`` draws the rows of a mask once more, under a name for the attempt."""
    codes = drawn[limits.column].astype(np.int64)
    if limits.onward:
        codes = np.where(limits.wrong(codes) & (limits.limit > 0), limits.limit - 1, codes)
    for attempt in range(REDRAWS):
        wrong = limits.wrong(codes)
        if not wrong.any():
            break
        codes[wrong] = resample(wrong, f"{limits.column} {attempt}")[limits.column]
    wrong = limits.wrong(codes)
    some = np.flatnonzero(wrong & (limits.limit > 0))
    codes[some] = draws.at(f"{limits.column} any", some).integers(0, limits.limit[some])
    codes[wrong & (limits.limit <= 0)] = limits.fallback or 0
    drawn[limits.column] = codes.astype(drawn[limits.column].dtype)


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

    rows = alike()
    for attempt in range(REDRAWS):
        if not len(rows):
            return rows
        redraw(rows, str(attempt))
        rows = alike()
    for attempt in range(AT_RANDOM):
        if not len(rows):
            return rows
        for name in sizes:
            codes[name][rows] = draws.at(f"{name} {attempt}", rows).integers(0, sizes[name])
        rows = alike()
    return rows
