"""How far the taking of given rows is, told to whoever waits: a table is read, put into its types, placed and coded.

Each of it goes over all of a table's values. How many a file holds is known when it was read, and guessed from its size before.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mare.ports import Watch, WorkStep

if TYPE_CHECKING:
    import pyarrow as pa

    from .given_files import Given, GivenRows

STEPS = ("reading", "taking", "placing", "coding")
_VALUE, _PACKED = 8, 2
"""Bytes of a value in a CSV file, and in a compressed one, about."""


class GivenSteps:
    """Tells the steps of all tables as they begin."""

    def __init__(self, given: Given, watch: Watch | None = None) -> None:
        self._values = {table: _about(rows) for table, rows in given.items()} if watch is not None else {}
        self._watch = watch
        self._begun: list[str] = []

    def begin(self, step: str, table: str) -> None:
        """One of `STEPS`, of one of the given tables."""
        if self._watch is not None and table in self._values:
            before = sum(self._values[one] for one in self._begun)
            self._watch(WorkStep(f"{step} {table}", before, self._values[table], len(STEPS) * sum(self._values.values())))
            self._begun.append(table)

    def have_read(self, tables: Mapping[str, pa.Table]) -> None:
        """From now on nothing is guessed."""
        if self._watch is not None:
            self._values = {table: rows.num_rows * rows.num_columns for table, rows in tables.items()}


def _about(rows: GivenRows) -> int:
    """Values of a table. Whatever is wrong with it is told by whoever reads it."""
    if not isinstance(rows, str | Path):
        return int(rows.shape[0] * rows.shape[1]) if hasattr(rows, "shape") else 0
    try:
        size = Path(rows).stat().st_size
    except (OSError, ValueError):
        return 0
    return size // (_VALUE if Path(rows).suffix.lower() == ".csv" else _PACKED)
