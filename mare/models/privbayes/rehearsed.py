"""`Rehearsed`: how the columns come out that a conditional looks at, drawn by those before it.

A family's own table tells how its parents are distributed, with noise of its own; a sampler finds what the conditionals before it
draw. So rows are drawn while the conditionals are made, one column after the other, and each conditional is raked so that its
column comes out of *these* rows as all tables together say. History is taken as earlier models draw it, where they were
rehearsed. Drawn from what was paid for: post-processing, free.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mare.domain import Axis, Coarsenings, CodeArray, Task

from .candidates import Family
from .fitted import quotas
from .noisy_tables import Table

ROWS = 1 << 16
"""Enough to tell a distribution to a thousandth where values are drawn by quotas, few enough to cost nothing."""
_HARDLY_EVER = 0.01
"""Of a row."""


def rehearses_all(task: Task) -> bool:
    """Whether all that a column of this task may look at will have been drawn when its conditional is made."""
    return set(task.history) <= set(() if task.rehearsed is None else task.rehearsed.columns)


class Rehearsed:
    """Columns as they were drawn. What is measured of their joint distribution again, with other noise, says nothing more."""

    def __init__(self, task: Task, coarsenings: Coarsenings) -> None:
        self._task, self._coarsenings = task, coarsenings
        history = {} if task.rehearsed is None else task.rehearsed.columns
        self._rows = ROWS if task.rehearsed is None else task.rehearsed.rows
        self._drawn: dict[str, CodeArray] = dict(history)
        self._random = np.random.Generator(np.random.Philox(0))

    def knows(self, axes: Sequence[Axis]) -> bool:
        return all(not (axis.new_since or axis.same_as_lag) and axis.column in self._drawn for axis in axes)

    def draw(self, family: Family, conditional: Table) -> None:
        """A column more, where all is known that it is drawn from."""
        if not self.knows(family.parents):
            return
        rows, _ = self._combined(family.parents)
        steps = np.cumsum(conditional, axis=1)
        steps = steps / steps[:, -1:] + np.arange(len(steps))[:, None]
        size = conditional.shape[1]
        places = np.searchsorted(steps.ravel(), rows + quotas(rows, self._random), side="right") - rows * size
        self._drawn[family.column] = np.clip(places, 0, size - 1).astype(np.int32)

    def table(self, axes: Sequence[Axis]) -> Table:
        """The joint distribution of these axes, each known."""
        codes, shape = self._combined(axes)
        seen = np.bincount(codes, minlength=int(np.prod(shape))).astype(np.float64)
        # Hardly ever is not never: what was not drawn this time keeps its conditionals.
        seen += _HARDLY_EVER
        return np.asarray(seen.reshape(shape) / seen.sum())

    def _combined(self, axes: Sequence[Axis]) -> tuple[np.ndarray, list[int]]:
        codes, shape = np.zeros(self._rows, dtype=np.int64), []
        for axis in axes:
            column, size = self._drawn[axis.column].astype(np.int64), self._task.domain.size(axis.column)
            if axis.level:
                level = self._coarsenings[axis.column][axis.level - 1]
                column, size = level.codes[column].astype(np.int64), level.size
            codes = codes * size + column
            shape.append(size)
        return codes, shape
