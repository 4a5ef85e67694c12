"""`Clarity`: how far what a model has measured stands clear of its noise. Read by the card; sampling asks it for the mean gap of
a sequence, and does without where there is none.

Post-processing of noisy answers. It travels with the model's own arrays, under names that begin with ``clear.``; a model that
says nothing of it, or a release from before there was any, has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mare.domain import Task
from mare.errors import ReleaseError

PREFIX = "clear."
Fractions = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Margin:
    """How a column is distributed, as all tables together say."""

    fractions: Fractions
    deviation: float
    """Of the noise in each fraction, before it was settled."""
    rows: float
    """Of how many rows, noisily: fewer than there are where entities with many were scaled down."""


@dataclass(frozen=True)
class ClearTable:
    """A cross-tab that was measured to draw from."""

    columns: tuple[str, ...]
    """Of the task, the history among them; the one that is drawn comes last."""
    cells: int
    deviation: float
    """Of the noise in each cell, as a fraction of all rows."""


@dataclass(frozen=True, eq=False)
class Clarity:
    margins: Mapping[str, Margin]
    """By column of the task."""
    tables: tuple[ClearTable, ...] = ()

    def arrays(self, names: Sequence[str] = ()) -> dict[str, NDArray[np.generic]]:
        """As plain arrays; the columns of tables by their number among the task's ``names``."""
        stored: dict[str, NDArray[np.generic]] = {}
        for name, margin in self.margins.items():
            stored[f"{PREFIX}margin.{name}"] = np.array([*margin.fractions, margin.deviation, margin.rows])
        for place, table in enumerate(self.tables):
            stored[f"{PREFIX}table.{place}"] = np.array([names.index(name) for name in table.columns], dtype=np.int32)
        if self.tables:
            figures = [(table.cells, table.deviation) for table in self.tables]
            stored[f"{PREFIX}tables"] = np.array(figures, dtype=np.float64)
        return stored


def read_clarity(task: Task, arrays: Mapping[str, NDArray[np.generic]]) -> Clarity | None:
    """What a model's arrays say of it, if anything; refuses what does not fit the task."""
    names, margins, tables = task.domain.names, dict[str, Margin](), list[ClearTable]()
    for name in task.columns:
        stored = arrays.get(f"{PREFIX}margin.{name}")
        if stored is not None:
            if stored.shape != (task.domain.size(name) + 2,) or not _sound(stored):
                raise ReleaseError(f"group {task.group!r}: what is said of the noise of {name!r} is damaged.")
            figures = stored.astype(np.float64)
            margins[name] = Margin(figures[:-2], float(figures[-2]), float(figures[-1]))
    measured = arrays.get(f"{PREFIX}tables")
    for place, figures in enumerate(() if measured is None else measured):
        axes = arrays.get(f"{PREFIX}table.{place}")
        whole = axes is not None and np.issubdtype(axes.dtype, np.integer) and axes.ndim == 1 and figures.shape == (2,)
        if (
            axes is None
            or not whole
            or not _sound(figures)
            or figures[0] < 1
            or not all(0 <= int(axis) < len(names) for axis in axes)
        ):
            raise ReleaseError(f"group {task.group!r}: what is said of the noise of its tables is damaged.")
        tables.append(ClearTable(tuple(names[int(axis)] for axis in axes), int(figures[0]), float(figures[1])))
    return Clarity(margins, tuple(tables)) if margins else None


def _sound(figures: NDArray[np.generic]) -> bool:
    return bool(np.issubdtype(figures.dtype, np.floating) and np.isfinite(figures).all() and (figures >= 0).all())  # type: ignore[operator]
