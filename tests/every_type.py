"""One schema with every type of column that the language has, and rows for it: for tests of the whole job."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from functools import cache

import numpy as np
import pyarrow as pa

from mare.fitting import fit
from mare.planning.planning import plan
from mare.privacy.budget import Budget
from mare.release import Release
from mare.schema import Schema
from mare.schema.loading import load_schema
from tests.memory_source import MemorySource, Rows

TEXT = """
mare: 1
name: every-type
entity: people
tables:
  people:
    key: pid
    columns:
      pid: {type: identifier, generate: pattern, pattern: "P{n:05d}"}
      uid: {type: identifier, generate: uuid}
      sex: {type: category, values: [F, M], rest: M}
      town: {type: category, learn: true, max_values: 5, nullable: true}
      grade: {type: category, values: [1, 2, 3]}
      smoker: {type: boolean, "true": Y, "false": N, nullable: true}
      alive: {type: boolean}
      vip: {type: boolean, "true": 1, "false": 0}
      age: {type: integer, min: 0, max: 89, specials: ["> 89"], nullable: true}
      score: {type: integer, min: 0, max: 200, step: 5, specials: [-1]}
      height: {type: number, min: 50, max: 230, precision: 1}
      weight: {type: number, learn: true, precision: 1, nullable: true}
      income: {type: number, min: 0, max: 1000000, scale: log}
      born: {type: date, min: 1900-01-01, max: 2010-12-31, format: "%d.%m.%Y"}
      joined: {type: date, learn: true}
      wakes: {type: time, resolution: minute, format: "%H:%M"}
      sleeps: {type: time, min: "20:00"}
      fasting: {type: duration, min: 0s, max: 48h}
      leave: {type: duration, min: 0s, max: 60d, stored_as: days}
      icd: {type: code, vocabulary: d_icd, max_values: 6, hierarchy: {prefix: [1]}, nullable: true}
      atc: {type: code, learn: true, max_values: 10, hierarchy: {prefix: [1, 3]}}
      memo: {type: text}
      remark: {type: text, fill: constant, value: (removed)}
      note: {type: text, fill: template, template: "{sex}, {age} years, {height:.0f} cm", nullable: true}
      bmi: {type: number, precision: 1, determined: {expression: "weight / (height / 100) ** 2"}, nullable: true}
      double: {type: integer, determined: {expression: "coalesce(age, 0) * 2"}}
      birthyear: {type: integer, determined: {part: {of: born, unit: year}}}
      weekday: {type: category, values: [Mo, Tu, We, Th, Fr, Sa, Su], determined: {part: {of: joined, unit: weekday}}}
      diagnosis: {type: text, determined: {lookup: {table: d_icd, column: title, by: icd}}, nullable: true}
  stays:
    key: sid
    parent: {table: people, column: pid, type: sequential, order_by: begins, memory: 1, max_rows: 4}
    columns:
      begins: {type: datetime, after: previous.ends, first: {after: parent.joined, within: 3000d}, within: 2000d, scale: log}
      ends: {type: datetime, after: begins, within: 60d, scale: log, resolution: minute}
      returns: {type: datetime, nullable: true, determined: {next: begins}}
      los: {type: number, precision: 3, determined: {elapsed: {since: begins, until: ends, unit: days}}}
      gender: {type: category, values: [F, M], determined: {copy_of: parent.sex}}
  labs:
    key: [sid, line]
    parent: {table: stays, column: sid, type: sequential, order_by: taken, memory: 1, history_by: test, max_rows: 5}
    columns:
      line: {type: position, start: 0}
      turn: {type: position, within: test}
      test: {type: category, values: [sodium, crp]}
      value: {type: number, by: test, nullable: true, ranges: {sodium: {min: 100, max: 180, precision: 0},
        crp: {min: 0, max: 500, precision: 1, scale: log}}}
      level: {type: number, by: item, learn: true, precision: 1}
      taken: {type: datetime, during: [parent.begins, parent.ends]}
      ordered: {type: datetime, before: taken, within: 2d, nullable: true}
      filed: {type: datetime, around: ordered, within: 2d, min: 2010-01-01, max: 2040-12-31}
    references:
      item: {kind: public, table: items}
  d_icd: {public: true, key: code, rows: 12}
  items: {public: true, key: item, rows: 3}
