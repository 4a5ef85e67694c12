"""The counting kernel: cross-tabs of coded rows, exact, in integers.

A row's cell in a cross-tab is one number, the row-major index of its codes, so counting is one pass over small integers:
compiled where there is much to count and a compiler is there, numpy else, in chunks. The integers are the same. What is kept
of a table is a code of two bytes per row and axis that was asked for. Everything here is secret.

Where numba is not installed (`pip install 'mare-synth[fast]'`), or does not go with this numpy, numpy counts. Compiled code is
kept beside this file, or where NUMBA_CACHE_DIR says; the first fit on a machine compiles, which takes some seconds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mare.domain import DIFFERENT, NO_ROW, SAME, Axis, Coarsenings, CodeArray, Domain, Marginal, axis_size
from mare.errors import InternalError, PrivacyError

Integers = NDArray[np.int64]

CHUNK = 1 << 16
"""Rows at a time, where no cross-tab is larger: what a processor's cache holds."""

COMPILED_FROM = 1 << 21
"""Rows times cross-tabs from which loading the compiled loops pays."""

THREADS = min(4, os.cpu_count() or 1)

LARGEST_DENSE = 1 << 27
"""Cells of a dense cross-tab. More than this is counted sparsely, or not at all."""

_EXACT_FLOAT = 2**53
_TWO_BYTES = 1 << 16
_MOST_SEEN = 1 << 22
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
    _known: dict[Axis, NDArray[np.integer]] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return len(self.owner)

    def size(self, axis: Axis) -> int:
        return axis_size(axis, self.domain, self.coarsenings)

    def shape(self, marginal: Marginal) -> tuple[int, ...]:
        return tuple(self.size(axis) for axis in marginal.axes)

    def codes(self, axis: Axis) -> NDArray[np.integer]:
        """Of each row, its code on an axis; worked out once, in two bytes wherever they hold it."""
        if axis not in self._known:
            small = self.size(axis) <= _TWO_BYTES
            self._known[axis] = np.ascontiguousarray(self._worked_out(axis), dtype=np.uint16 if small else np.int64)
        return self._known[axis]

    def _worked_out(self, axis: Axis) -> NDArray[np.integer]:
        here, there = self._shifted(axis, axis.lag)
        if axis.same_as_lag:
            before, earlier = self._shifted(axis, axis.lag + axis.same_as_lag)
            return np.where(there | earlier, NO_ROW, np.where(here == before, SAME, DIFFERENT))
        if axis.new_since:
            before, earlier = self._shifted(axis, axis.new_since)
            return np.where(~earlier & (here == before), self.size(axis) - 1, here.astype(np.int64))
        if axis.lag:
            return np.where(there, self.size(axis) - 1, here.astype(np.int64))
        return here

    def _shifted(self, axis: Axis, lag: int) -> tuple[NDArray[np.integer], NDArray[np.bool_]]:
        """Codes at the axis' level, that many rows earlier; and where there is no such row (its code then means nothing)."""
        codes: NDArray[np.integer] = self.column(axis.column)
        size = self.domain.size(axis.column)
        if len(codes) and int(codes.max()) >= size:
            raise InternalError(f"column {axis.column!r} holds a code outside its domain of {size}")
        if lag:
            # A row before the first of all is before the first of its sequence too: any code will do there.
            codes = np.concatenate([np.zeros(min(lag, self.rows), dtype=codes.dtype), codes[: max(0, self.rows - lag)]])
        if axis.level:
            codes = self.coarsenings[axis.column][axis.level - 1].codes[codes]
        if not lag:
            return codes, np.zeros(self.rows, dtype=np.bool_)
        if self.position is None:
            raise InternalError(f"column {axis.column!r}: a row was asked to look back where rows have no order")
        return codes, self.position < lag

    def cells(self, marginal: Marginal, start: int, stop: int) -> Integers:
        """Of each row of a chunk, its cell's row-major index."""
        index = np.zeros(stop - start, dtype=np.int64)
        for axis in marginal.axes:
            index *= self.size(axis)
            np.add(
                index, self.codes(axis)[start:stop], out=index, casting="unsafe"
            )  # the codes fit: each was held against its domain
        return index


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
    loops = _loops(rows, marginals)
    if loops is not None:
        factors = np.zeros(0, dtype=np.int64) if weights is None else np.ascontiguousarray(weights)

        asked = zip(marginals, totals, strict=True)
        _together(loops.tally, [(*_four_axes(rows, m), rows.owner, factors, total) for m, total in asked])
    else:
        for start, stop in _chunks(rows.rows, max(cells, default=0)):
            heavy = None if weights is None else weights[rows.owner[start:stop]]
            for total, marginal in zip(totals, marginals, strict=True):
                total += _tally(rows.cells(marginal, start, stop), heavy, len(total))
    return [total.reshape(shape) for total, shape in zip(totals, shapes, strict=True)]


def count_sparse(rows: CodedRows, marginal: Marginal, weights: Integers | None = None) -> tuple[Integers, Integers]:
    """The cells that are not zero, ascending, with their counts."""
    cells = prod(rows.shape(marginal))
    _check_cells(cells)
    _check_weights(rows, weights)
    if cells <= max(CHUNK, rows.rows):
        (table,) = count_dense(rows, [marginal], weights)
        flat = table.ravel()
        occupied = np.flatnonzero(flat).astype(np.int64)
        return occupied, flat[occupied]
    if not rows.rows:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    index = np.concatenate([rows.cells(marginal, start, stop) for start, stop in _chunks(rows.rows, 0)])
    if weights is None:
        occupied, counts = np.unique(index, return_counts=True)
        return occupied, counts.astype(np.int64)
    order = np.argsort(index, kind="stable")
    index, factors = index[order], weights[rows.owner[order]]
    starts = _run_starts(index)
    occupied, counts = index[starts], np.add.reduceat(factors, starts)
    # An entity whose weight was rounded down to nothing leaves no trace, not even a zero.
    kept = counts > 0
    return occupied[kept], counts[kept]


