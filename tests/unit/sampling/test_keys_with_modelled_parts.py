"""A key with a modelled part costs no row while its domain has room for another value; and what it costs is told."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mare.finding import open_sink
from mare.fitting import FitOptions, run_fit
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.release import Release
from mare.sampling import Poured, SampleOptions, pour, start
from mare.schema.loading import load_schema
from tests.integrity import faults
from tests.memory_source import MemorySource

PLAYERS = 150


def careers() -> MemorySource:
    """Players who play year after year."""
    rng, seasons = np.random.default_rng(1), list[dict[str, object]]()
    born = rng.integers(1960, 1990, PLAYERS)
    for player in range(PLAYERS):
        first = int(born[player] + rng.integers(18, 24))
        years = [first + year for year in range(int(rng.integers(1, 12)))]
        for place, year in enumerate(years):
            season: dict[str, object] = {"pid": player, "sid": len(seasons), "year": year, "stint": 1, "until": year + 1}
            seasons.append({**season, "ward": "abcdef"[place % 6], "team": place, "place": "abc"[place % 3]})
    return MemorySource(
        {
            "people": pa.table({"pid": range(PLAYERS), "born": born}),
            "seasons": pa.Table.from_pylist(seasons),
            "teams": pa.table({"tid": range(12)}),
        }
    )


@cache
def released(unique: str, parent: str, columns: str, more: str = "") -> Release:
    """Seasons that differ within a player in ``unique``."""
    schema = load_schema(
        f"""
mare: 1
entity: people
model: independent
tables:
  people:
    key: pid
    columns: {{born: {{type: integer, min: 1960, max: 1990}}}}
  seasons:
    key: sid
    unique: [[pid, {unique}]]
    parent: {{table: people, column: pid, max_rows: 12, {parent}}}
    columns: {{{columns}}}
{more}"""
    )
    return run_fit(plan(schema, Budget(1000.0, 1e-6)), careers(), FitOptions(bits=SeededBits(1)))


def made(*world: str, chunk: int | None = None, threads: int = 1) -> tuple[pd.DataFrame, Poured]:
    """The seasons that come out: the fresh ``sid`` counts those that were drawn."""
    release, frames = released(*world), dict[str, pd.DataFrame]()
    with open_sink(frames) as sink:
        poured = pour(start(release, SampleOptions(200, 1, threads=threads, chunk=chunk)), sink)
    assert faults(release.schema, frames) == []
    return frames["seasons"], poured


@cache
def without_a_key() -> int:
    """How many seasons there are where nothing says that they differ."""
    return len(made("sid", "type: independent", _YEAR)[0])


_YEAR = "year: {type: integer, min: 1978, max: 2025, bins: 24}"
_STINT = "stint: {type: integer, min: 1, max: 4}"
_AFTER = "year: {type: integer, after: parent.born, within: 50}"
_PREVIOUS = "year: {type: integer, after: previous.year, within: 30, bins: 3, first: {min: 1978, max: 2014}}"
_PLACE = "place: {type: category, values: [a, b, c]}"
_WARD = "ward: {type: category, values: [a, b, c, d, e, f]}"
_PUBLIC = "    references: {team: {kind: public, table: teams}}\n  teams: {public: true, key: tid, rows: 12}"
_POOL = "    references: {team: {kind: pool, table: teams}}\n  teams: {pool: {rows: 12}, key: tid}"
_ORDERED = "type: sequential, order_by:"
WORLDS = {
    "in bins": ("year", "type: independent", _YEAR),
    "a code for each": ("year", "type: independent", "year: {type: integer, min: 1990, max: 2003}"),
    "two parts": ("year, stint", "type: independent", f"{_YEAR}, {_STINT}"),
    "in order": ("year", f"{_ORDERED} year", _YEAR),
    "two parts, in the order of one": ("year, stint", f"{_ORDERED} year", f"{_YEAR}, {_STINT}"),
    "two parts, in the order of both": ("year, stint", f"{_ORDERED} [year, stint]", f"{_YEAR}, {_STINT}"),
    "something depends on it": ("year", f"{_ORDERED} year", f"{_YEAR}, until: {{type: integer, after: year, within: 3}}"),
    "after a row above": ("year", "type: independent", _AFTER),
    "after a row above, in order": ("year", f"{_ORDERED} year", _AFTER),
    "after a row above, with a part": ("place, year", "type: independent", f"{_PLACE}, {_AFTER}"),
    "after the row before": ("year", f"{_ORDERED} year", _PREVIOUS),
    "after the row before, up to an end": ("year", f"{_ORDERED} year", f"{_PREVIOUS[:-1]}, max: 2014}}"),
    "a list": ("ward, place", "type: independent", f"{_WARD}, {_PLACE}"),
    "a public table": ("team", "type: independent", _YEAR, _PUBLIC),
    "a pool": ("team", "type: independent", _YEAR, _POOL),
}


@pytest.mark.parametrize("world", WORLDS)
def test_no_row_is_lost_while_there_is_room(world: str) -> None:
    seasons, poured = made(*WORLDS[world])
    assert (seasons.groupby("pid").size() > 8).sum() > 20, "nobody has many rows, so nothing was tested"
    assert seasons["sid"].max() == len(seasons) == poured.rows["seasons"]
    assert len(seasons) == pytest.approx(without_a_key(), rel=0.02)  # rows may go before they are numbered, too
    assert poured.notes == ()


@pytest.mark.parametrize("world", ["two parts, in the order of both", "after a row above, in order", "a public table", "a pool"])
def test_chunks_and_threads_change_nothing(world: str) -> None:
    whole, _ = made(*WORLDS[world])
    for chunk, threads in ((7, 1), (64, 3)):
        parts, _ = made(*WORLDS[world], chunk=chunk, threads=threads)
        pd.testing.assert_frame_equal(whole, parts)


def test_years_stay_where_they_were_drawn() -> None:
    apart, _ = made(*WORLDS["in bins"])
    plain, _ = made("sid", "type: independent", _YEAR)
    assert plain.duplicated(["pid", "year"]).mean() > 0.05
    moved = (apart["year"] - plain["year"]).abs()
    assert moved.mean() < 1
    assert abs(apart["year"].mean() - plain["year"].mean()) < 0.2


def test_rows_that_a_full_domain_has_no_value_for_are_told() -> None:
    """Three places for up to eleven rows: nobody knows beforehand that a learned list is that short."""
    world = ("place", "type: independent", "place: {type: category, learn: true}")
    seasons, poured = made(*world)
    assert made(*world, chunk=7, threads=3)[1] == poured
    drawn = seasons["sid"].max()
    assert (seasons.groupby("pid").size() <= 3).all()
    (note,) = poured.notes
    assert note.startswith("seasons: ")
    assert "are left out" in note
    assert "[place]" in note
    lost, of = (int(number.replace(",", "")) for number in note.split()[1:4:2])
    assert of == lost + len(seasons)
    assert of >= drawn
