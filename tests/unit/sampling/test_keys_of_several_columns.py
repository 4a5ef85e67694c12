"""References to public tables by several columns: each column goes along with what is above, and together they are a key that
there is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mare.fitting import FitOptions, run_fit
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.sampling import sample
from mare.schema.loading import load_schema
from tests.integrity import faults
from tests.memory_source import MemorySource

SITES = [f"S{site}" for site in range(8)]
STATIONS = [(site, number) for place, site in enumerate(SITES) for number in range(1, 5 + place)]
PEOPLE = 600

SCHEMA = """
mare: 1
entity: people
tables:
  people:
    key: pid
    references: {home: {kind: public, table: sites, column: site, learn: true}}
  visits:
    key: vid
    parent: {table: people, column: pid, max_rows: 3}
    columns: {use: {type: category, values: [a, b]}}
    references: {site_number: {kind: public, table: stations, columns: [site, number], learn: true}}
  sites: {public: true, key: site}
  stations: {public: true, key: [site, number]}
"""
SHARED = """
mare: 1
entity: people
tables:
  people:
    key: pid
    unique: [[pid, site]]
    references: {site: {kind: public, table: sites, learn: true}}
  visits:
    key: vid
    parent: {table: people, column: [pid, site], references: [pid, site], max_rows: 3}
    columns: {use: {type: category, values: [a, b]}}
    references: {site_number: {kind: public, table: stations, columns: [site, number], learn: true}}
  sites: {public: true, key: site}
  stations: {public: true, key: [site, number]}
"""


def world(name: str, at_home: float = 1.0, each: int = 3) -> MemorySource:
    """People who visit the stations of the site that they live at, or, now and then, of another."""
    rng = np.random.default_rng(3)
    home = rng.integers(len(SITES), size=PEOPLE)
    visits = []
    for person in np.repeat(np.arange(PEOPLE), each).tolist():
        site = home[person] if rng.random() < at_home else rng.integers(len(SITES))
        visits.append(
            {"vid": len(visits), "pid": person, "site": SITES[site], "number": int(rng.integers(4 + site)) + 1, "use": "a"}
        )
    return MemorySource(
        {
            "people": pa.table({"pid": range(PEOPLE), name: [SITES[site] for site in home]}),
            "visits": pa.Table.from_pylist(visits),
            "sites": pa.table({"site": SITES}),
            "stations": pa.table({"site": [site for site, _ in STATIONS], "number": [number for _, number in STATIONS]}),
        }
    )


def drawn(text: str, source: MemorySource, epsilon: float) -> dict[str, pd.DataFrame]:
    schema = load_schema(text)
    release = run_fit(plan(schema, Budget(epsilon, 1e-6)), source, FitOptions(bits=SeededBits(1)))
    made = sample(release, entities=PEOPLE, seed=1)
    assert made is not None
    assert faults(schema, made) == []
    return made


def away(made: dict[str, pd.DataFrame], home: str) -> float:
    """The part of visits that are not at the site that the person lives at."""
    visits = made["visits"].merge(made["people"], on="pid", suffixes=("", "_above"))
    return float((visits["site"] != visits[f"{home}_above" if home == "site" else home]).mean())


def test_what_usually_is_as_above_is_so_in_synthetic_rows() -> None:
    """A tenth of visits are elsewhere. With a code for each of the 60 stations half of them were: 600 people do not tell in
    which of 8 × 60 cells they are. The bits are fixed, so it is one fit (three came to .10 to .18)."""
    made = drawn(SCHEMA, world("home", at_home=0.9), epsilon=3.0)
    assert away(made, "home") < 0.25


def test_who_comes_back_again_and_again_comes_back_home() -> None:
    """Visit after visit is at the same site, so the row before tells much of it; where somebody lives tells more. Told as "the
    same as before, or another", .49 to .87 of the visits of three fits were elsewhere. The bits are fixed, so it is one fit."""
    text = SCHEMA.replace("max_rows: 3}", "type: sequential, order_by: vid, max_rows: 8}")
    assert away(drawn(text, world("home", at_home=0.9, each=8), epsilon=5.0), "home") < 0.25


@pytest.mark.parametrize("epsilon", [0.5, 100.0])
def test_a_column_of_the_foreign_key_is_what_it_is_above(epsilon: float) -> None:
    """The foreign key says that both are one; at any noise."""
    made = drawn(SHARED, world("site"), epsilon)
    assert len(made["visits"]) > PEOPLE
    assert away(made, "site") == 0.0


@pytest.mark.parametrize("epsilon", [0.5, 100.0])
def test_keys_that_the_table_lacks_never_come_out(epsilon: float) -> None:
    """Larger sites have numbers that smaller ones have not."""
    made = drawn(SCHEMA, world("home", at_home=0.5), epsilon)
    assert set(zip(made["visits"]["site"], made["visits"]["number"], strict=True)) <= set(STATIONS)


def test_a_key_that_is_known_in_part_comes_out_in_part() -> None:
    """Whoever is at a site and at none of its stations yet: one of the columns is NULL, and the other says where."""
    source = world("home")
    visits = source._tables["visits"]
    numbers = pa.array([None if row % 2 else number for row, number in enumerate(visits["number"].to_pylist())], type=pa.int64())
    source._tables["visits"] = visits.set_column(visits.schema.get_field_index("number"), "number", numbers)
    made = drawn(SCHEMA.replace("number], learn: true", "number], learn: true, nullable: true"), source, 1000.0)
    assert made["visits"]["number"].isna().mean() == pytest.approx(0.5, abs=0.08)
    assert made["visits"]["site"].isna().mean() < 0.01


def test_rows_of_one_parent_keep_different_keys() -> None:
    """Three visits are at three stations, of a site that has four at least."""
    text = SCHEMA.replace("key: vid", "key: [pid, site, number]").replace("use: ", "vid: {type: identifier}\n      use: ")
    text = text.replace(
        "columns: {vid: {type: identifier}\n      use: {type: category, values: [a, b]}}",
        "columns: {use: {type: category, values: [a, b]}}",
    )
    source = world("home")
    rows = [{**row, "number": place % 3 + 1} for place, row in enumerate(source._tables["visits"].to_pylist())]
    source._tables["visits"] = pa.Table.from_pylist(rows)
    made = drawn(text, source, 100.0)
    assert not made["visits"].duplicated(["pid", "site", "number"]).any()
    assert len(made["visits"]) > 0.95 * 3 * PEOPLE
