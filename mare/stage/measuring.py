"""What is measured of a staged table before it has bins or a list of values: built here, over true rows, for the gate alone.

A column that was read (`Staged.read`) gives its own numbers, those of its sequences' first rows, or how far its sequences have
come. Rows that stand in for a missing one are not among them.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from mare.codec import ScaledCodec, TableCodec
from mare.codec.category import coded_by_value
from mare.domain import Domain, smallest_dtype
from mare.errors import InternalError

from .measured import MeasuredColumn
from .staged import Staged
from .view import StagedView

Measure = Literal["values", "first", "elapsed"]
"""Of an ordered column: its own numbers, those that its sequences begin with, or how far they have come when a row begins."""

CODE = "code"
"""The one column of a view of listed values."""


def measured_column(staged: Staged, table: str, name: str, measure: Measure, codec: TableCodec, most_rows: int) -> MeasuredColumn:
    """One number for each row that has one (of ``first``: for each parent row), with the items of a number whose scale depends on
    another column. The table has been read."""
    if measure == "elapsed":
        return _elapsed(staged, table, name, most_rows)
    return _first(staged, table, name, most_rows) if measure == "first" else _values(staged, table, name, codec, most_rows)


def listed_view(staged: Staged, table: str, name: str, listed: tuple[str, ...], most_rows: int) -> StagedView:
    """Which value of a public list each row holds; one outside it is the last code."""
    size = len(listed) + 1
    codes, _ = coded_by_value(
        staged.values(table)[name], {text: code for code, text in enumerate(listed)}, len(listed), len(listed), size
    )
    known = staged.known(table)
    owner, coded = staged.tables[table].entity[known], {CODE: codes[known].astype(smallest_dtype(size))}
    return StagedView(f"{table}.{name}", Domain((CODE,), (size,)), most_rows, staged.entities, owner, coded)


def _values(staged: Staged, table: str, name: str, codec: TableCodec, most_rows: int) -> MeasuredColumn:
    """The rows that have a number, of those that are counted at all."""
    read, rows = staged.as_read(table), staged.tables[table]
    reading, one = read.readings[name], codec.columns[name]
    counted = reading.ordinary if rows.unknown is None else reading.ordinary & ~rows.unknown
    at = np.flatnonzero(counted)
    items = one.item_of(read.codes)[at] if isinstance(one, ScaledCodec) else None
    return MeasuredColumn(f"{table}.{name}", most_rows, staged.entities, rows.entity[at], reading.measure[at], items)


def _elapsed(staged: Staged, table: str, name: str, most_rows: int) -> MeasuredColumn:
    at, owner = staged.known(table), staged.tables[table].entity
    elapsed = staged.as_read(table).elapsed[name][at]
    return MeasuredColumn(f"{table}.elapsed({name})", most_rows, staged.entities, owner[at], elapsed)


def _first(staged: Staged, table: str, name: str, most_rows: int) -> MeasuredColumn:
    """One for each parent row that has any."""
    first, parent = staged.as_read(table).firsts[name], staged.tables[table].needs.parent
    if parent is None:
        raise InternalError(f"table {table!r} has sequences but no parent")
    above = staged.tables[parent]
    at = first.ordinary if above.unknown is None else first.ordinary & ~above.unknown[first.parents]
    owner = above.entity[first.parents[at]]
    return MeasuredColumn(f"{table}.first({name})", most_rows, staged.entities, owner, first.measure[at])
