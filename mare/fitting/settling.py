"""From the plan to the settled plan: domains as they are coded, noisy sizes, final shares; and the coarser levels of what models
look at. Post-processing only: no size here comes from a row.

What unrolls a vocabulary gives one column per chosen key; what looks at a row that may not be there has one code more, where the
plan gave it one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mare.codec import Bins, LearnedDomains, OrdinalCodec, RelativeCodec, TableCodec, table_codec
from mare.codec.elapsed import elapsed_name, pace_name
from mare.codec.relative import FirstCodec
from mare.domain import Coarsening, Coarsenings, Domain, Task, usual_size
from mare.errors import InternalError, PlanError
from mare.graph.groups import ColumnGroup, GroupColumn, Part
from mare.models import get_model
from mare.planning import Plan, PlannedGroup, Warned
from mare.privacy.allocation import GroupDemand, allocate
from mare.relational.placing import seen_columns
from mare.relational.relations import NONE, SAME, Relations, TableRelations
from mare.release import SettledGroup, SettledPlan
from mare.schema import Schema
from mare.schema.columns import MOST_PLACES, Category, Identifier, Ordinal
from mare.stage_door import TableNeeds

from .noisy_sizes import Sizes
from .public_keys import ChosenKeys

Node = tuple[str, Part, str]

COUNTED = (1, 2, 3, 4, 5, 7, 10, 15, 25, 40, 65, 100, 160, 250, 400, 650, 1000)
"""Numbers of children: where the bins of the fine level begin; the first begins at 0, and the cap, where all that was cut stands,
is one."""
ROUGHLY = (0.5, 1.0, 2.0, 4.0)
"""Where those of the coarse level begin, in numbers that are usual; besides 0 and 1."""


def open_codecs(plan: Plan, tables: tuple[TableNeeds, ...]) -> dict[str, TableCodec]:
    """The codecs of every table as far as the schema settles them; refuses, all at once, what cannot be coded."""
    held = {needs.name: needs.values for needs in tables}
    return {name: table_codec(plan.schema, name, columns) if columns else TableCodec(name, {}) for name, columns in held.items()}


def settle(
    plan: Plan,
    tables: tuple[TableNeeds, ...],
    coded: Mapping[str, TableCodec],
    sizes: Sizes,
    related: Relations | None = None,
    chosen: ChosenKeys | None = None,
    learned: LearnedDomains | None = None,
    doubts: Sequence[Warned] = (),
) -> SettledPlan:
    """The plan with what is now known. Every domain stays within the plan's upper bound."""
    caps = {needs.name: needs.max_rows for needs in tables}
    domains = settled_domains(plan, coded, caps, related or {}, sizes.lengths)
    demands = []
    for g in plan.groups:
        columns, history = domains[g.name]
        work = get_model(g.model).workload(Task(g.name, columns, history, g.options))
        rows = sizes.of(g.group.table, g.group.part)
        demands.append(GroupDemand(g.name, len(columns), len(history), rows, g.sensitivity, max(1, work.largest)))
    shares = allocate(demands, plan.allocation, pure=plan.budget.pure)
    groups = tuple(
        SettledGroup(
            group=g.group,
            model=g.model,
            options=g.options,
            columns=domains[g.name][0],
            history=domains[g.name][1],
            sensitivity=g.sensitivity,
            rows=sizes.of(g.group.table, g.group.part),
            share=shares[g.name],
        )
        for g in plan.groups
    )
    chosen = chosen or ChosenKeys({}, {})
    return SettledPlan(sizes.entities, groups, chosen.keys, chosen.counts, learned or {}, (*chosen.doubts, *doubts))


def doubtful_codes(schema: Schema, group: SettledGroup) -> dict[str, tuple[int, ...]]:
    """By column, codes that may well not occur: NULL, the end of the calendar, days that never come (the last codes, in this
    order backwards), an identifier that is that of the row before, or that there is none."""
    described = schema.tables.get(group.group.table)
    values = {
        column.name: described.drawn_reference(name) or described.columns.get(name)
        for column in group.group.columns
        if column.role == "value" and described is not None and (name := column.column) is not None
    }
    present = {
        column.name: described.columns.get(column.column or "") or described.references.get(column.column or "")
        for column in group.group.columns
        if column.role == "exists" and described is not None and group.group.part != "context"
    }
    doubtful: dict[str, tuple[int, ...]] = {
        name: ((NONE,) if known.nullable else ()) + ((SAME,) if isinstance(known, Identifier) and known.runs else ())
        for name, known in present.items()
        if known is not None
    }
    for name, known in values.items():
        # One that leads to an earlier row, or to another row, leads nowhere as long as there is none.
        null = known is not None and known.nullable and getattr(known, "kind", "public") == "public"
        end = isinstance(known, Ordinal) and known.ends_with_calendar
        last = group.columns.size(name) - 1
        doubtful[name] = ((last,) if null else ()) + ((last - null,) if end else ())
        if isinstance(known, Ordinal) and known.has_day:
            before = last - known.nullable - known.closes - (known.first is not None)
            doubtful[name] += tuple(before - place for place in range(len(known.specials)))
    return {name: codes for name, codes in doubtful.items() if codes}


