"""A few synthetic entities with all their rows along time. They are nobody, so they may be looked at one by one."""

from __future__ import annotations

import numpy as np

from .fidelity.features import Feature, key_columns, values
from .fidelity.ranks import Numbers
from .measured import Happening, Timeline
from .sides import Side

FEW, MOST_ROWS, MOST_LETTERS, MOST_COLUMNS = 6, 60, 40, 12


def timelines(side: Side, few: int = FEW) -> tuple[Timeline, ...]:
    """Entities with few, with middling and with many rows."""
    own = side.dag.entity.name
    rows = np.zeros(side.entities, dtype=np.int64)
    for entity in (entity for table, entity in side.entity.items() if table != own):
        rows += np.bincount(entity[entity >= 0], minlength=side.entities)
    some = np.flatnonzero(rows)
    if not len(some):
        return ()
    ranked = some[np.argsort(rows[some], kind="stable")]
    chosen = dict.fromkeys(int(ranked[int(place)]) for place in np.linspace(0.05, 0.95, few) * (len(ranked) - 1))
    clocks = {table: _clock(side, table) for table in side.tables}
    return tuple(_timeline(side, entity, clocks) for entity in chosen)


def _timeline(side: Side, entity: int, clocks: dict[str, tuple[Numbers, Numbers]]) -> Timeline:
    own = side.dag.entity.name
    met: list[tuple[float, str, int]] = []
    for table, rows in side.order.items():
        if table != own:
            mine = rows[side.entity[table][rows] == entity]
            met += [(float(clocks[table][0][row]), table, int(row)) for row in mine]
    moments = [moment for moment, _, _ in met if np.isfinite(moment)]
    start = min(moments, default=0.0)
    met.sort(key=lambda row: row[0] if np.isfinite(row[0]) else np.inf)
    happenings = tuple(
        Happening(table, _since(moment, start), _since(float(clocks[table][1][row]), start), _values(side, table, row))
        for moment, table, row in met[:MOST_ROWS]
    )
    known = own in side.tables and entity < len(side.entity[own])
    return Timeline(_values(side, own, entity) if known else {}, happenings, len(met))


def _since(moment: float, start: float) -> float | None:
    return moment - start if np.isfinite(moment) else None


def _clock(side: Side, table: str) -> tuple[Numbers, Numbers]:
    """When each row begins and ends, in days: by its own first two times, else as the nearest row above that has one."""
    nothing = np.full(len(side.entity[table]), np.nan)
    if times := _times(side, table):
        return times[0], times[1] if len(times) > 1 else nothing
    for above, rows in side.ancestors(table).items():
        if times := _times(side, above):
            return np.append(times[0], np.nan)[rows], nothing  # the last stands for -1, which is no row
    return nothing, nothing


def _times(side: Side, table: str) -> list[Numbers]:
    described = side.schema.tables[table].columns
    names = [name for name, column in described.items() if column.has_day]
    times = (values(side, Feature(table, name, "number", "column", name)).numbers for name in names[:2])
    return [numbers for numbers in times if numbers is not None]


def _values(side: Side, table: str, row: int) -> dict[str, str]:
    """What the row holds, keys left out: they are made anew."""
    keys = key_columns(side.schema, table)
    names = [
        name for name in side.tables[table].column_names if name not in keys and name not in side.schema.parent_columns(table)
    ]
    shown = {name: side.tables[table].column(name)[row].as_py() for name in names[:MOST_COLUMNS]}
    return {name: str(value)[:MOST_LETTERS] for name, value in shown.items() if value is not None}
