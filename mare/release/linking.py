"""Columns that refer to a row of another table: which row is found in some way, its values are copied from there.

One of the ways in which a column is filled (`mare.release.filling`). Whatever the way, the values come from a row that is
written too, so a reference holds by construction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mare.graph.ownership import parent_link
from mare.schema import Schema
from mare.schema.references import Reference

Way = Literal["via", "public", "position", "interval", "earlier", "owned", "pool", "other_entity"]
"""How the row is found: the public key of an association; a modelled public key; a modelled position; the time; so many rows
back; the row made for this one; any row of a pool; any row of another entity."""

VIA = ""
"""In place of a reference's name: the association itself."""


@dataclass(frozen=True)
class Linked:
    """The value of a column of the row that a reference leads to; NULL where it leads nowhere."""

    way: Way
    reference: str
    table: str
    column: str
    nullable: bool = False


def linked_columns(schema: Schema, table: str) -> dict[str, Linked]:
    """Column → the link that fills it, for every reference that is neither to an ancestor nor left NULL."""
    described, link = schema.tables[table], parent_link(schema, table)
    found: dict[str, Linked] = {}
    for name, reference in described.references.items():
        way = _way(reference)
        if way is None:
            continue
        there = reference.column or schema.tables[reference.table].key or ()
        for column, other in zip(described.reference_columns(name), there, strict=False):
            found[column] = Linked(way, name, reference.table, other, reference.nullable)
    if link is not None and link.type == "associative" and link.via is not None:
        for column, other in zip(link.column_via or (), schema.tables[link.via].key or (), strict=False):
            found[column] = Linked("via", VIA, link.via, other)
    return found


def _way(reference: Reference) -> Way | None:
    if reference.kind == "same_entity":
        return reference.by
    if reference.kind == "other_entity":
        return None if reference.fill == "none" else "other_entity"
    if reference.kind == "ancestor" or reference.kind == "broken":
        return None
    return reference.kind
