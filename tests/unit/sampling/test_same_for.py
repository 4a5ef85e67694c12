"""`same_for`: what is the same in all rows of somebody is drawn once, in its own share, and goes with the rest of the row."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mare.errors import SourceError
from mare.fitting import fit
from mare.fitting.fit import FitOptions, run_fit
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.release import Release
from mare.sampling import sample
from mare.schema.loading import load_schema
from mare.stage_door import LocalNotes
from tests.memory_source import MemorySource

CLINIC = """
mare: 1
entity: people
tables:
  people:
    key: person
    columns: {region: {type: category, values: [north, south]}}
  stays:
    key: stay
    parent: {table: people, column: person, type: sequential, order_by: begins, max_rows: 5}
    columns:
      begins: {type: datetime, after: previous.begins, within: 8y, first: {min: 2010-01-01, max: 2012-01-01}}
      sex:    {type: category, values: [f, m], same_for: entity}
      weight: {type: number, min: 40, max: 120, precision: 1, nullable: true, same_for: parent}
      age:    {type: integer, min: 0, max: 110, specials: ["> 89"], same_for: entity, drift: {by: begins, unit: years}}
      ward:   {type: category, values: [gyn, gen, card]}
  labs:
    parent: {table: stays, column: stay, type: independent, max_rows: 4}
    columns:
      panel:  {type: category, learn: true, same_for: parent}
      smoker: {type: boolean, same_for: entity}
      value:  {type: number, min: 0, max: 100, precision: 0}
"""


def source(people: int = 3000, contradictions: bool = False) -> MemorySource:
    rng = np.random.default_rng(8)
    south = rng.random(people) < 0.4
    female, smoker = rng.random(people) < 0.45 + 0.2 * south, rng.random(people) < 0.3
    weight = np.round(np.where(female, 62, 80) + 8 * rng.standard_normal(people), 1).clip(40, 120)
    stays = rng.integers(0, 6, people)
    person = np.repeat(np.arange(people), stays)
    rows = len(person)
    number = np.arange(rows) - np.repeat(np.cumsum(stays) - stays, stays)
    begins = pd.Timestamp("2010-01-01") + pd.to_timedelta(rng.integers(0, 700, people)[person] + 400 * number, unit="D")
    age = rng.integers(20, 95, people)[person] + number
    ward = np.where(female[person] & (rng.random(rows) < 0.4), "gyn", np.where(rng.random(rows) < age / 200, "card", "gen"))
    sex = np.where(female, "f", "m")[person]
    if contradictions:
        sex[number == 1] = "m"
    counts = rng.integers(0, 4, rows)
    stay = np.repeat(np.arange(rows), counts)
    panel = np.where(ward == "card", rng.choice(["heart", "blood"], rows, p=[0.8, 0.2]), "blood")[stay]
    value = np.round(np.where(panel == "heart", 70, 30) + 15 * smoker[person][stay] + 5 * rng.standard_normal(len(stay)))
    return MemorySource(
        {
            "people": pa.table({"person": np.arange(people), "region": np.where(south, "south", "north")}),
            "stays": pa.table(
                {
                    "stay": np.arange(rows),
                    "person": person,
                    "begins": pa.array(begins.to_numpy().astype("datetime64[us]")),
                    "sex": sex,
                    "weight": pa.array(weight[person], mask=(np.arange(people) % 10 == 0)[person]),
                    "age": np.where(age > 89, "> 89", age.astype(str)),
                    "ward": ward,
                }
            ),
            "labs": pa.table({"stay": stay, "panel": panel, "smoker": smoker[person][stay], "value": value.clip(0, 100)}),
        }
    )


@cache
def fitted() -> Release:
    return fit(plan(load_schema(CLINIC), Budget(1e6, 1e-6)), source(), unsafe_seed=1)


@cache
def drawn() -> dict[str, pd.DataFrame]:
    return joined(sample(fitted(), entities=20_000, seed=2) or {})


@cache
def true() -> dict[str, pd.DataFrame]:
    return joined({name: source()._tables[name].to_pandas() for name in ("people", "stays", "labs")})


def joined(frames: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    stays = frames["stays"].merge(frames["people"], on="person")
    return {"stays": stays, "labs": frames["labs"].merge(stays, on="stay")}


def strength(one: pd.Series, other: pd.Series) -> float:
    """Cramér's V."""
    table = pd.crosstab(one, other).to_numpy().astype(float)
    expected = np.outer(table.sum(1), table.sum(0)) / table.sum()
    return float(np.sqrt(((table - expected) ** 2 / expected).sum() / table.sum() / (min(table.shape) - 1)))


def test_it_never_changes() -> None:
    stays, labs = drawn()["stays"], drawn()["labs"]
    assert len(stays) > 40_000
    for column in ("sex", "weight"):
        assert (stays.groupby("person")[column].nunique(dropna=False) == 1).all()
    assert stays.groupby("person")["weight"].first().nunique() > 200
    assert (labs.groupby("stay")["panel"].nunique() == 1).all()
    assert (labs.groupby("person")["smoker"].nunique() == 1).all()
    assert (labs.groupby("person")["panel"].nunique() == 2).any()


def test_it_is_measured_once_for_each_person_so_nothing_has_to_be_scaled_down() -> None:
    clips = {charge.view: charge.clip for charge in fitted().ledger.charges if charge.what.startswith("counts of")}
    assert clips["stays.weight"] is None
    assert clips["stays.age"] is None
    assert clips["labs.value"] is not None


