"""How many codes every column of a group has, now that codecs, public keys and learned domains are settled.

Post-processing: no size here comes from a row. What unrolls a vocabulary gives one column per chosen key; what looks at a row
that may not be there has one code more, where the plan gave it one.
"""

from __future__ import annotations

from collections.abc import Mapping

from mare.codec import TableCodec
from mare.codec.elapsed import elapsed_name
from mare.domain import Domain, usual_size
from mare.errors import InternalError, PlanError
from mare.graph.groups import GroupColumn, Part
from mare.planning import Plan, PlannedGroup
from mare.relational.placing import seen_columns
from mare.relational.relations import Relations, TableRelations

Node = tuple[str, Part, str]


def settled_domains(
    plan: Plan,
    coded: Mapping[str, TableCodec],
    caps: Mapping[str, int],
    related: Relations,
    lengths: Mapping[str, float] | None = None,
) -> dict[str, tuple[Domain, Domain]]:
    """Columns and history of every group; each within the plan's upper bound. ``lengths`` are how many rows a parent has on
    average, by table: noisy."""
    columns = {g.name: Domain.of(_columns(g, coded[g.group.table], caps[g.group.table], related)) for g in plan.groups}
    nodes: dict[Node, int] = {}
    bounds: dict[Node, int] = {}
    for g in plan.groups:
        for name, size in zip(columns[g.name].names, columns[g.name].sizes, strict=True):
            if name not in g.columns or size > g.columns.size(name):
                raise _beyond(g, name, size, g.columns)
            nodes[g.group.table, g.group.part, name] = size
        for name, size in zip(g.columns.names, g.columns.sizes, strict=True):
            bounds[g.group.table, g.group.part, name] = size
    free = {table: _free_sizes(codec, (lengths or {}).get(table)) for table, codec in coded.items()}
    return {g.name: (columns[g.name], _history(g, nodes, bounds, free)) for g in plan.groups}


def _columns(planned: PlannedGroup, codec: TableCodec, cap: int, related: Relations) -> list[tuple[str, int]]:
    links = related.get(planned.group.table, TableRelations())
    found: list[tuple[str, int]] = []
    for column in planned.group.columns:
        size = _size(planned, column, codec, cap, links)
        if column.name in planned.columns:
            found.append((column.name, size))
        else:
            found += [(f"{column.name}#{number}", size) for number in range(_repeats(column, links))]
    return found


def _repeats(column: GroupColumn, links: TableRelations) -> int:
    unrolled = links.unrolling
    if unrolled is None:
        raise InternalError(f"{column.name} is unrolled, but its table is no association")
    if column.role == "derived":
        return len(unrolled.chosen) * unrolled.multiplicity
    return len(unrolled.chosen) if column.column == unrolled.key else unrolled.group_count


def _size(planned: PlannedGroup, column: GroupColumn, codec: TableCodec, cap: int, links: TableRelations) -> int:
    if column.role == "count":
        return cap + 1
    if column.role == "exists":
        return 1 + (links.unrolling.multiplicity if planned.group.part == "context" and links.unrolling is not None else 1)
    name = column.column
    if name is None:
        raise InternalError(f"{planned.name}.{column.name} encodes no column")
    if column.role == "first":
        return codec.firsts[name].size
    if (reference := links.reference(name)) is not None:
        size = reference.size
    elif name in codec.columns:
        size = codec.columns[name].size
    elif links.unrolling is not None and name == links.unrolling.key:
        size = max(1, len(links.unrolling.vocabulary))
    else:
        raise PlanError(f"{codec.table}: {column.name} can be planned, but not yet fitted.")
    return size + (column.role == "derived")


def _history(
    planned: PlannedGroup, nodes: Mapping[Node, int], bounds: Mapping[Node, int], free: Mapping[str, Mapping[str, int]]
) -> Domain:
    found = []
    for label, (column, name) in seen_columns(planned.group, planned.history).items():
        size, node = planned.history.size(label), (column.table, column.part, name)
        if column.kind == "free":
            found.append((label, min(size, free[column.table].get(name, size))))
        elif node in nodes:
            # A row that may not be there is a code of its own: the plan knows which.
            found.append((label, nodes[node] + size - bounds[node]))
    return Domain.of(found)


def _free_sizes(codec: TableCodec, length: float | None) -> dict[str, int]:
    """By name of the free history of a sequence, how many codes it is worth; the plan knows no more than a bound."""
    found = {elapsed_name(name): first.elapsed.count for name, first in codec.firsts.items()}
    return found if length is None else {**found, "remaining": usual_size(length)}


def _beyond(planned: PlannedGroup, name: str, size: int, bound: Domain) -> Exception:
    base = name.rpartition("#")[0]
    if name not in bound and base:
        most = sum(1 for other in bound.names if other.rpartition("#")[0] == base)
        return PlanError(
            f"{planned.group.table}: {base} has more than the {most} columns that the plan reckons with. Declare how many groups "
            "or keys the public table has, and plan again."
        )
    return InternalError(f"{planned.name}: {name} has {size} codes, the plan promised at most {bound.size(name)}")
