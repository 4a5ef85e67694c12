"""Anchors as the schema writes them, as the rows that they name: `parent` becomes a table, a copy becomes its original."""

from __future__ import annotations

from mare.schema import Schema
from mare.schema.columns import Ordinal, Quantity
from mare.schema.layout import Layout
from mare.schema.relative import PARENT_ROW, PREVIOUS_ROW, SAME_ROW, Anchor


class Unanchored(Exception):
    """Why nothing can hang there. The message is about the schema alone."""


def resolved_anchor(schema: Schema, table: str, text: str) -> Anchor:
    """The anchor with a table's name for its scope (or the same row, or the previous one)."""
    return _resolved(schema, table, Anchor.parse(text), text, 0)


def _resolved(schema: Schema, table: str, anchor: Anchor, written: str, depth: int) -> Anchor:
    here = anchor.scope in (SAME_ROW, PREVIOUS_ROW)
    home = table if here else named_table(schema, table, anchor.scope)
    column = schema.tables[home].columns.get(anchor.column)
    if not isinstance(column, Ordinal) or (isinstance(column, Quantity) and column.by is not None) or depth > len(schema.tables):
        raise Unanchored(f"its anchor {written} is no number, date or time that stands for itself")
    if column.determined is None:
        return anchor if here else Anchor(home, anchor.column)
    if column.determined.copy_of is None:
        raise Unanchored(f"its anchor {written} is worked out from other values; name one of those")
    copied = Anchor.parse(column.determined.copy_of)
    if copied.scope == SAME_ROW:
        return _resolved(schema, table, Anchor(anchor.scope, copied.column), written, depth + 1)
    # A row above is the same for all siblings: whose copy it is does not matter.
    return _resolved(schema, home, copied, written, depth + 1)


def named_table(schema: Schema, table: str, scope: str) -> str:
    """The table above that a scope names."""
    above = Layout(schema).ancestors(table)
    home = above[0] if scope == PARENT_ROW and above else scope
    if home not in above or home not in schema.tables:
        raise Unanchored(f"{scope} is no table above {table}")
    return home
