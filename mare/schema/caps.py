"""Who owns a table's rows, and how many of them one owner may have. The one place that reads caps off a schema.

The checks, the graph's edges, the sensitivities of the plan and the truncation of the stage all ask here, so that what is
promised and what is enforced cannot drift apart.
"""

from __future__ import annotations

from dataclasses import dataclass

from mare.errors import InternalError

from .links import Parent
from .schema import Schema


@dataclass(frozen=True)
class Cap:
    """At most this many rows of a table under one row of its parent."""

    rows: int
    why: str
    """Where the number is from: `max_rows`, `key = foreign key`, `40 drugs × 2`."""


def link_cap(schema: Schema, table: str) -> Cap | None:
    """The cap of a table's link to its parent: the lowest that is enforced. None where the schema leaves it open."""
    described = schema.tables[table]
    link = schema.parent(table)
    if link is None:
        raise InternalError(f"table {table!r} has no parent, so its link has no cap")
    foreign = set(link.column or ())
    caps = [Cap(1, "key = foreign key")] if any(foreign >= set(names) for names in described.unique_sets) else []
    if link.max_rows is not None:
        caps.append(Cap(link.max_rows, "max_rows"))
    if link.type == "associative":
        caps += _vocabulary_caps(schema, link)
    if not caps and link.max_per_entity is not None:
        caps.append(Cap(link.max_per_entity, "max_per_entity"))
    return min(caps, key=lambda cap: cap.rows, default=None)


def most_children(schema: Schema, table: str) -> int:
    """How many rows that is under one row of the parent; one where the schema leaves it open."""
    cap = link_cap(schema, table)
    return 1 if cap is None else cap.rows


def link_memory(schema: Schema, table: str) -> int:
    """How many previous rows a row may look at: no more than a parent row can have before it. 0 for what is no sequence."""
    link = schema.parent(table)
    if link is None or link.effective_memory == 0:
        return 0
    cap = link_cap(schema, table)
    return link.effective_memory if cap is None else max(1, min(link.effective_memory, cap.rows - 1))


def _vocabulary_caps(schema: Schema, link: Parent) -> list[Cap]:
    """A public key occurs at most `multiplicity` times under a parent row, so the vocabulary is a cap too."""
    public = schema.tables.get(link.via) if link.via is not None else None
    sizes = []
    if public is not None and public.rows is not None:
        sizes.append(public.rows)
    if link.vocabulary is not None and link.vocabulary.rest == "drop":
        sizes.append(link.vocabulary.select)
    times = f" × {link.multiplicity}" if link.multiplicity > 1 else ""
    return [Cap(size * link.multiplicity, f"{size} {link.via}{times}") for size in sizes]
