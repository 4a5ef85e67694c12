"""The source's own CHECKs, name and all, where what comes out keeps what they say."""

from __future__ import annotations

from dataclasses import replace

from mare.schema.reflection import Check, ReflectedColumn, ReflectedTable
from mare_adapters.sources.checks import apply_checks

from .expressions import is_harmless


def own_checks(table: ReflectedTable) -> tuple[list[Check], ReflectedTable]:
    """The checks that hold, and the table without the values, bounds and orders that they say already."""
    bare = replace(
        table,
        columns=tuple(replace(column, values=None, min=None, max=None, nullable=True) for column in table.columns),
        orders=(),
        checks=(),
        unread_checks=(),
    )
    columns, orders = {column.name: column for column in table.columns}, list(table.orders)
    held = []
    for check in table.checks:
        if not is_harmless(check.text, columns, table.dialect):
            continue
        told = apply_checks(bare, [check.text])
        says = [column for column in told.columns if (column.values, column.min, column.max) != (None, None, None)]
        kept = all(_implied(column, table.column(column.name)) for column in says)
        if told.unread_checks or not kept or not set(told.orders) <= set(table.orders) or not (says or told.orders):
            continue
        held.append(check)
        columns |= {column.name: _without(columns[column.name], column) for column in says}
        orders = [order for order in orders if order not in told.orders]
    return held, replace(table, columns=tuple(columns.values()), orders=tuple(orders))


def _implied(said: ReflectedColumn, column: ReflectedColumn | None) -> bool:
    """Whether every value of the column passes."""
    if column is None:
        return False
    low = said.min is None or (column.min is not None and column.min >= said.min)  # type: ignore[operator]
    high = said.max is None or (column.max is not None and column.max <= said.max)  # type: ignore[operator]
    listed = said.values is None or (column.values is not None and set(column.values) <= set(said.values))
    return low and high and listed


def _without(column: ReflectedColumn, said: ReflectedColumn) -> ReflectedColumn:
    return replace(
        column,
        values=None if column.values == said.values else column.values,
        min=None if column.min == said.min else column.min,
        max=None if column.max == said.max else column.max,
    )
