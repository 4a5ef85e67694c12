"""Databases that are drawn at random, as many as there are seeds: what nobody has set anything by.

Tables, columns, their types, shapes and relations follow from the seed. They are written to SQLite with their keys, so that
`mare init` drafts them as it would a stranger's; nothing is edited.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

import mare

ENTITIES = (250, 5000)
"""How many people there are, at least and at most."""
Values = np.ndarray
Draw = Callable[[np.random.Generator, Values], Values]
"""A column from what lies behind each row, a standard normal number."""
_PEOPLE = ("patients", "customers", "members", "students")
_EVENTS = (("visits", "visit_date"), ("orders", "ordered_on"), ("tests", "taken_on"), ("contracts", "signed_on"))
_DETAILS = ("items", "results", "payments")


@dataclass
class Drawn:
    """A database, and what a person would tell `mare init` of it."""

    frames: dict[str, pd.DataFrame] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)
    between: tuple[str, str] = ("", "")
    entities: int = 0

    def write(self, path: Path) -> Path:
        """With primary and foreign keys, and days that are declared as such."""
        path.unlink(missing_ok=True)
        with closing(sqlite3.connect(path)) as database:
            for table, frame in self.frames.items():
                lines = [f"{column} {_type(frame[column])}" for column in frame]
                lines[0] += " PRIMARY KEY"
                if table in self.parents:
                    above = self.parents[table]
                    lines.append(f"FOREIGN KEY ({above}_id) REFERENCES {above}")
                database.execute(f"CREATE TABLE {table} ({', '.join(lines)})")
                rows = frame.astype(object).where(frame.notna(), None).to_numpy().tolist()
                database.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(frame.columns))})", rows)
            database.commit()
        return path

    def schema(self, path: Path) -> mare.Schema:
        return mare.load_schema(mare.draft(str(path), between=self.between, entities=self.entities))


def drawn(seed: int, entities: int | None = None) -> Drawn:
    rng = np.random.default_rng([seed, 15])
    count = entities or int(np.exp(rng.uniform(*np.log(ENTITIES))))
    years = int(rng.integers(2, 13))
    begin, end = np.datetime64("2024-01-01") - 365 * years, np.datetime64("2024-01-01")
    world = Drawn(between=(str(begin), str(end)), entities=count)
    top, latent = str(rng.choice(_PEOPLE)), rng.normal(size=count)
    joined = begin + (_on_unit(rng, latent) * 0.8 * 365 * years).astype(int)
    people = pd.DataFrame({f"{top}_id": np.arange(1, count + 1)})
    people["registered_on"] = joined.astype(str)
    _columns(people, rng, latent, int(rng.integers(3, 8)))
    world.frames[top] = people
    for number in rng.permutation(len(_EVENTS))[: rng.integers(1, 3)]:
        table, day = _EVENTS[number]
        whose, days = _sequences(rng, latent, joined, end)
        behind = 0.6 * latent[whose] + 0.8 * rng.normal(size=len(whose))
        events = pd.DataFrame({f"{table}_id": np.arange(1, len(whose) + 1), f"{top}_id": whose + 1, day: days.astype(str)})
        _columns(events, rng, behind, int(rng.integers(2, 6)))
        world.frames[table], world.parents[table] = events, top
        if rng.random() < 0.5:
            detail = f"{table}_{rng.choice(_DETAILS)}"
            of = np.repeat(np.arange(len(whose)), rng.poisson(rng.uniform(0.5, 2.5), len(whose)))
            rows = pd.DataFrame({f"{detail}_id": np.arange(1, len(of) + 1), f"{table}_id": of + 1})
            _columns(rows, rng, behind[of], int(rng.integers(1, 5)))
            world.frames[detail], world.parents[detail] = rows, table
    return world


def _type(column: pd.Series) -> str:
    if column.dtype == object or pd.api.types.is_string_dtype(column):
        return "DATE" if column.dropna().astype(str).str.fullmatch(r"\d{4}-\d\d-\d\d").all() else "TEXT"
    return "INTEGER" if pd.api.types.is_integer_dtype(column) else "REAL"


def _sequences(rng: np.random.Generator, latent: Values, joined: Values, end: np.datetime64) -> tuple[Values, Values]:
    """Whose each row is, and its day: some come in a rhythm of their own, some often at first, all until the data ends."""
    pace, start = np.exp(rng.uniform(1.5, 5.5)), np.exp(rng.uniform(0, 5))
    own, shape = rng.uniform(0, 1), rng.choice([0.7, 1.5, 20.0])
    wanted = rng.poisson(rng.uniform(0.5, 9) * np.exp(0.5 * latent))
    whose = np.repeat(np.arange(len(latent)), wanted)
    gaps = rng.gamma(shape, pace / shape, len(whose)) * np.exp(own * rng.normal(size=len(latent))[whose])
    first = np.diff(whose, prepend=-1) > 0
    gaps[first] = rng.exponential(start, int(first.sum()))
    passed = pd.Series(np.maximum(gaps.astype(int), 1 - first)).groupby(whose).cumsum().to_numpy()
    days = joined[whose] + passed.astype("timedelta64[D]")
    return whose[days < end], days[days < end]


def _columns(frame: pd.DataFrame, rng: np.random.Generator, latent: Values, count: int) -> None:
    """So many columns at the end of a table, some of them with gaps."""
    for place in range(count):
        name, draw = _KINDS[int(rng.integers(len(_KINDS)))]
        values = pd.Series(draw(rng, latent))
        if rng.random() < 0.3:
            values = values.astype(object).mask(rng.random(len(values)) < rng.uniform(0.02, 0.6)).infer_objects()
        if pd.api.types.is_float_dtype(values) and (values.dropna() % 1 == 0).all():
            values = values.astype("Int64")
        frame[f"{name}_{place}"] = values


def _on_unit(rng: np.random.Generator, latent: Values) -> Values:
    """Between 0 and 1, more or less tied to what lies behind, in one of several shapes."""
    tie = rng.uniform(0, 0.9)
    mixed = pd.Series(tie * latent + np.sqrt(1 - tie**2) * rng.normal(size=len(latent)))
    even = np.clip(mixed.rank(method="first").to_numpy() - 0.5, 0, None) / max(1, len(mixed))
    return even ** rng.choice([0.4, 1.0, 1.0, 2.5])


def _words(rng: np.random.Generator, latent: Values) -> Values:
    many = int(np.exp(rng.uniform(np.log(2), np.log(60))))
    shares = np.cumsum(1 / np.arange(1, many + 1) ** rng.uniform(0, 1.8))
    places = np.searchsorted(shares / shares[-1], _on_unit(rng, latent), side="right")
    return np.array([f"w{number:02d}" for number in rng.permutation(many)])[np.minimum(places, many - 1)]


def _counts(rng: np.random.Generator, latent: Values) -> Values:
    return rng.poisson(rng.uniform(0.3, 8) * np.exp(rng.uniform(0, 0.5) * latent))


def _grades(rng: np.random.Generator, latent: Values) -> Values:
    return 1 + (int(rng.integers(3, 11)) * _on_unit(rng, latent)).astype(int)


def _flags(rng: np.random.Generator, latent: Values) -> Values:
    return (_on_unit(rng, latent) < rng.uniform(0.03, 0.97)).astype(int)


def _bell(rng: np.random.Generator, latent: Values) -> Values:
    return np.round(
        rng.choice([5, 37, 100, 400]) * (1 + rng.uniform(0.03, 0.3) * (0.5 * latent + rng.normal(size=len(latent)))), 1
    )


def _money(rng: np.random.Generator, latent: Values) -> Values:
    amounts = np.exp(rng.uniform(2, 9) + rng.uniform(0.2, 1.3) * (0.5 * latent + 0.8 * rng.normal(size=len(latent))))
    step = rng.choice([0.01, 0.01, 1, 10])
    zeros = rng.random(len(latent)) < rng.choice([0, 0, 0.4, 0.9])
    return np.where(zeros, 0.0, np.round(np.round(amounts / step) * step, 2))


def _humps(rng: np.random.Generator, latent: Values) -> Values:
    which = rng.random(len(latent)) < rng.uniform(0.2, 0.8)
    return np.round(np.where(which, 30, 90) + rng.normal(0, rng.uniform(2, 12), len(latent)) + 3 * latent).astype(int)


def _prices(rng: np.random.Generator, latent: Values) -> Values:
    few = np.round(np.sort(rng.lognormal(3, 1, int(rng.integers(3, 12)))), int(rng.integers(0, 3)))
    return few[np.minimum((_on_unit(rng, latent) * len(few)).astype(int), len(few) - 1)]


_KINDS: tuple[tuple[str, Draw], ...] = (
    ("kind", _words),
    ("group", _words),
    ("number_of", _counts),
    ("grade", _grades),
    ("is_set", _flags),
    ("level", _bell),
    ("amount", _money),
    ("score", _humps),
    ("price", _prices),
)
