"""Which constraints of the source the synthetic rows are bound to pass: those that the schema promises, and no others.

A CHECK that a row might break would cost the whole target, after the budget is spent. So what the schema does not
promise is left out here, before the fit, and reported in words.
"""

from __future__ import annotations

from dataclasses import replace

from mare.relational.filling import Constant, Filling, Fresh, Modelled, Numbered
from mare.schema import Schema
from mare.schema.columns import Column, Ordinal
from mare.schema.reflection import Bound, ColumnOrder, ReflectedColumn, ReflectedTable
from mare.schema.relative import SAME_ROW


def bound_columns(
    schema: Schema, table: str, filled: dict[str, Filling], stored: dict[str, ReflectedColumn]
) -> tuple[dict[str, ReflectedColumn], tuple[str, ...]]:
    """The stored columns by logical name, with the values and bounds that hold; and those that were left out, in words."""
    kept: dict[str, ReflectedColumn] = {}
    left: list[str] = []
    for name, column in stored.items():
        described = schema.tables[table].columns.get(name)
        held = column
        if column.values is not None and not _within_values(described, filled[name], column):
            held = replace(held, values=None)
            left.append(f"{column.name} is one of {len(column.values)} values: the schema lists others, or none")
        low, high = _least(described, filled[name]), _most(schema, table, described, filled[name])
        if column.min is not None and not _ordered(column.min, low):
            held = replace(held, min=None)
            if column.min != 0 or "unsigned" not in column.sql_type.lower():  # a type of MySQL's says so itself
                left.append(f"{column.name} >= {column.min}: the schema does not promise it")
        if column.max is not None and not _ordered(high, column.max):
            held = replace(held, max=None)
            left.append(f"{column.name} <= {column.max}: the schema does not promise it")
        if column.domain is not None and (held.values, held.min, held.max) != (column.values, column.min, column.max):
            held = replace(held, domain=None)
            left.append(f"the domain {column.domain.name} of {column.name}: the schema does not promise its checks")
        kept[name] = held
    return kept, tuple(left)


def held_orders(
    schema: Schema, table: str, source: ReflectedTable, stored: dict[str, ReflectedColumn]
) -> tuple[tuple[ColumnOrder, ...], tuple[str, ...]]:
    """The orders of two columns that the schema keeps (`after`, `before`), and the rest, in words."""
    logical = {column.name: name for name, column in stored.items()}
    kept, left = [], []
    for order in source.orders:
        before, after = logical.get(order.before), logical.get(order.after)
        if before is None or after is None:
            continue  # a column that does not come out
        if _keeps_order(schema, table, before, after, order.strict):
            kept.append(order)
        else:
            sign = "<" if order.strict else "<="
            left.append(f"{order.before} {sign} {order.after}: write `after: {before}` at {after} in the schema to keep it")
    return tuple(kept), tuple(left)


def held_uniques(
    schema: Schema, table: str, source: ReflectedTable, filled: dict[str, Filling], stored: dict[str, ReflectedColumn]
) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """The uniques that hold by construction: with the key, a unique of the schema or a fresh value in them, or a parent and a
    position under it."""
    logical = {column.name: name for name, column in stored.items()}
    promised = [set(names) for names in (schema.tables[table].key or (), *schema.tables[table].unique) if names]
    parent = set(schema.parent_columns(table)) if schema.tables[table].parent is not None else set()
    kept, left = [], []
    for unique in source.uniques:
        if not set(unique) <= set(logical):
            continue
        names = {logical[column] for column in unique}
        fresh = any(isinstance(filled[name], Fresh) for name in names)
        numbered = any(isinstance(filled[name], Numbered) for name in names) and bool(parent) and parent <= names
        if fresh or numbered or any(columns <= names for columns in promised):
            kept.append(unique)
        else:
            left.append(f"UNIQUE ({', '.join(unique)}): the schema does not promise it")
    return tuple(kept), tuple(left)


def _within_values(described: Column | None, filling: Filling, column: ReflectedColumn) -> bool:
    if isinstance(filling, Constant) and filling.value is None:
        return True
    listed = {_text(value) for value in column.values or ()}
    possible = None if described is None or not isinstance(filling, Modelled) else described.possible
    return possible is not None and {_text(value) for value in possible} <= listed


def _text(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _least(described: Column | None, filling: Filling) -> Bound | None:
    if isinstance(filling, Numbered):
        return filling.start
    if isinstance(filling, Fresh) and filling.generate in (None, "sequence"):
        return filling.start
    return None if described is None else described.promised("min")


def _most(schema: Schema, table: str, described: Column | None, filling: Filling) -> Bound | None:
    if isinstance(filling, Numbered):
        link = schema.tables[table].parent
        rows = link.max_rows if link is not None else None
        return filling.start + rows - 1 if isinstance(rows, int) else None
    return described.promised("max") if described is not None and isinstance(filling, Modelled) else None


def _ordered(smaller: Bound | None, larger: Bound | None) -> bool:
    if smaller is None or larger is None:
        return False
    try:
        return bool(smaller <= larger)  # type: ignore[operator]
    except TypeError:  # a date and a moment: not of one kind, so nothing is promised
        return False


def _keeps_order(schema: Schema, table: str, before: str, after: str, strict: bool) -> bool:
    columns = schema.tables[table].columns
    for name, other, fields in ((after, before, ("after", "during.0")), (before, after, ("before", "during.1"))):
        column = columns.get(name)
        if isinstance(column, Ordinal) and (column.strict or not strict):
            anchors = column.anchors
            if any(f in anchors and (anchors[f].scope, anchors[f].column) == (SAME_ROW, other) for f in fields):
                return True
    return False
