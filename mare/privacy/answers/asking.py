"""What may be asked of a view, held against its public facts before anything is charged or counted."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from mare.domain import Axis, Marginal, axis_size
from mare.errors import InternalError, PrivacyError
from mare.privacy.noise import LARGEST_COUNT
from mare.privacy.till import Till

MOST_CELLS = 2**26
"""Cells of all cross-tabs of one call. Public, so refusing tells nothing."""


def checked_shapes(till: Till, marginals: Sequence[Marginal]) -> list[tuple[int, ...]]:
    """The public shapes of these cross-tabs; refuses axes that the view does not have, and a cross-tab asked twice."""
    seen: set[frozenset[Axis]] = set()
    for marginal in marginals:
        axes = frozenset(marginal.axes)
        if axes in seen:
            raise PrivacyError(
                f"{till.where}: the cross-tab of {described(marginal)} was asked twice in one call. Measure it once: a repeated "
                "or transposed table is the same table, and would be paid for twice."
            )
        seen.add(axes)
    return [tuple(_size(till, axis) for axis in marginal.axes) for marginal in marginals]


def _size(till: Till, axis: Axis) -> int:
    view = till.view
    try:
        size = axis_size(axis, view.domain, view.coarsenings)
    except ValueError as error:
        raise PrivacyError(f"{till.where} has {error}.") from error
    back = axis.lag + axis.same_as_lag + axis.new_since
    if back > view.memory:
        raise PrivacyError(
            f"{till.where}, column {axis.column!r}: the axis looks {back} rows back; the view remembers {view.memory}. "
            "Declare a longer `memory` in the schema."
        )
    return size


def listed(marginals: Sequence[Marginal]) -> str:
    """In the words of the ledger."""
    return "; ".join(described(marginal) for marginal in marginals)


def described(marginal: Marginal) -> str:
    return " × ".join(_axis_words(axis) for axis in marginal.axes) or "rows"


def _axis_words(axis: Axis) -> str:
    level = f" at level {axis.level}" if axis.level else ""
    lag = f" {axis.lag} back" if axis.lag else ""
    same = f" the same {axis.same_as_lag} before" if axis.same_as_lag else ""
    new = f" where it is new since {axis.new_since} before" if axis.new_since else ""
    return f"{axis.column}{level}{lag}{same}{new}"


def checked_table(till: Till, counts: NDArray[np.int64], shape: tuple[int, ...], mass: int) -> NDArray[np.int64]:
    """What the stage counted, if it is what the gate needs: integers, in shape, small enough to add noise to.

    ``mass`` is what all rows weigh together. A table that holds more counts a row twice: a join that fans out.
    """
    if counts.dtype != np.int64 or counts.shape != shape:
        raise InternalError(f"{till.where} answered {counts.dtype} {counts.shape} where int64 {shape} was asked")
    if counts.size and not (counts.min() >= 0 and counts.max() < LARGEST_COUNT):
        raise PrivacyError(f"{till.where}: a count is negative or beyond 2^61: it overflowed, and is not answered.")
    # in floats the sum cannot wrap; what they round away is far below one row of a table that fans out
    if float(counts.sum(dtype=np.float64)) > mass * (1 + 2**-40) + 0.5:
        raise InternalError(f"{till.where} counted more rows than it has: a row was counted twice")
    return counts


def cells_of(shapes: Sequence[tuple[int, ...]]) -> list[int]:
    return [prod(shape) for shape in shapes]
