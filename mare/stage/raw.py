"""`StagedColumn`: a column before it has a domain, over the truncated table in the staging database.

It implements `mare.privacy.view.PrivateColumn`, for a learner alone. What is asked is SQL on the staged relation, so that of a
table larger than memory never more comes out than one number per row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mare.domain import Domain, smallest_dtype
from mare.errors import InternalError

from .view import StagedView

if TYPE_CHECKING:
    from .staged import Staged, StagedTable

Numbers = NDArray[np.float64]

_NUMBERS = {"DATE": "CAST({v} - DATE '1970-01-01' AS DOUBLE)", "TIMESTAMP": "CAST(epoch_us({v}) AS DOUBLE)"}
"""Dates count in days, moments in microseconds since 1970. All else is the number it says, or none."""


@dataclass(frozen=True, eq=False)
class StagedColumn:
    """One modelled column of one staged table."""

    staged: Staged
    table: str
    column: str
    max_rows_per_entity: int
    """S of the table's rows, as the plan derived it. Not measured here."""
    measured: Callable[[], Numbers] | None = None
    """Where the numbers are not the column's own but worked out from it (a gap from an anchor): one per row, NaN for none."""

    @property
    def name(self) -> str:
        return f"{self.table}.{self.column}"

    def binned(self, edges: Sequence[float], label: str) -> StagedView:
        numbers = self._numbers() if self.measured is None else self.measured()
        owner = self._table.entity
        if numbers.shape != owner.shape:
            raise InternalError(f"{self.name}: {numbers.size} numbers were measured for {owner.size} rows")
        cells = len(edges) - 1
        inner = np.asarray(edges[1:-1], dtype=np.float64)
        codes = np.where(np.isnan(numbers), cells, np.searchsorted(inner, numbers, side="right"))
        coded = {label: codes.astype(smallest_dtype(cells + 1))}
        return StagedView(self.name, Domain((label,), (cells + 1,)), self.max_rows_per_entity, self.staged.entities, owner, coded)

    def keys(self, most: int, key: bytes) -> Mapping[str, int]:
        # ``h`` is the row's own keyed hash: an entity's place in the table would change when another one leaves.
        rows = f"{self._table.relation} p JOIN {self._table.raw} r ON r.rowid = p.row"
        held = (
            f"SELECT entity, CAST({self._value} AS VARCHAR) AS value, min(sha256($1 || CAST(h AS VARCHAR))) AS pick "
            f"FROM {rows} WHERE {self._value} IS NOT NULL GROUP BY ALL"
        )
        ranked = f"SELECT value, row_number() OVER (PARTITION BY entity ORDER BY pick, value) AS rank FROM ({held})"
        found = self.staged.connection.execute(
            f"SELECT value, count(*) FROM ({ranked}) WHERE rank <= $2 GROUP BY value", [key.hex(), most]
        )
        return {str(value): int(count) for value, count in found.fetchall()}

    def _numbers(self) -> Numbers:
        raw, connection = self._table.raw, self.staged.connection
        types = {row[0]: row[1] for row in connection.execute(f"DESCRIBE {raw}").fetchall()}
        number = _NUMBERS.get(types[self._value], "TRY_CAST({v} AS DOUBLE)").format(v=self._value)
        found = connection.sql(f"SELECT coalesce({number}, 'nan'::DOUBLE) AS number FROM {raw}").fetchnumpy()
        # A row that stands in for a missing one has no number.
        return np.append(np.asarray(found["number"], dtype=np.float64), np.nan)[self._table.row]

    @property
    def _table(self) -> StagedTable:
        return self.staged.tables[self.table]

    @property
    def _value(self) -> str:
        values = self._table.needs.values
        if self.column not in values:
            raise InternalError(f"{self.name} is not staged as a modelled column")
        return f"v{values.index(self.column)}"