def test_its_share_and_what_it_goes_with_are_kept() -> None:
    for table, column, other in (
        ("stays", "sex", "ward"),
        ("stays", "sex", "region"),
        ("labs", "panel", "ward"),
        ("labs", "smoker", "panel"),
    ):
        made, real = drawn()[table], true()[table]
        shares = made[column].value_counts(normalize=True).sub(real[column].value_counts(normalize=True), fill_value=0)
        assert shares.abs().max() < 0.03, column
        assert abs(strength(made[column], made[other]) - strength(real[column], real[other])) < 0.03, (column, other)
    for heavy, frame in ((True, drawn()["stays"]), (False, true()["stays"])):
        means = frame.groupby("sex")["weight"].mean()
        assert means["m"] - means["f"] == pytest.approx(18, abs=1.5), heavy
        assert frame["weight"].isna().mean() == pytest.approx(0.1, abs=0.02)
    by_smoking = [frame["labs"].groupby("smoker")["value"].mean().diff().iloc[-1] for frame in (drawn(), true())]
    assert by_smoking[0] == pytest.approx(by_smoking[1], abs=3)


def test_an_age_goes_on_with_the_dates_and_never_jumps() -> None:
    stays = drawn()["stays"].sort_values(["person", "begins"])
    assert (stays["age"] == "> 89").mean() == pytest.approx((true()["stays"]["age"] == "> 89").mean(), abs=0.03)
    number = pd.to_numeric(stays["age"], errors="coerce")
    assert (number.isna().groupby(stays["person"]).nunique() == 1).all()
    since = (stays["begins"] - stays.groupby("person")["begins"].transform("first")).dt.total_seconds() / (365.25 * 86400)
    moved = number - number.groupby(stays["person"]).transform("first")
    inside = moved.notna() & (number < 110)
    assert inside.sum() > 30_000
    assert (moved[inside] >= np.floor(since[inside])).all()
    assert (moved[inside] <= np.ceil(since[inside])).all()
    # A whole fraction of a year is drawn once: on average the age moves as far as time does.
    assert (moved - since)[inside & (since > 0)].mean() == pytest.approx(0, abs=0.05)


def test_the_same_through_a_file_and_with_threads(tmp_path: Path) -> None:
    fitted().save(tmp_path / "clinic.mare")
    one = sample(fitted(), entities=500, seed=3, threads=1)
    two = sample(tmp_path / "clinic.mare", entities=500, seed=3, threads=3)
    assert one is not None
    assert two is not None
    for name, frame in one.items():
        pd.testing.assert_frame_equal(frame, two[name])


def test_rows_that_contradict_are_told_in_the_notes_and_nowhere_else() -> None:
    told: list[LocalNotes] = []
    made = plan(load_schema(CLINIC), Budget(1e6, 1e-6))
    run_fit(made, source(300, contradictions=True), FitOptions(bits=SeededBits(1), notes=told.append))
    rows = source(300, contradictions=True)._tables["stays"].to_pandas()
    wrong = (rows["sex"] != rows.groupby("person")["sex"].transform("first")).sum()
    assert wrong > 50
    assert told[0].changed == {"stays.sex": wrong, "stays.weight": 0, "labs.panel": 0, "labs.smoker": 0}


def test_given_rows_keep_what_they_say_and_those_below_share_theirs() -> None:
    people = pd.DataFrame({"person": range(200), "region": ["south"] * 200})
    found = sample(fitted(), given={"people": people}, seed=4)
    assert found is not None
    assert (found["stays"].groupby("person")["sex"].nunique() == 1).all()
    stays = pd.DataFrame({"stay": [1, 2], "person": [1, 1], "begins": ["2010-05-01", "2011-05-01"], "sex": ["f", "f"]})
    stays = stays.assign(weight=70.5, age=["50", "51"], ward="gen")
    with pytest.raises(SourceError, match=r"stays cannot be given: labs.smoker .*drawn with the rows of stays"):
        sample(fitted(), given={"people": people, "stays": stays}, seed=4)


def test_the_rest_of_a_list_is_the_same_in_all_rows_too_and_other_lists_have_their_own() -> None:
    schema = load_schema("""
        mare: 1
        entity: people
        tables:
          people: {key: person}
          stays:
            parent: {table: people, column: person, type: independent, max_rows: 4}
            columns:
              race: {type: category, learn: true, same_for: entity}
              ward: {type: category, learn: true}
        """)
    rng = np.random.default_rng(3)
    person = np.repeat(np.arange(800), 3)
    race = np.where(rng.random(800) < 0.4, [f"only {n}" for n in range(800)], rng.choice(["a", "b", "c"], 800))[person]
    ward = np.where(rng.random(2400) < 0.3, [f"once {n}" for n in range(2400)], rng.choice(["u", "v"], 2400))
    held = {"people": pa.table({"person": np.arange(800)}), "stays": pa.table({"person": person, "race": race, "ward": ward})}
    release = run_fit(plan(schema, Budget(1000, 1e-6)), MemorySource(held), FitOptions(bits=SeededBits(2)))
    stays = sample(release, seed=1)
    assert stays is not None
    assert set(stays["stays"]["race"]) == {"a", "b", "c"}
    assert (stays["stays"].groupby("person")["race"].nunique() == 1).all()
