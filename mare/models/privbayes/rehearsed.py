"""`Rehearsed`: how the history of a task will be distributed when its model samples, where earlier models told it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mare.domain import Axis, Coarsenings, Task

from .tables import Table

_HARDLY_EVER = 0.01
"""Of a row."""


class Rehearsed:
    """Distributions of history as it was drawn. What is measured of it again, with other noise, says nothing more."""

    def __init__(self, task: Task, coarsenings: Coarsenings) -> None:
        self._codes, self._domain, self._coarsenings = task.rehearsed, task.history, coarsenings

    def knows(self, axes: Sequence[Axis]) -> bool:
        plain = all(not (axis.new_since or axis.same_as_lag) for axis in axes)
        return plain and self._codes is not None and all(axis.column in self._codes.columns for axis in axes)

    def table(self, axes: Sequence[Axis]) -> Table:
        """The joint distribution of these axes, each known."""
        if self._codes is None:
            raise KeyError("nothing was rehearsed")
        codes, shape = [], []
        for axis in axes:
            found, size = self._codes[axis.column].astype(np.int64), self._domain.size(axis.column)
            if axis.level:
                level = self._coarsenings[axis.column][axis.level - 1]
                found, size = level.codes[found].astype(np.int64), level.size
            codes.append(found)
            shape.append(size)
        seen = np.bincount(np.ravel_multi_index(codes, shape), minlength=int(np.prod(shape))).astype(np.float64)
        # Hardly ever is not never: what was not drawn this time keeps its conditionals.
        seen += _HARDLY_EVER
        return np.asarray(seen.reshape(shape) / seen.sum())
