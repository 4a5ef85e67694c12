"""What a new user would see first: columns on one value, dates after the end, NULL where there is none."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from mare.schema import Schema
from tests.benchmarks.worlds.tools import Frames

from .world import World


@dataclass(frozen=True)
class Faults:
    one_value: tuple[str, ...]
    """Columns on one value where the source has several; texts that the draft says it drops are not counted."""
    late: tuple[str, ...]
    """Columns with a date after the calendar's end, where the source has none."""
    null: tuple[str, ...]
    """Columns with NULL, where the source has none."""


def faults(world: World, schema: Schema, real: Frames, made: Frames) -> Faults:
    end = pd.Timestamp(world.between[1]) + pd.Timedelta(days=1)
    one, late, null = [], [], []
    for table, rows in real.items():
        for column in rows:
            name, truth, ours = f"{table}.{column}", rows[column], made[table].get(column, pd.Series([None], dtype=object))
            if ours.nunique(dropna=False) <= 1 < truth.nunique(dropna=False) and not _dropped(schema, table, str(column)):
                one.append(name)
            if _after(ours, end) > 0 == _after(truth, end):
                late.append(name)
            if ours.isna().any() and not truth.isna().any():
                null.append(name)
    return Faults(tuple(one), tuple(late), tuple(null))


def _dropped(schema: Schema, table: str, column: str) -> bool:
    """Free text is never written, and the draft says so."""
    told = schema.tables.get(table)
    described = None if told is None else told.columns.get(column)
    return described is not None and described.type == "text"


def _after(values: pd.Series, end: pd.Timestamp) -> int:
    """How many dates lie at or after a moment, of a column that holds dates."""
    if pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
        return 0
    present = values.dropna()
    times = pd.to_datetime(present, errors="coerce", format="mixed", dayfirst=_dotted(present))
    return int((times >= end).sum()) if len(times) and times.notna().mean() > 0.95 else 0


def _dotted(values: pd.Series) -> bool:
    return bool(len(values)) and bool(values.astype(str).str.contains(r"^\d\d\.\d\d\.\d{4}$").any())
