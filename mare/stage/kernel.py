"""The counting kernel: cross-tabs of coded rows, exact, in integers, many in one pass over a chunk.

A row's cell in a cross-tab is one number, the row-major index of its codes, so counting is `bincount`. Nothing is
materialised but a chunk: a lag is a shift of the rows, a level a gather in a public table. A chunk is as long as the largest
cross-tab, so that adding up the chunks costs no more than counting them. Everything here is secret.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from mare.domain import DIFFERENT, NO_ROW, SAME, Axis, Coarsenings, CodeArray, Domain, Marginal, axis_size
from mare.errors import InternalError, PrivacyError

Integers = NDArray[np.int64]

CHUNK = 1 << 16
"""Rows at a time, where no cross-tab is larger: what a processor's cache holds."""

LARGEST_DENSE = 1 << 27
"""Cells of a dense cross-tab. More than this is counted sparsely, or not at all."""

_EXACT_FLOAT = 2**53
_LARGEST_SUM = 2**62


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Rows sorted by entity, and within a sequence by their order: the previous row of a sequence is the row above."""

    domain: Domain
    coarsenings: Coarsenings
    entities: int
    owner: Integers
    """Of each row, its entity: 0 … entities-1, ascending."""
    position: Integers | None
    """Of each row, its place in its sequence, from 0; None where rows have no order, and nothing may look back."""
    column: Callable[[str], CodeArray]
    """The codes of a column of the domain, one per row."""

    @property
    def rows(self) -> int:
        return len(self.owner)

    def size(self, axis: Axis) -> int:
        return axis_size(axis, self.domain, self.coarsenings)

    def shape(self, marginal: Marginal) -> tuple[int, ...]:
        return tuple(self.size(axis) for axis in marginal.axes)


def rows_per_entity(rows: CodedRows) -> Integers:
    return np.bincount(rows.owner, minlength=rows.entities).astype(np.int64)


def count_dense(rows: CodedRows, marginals: Sequence[Marginal], weights: Integers | None = None) -> list[Integers]:
    """Cross-tabs, shaped by their axes. With weights, a row counts as much as its entity's weight."""
    shapes = [rows.shape(marginal) for marginal in marginals]
    cells = [prod(shape) for shape in shapes]
    if max(cells, default=0) > LARGEST_DENSE:
        raise InternalError(f"a dense cross-tab of {max(cells):,} cells was asked; at most {LARGEST_DENSE:,} are counted")
    _check_weights(rows, weights)
    totals = [np.zeros(size, dtype=np.int64) for size in cells]
    for start, stop in _chunks(rows.rows, max(cells, default=0)):
        chunk = _Chunk(rows, start, stop)
        factors = None if weights is None else weights[rows.owner[start:stop]]
        for total, marginal in zip(totals, marginals, strict=True):
            total += _tally(chunk.cells(marginal), factors, len(total))
    return [total.reshape(shape) for total, shape in zip(totals, shapes, strict=True)]


def count_sparse(rows: CodedRows, marginal: Marginal, weights: Integers | None = None) -> tuple[Integers, Integers]:
    """The cells that are not zero, ascending, with their counts."""
    cells = prod(rows.shape(marginal))
    _check_cells(cells)
    _check_weights(rows, weights)
    if cells <= max(CHUNK, rows.rows):
        (table,) = count_dense(rows, [marginal], weights)
        flat = table.ravel()
        found = np.flatnonzero(flat).astype(np.int64)
        return found, flat[found]
    if not rows.rows:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    index = np.concatenate([_Chunk(rows, start, stop).cells(marginal) for start, stop in _chunks(rows.rows, 0)])
    if weights is None:
        found, counts = np.unique(index, return_counts=True)
        return found, counts.astype(np.int64)
    order = np.argsort(index, kind="stable")
    index, factors = index[order], weights[rows.owner[order]]
    starts = _run_starts(index)
    found, counts = index[starts], np.add.reduceat(factors, starts)
    # An entity whose weight was rounded down to nothing leaves no trace, not even a zero.
    kept = counts > 0
    return found[kept], counts[kept]


def squared_norms(rows: CodedRows, marginals: Sequence[Marginal]) -> Integers:
    """Per entity Σ_m ‖h_em‖². ‖h‖² is what its rows count when each counts the rows of the entity in its own cell."""
    norms = np.zeros(rows.entities, dtype=np.int64)
    for marginal in marginals:
        _check_cells(prod(rows.shape(marginal)))
    for start, stop in _entity_chunks(rows.owner):
        chunk = _Chunk(rows, start, stop)
        owner = rows.owner[start:stop]
        first = int(owner[0])
        local = owner - first
        for marginal in marginals:
            norms[first : first + int(local[-1]) + 1] += _chunk_norms(local, chunk.cells(marginal), prod(rows.shape(marginal)))
    return norms


