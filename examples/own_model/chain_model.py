"""A model of one's own, whole: every column given one other, its own previous value where there is one.

It shows the plug-in contract (`mare.models.TabularModel`). A model is handed a curator and a task, never rows: whatever it
asks, the curator charges and answers with noise. So it is private without having to know how, and its guarantee is the
release's ledger. This one is deliberately simple; `privbayes` chooses better parents, and more than one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mare.domain import Codes, Marginal, OptionValue, Task, smallest_dtype
from mare.errors import ReleaseError
from mare.models import FittedModel, Workload
from mare.privacy.curator import Clip, Curator

Table = NDArray[np.float64]


def parents(task: Task) -> dict[str, str | None]:
    """What each column is given: its own previous value, else the column before it, else nothing."""
    own = {column: name for name, (column, rows_back) in task.lags.items() if rows_back == 1}
    before: str | None = None
    found = {}
    for column in task.columns:
        wanted = own.get(column, before)
        small = wanted is not None and task.domain.cells([wanted, column]) <= int(task.options["max_cells"] or 0)
        found[column] = wanted if small else None
        before = column
    return found


@dataclass(frozen=True, eq=False)
class FittedChain:
    """One table for each column: a row for every code of its parent, which sums up to 1."""

    given: Mapping[str, str | None]
    tables: Mapping[str, Table]
    row_by_row: ClassVar[bool] = True  # one random number a row and column, so the sampler may cut chunks as it likes

    @property
    def looks_at(self) -> frozenset[str]:
        """The history that it uses; no other is gathered for it."""
        return frozenset(parent for parent in self.given.values() if parent is not None and parent not in self.tables)

    def sample(self, history: Codes, rng: np.random.Generator) -> Codes:
        drawn = history
        for column, table in self.tables.items():
            parent = self.given[column]
            steps = np.cumsum(table, axis=1)[:, :-1]
            # A random number between 0 and 1 falls on as many steps as its code says.
            at = drawn[parent] if parent is not None else np.zeros(history.rows, dtype=np.intp)
            codes = (rng.random(history.rows)[:, None] >= steps[at]).sum(axis=1)
            drawn = drawn.with_columns({column: codes.astype(smallest_dtype(table.shape[1]))})
        return Codes(history.rows, {column: drawn[column] for column in self.tables})

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        return dict(self.tables)


class ChainModel:
    """Every column given one other."""

    name: ClassVar[str] = "chain"
    summary: ClassVar[str] = "Each column given its own previous value, or the column before it."
    options: ClassVar[Mapping[str, OptionValue]] = {"max_cells": 2000}

    def workload(self, task: Task) -> Workload:
        """For the preview of the noise: how many cross-tabs, and how large. From the domains alone."""
        cells = [task.domain.cells(_axes(column, parent)) for column, parent in parents(task).items()]
        return Workload(histograms=len(cells), largest=max(cells, default=0), cells=sum(cells))

    def fit(self, curator: Curator, task: Task) -> FittedModel:
        given = parents(task)
        if not given:
            return FittedChain({}, {})
        # One question for all tables, paid by one charge. Who has many rows is scaled down, or the noise would follow the cap.
        clip = Clip.chosen() if curator.max_rows_per_entity > 1 else None
        answers = curator.counts([Marginal.of(*_axes(column, parent)) for column, parent in given.items()], 1.0, clip)
        return FittedChain(given, {column: _given_parent(answer.rows) for column, answer in zip(given, answers, strict=True)})

    def load(self, task: Task, arrays: Mapping[str, NDArray[np.generic]]) -> FittedModel:
        """Back from a release, which may come from anywhere: what does not fit is refused."""
        given = parents(task)
        for column, parent in given.items():
            shape = (task.domain.size(parent) if parent is not None else 1, task.domain.size(column))
            if column not in arrays or arrays[column].shape != shape:
                raise ReleaseError(f"group {task.group!r}: the table of {column!r} is missing or has another shape.")
        return FittedChain(given, {column: arrays[column].astype(np.float64) for column in given})


def _axes(column: str, parent: str | None) -> list[str]:
    return [column] if parent is None else [parent, column]


def _given_parent(noisy: Table) -> Table:
    """Noisy counts as one distribution a row; what noise has emptied gets the distribution of all."""
    counts = np.maximum(np.atleast_2d(noisy), 0.0)
    everyone = counts.sum(axis=0) + 1e-9
    rows = np.where(counts.sum(axis=1, keepdims=True) > 0, counts, everyone)
    return np.asarray(rows / rows.sum(axis=1, keepdims=True), dtype=np.float64)
