"""Which sets of columns have to be kept apart when rows are drawn, because nothing in their making keeps them apart.

Most keys are unique by construction: fresh identifiers, positions, strict orders, associations, one row a parent. What is
left are keys with modelled parts (`[subject_id, year]`): those are drawn again within the parent, and at last moved apart.
"""

from __future__ import annotations

from dataclasses import dataclass

from mare.schema import Schema
from mare.schema.caps import link_cap
from mare.schema.checks.keys import counts_up

from .filling import Fresh, Linked, fillings


@dataclass(frozen=True)
class Distinct:
    """Columns whose values differ between the rows of one parent."""

    columns: tuple[str, ...]
    """Without the foreign key."""
    drawn: tuple[str, ...]
    """What a model draws for them: columns and references by name. A column that none of these fills is not among them."""
    by_model: bool
    """Whether every one of the columns is drawn by a model."""


def distinct_sets(schema: Schema, table: str) -> tuple[Distinct, ...]:
    """The sets of a table that need care."""
    described = schema.tables[table]
    keys = [described.key, *described.unique] if described.key else [*described.unique]
    return tuple(distinct for names in dict.fromkeys(keys) if (distinct := _set(schema, table, names)) is not None)


def _set(schema: Schema, table: str, names: tuple[str, ...]) -> Distinct | None:
    described, filled = schema.tables[table], fillings(schema, table)
    link = schema.parent(table)
    if link is None or link.table is None or any(isinstance(filled.get(name), Fresh) for name in names):
        return None
    if any(isinstance(filling := filled.get(name), Linked) and filling.way == "owned" for name in names):
        return None
    foreign = schema.parent_columns(table)
    cap, rest = link_cap(schema, table), [name for name in names if name not in foreign]
    via = set(link.column_via or ()) if link.type == "associative" else set()
    if (
        not rest
        or (cap is not None and cap.rows == 1)
        or any(counts_up(name, described.columns.get(name), names) for name in rest)
    ):
        return None
    if via and via <= set(names) and link.multiplicity == 1:
        return None
    drawn = []
    for name in rest:
        reference = next((r for r in described.references if name in described.reference_columns(r)), None)
        at_random = reference is not None and described.references[reference].kind in ("pool", "other_entity")
        modelled = None if at_random else reference or name
        drawn.append(modelled)
    known = tuple(dict.fromkeys(name for name in drawn if name is not None))
    return Distinct(tuple(rest), known, None not in drawn)
