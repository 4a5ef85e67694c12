"""A small hospital of which one patient is odd, as plain rows: what the physical audits write into every format, with them and
without them. Numbers 1 to 11 are like anybody; ODD is whoever a test makes of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from functools import cache
from typing import Any

import numpy as np

from mare.planning import Plan
from mare.planning.planning import plan
from mare.privacy.budget import Budget
from mare.schema.loading import load_schema

Rows = dict[str, list[dict[str, Any]]]

ODD = 6
"""Somebody in the middle, so that neighbours stand on both sides of their rows."""

KINDS: Mapping[str, Mapping[str, str]] = {
    "patients": {
        "pid": "key",
        "sex": "text",
        "smoker": "boolean",
        "born": "date",
        "weight": "number",
        "visits": "integer",
        "town": "text",
    },
    "stays": {"sid": "key", "pid": "key", "step": "integer", "begins": "datetime", "ward": "text"},
    "events": {"sid": "key", "seq": "integer", "value": "number"},
}
"""What each column is declared as, by a writer who has types to declare. Keys are numbers, or texts (`with_text_keys`)."""

SCHEMA = """
mare: 1
entity: patients
model: independent
tables:
  patients:
    key: pid
    columns:
      sex: {type: category, values: [F, M], nullable: true}
      smoker: {type: boolean, nullable: true}
      born: {type: date, min: 1920-01-01, max: 2019-12-31, bins: 5, nullable: true}
      weight: {type: number, min: 0, max: 200, bins: 5, nullable: true}
      visits: {type: integer, min: 0, max: 30, bins: 5, nullable: true}
      town: {type: category, learn: true, max_values: 5, nullable: true}
  stays:
    key: sid
    parent: {table: patients, column: pid, type: sequential, order_by: step, memory: 1, max_rows: 2, keep: first}
    columns:
      step: {type: identifier}
      begins: {type: datetime, min: 2000-01-01, max: 2029-12-31, bins: 5, nullable: true}
      ward: {type: category, values: [a, b, c], nullable: true}
  events:
    parent: {table: stays, column: sid, type: sequential, order_by: seq, memory: 1, max_rows: 2, keep: last}
    columns:
      seq: {type: identifier}
      value: {type: number, min: 0, max: 100, bins: 5, nullable: true}
"""
"""`step` and `seq` are described as numbers nobody needs: in which order they stand depends on what the source says they are."""


@cache
def planned(schema: str = SCHEMA) -> Plan:
    return plan(load_schema(schema), Budget(4, 1e-9))


def hospital() -> Rows:
    """Everybody has stays and events beyond the caps, in an order that numbers and texts put differently (9 and 10)."""
    rng = np.random.default_rng(11)
    rows: Rows = {"patients": [], "stays": [], "events": []}
    for pid in range(1, 12):
        rows["patients"].append(
            {
                "pid": pid,
                "sex": "FM"[pid % 2],
                "smoker": bool(pid % 3),
                "born": date(1930 + 7 * pid, 1 + pid % 12, 3),
                "weight": 40.5 + 9 * pid,
                "visits": int(rng.integers(0, 30)),
                "town": ("north", "south")[pid % 2],
            }
        )
        for number in range(3):
            sid = 100 + 10 * pid + number
            begins = datetime(2001, 2, 3, 4, 5) + timedelta(days=int(rng.integers(0, 9000)))
            stay = {"sid": sid, "pid": pid, "step": 9 + number, "begins": begins, "ward": "abc"[int(rng.integers(3))]}
            rows["stays"].append(stay)
            for seq in (8, 9, 10):
                rows["events"].append({"sid": sid, "seq": seq, "value": float(rng.integers(0, 100))})
    return rows


def own(rows: Rows, pid: object = ODD) -> Rows:
    """The rows of one patient, by the foreign keys as they were before anybody made them odd."""
    stays = [row for row in rows["stays"] if row["pid"] == pid]
    sids = {row["sid"] for row in stays}
    return {
        "patients": [row for row in rows["patients"] if row["pid"] == pid],
        "stays": stays,
        "events": [row for row in rows["events"] if row["sid"] in sids],
    }


def without(rows: Rows, gone: Rows) -> Rows:
    """The same rows but for these very ones: by identity, because an odd key would not find them."""
    lost = {name: {id(row) for row in content} for name, content in gone.items()}
    return {name: [row for row in content if id(row) not in lost[name]] for name, content in rows.items()}


def odd_patient(changes: Mapping[str, Mapping[str, object]], everybody: Mapping[str, object] | None = None) -> tuple[Rows, Rows]:
    """D, in which the odd patient's first row of a table holds these values; and D′, where they never were. ``everybody``: what
    all patients hold."""
    rows = hospital()
    theirs = own(rows)
    for row in rows["patients"]:
        row.update(everybody or {})
    for name, values in changes.items():
        theirs[name][0].update(values)
    return rows, without(rows, theirs)


def with_text_keys(rows: Rows) -> Rows:
    """The same hospital, its patients and stays known by texts: P6, S160."""
    for name in rows:
        for row in rows[name]:
            if isinstance(row.get("pid"), int):
                row["pid"] = f"P{row['pid']}"
            if isinstance(row.get("sid"), int):
                row["sid"] = f"S{row['sid']}"
    return rows