def beginning_columns(group: ColumnGroup, codec: TableCodec) -> frozenset[str]:
    """Those of a group's columns whose first value in a sequence is in the context: the first row's code says so."""
    return frozenset(column.name for column in group.columns if column.role == "value" and column.column in codec.firsts)


ADDED = 3.0
"""How many times as wide as the first values of sequences what they have come to has to be, to be what their rows add up to."""


def adding_up(group: ColumnGroup, history: Domain, codec: TableCodec) -> dict[str, str]:
    """What says how far a sequence has come, where nearly all of that is what its rows add up to: sequences begin at about the
    same place, and no row above says where they end. And the column that takes them further."""
    own = {column.column: column.name for column in group.columns if column.role == "value"}
    added = {
        elapsed_name(name): own[name] for name, first in codec.firsts.items() if name in own and _is_added_up(codec, name, first)
    }
    seen = seen_columns(group, history).items()
    return {label: added[name] for label, (column, name) in seen if column.kind == "free" and name in added}


def _is_added_up(codec: TableCodec, name: str, first: FirstCodec) -> bool:
    column = codec.columns[name]
    if not isinstance(column, RelativeCodec) or column.placing.ends_above or not isinstance(first.lasting, Bins):
        return False
    return ADDED * _width(first.bins) <= _width(first.lasting)


def _width(bins: Bins) -> int:
    """How far apart most values lie, in ticks: the middle nine tenths, or those between the outer bins, which are quantiles."""
    if bins.cells:
        low, high = bins.evenly_often(20)[[0, -1]]
        return int(high - low)
    return bins.edges[-2] - bins.edges[1]


def near_columns(group: SettledGroup, codec: TableCodec) -> dict[str, str]:
    """Those of a group's numbers that are close to another one of their row, and which; else to their own in the row before."""
    before = {column: name for name, (column, lag) in group.task.lags.items() if lag == 1}
    near: dict[str, str] = {}
    for name in group.columns:
        own = codec.columns.get(name) if group.group.part == "rows" else None
        close = [each.beside for each in own.near if each.close] if isinstance(own, OrdinalCodec) else []
        # Another one of its row goes before its own in the row before.
        beside = next((other for other in close if other is not None), before.get(name) if close else None)
        if beside is not None and beside in group.task.domain:
            near[name] = beside
    return near


def settled_domains(
    plan: Plan,
    coded: Mapping[str, TableCodec],
    caps: Mapping[str, int],
    related: Relations,
    lengths: Mapping[str, float] | None = None,
) -> dict[str, tuple[Domain, Domain]]:
    """Columns and history of every group; each within the plan's upper bound, but for learned lists that noise leaves more room
    than a plan knows of. ``lengths`` are how many rows a parent has on
    average, by table: noisy."""
    columns = {g.name: Domain.of(_columns(g, coded, caps[g.group.table], related)) for g in plan.groups}
    nodes: dict[Node, int] = {}
    bounds: dict[Node, int] = {}
    for g in plan.groups:
        unlimited = {c.name for c in g.group.columns if _is_unlimited(plan.schema, g.group.table, c)}
        for name, size in zip(columns[g.name].names, columns[g.name].sizes, strict=True):
            if name not in g.columns or size > g.columns.size(name) + MOST_PLACES * (name in unlimited):
                raise _beyond(g, name, size, g.columns)
            nodes[g.group.table, g.group.part, name] = size
        for name, size in zip(g.columns.names, g.columns.sizes, strict=True):
            bounds[g.group.table, g.group.part, name] = size
    free = {table: _free_sizes(codec, (lengths or {}).get(table)) for table, codec in coded.items()}
    return {g.name: (columns[g.name], _history(g, nodes, bounds, free)) for g in plan.groups}


def _is_unlimited(schema: Schema, table: str, column: GroupColumn) -> bool:
    described = schema.tables.get(column.table or table)
    declared = None if described is None else described.columns.get(column.column or "")
    return isinstance(declared, Category) and declared.is_unlimited


