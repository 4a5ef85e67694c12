"""Learned lists whose length nobody has said: towns of customers are more than a hundred."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

import mare
from mare.codec import LearnedValues
from mare.fitting.vocabularies import Room

SCHEMA = """
mare: 1
entity: people
tables:
  people:
    key: pid
    columns:
      town: {type: category, learn: true}
      side: {type: category, values: [east, west]}
  visits:
    key: vid
    parent: {table: people, column: pid, type: sequential, order_by: day, max_rows: 2}
    columns:
      day: {type: date, after: previous.day, within: 30d, first: {min: 2020-01-01, max: 2020-12-31}}
      shop: {type: category, learn: true}
"""
TOWNS, PEOPLE = 300, 3000


def _world() -> dict[str, pd.DataFrame]:
    """Ten people in each of 300 towns, which lie in the east or in the west; each goes to two of 300 shops."""
    people = pd.DataFrame({"pid": range(PEOPLE)})
    people["town"] = [f"town {n % TOWNS}" for n in range(PEOPLE)]
    people["side"] = ["east" if n % TOWNS % 2 else "west" for n in range(PEOPLE)]
    visits = pd.DataFrame({"vid": range(2 * PEOPLE), "pid": [n // 2 for n in range(2 * PEOPLE)]})
    visits["day"] = pd.to_datetime("2020-03-01") + pd.to_timedelta(visits["vid"] % 2, unit="D")
    visits["shop"] = [f"shop {(n * 7) % TOWNS}" for n in range(2 * PEOPLE)]
    return {"people": people, "visits": visits}


@pytest.fixture(scope="module")
def release() -> mare.Release:
    return mare.fit(mare.plan(mare.load_schema(SCHEMA), mare.Budget(1000, 1e-9)), _world(), unsafe_seed=3)


def test_towns_beyond_a_hundred_are_there_and_lie_where_they_lie(release: mare.Release) -> None:
    made = mare.sample(release, seed=1)["people"]
    assert made["town"].nunique() > 290
    # Ten each: none has more than thrice as many by chance (one in a million for one of them).
    assert max(Counter(made["town"]).values()) < 35
    east = made["town"].str.split().str[1].astype(int) % 2 == 1
    assert ((made["side"] == "east") == east).mean() > 0.95
    assert not any(doubt.where == "people.town" for doubt in release.plan.doubts)


def test_along_a_sequence_there_are_fewer_codes_and_the_rest_comes_out_as_what_is_known(release: mare.Release) -> None:
    learned = release.plan.learned["visits.shop"]
    assert isinstance(learned, LearnedValues)
    assert len(learned.values) < 150
    assert len(learned.values) + len(learned.others) == TOWNS
    made = mare.sample(release, seed=1)["visits"]
    assert made["shop"].nunique() == TOWNS
    listed = made["shop"].isin(learned.values).mean()
    assert abs(listed - len(learned.values) / TOWNS) < 0.03


@pytest.mark.parametrize(
    ("entities", "deviation", "follows", "places"),
    [
        (6000, 0.15, False, 1000),
        (6000, 1.0, False, 150),
        (6000, 11.0, False, 100),
        (6000, 0.15, True, 100),
        (10**6, 1.0, True, 500),
    ],
)
def test_a_list_is_as_long_as_leaves_room_for_pairs(entities: int, deviation: float, follows: bool, places: int) -> None:
    assert Room(entities, follows).places(deviation) == places


def test_a_release_keeps_them(release: mare.Release, tmp_path: Path) -> None:
    path = tmp_path / "towns.mare"
    release.save(path)
    assert mare.load_release(path).plan.learned == release.plan.learned
