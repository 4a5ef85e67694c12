"""A small clinic to evaluate: patients, their stays in a sequence, the drugs of a stay. Frames, as a user would hand them in."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from mare.schema import Schema

CLINIC = """
mare: 1
name: clinic
entity: patients
tables:
  patients:
    key: pid
    columns:
      sex: {type: category, values: [F, M]}
      age: {type: integer, min: 0, max: 99}
      weight: {type: number, min: 30, max: 200, nullable: true}
  stays:
    key: sid
    parent: {table: patients, column: pid, type: sequential, order_by: begins, memory: 2, max_rows: 9}
    columns:
      begins: {type: datetime, after: previous.ends, first: {min: 2000-01-01, max: 2020-01-01}, within: 5y}
      ends: {type: datetime, after: begins, within: 90d}
      ward: {type: category, values: [a, b, c], nullable: true}
  takes:
    key: tid
    parent: {table: stays, column: sid, type: associative, via: drugs, column_via: drug, max_rows: 5}
    columns:
      dose: {type: integer, min: 1, max: 9}
  drugs:
    public: true
    rows: 4
    key: drug
    columns:
      name: {type: category, values: [x, y, z]}
"""

Frames = dict[str, pd.DataFrame]


@cache
def clinic_schema() -> Schema:
    from mare.schema.loading import load_schema

    return load_schema(CLINIC)


def clinic(patients: int = 300, seed: int = 1, first: int = 1) -> Frames:
    """Older patients weigh more, wards follow wards, and drugs 1 and 2 are taken together. No two times are the same."""
    rng = np.random.default_rng(seed)
    people, stays, takes = [], [], []
    for pid in range(first, first + patients):
        age = int(rng.integers(20, 90))
        weight = None if rng.random() < 0.1 else round(50 + age / 3 + float(rng.normal(0, 5)), 1)
        people.append({"pid": pid, "sex": "FM"[int(rng.random() < 0.4)], "age": age, "weight": weight})
        clock, ward = datetime(2001, 1, 1) + timedelta(minutes=int(rng.integers(0, 5_000_000))), "a"
        for _ in range(int(rng.integers(0, 6))):
            ends = clock + timedelta(minutes=int(rng.exponential(6000)) + 1)
            ward = ward if rng.random() < 0.6 else "abc"[int(rng.integers(3))]
            shown = None if rng.random() < 0.05 else ward
            stays.append({"sid": 10 * first + len(stays), "pid": pid, "begins": clock, "ends": ends, "ward": shown})
            drugs = [1, 2] if rng.random() < 0.5 else [3]
            takes += [
                {"tid": 10 * first + len(takes) + i, "sid": stays[-1]["sid"], "drug": drug, "dose": int(rng.integers(1, 10))}
                for i, drug in enumerate(drugs)
            ]
            clock = ends + timedelta(minutes=int(rng.exponential(200_000)) + 1)
    drugs_table = pd.DataFrame({"drug": [1, 2, 3, 4], "name": ["x", "y", "z", "z"]})
    return {"patients": pd.DataFrame(people), "stays": pd.DataFrame(stays), "takes": pd.DataFrame(takes), "drugs": drugs_table}


def changed(frames: Frames, table: str, change: Callable[[pd.DataFrame], pd.DataFrame]) -> Frames:
    """The same clinic, one table of it otherwise."""
    return {**frames, table: change(frames[table].copy())}
