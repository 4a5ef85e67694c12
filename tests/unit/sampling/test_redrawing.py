"""What a list does not hold is never moved onto what it holds: the rest is a code of its own, and comes out as the schema
says."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mare.fitting import FitOptions, run_fit
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.release import Release
from mare.sampling import sample
from mare.schema.loading import load_schema
from mare.verdicts import card
from tests.memory_source import MemorySource

PLENTY = Budget(1e6, 1e-6)
ROWS = 4_000
WARDS = [f"ward {n}" for n in range(12)]
SHARES = np.array([1 / (n + 1) for n in range(12)])
SHARES = SHARES / SHARES.sum()

SCHEMA = """
mare: 1
entity: people
tables:
  people:
    key: pid
    columns:
      ward: {{type: category, learn: true, max_values: 4{ward}}}
      drug: {{type: category, learn: true, max_values: 2}}
      dose: {{type: number, by: drug, learn: true, precision: 1}}
      sex: {{type: category, values: [F, M]}}
    references:
      kind: {{kind: public, table: kinds, columns: kind{kind}}}
  kinds: {{public: true, key: kind, rows: 20}}
"""


def source(strangers: float = 0.0) -> MemorySource:
    rng = np.random.default_rng(5)
    drugs = rng.choice(["a", "b", "c", "d"], ROWS, p=[0.4, 0.3, 0.2, 0.1])
    lows = {"a": 0, "b": 100, "c": 1000, "d": 2000}
    people = pd.DataFrame(
        {
            "pid": np.arange(ROWS),
            "ward": rng.choice(WARDS, ROWS, p=SHARES),
            "drug": drugs,
            "dose": [round(lows[drug] + rng.uniform(0, 9), 1) for drug in drugs],
            "sex": rng.choice(["F", "M", "?"], ROWS, p=[0.5, 0.3, 0.2]),
            "kind": np.where(rng.random(ROWS) < strangers, 99, rng.choice([3, 5, 7], ROWS, p=[0.6, 0.3, 0.1])),
        }
    )
    kinds = pa.table({"kind": list(range(20)), "group": ["low" if n < 6 else "high" for n in range(20)]})
    return MemorySource({"people": pa.Table.from_pandas(people, preserve_index=False), "kinds": kinds})


def fitted(*, strangers: float = 0.0, **written: str) -> Release:
    schema = load_schema(SCHEMA.format(**{"ward": "", "kind": "", **written}))
    return run_fit(plan(schema, PLENTY), source(strangers), FitOptions(bits=SeededBits(2)))


def drawn(release: Release) -> pd.DataFrame:
    return sample(release, entities=ROWS, seed=1)["people"]


def shares(values: pd.Series) -> Mapping[object, float]:
    return values.value_counts(normalize=True, dropna=False).to_dict()


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return drawn(fitted())


def test_the_rest_is_drawn_again_in_proportion_to_the_listed_values(people: pd.DataFrame) -> None:
    """Twelve wards, four of them listed: each has its own share, and its part of the rest. (Off by 5 standard deviations at
    most.)"""
    found = shares(people["ward"])
    assert set(found) == set(WARDS[:4])
    for ward, share in zip(WARDS[:4], SHARES[:4] / SHARES[:4].sum(), strict=True):
        assert found[ward] == pytest.approx(share, abs=5 * np.sqrt(share / ROWS) + 0.01)


def test_a_number_fits_the_item_that_is_written(people: pd.DataFrame) -> None:
    assert set(people["drug"]) == {"a", "b"}
    assert people.loc[people["drug"] == "a", "dose"].between(-5, 30).all()
    assert people.loc[people["drug"] == "b", "dose"].between(80, 130).all()


@pytest.mark.parametrize(("written", "instead"), [(", rest: null, nullable: true", None), (", rest: elsewhere", "elsewhere")])
def test_the_rest_may_be_null_or_a_word_instead(written: str, instead: str | None) -> None:
    ward = drawn(fitted(ward=written))["ward"]
    rest = ward.isna() if instead is None else ward == instead
    assert rest.mean() == pytest.approx(1 - SHARES[:4].sum(), abs=0.04)
    assert shares(ward)[WARDS[0]] == pytest.approx(SHARES[0], abs=0.04)


def test_strangers_of_a_declared_list_are_spread_and_gather_on_no_value(people: pd.DataFrame) -> None:
    assert people["sex"].eq("F").mean() == pytest.approx(0.6, abs=0.05)


@pytest.mark.parametrize(("written", "kept"), [(", max_values: 2", (3, 5)), ("", (3, 5, 7))])
def test_keys_that_were_not_chosen_and_keys_of_no_table_are_drawn_again(written: str, kept: tuple[int, ...]) -> None:
    release = fitted(strangers=0.4, kind=written)
    found = shares(drawn(release)["kind"])
    known = {key: share for key, share in {3: 0.6, 5: 0.3, 7: 0.1}.items() if key in kept}
    for key, share in known.items():
        assert found[key] == pytest.approx(share / sum(known.values()), abs=0.05)
    assert sum(found[key] for key in kept) > 0.99
    # Told where it was counted; else it is in the internal notes.
    told = [str(doubt) for doubt in release.doubts if doubt.where == "people.kind"]
    assert ["lacks the keys of about 40% of its rows" in line for line in told] == ([True] if written else [])


def test_keys_that_a_public_table_lacks_are_learned_where_its_keys_are() -> None:
    """Excerpts of vocabularies lack what everybody has: 0 for "none". The source refers to it, and so does what comes out."""
    release = fitted(strangers=0.4, kind=", learn: true")
    found = shares(drawn(release)["kind"])
    assert found[99] == pytest.approx(0.4, abs=0.05)
    assert found[3] == pytest.approx(0.6 * 0.6, abs=0.05)
    assert "people.kind" not in {doubt.where for doubt in release.doubts}
    (people,) = (table for table in release.tables if table.name == "people")
    assert people.foreign_keys == ()
    assert len(next(table for table in fitted(kind=", learn: true").tables if table.name == "people").foreign_keys) == 1


def test_keys_of_no_table_may_be_null() -> None:
    kind = drawn(fitted(strangers=0.4, kind=", rest: null, nullable: true"))["kind"]
    assert kind.isna().mean() == pytest.approx(0.4, abs=0.05)


def test_a_reference_may_be_restricted_to_a_part_of_its_table() -> None:
    kind = drawn(fitted(kind=", where: {group: low}"))["kind"]
    assert set(kind) == {3, 5}
    assert kind.eq(3).mean() == pytest.approx(0.6 / 0.9, abs=0.05)


def test_where_no_key_stands_clear_of_the_noise_no_single_one_comes_out_for_all() -> None:
    schema = load_schema("""
        mare: 1
        entity: people
        tables:
          people: {key: pid, references: {track: {kind: public, table: tracks, learn: true}}}
          tracks: {public: true, key: track}
        """)
    held = {
        "people": pa.table({"pid": list(range(60)), "track": list(range(60))}),
        "tracks": pa.table({"track": list(range(500))}),
    }
    release = run_fit(plan(schema, Budget(1, 1e-6)), MemorySource(held), FitOptions(bits=SeededBits(3)))
    (doubt,) = release.doubts
    assert doubt.what == "no key stood clear of the noise, so any key of the table comes out"
    (track,) = (column for column in card(release).columns if column.name == "people.track")
    assert (track.verdict, track.clear, track.why) == ("do not use", 0, doubt.what)
    made = sample(release, seed=1, entities=200)
    assert made is not None
    assert made["people"]["track"].nunique() > 100