"""
_TEXTS = (
    "pid",
    "uid",
    "sex",
    "town",
    "smoker",
    "age",
    "born",
    "wakes",
    "icd",
    "atc",
    "memo",
    "remark",
    "note",
    "weekday",
    "diagnosis",
)
TYPES: dict[str, dict[str, pa.DataType]] = {
    "people": {
        **dict.fromkeys(_TEXTS, pa.string()),
        **dict.fromkeys(("grade", "vip", "score", "double", "birthyear", "leave"), pa.int64()),
        **dict.fromkeys(("height", "weight", "income", "bmi"), pa.float64()),
        "alive": pa.bool_(),
        "joined": pa.date32(),
        "sleeps": pa.time64("us"),
        "fasting": pa.duration("us"),
    },
    "stays": {
        "sid": pa.int64(),
        "pid": pa.string(),
        **dict.fromkeys(("begins", "ends", "returns"), pa.timestamp("us")),
        "los": pa.float64(),
        "gender": pa.string(),
    },
    "labs": {
        "sid": pa.int64(),
        **dict.fromkeys(("line", "turn", "item"), pa.int64()),
        "test": pa.string(),
        **dict.fromkeys(("value", "level"), pa.float64()),
        **dict.fromkeys(("taken", "ordered", "filed"), pa.timestamp("us")),
    },
    "d_icd": {"code": pa.string(), "title": pa.string()},
    "items": {"item": pa.int64(), "label": pa.string()},
}
CODES = [f"{letter}{number}0" for letter in "ABC" for number in range(4)]


@cache
def every_type_schema() -> Schema:
    return load_schema(TEXT)


def every_type_rows(people: int = 300, seed: int = 4) -> Rows:
    """Clean rows, but for a few of what real data holds: words among numbers, values outside, missing ones."""
    rng = np.random.default_rng(seed)
    rows: Rows = {"people": [], "stays": [], "labs": []}
    for number in range(people):
        rows["people"].append(_person(number, rng))
        joined = rows["people"][-1]["joined"]
        assert isinstance(joined, date)
        clock = datetime.combine(joined, time(8)) + timedelta(hours=int(rng.integers(0, 20_000)))
        for _ in range(int(rng.integers(0, 5))):
            ends = clock + timedelta(minutes=int(np.exp(rng.normal(8, 1))))
            sid = len(rows["stays"]) + 1
            rows["stays"].append({"sid": sid, "pid": f"X{number}", "begins": clock, "ends": ends})
            _labs(rows["labs"], sid, clock, ends, rng)
            clock = ends + timedelta(hours=int(np.exp(rng.normal(6, 1))))
    rows["d_icd"] = [{"code": code, "title": f"disease {code}"} for code in CODES]
    rows["items"] = [{"item": item, "label": f"item {item}"} for item in (7, 8, 9)]
    return rows


def _person(number: int, rng: np.random.Generator) -> dict[str, object]:
    age = int(rng.integers(0, 100))
    return {
        "pid": f"X{number}",
        "uid": f"secret-{number}",
        "sex": str(rng.choice(["F", "M", "?"], p=[0.5, 0.45, 0.05])),
        "town": None if number % 10 == 0 else str(rng.choice(["Ulm", "Bonn", "Köln"])),
        "grade": int(rng.integers(1, 5)),
        "smoker": str(rng.choice(["Y", "N"])) if number % 7 else None,
        "alive": bool(rng.random() < 0.8),
        "vip": int(rng.random() < 0.1),
        "age": None if number % 11 == 0 else "> 89" if age > 89 else str(age) if number % 50 else "old",
        "score": -1 if rng.random() < 0.2 else int(rng.integers(0, 41)) * 5,
        "height": round(float(rng.normal(170, 9)), 1),
        "weight": round(float(rng.normal(75, 12)), 1) if number % 9 else float("nan"),
        "income": float(np.exp(rng.normal(10, 1))),
        "born": (date(1930, 1, 1) + timedelta(days=int(rng.integers(0, 25_000)))).strftime("%d.%m.%Y"),
        "joined": date(2010, 1, 1) + timedelta(days=int(rng.integers(0, 2000))),
        "wakes": f"{int(rng.integers(5, 9)):02d}:{int(rng.integers(0, 60)):02d}",
        "sleeps": time(int(rng.integers(20, 24)), int(rng.integers(0, 60)), int(rng.integers(0, 60))),
        "fasting": timedelta(minutes=int(rng.integers(0, 1200))),
        "leave": int(rng.integers(0, 30)),
        "icd": None if rng.random() < 0.1 else str(rng.choice(CODES, p=[0.4, 0.2, 0.1, 0.05, 0.05, *[0.2 / 7] * 7])),
        "atc": str(rng.choice(["A01AA", "A01AB", "B02", "B03"])),
        "memo": f"free text about {number}",
    }


def _labs(labs: list[dict[str, object]], sid: int, begins: datetime, ends: datetime, rng: np.random.Generator) -> None:
    fractions = np.sort(rng.random(int(rng.integers(0, 6))))
    for line, fraction in enumerate(fractions):
        taken = ends if line == len(fractions) - 1 and rng.random() < 0.5 else begins + (ends - begins) * float(fraction)
        test, item = str(rng.choice(["sodium", "crp"])), int(rng.choice([7, 8, 9]))
        labs.append(
            {
                "sid": sid,
                "line": line,
                "test": test,
                "item": item,
                "value": None
                if rng.random() < 0.1
                else float(rng.normal(140, 4) if test == "sodium" else np.exp(rng.normal(2, 1))),
                "level": float(rng.normal({7: 10, 8: 1000, 9: -50}[item], 2)),
                "taken": taken,
                "ordered": None if rng.random() < 0.3 else taken - timedelta(minutes=int(rng.integers(0, 600))),
                "filed": taken - timedelta(minutes=int(rng.integers(-60, 600))),
            }
        )


def every_type_source(people: int = 300, seed: int = 4) -> MemorySource:
    return MemorySource.of(every_type_rows(people, seed), TYPES)


@cache
def fitted_every_type() -> Release:
    """With hardly any noise, for tests of what comes after the fit."""
    return fit(plan(every_type_schema(), Budget(200, 1e-6)), every_type_source(1500), unsafe_seed=1)
