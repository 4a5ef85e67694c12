"""Every type of column through the whole job: fitted, sampled, and back in the form that the source has."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mare.release import load_release
from mare.sampling import sample
from tests.every_type import CODES, TYPES, fitted_every_type


@cache
def frames() -> dict[str, pd.DataFrame]:
    found = sample(fitted_every_type(), entities=1200, seed=2)
    assert found is not None
    return found


@pytest.fixture
def people() -> pd.DataFrame:
    return frames()["people"]


def test_no_true_text_gets_out(people: pd.DataFrame) -> None:
    assert not people["uid"].str.startswith("secret").any()
    assert (people["memo"] == "").all()
    assert (people["remark"] == "(removed)").all()


def test_identifiers_are_fresh_and_in_their_form(people: pd.DataFrame) -> None:
    assert people["pid"].str.fullmatch(r"P\d{5}").all()
    assert people["uid"].str.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}").all()
    assert people["pid"].is_unique
    assert people["uid"].is_unique


def test_values_come_back_as_the_source_stores_them(people: pd.DataFrame) -> None:
    assert set(people["sex"]) == {"F", "M"}
    assert set(people["town"].dropna()) == {"Ulm", "Bonn", "Köln"}
    assert set(people["grade"]) == {1, 2, 3}
    assert set(people["smoker"].dropna()) == {"Y", "N"}
    assert set(people["alive"]) == {True, False}
    assert set(people["vip"]) == {0, 1}
    ages = set(people["age"].dropna())
    assert "> 89" in ages
    assert all(age == "> 89" or 0 <= int(age) <= 89 for age in ages)
    assert people["age"].isna().any()
    scores = people["score"]
    assert (scores == -1).any()
    assert ((scores == -1) | ((scores >= 0) & (scores <= 200) & (scores % 5 == 0))).all()
    assert (people["height"] == people["height"].round(1)).all()
    assert people["weight"].isna().any()
    assert people["born"].map(lambda text: datetime.strptime(text, "%d.%m.%Y")).min() >= datetime(1900, 1, 1)
    assert people["wakes"].str.fullmatch(r"\d\d:\d\d").all()
    assert all(value >= time(20) for value in people["sleeps"])
    assert people["fasting"].between(timedelta(0), timedelta(hours=48)).all()
    assert people["leave"].between(0, 60).all()
    assert set(people["icd"].dropna()) <= set(CODES)
    assert set(people["atc"]) == {"A01AA", "A01AB", "B02", "B03"}


def test_learned_domains_lie_where_the_data_is(people: pd.DataFrame) -> None:
    assert people["weight"].median() == pytest.approx(75, abs=4)
    assert people["joined"].map(lambda day: date(2009, 12, 1) <= day <= date(2015, 12, 31)).all()
    assert people["income"].median() == pytest.approx(np.exp(10), rel=0.3)
    levels = frames()["labs"].groupby("item")["level"].median()
    assert levels.loc[7] == pytest.approx(10, abs=4)
    assert levels.loc[8] == pytest.approx(1000, abs=100)
    assert levels.loc[9] == pytest.approx(-50, abs=10)


def test_numbers_by_item_have_the_scale_of_their_item() -> None:
    labs = frames()["labs"].dropna(subset=["value"])
    sodium, crp = (labs[labs["test"] == test]["value"] for test in ("sodium", "crp"))
    assert sodium.between(100, 180).all()
    assert (sodium == sodium.round(0)).all()
    assert sodium.median() == pytest.approx(140, abs=3)
    assert (crp == crp.round(1)).all()
    assert crp.median() == pytest.approx(np.exp(2), rel=0.5)


def test_determined_columns_are_worked_out(people: pd.DataFrame) -> None:
    expected = (people["weight"] / (people["height"] / 100) ** 2).round(1)
    pd.testing.assert_series_equal(people["bmi"], expected, check_names=False)
    # "> 89" is no quantity
    doubled = pd.to_numeric(people["age"], errors="coerce").fillna(0).astype("int64") * 2
    assert (people["double"] == doubled).all()
    assert (people["birthyear"] == people["born"].str[-4:].astype("int64")).all()
    names = ["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"]
    assert (people["weekday"] == people["joined"].map(lambda day: names[day.weekday()])).all()
    known = people["icd"].notna()
    assert (people.loc[known, "diagnosis"] == "disease " + people.loc[known, "icd"]).all()
    assert people.loc[~known, "diagnosis"].isna().all()
    noted = people["age"].notna()
    assert people.loc[~noted, "note"].isna().all()
    assert people.loc[noted, "note"].str.fullmatch(r"[FM], (> 89|\d+) years, \d+ cm").all()


def test_times_hang_together() -> None:
    people, stays, labs = (frames()[name] for name in ("people", "stays", "labs"))
    joined = stays.merge(people[["pid", "joined", "sex"]], on="pid", suffixes=("", "_above"))
    assert (joined["begins"] >= pd.to_datetime(joined["joined"])).all()
    assert (joined["gender"] == joined["sex"]).all()
    assert (stays["ends"] >= stays["begins"]).all()
    assert (stays["ends"].dt.second == 0).all()
    previous = stays.groupby("pid")["ends"].shift(1)
    assert (stays["begins"] >= previous)[previous.notna()].all()
    pd.testing.assert_series_equal(stays["returns"], stays.groupby("pid")["begins"].shift(-1), check_names=False)
    days = ((stays["ends"] - stays["begins"]) / pd.Timedelta(days=1)).round(3)
    np.testing.assert_allclose(stays["los"], days, atol=1e-9)
    within = labs.merge(stays[["sid", "begins", "ends"]], on="sid")
    assert ((within["taken"] >= within["begins"]) & (within["taken"] <= within["ends"])).all()
    assert (within["taken"] == within["ends"]).mean() > 0.05
    ordered = labs.dropna(subset=["ordered"])
    assert (ordered["ordered"] <= ordered["taken"]).all()


def test_positions_count_rows_and_rows_of_an_item() -> None:
    labs = frames()["labs"]
    assert (labs["line"] == labs.groupby("sid").cumcount()).all()
    assert (labs["turn"] == labs.groupby(["sid", "test"]).cumcount() + 1).all()


def test_the_release_alone_gives_the_same_rows_again(tmp_path: Path) -> None:
    fitted_every_type().save(tmp_path / "r.mare")
    again = sample(load_release(tmp_path / "r.mare"), entities=1200, seed=2)
    assert again is not None
    for name, frame in frames().items():
        pd.testing.assert_frame_equal(frame, again[name])


def test_types_are_those_of_the_source() -> None:
    from mare.sampling import SampleOptions, start

    found = {}
    for made in start(fitted_every_type(), SampleOptions(50, 1)).batches():
        found |= made
    for table, columns in TYPES.items():
        if table in found:
            assert {field.name: field.type for field in found[table].schema} == columns
