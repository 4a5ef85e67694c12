"""From a schema to its column groups: the one verb that the planner needs of this room."""

from __future__ import annotations

from mare.schema import Schema

from .dag import DatasetDag
from .groups import ColumnGroup
from .rules import correlation_pdag


def column_groups(schema: Schema, dag: DatasetDag | None = None) -> tuple[ColumnGroup, ...]:
    """One group per model, each after everything that it may look at. Reads no data."""
    return correlation_pdag(schema, dag).groups()
