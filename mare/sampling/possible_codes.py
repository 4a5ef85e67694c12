"""Which rows the codes of references stand for, and which row is the previous one of the same item.

Codes that cannot be are put right: the model is asked again, a bounded number of times; then one of the possible codes is drawn.

Asking again draws from the model's own distribution, given that the code is possible. Three kinds of codes need it:
- those that only some rows can have ("first row of its sequence", "no row at all"). A model that looks at the position hardly
  ever errs; one that looks at nothing does. Where a row must have such a code it gets it;
- references that lead to no row: the fifth admission of a patient who has three. What nothing can be done for becomes NULL where
  the reference may be;
- keys with modelled parts: rows of one parent that came out alike. Where asking again does not help, they get codes that no
  sibling has: listed ones by how frequent they are, numbers and times next to where they were. What is still alike is dropped,
  before anything depends on it. Only a domain that is smaller than the list comes to that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mare.codec import ColumnCodec, OrdinalCodec, RelativeCodec, TableCodec
from mare.codec.category import CategoryCodec, Redrawn
from mare.codec.ticks import Mask
from mare.domain import CodeArray, Codes, RowDraws, as_generator, move_apart, repeated
from mare.relational.placing import NOWHERE, Index, PlacedTables
from mare.relational.relations import Ranked, Stepped, Words

REDRAWS = 16
"""How often a model is asked again before one of the possible codes is drawn at random."""

AT_RANDOM = 64
"""How often codes are drawn over the whole domain once the model has been asked often enough."""


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
    drawn: dict[str, CodeArray], rules: Sequence[StructuralCode], resample: Callable[[Mask, str], Codes], draws: RowDraws
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


@dataclass(frozen=True)
class Choice:
    """The codes that may be given to rows which are alike."""

    size: int
    """How many: from 0 on."""
    ordered: bool
    """Whether neighbours are alike."""
    weights: tuple[float, ...] = ()
    """How frequent they are, where that is known."""


def choice_of(column: ColumnCodec | Words) -> Choice:
    """Of a column or a reference to a public table: its ordinary codes, without NULL and the rest of a list."""
    if isinstance(column, OrdinalCodec):
        return Choice(column.bins.count, True)
    if isinstance(column, Words):
        return Choice(len(column.chosen), False, column.weights)
    if isinstance(column, CategoryCodec):
        return Choice(len(column.values), False, column.weights)
    return Choice(column.size - bool(getattr(column, "nullable", False)), False)


def keep_apart(
    parent: Index,
    codes: dict[str, CodeArray],
    names: Sequence[str],
    choices: Mapping[str, Choice],
    redraw: Callable[[Index, str], None],
    draws: RowDraws,
    nulls: Mapping[str, int],
) -> Index:
    """Draw rows again until those of one parent differ in ``names``. Returns the rows that still do not.

    ``choices`` holds those of the names that may get other codes than the model's, ``nulls`` the codes that are NULL: which is
    like nothing, as databases have it.
    """

    def whole() -> Index:
        known = np.ones(len(parent), dtype=np.bool_)
        for name, null in nulls.items():
            known &= codes[name] != null
        return np.flatnonzero(known).astype(np.int64)

    def alike() -> Index:
        among = whole()
        return among[repeated(parent[among], [codes[name][among] for name in names])]

    rows = alike()
    for attempt in range(REDRAWS):
        if not len(rows):
            return rows
        redraw(rows, str(attempt))
        rows = alike()
    listed = {name: Redrawn(c.size, c.weights) for name, c in choices.items() if c.size and not c.ordered}
    for attempt in range(AT_RANDOM if listed else 0):
        if not len(rows):
            return rows
        for name, rest in listed.items():
            codes[name][rows] = rest.pick(draws.at(f"{name} {attempt}", rows).random())
        rows = alike()
    choices = {name: choice for name, choice in choices.items() if choice.size}
    if len(rows) and choices:
        values = {name: codes[name].astype(np.int64) for name in names}
        zeros = np.zeros(len(parent), dtype=np.int64)
        ends = {name: (zeros, zeros + choice.size - 1) for name, choice in choices.items()}
        move_apart(parent, values, ends, whole(), as_generator(draws))
        for name in choices:
            codes[name][:] = values[name]
        rows = alike()
    return rows


@dataclass(frozen=True, eq=False)
class Crowd:
    """The rows of one table by entity: how many each has, and where they begin."""

    first: Index
    count: Index

    @classmethod
    def of(cls, placed: PlacedTables, table: str, entity: str) -> Crowd:
        entities = placed.tables[entity].rows
        whose = placed.climb(np.arange(placed.tables[table].rows, dtype=np.int64), table, entity)
        count = np.bincount(whose, minlength=entities).astype(np.int64)
        return cls(np.cumsum(count) - count, count)


def rank_targets(codes: NDArray[np.integer], reference: Ranked, crowd: Crowd, entity: Index, reached: Index) -> Index:
    """The places of the rows that these codes stand for: positions among the rows of an entity, from those ``reached`` on."""
    leads = codes < np.minimum(crowd.count[entity] - reached, reference.size - reference.nullable)
    return np.where(leads, crowd.first[entity] + reached + codes, NOWHERE).astype(np.int64)


def step_targets(codes: NDArray[np.integer], reference: Stepped, rows: Index) -> Index:
    """The places of the rows so many back, or of the rows themselves."""
    places = np.where(codes < reference.back, rows - codes.astype(np.int64) - 1, NOWHERE)
    if reference.itself:
        own = codes == reference.back if reference.nullable else codes >= reference.back
        places = np.where(own, rows, places)
    return places.astype(np.int64)


def steps_that_stay(codes: CodeArray, reference: Stepped, kept: Index) -> CodeArray:
    """The codes of the rows that are ``kept``, once the others are gone: a way back is as long as the rows on it that stay, and
    one to a row that went leads nowhere, or to the row itself. (By its old code a row would reach into another's sequence.)"""
    place = np.full(len(codes), NOWHERE, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    old = codes[kept].astype(np.int64)
    leads = old < reference.back
    there = place[np.where(leads, kept - old - 1, kept)]
    nowhere = reference.back + (reference.itself if reference.nullable else 0)
    back = np.where(there >= 0, np.arange(len(kept)) - there - 1, nowhere)
    return np.where(leads, back, old).astype(codes.dtype)


class LastOfItem:
    """Of every parent and item, the last row so far: the previous row of the same item, one step at a time."""

    MOST = 1 << 24
    """Cells of the table that is kept for it. Where it would be larger, rows look back one by one instead."""

    def __init__(self, parents: int, sizes: tuple[int, ...]) -> None:
        self._sizes = sizes
        items = int(np.prod([int(size) for size in sizes], dtype=object))
        dense = parents * items <= self.MOST
        self._dense = np.full(parents * items, NOWHERE, dtype=np.int32) if dense else None

    def step(self, parent: Index, position: Index, items: tuple[CodeArray, ...], rows: Index) -> Index:
        """The previous rows of the same item of these ``rows``, which stand at one position; ``items`` are those of all rows."""
        if self._dense is not None:
            key = parent[rows].astype(np.int64)
            for size, item in zip(self._sizes, items, strict=True):
                key = key * size + item[rows]
            previous = self._dense[key].astype(np.int64)
            self._dense[key] = rows
            return previous
        return self._look_back(position, items, rows)

    def _look_back(self, position: Index, items: tuple[CodeArray, ...], rows: Index) -> Index:
        previous = np.full(len(rows), NOWHERE, dtype=np.int64)
        waiting = np.arange(len(rows))
        for lag in range(1, int(position[rows].max(initial=0)) + 1):
            here = rows[waiting]
            waiting, here = waiting[position[here] >= lag], here[position[here] >= lag]
            same = np.ones(len(here), dtype=np.bool_)
            for item in items:
                same &= item[here] == item[here - lag]
            previous[waiting[same]] = here[same] - lag
            waiting = waiting[~same]
            if not len(waiting):
                break
        return previous
