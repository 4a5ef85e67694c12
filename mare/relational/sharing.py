"""What is the same for all rows below one row: one code in the context, and all those rows have it.

The stage takes it from the first row that is kept, the sampler gives it to every row.
"""

from __future__ import annotations

import numpy as np

from mare.domain import CodeArray, smallest_dtype
from mare.schema.sameness import Shared

from .placing import Index, PlacedTables


def rows_above(shared: Shared, around: PlacedTables) -> Index:
    """Of each row of the column's table, the row above that the value is the same for."""
    return around.climb(np.arange(around.tables[shared.table].rows, dtype=np.int64), shared.table, shared.above)


def first_rows(above: Index, count: int) -> Index:
    """Of each of so many rows above, the first row below; any row where there is none."""
    firsts = np.zeros(count, dtype=np.int64)
    firsts[above[::-1]] = np.arange(len(above), dtype=np.int64)[::-1]  # of several, the one that is written last stays
    return firsts


def context_codes(above: Index, count: int, codes: CodeArray, size: int) -> CodeArray:
    """For each row above, the code of its first row below; the last code where there is none."""
    held = np.full(count, size, dtype=smallest_dtype(size + 1))
    if len(above):
        held[above] = codes[first_rows(above, count)[above]]
    return held