def squared_norms(rows: CodedRows, marginals: Sequence[Marginal]) -> Integers:
    """Per entity Σ_m ‖h_em‖². ‖h‖² is what its rows count when each counts the rows of the entity in its own cell."""
    sizes = [prod(rows.shape(marginal)) for marginal in marginals]
    for size in sizes:
        _check_cells(size)
    loops = _loops(rows, marginals) if max(sizes, default=0) <= _MOST_SEEN else None
    if loops is not None:
        parts = [np.zeros(rows.entities, dtype=np.int64) for _ in marginals]
        scratch = [np.zeros(size, dtype=np.int64) for size in sizes]
        asked = zip(marginals, scratch, parts, strict=True)
        _together(loops.norms, [(*_four_axes(rows, m), rows.owner, seen, part) for m, seen, part in asked])
        return np.asarray(np.sum(parts, axis=0, dtype=np.int64))
    norms = np.zeros(rows.entities, dtype=np.int64)
    for start, stop in _entity_chunks(rows.owner):
        owner = rows.owner[start:stop]
        first = int(owner[0])
        local = owner - first
        for marginal, size in zip(marginals, sizes, strict=True):
            norms[first : first + int(local[-1]) + 1] += _chunk_norms(local, rows.cells(marginal, start, stop), size)
    return norms


def _loops(rows: CodedRows, marginals: Sequence[Marginal]) -> CompiledLoops | None:
    """The compiled loops, where there is enough to count for them and every cross-tab is one that they know."""
    if not rows.rows or not marginals or rows.rows * len(marginals) < COMPILED_FROM:
        return None
    if any(len(m.axes) > MOST_AXES or any(size > _TWO_BYTES for size in rows.shape(m)) for m in marginals):
        return None
    return compiled_loops()


def _four_axes(rows: CodedRows, marginal: Marginal) -> tuple[Any, ...]:
    """The codes of four axes and the sizes of the last three; those in front that a cross-tab does not have are constant."""
    spare = MOST_AXES - len(marginal.axes)
    codes = [*([_zeros(rows.rows)] * spare), *(rows.codes(axis) for axis in marginal.axes)]
    sizes = [*([1] * spare), *rows.shape(marginal)]
    return *codes, tuple(sizes[1:])


@lru_cache(maxsize=4)
def _zeros(rows: int) -> NDArray[np.uint16]:
    return np.zeros(rows, dtype=np.uint16)


def _together(loop: Callable[..., None], asked: Sequence[tuple[Any, ...]]) -> None:
    """One cross-tab a thread: the loops let go of the interpreter, and no two write to the same numbers."""
    with ThreadPoolExecutor(max_workers=min(THREADS, len(asked))) as threads:
        for done in [threads.submit(loop, *arguments) for arguments in asked]:
            done.result()


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


Codes = NDArray[np.uint16]

MOST_AXES = 4
"""Cross-tabs of more axes are counted by numpy."""


@dataclass(frozen=True)
class CompiledLoops:
    """Codes come as four axes, row-major; those that are not needed are zero, of size 1."""

    tally: Callable[..., None]
    """(codes × 4, sizes, owner, weights, total): adds every row to its cell, by its entity's weight where there are weights."""
    norms: Callable[..., None]
    """(codes × 4, sizes, owner, seen, norms): adds to every entity's norm; ``seen`` is scratch, zero before and after."""


@cache
def compiled_loops() -> CompiledLoops | None:
    """The loops, or None where nothing can compile them."""
    try:
        import numba
    except ImportError:
        # Not installed; or installed, and too old or too new for this numpy.
        return None
    try:
        return CompiledLoops(*(numba.njit(nogil=True, cache=True)(loop) for loop in (_tally_rows, _norm_rows)))
    except RuntimeError:
        # Nowhere to keep what is compiled: a read-only installation. Then it is compiled each time.
        return CompiledLoops(*(numba.njit(nogil=True)(loop) for loop in (_tally_rows, _norm_rows)))


def _tally_rows(
    a: Codes, b: Codes, c: Codes, d: Codes, sizes: tuple[int, int, int], owner: Integers, weights: Integers, total: Integers
) -> None:
    size_b, size_c, size_d = sizes
    if weights.size:
        for row in range(a.size):
            total[((a[row] * size_b + b[row]) * size_c + c[row]) * size_d + d[row]] += weights[owner[row]]
    else:
        for row in range(a.size):
            total[((a[row] * size_b + b[row]) * size_c + c[row]) * size_d + d[row]] += 1


def _norm_rows(
    a: Codes, b: Codes, c: Codes, d: Codes, sizes: tuple[int, int, int], owner: Integers, seen: Integers, norms: Integers
) -> None:
    size_b, size_c, size_d = sizes
    start = 0
    while start < a.size:
        entity, stop, norm = owner[start], start, 0
        while stop < a.size and owner[stop] == entity:
            cell = ((a[stop] * size_b + b[stop]) * size_c + c[stop]) * size_d + d[stop]
            # (n + 1)² - n², summed over the rows of a cell, is the square of their number.
            norm += 2 * seen[cell] + 1
            seen[cell] += 1
            stop += 1
        norms[entity] += norm
        for row in range(start, stop):
            seen[((a[row] * size_b + b[row]) * size_c + c[row]) * size_d + d[row]] = 0
        start = stop