class _Chunk:
    """A slice of the rows. Codes that several marginals use are worked out once."""

    def __init__(self, rows: CodedRows, start: int, stop: int) -> None:
        self._rows, self._start, self._stop = rows, start, stop
        self._known: dict[Axis, NDArray[np.integer]] = {}

    def cells(self, marginal: Marginal) -> Integers:
        """Of each row, its cell's row-major index."""
        index = np.zeros(self._stop - self._start, dtype=np.int64)
        for axis in marginal.axes:
            index *= self._rows.size(axis)
            np.add(index, self.codes(axis), out=index, casting="unsafe")  # the codes fit: each was held against its domain
        return index

    def codes(self, axis: Axis) -> NDArray[np.integer]:
        if axis not in self._known:
            self._known[axis] = self._worked_out(axis)
        return self._known[axis]

    def _worked_out(self, axis: Axis) -> NDArray[np.integer]:
        here, there = self._shifted(axis, axis.lag)
        if axis.same_as_lag:
            before, earlier = self._shifted(axis, axis.lag + axis.same_as_lag)
            return np.where(there | earlier, NO_ROW, np.where(here == before, SAME, DIFFERENT))
        if axis.new_since:
            before, earlier = self._shifted(axis, axis.new_since)
            return np.where(~earlier & (here == before), self._rows.size(axis) - 1, here.astype(np.int64))
        if axis.lag:
            return np.where(there, self._rows.size(axis) - 1, here.astype(np.int64))
        return here

    def _shifted(self, axis: Axis, lag: int) -> tuple[NDArray[np.integer], NDArray[np.bool_]]:
        """Codes at the axis' level, that many rows earlier; and where there is no such row (its code then means nothing)."""
        column, size = self._rows.column(axis.column), self._rows.domain.size(axis.column)
        length = self._stop - self._start
        # A row before the first of all is before the first of its sequence too: any code will do there.
        lead = min(length, max(0, lag - self._start))
        codes: NDArray[np.integer] = column[self._start - lag + lead : self._stop - lag] if lead < length else column[:0]
        if lead:
            codes = np.concatenate([np.zeros(lead, dtype=codes.dtype), codes])
        if length and int(codes.max()) >= size:
            raise InternalError(f"column {axis.column!r} holds a code outside its domain of {size}")
        if axis.level:
            codes = self._rows.coarsenings[axis.column][axis.level - 1].codes[codes]
        if not lag:
            return codes, np.zeros(length, dtype=np.bool_)
        if self._rows.position is None:
            raise InternalError(f"column {axis.column!r}: a row was asked to look back where rows have no order")
        return codes, self._rows.position[self._start : self._stop] < lag


def _tally(index: Integers, factors: Integers | None, cells: int) -> Integers:
    if factors is None:
        return np.bincount(index, minlength=cells).astype(np.int64, copy=False)
    most = int(factors.max(initial=0))
    if most * len(factors) < _EXACT_FLOAT:
        # every partial sum is an integer below 2^53, which a double holds exactly
        return np.bincount(index, weights=factors, minlength=cells).astype(np.int64)
    total = np.zeros(cells, dtype=np.int64)
    np.add.at(total, index, factors)
    return total


def _chunk_norms(local: Integers, index: Integers, cells: int) -> Integers:
    entities = int(local[-1]) + 1
    if entities * cells <= 8 * len(index):
        table = np.bincount(local * cells + index, minlength=entities * cells).reshape(entities, cells)
        squared: Integers = np.square(table).sum(axis=1, dtype=np.int64)
        return squared
    if entities * cells < 2**63:
        starts = _run_starts(np.sort(local * cells + index))
    else:
        by_cell = index[np.lexsort((index, local))]
        starts = np.flatnonzero(np.r_[True, (local[1:] != local[:-1]) | (by_cell[1:] != by_cell[:-1])])
    lengths = np.diff(starts, append=len(index))
    # entities come first in either order and keep their places, so row i still belongs to local[i]
    return _tally(local[starts], lengths * lengths, entities)


def _run_starts(ordered: Integers) -> NDArray[np.intp]:
    return np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])


def _chunks(rows: int, cells: int) -> Iterator[tuple[int, int]]:
    step = max(CHUNK, cells)
    for start in range(0, rows, step):
        yield start, min(rows, start + step)


def _entity_chunks(owner: Integers) -> Iterator[tuple[int, int]]:
    """As `_chunks`, but no entity is in two of them."""
    start = 0
    while start < len(owner):
        last = owner[min(len(owner), start + CHUNK) - 1]
        stop = int(np.searchsorted(owner, last, side="right"))
        yield start, stop
        start = stop


def _check_cells(cells: int) -> None:
    if cells > 2**63:
        raise InternalError(f"a cross-tab of {cells:,} cells was asked; a cell's index has to fit 63 bits")


def _check_weights(rows: CodedRows, weights: Integers | None) -> None:
    if weights is None:
        return
    if weights.dtype != np.int64 or weights.shape != (rows.entities,):
        raise InternalError(f"weights are {weights.dtype} in {weights.ndim} dimensions where one int64 per entity was asked")
    if weights.min(initial=0) < 0:
        raise PrivacyError("a weight is negative: it is not counted.")
    if int(weights.max(initial=0)) * rows.rows >= _LARGEST_SUM:
        raise PrivacyError("weighted counts could go beyond 2^62: they would overflow, and are not answered.")