def _columns(planned: PlannedGroup, coded: Mapping[str, TableCodec], cap: int, related: Relations) -> list[tuple[str, int]]:
    links = related.get(planned.group.table, TableRelations())
    sizes: list[tuple[str, int]] = []
    for column in planned.group.columns:
        size = _size(planned, column, coded[column.table or planned.group.table], cap, links)
        if column.name in planned.columns:
            sizes.append((column.name, size))
        else:
            sizes += [(f"{column.name}#{number}", size) for number in range(_repeats(column, links))]
    return sizes


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
    if column.role == "ends":
        return 2
    if column.role == "exists":
        several = links.unrolling.multiplicity if planned.group.part == "context" and links.unrolling is not None else 1
        return 1 + several + (column.column in links.runs)
    name = column.column
    if name is None:
        raise InternalError(f"{planned.name}.{column.name} encodes no column")
    if column.role == "first":
        return codec.firsts[name].size
    if column.role == "same":
        return codec.columns[name].size + 1
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
    sizes = []
    for label, (column, name) in seen_columns(planned.group, planned.history).items():
        size, node = planned.history.size(label), (column.table, column.part, name)
        if column.kind == "free":
            sizes.append((label, min(size, free[column.table].get(name, size))))
        elif node in nodes:
            # A row that may not be there is a code of its own: the plan knows which.
            sizes.append((label, nodes[node] + size - bounds[node]))
    return Domain.of(sizes)


def _free_sizes(codec: TableCodec, length: float | None) -> dict[str, int]:
    """By name of the free history of a sequence, how many codes it is worth; the plan knows no more than a bound."""
    sizes = {elapsed_name(name): first.elapsed.count for name, first in codec.firsts.items()}
    sizes |= {pace_name(name): first.pacing.count for name, first in codec.firsts.items() if first.pacing is not None}
    return sizes if length is None else {**sizes, "remaining": usual_size(length)}


def _beyond(planned: PlannedGroup, name: str, size: int, bound: Domain) -> Exception:
    base = name.rpartition("#")[0]
    if name not in bound and base:
        most = sum(1 for other in bound.names if other.rpartition("#")[0] == base)
        return PlanError(
            f"{planned.group.table}: {base} has more than the {most} columns that the plan reckons with. Declare how many groups "
            "or keys the public table has, and plan again."
        )
    return InternalError(f"{planned.name}: {name} has {size} codes, the plan promised at most {bound.size(name)}")


def group_levels(
    group: ColumnGroup,
    columns: Domain,
    history: Domain,
    coded: Mapping[str, TableCodec],
    lengths: Mapping[str, float] | None = None,
) -> Coarsenings:
    """Coarser levels of a group's columns and of its history. A column whose codes are not its codec's own has none.

    Numbers and times have their neighbouring bins taken together, codes their kin (`TableCodec.coarsenings`); numbers of children
    are told exactly where they are small, and roughly where they are large; of a row that may not be there, the coarsest level
    tells only whether it is. ``lengths`` are how many rows a parent has on average, by table: noisy.
    """
    usual = lengths or {}
    coarsenings: dict[str, tuple[Coarsening, ...]] = {}
    for name in columns:
        coarsenings[name] = _levels(coded[group.table], group.part, name, columns.size(name), usual)
    for label, (column, name) in seen_columns(group, history).items():
        size = history.size(label)
        if column.kind == "free" and name not in coded[column.table].coarsenings():
            continue
        levels = _levels(coded[column.table], column.part, name, size, usual)
        # A row that is not there has a code of its own, on every level.
        absent = not levels and (levels := _levels(coded[column.table], column.part, name, size - 1, usual))
        coarsenings[label] = tuple(_with_absent(level) for level in levels) if absent else levels
        if str(column) in group.lags and size > 2:
            coarsenings[label] += (Coarsening(np.arange(size) == size - 1, 2),)
    return {name: levels for name, levels in coarsenings.items() if levels}


def _levels(codec: TableCodec, part: Part, name: str, size: int, lengths: Mapping[str, float]) -> tuple[Coarsening, ...]:
    if part == "context" and name == "count":
        usual = max(1.0, lengths.get(codec.table, 2.5))
        coarse = sorted({1, *(round(usual * times) for times in ROUGHLY if usual * times > 1)})
        levels = (_counted((*(s for s in COUNTED if s < size - 1), size - 1), size), _counted(tuple(coarse), size))
        return tuple(level for level in levels if level.size < size)
    return tuple(level for level in codec.coarsenings().get(name, ()) if len(level.codes) == size)


def _counted(starts: tuple[int, ...], size: int) -> Coarsening:
    codes = np.searchsorted(np.array(starts), np.arange(size), side="right")
    return Coarsening(codes, int(codes[-1]) + 1)


def _with_absent(level: Coarsening) -> Coarsening:
    return Coarsening(np.append(level.codes, level.size), level.size + 1)
