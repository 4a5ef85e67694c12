"""A world: what its tables are called, how its rows are made, and the two public facts that its owner tells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Literal

import numpy as np
from numpy.random import Generator

Row = tuple[Any, ...]
Tables = dict[str, list[Row]]

FIRST = ["Anna", "Ben", "Carla", "David", "Eva", "Finn", "Greta", "Hans", "Ida", "Jan", "Klara", "Leo", "Mia", "Nils", "Olga"]
LAST = ["Meyer", "Schmidt", "Weber", "Fischer", "Wagner", "Becker", "Schulz", "Koch", "Bauer", "Richter", "Klein", "Wolf"]
COUNTRIES = [f"{a}{b}" for a in "ABCDEFGH" for b in "ABCDEF"]


@dataclass(frozen=True)
class World:
    name: str
    kind: Literal["sqlite", "duckdb", "folder", "csv"]
    tables: str
    """CREATE TABLE statements; of files, a line for each: its name, a colon, its columns with commas between."""
    between: tuple[str, str]
    entities: int
    generate: Callable[[Generator, Generator], Tables]
    """From the chance that makes lists that are public, the same in every draw, and the chance that makes people."""
    separator: str = ","

    def draw(self, number: int) -> Tables:
        seed = list(self.name.encode())
        return self.generate(np.random.default_rng(seed), np.random.default_rng([*seed, number]))


def rows(*columns: Any) -> list[Row]:
    """Columns side by side; what is one value is the same in all rows."""
    length = max(len(column) for column in columns if not _single(column))
    return list(zip(*([column] * length if _single(column) else column for column in columns), strict=True))


def _single(column: object) -> bool:
    return isinstance(column, str) or not isinstance(column, Sequence | np.ndarray | range)


def days(first: str, after: Iterable[float]) -> list[date]:
    return [later(date.fromisoformat(first), gone) for gone in after]


def later(day: date, gone: float) -> date:
    return day + timedelta(days=int(gone))


def at(day: date, minutes: float) -> datetime:
    return datetime(day.year, day.month, day.day) + timedelta(minutes=int(minutes))


def clipped(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


def zipf(rng: Generator, many: int, of: int, steep: float = 1.1) -> np.ndarray:
    """Numbers from 0 on, of which the first ones are common."""
    weight = 1 / np.arange(1, of + 1) ** steep
    return rng.choice(of, many, p=weight / weight.sum())


def names(rng: Generator, many: int) -> list[str]:
    return [f"{a} {b}" for a, b in zip(rng.choice(FIRST, many), rng.choice(LAST, many), strict=True)]


def partly(rng: Generator, values: Sequence[Any] | np.ndarray, share: float) -> list[Any]:
    """NULL but for a share of them."""
    return [value if kept else None for value, kept in zip(values, rng.random(len(values)) < share, strict=True)]


def numbered(rng: Generator, many: int, low: int, high: int, form: str = "{}") -> list[str]:
    return [form.format(number) for number in rng.integers(low, high, many)]
