"""`plan`: from a schema and a budget to the public plan. Reads no data: there is no argument that could hold any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .plan import Plan

if TYPE_CHECKING:
    from mare.privacy.budget import Budget
    from mare.schema import Schema


def plan(schema: Schema, budget: Budget, *, entities: int | None = None) -> Plan:
    """The plan of a fit. ``entities`` is how many entities the preview assumes where the schema does not say."""
    raise NotImplementedError
