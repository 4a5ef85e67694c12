"""The hour, weekday and month of each point in time, held against those of the real rows: visits at night, births on Sundays."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mare.codec.ticks import DAY_US
from mare.evaluation.measured import ColumnFidelity, SetName
from mare.evaluation.sides import Side

from .coded_sets import Sides
from .distances import Counts, by_chance, tvd
from .features import points_in_time

_HOUR_US = DAY_US // 24
_LABELS = {
    "hour": tuple(f"{hour:02}" for hour in range(24)),
    "weekday": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "month": (
        "January", "February", "March", "April", "May", "June",
        "July", "August", "September", "October", "November", "December",
    ),
}  # fmt: skip


def calendar(sides: Sides) -> Iterator[ColumnFidelity]:
    real = sides["real"]
    for table in real.tables:
        for column in points_in_time(real.schema.tables[table], kept=True):
            counts = {name: _counted(side, table, column) for name, side in sides.items()}
            for unit, labels in _LABELS.items():
                if unit == "hour" and not real.schema.tables[table].columns[column].has_clock:
                    continue
                held: dict[SetName, Counts] = {name: counted[unit] for name, counted in counts.items()}
                distance: dict[SetName, float] = {name: tvd(held["real"], held[name]) for name in held if name != "real"}
                shape: dict[SetName, float] = {name: 1 - far for name, far in distance.items()}
                name = f"{unit} of {column}"
                chance = by_chance(held["real"], int(held["synthetic"].sum()))
                yield ColumnFidelity(table, name, "category", False, labels, held, distance, shape, chance, "calendar")


def _counted(side: Side, table: str, column: str) -> dict[str, Counts]:
    ticks, there = side.moments(table, column)
    ticks = ticks if there.all() else ticks[there]
    days = ticks // DAY_US
    counts = {"hour": np.bincount((ticks - days * DAY_US) // _HOUR_US, minlength=24).astype(np.int64)}
    first = int(days.min(initial=0))
    on_day = np.bincount(days - first).astype(np.int64)  # some ten thousand days stand for a million rows
    dates = np.arange(first, first + len(on_day))
    months = dates.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    for unit, place, size in (("weekday", (dates + 3) % 7, 7), ("month", months % 12, 12)):
        counts[unit] = np.bincount(place, weights=on_day, minlength=size).astype(np.int64)
    return counts
