"""`where`: so many entities that satisfy a condition, whatever type of column it is about; a slip is a clear word."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import date, datetime, time, timedelta

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mare.errors import PlanError
from mare.sampling import SampleOptions, sample, start
from mare.sampling.conditions import entity_condition
from mare.sampling.run import BLOCK
from mare.schema.columns import Datetime
from mare.schema.condition_grammar import Among, Comparison, IsNull, Joined, Not, NotACondition, parse_condition
from tests.conftest import examples
from tests.every_type import fitted_every_type
from tests.fitted_hospital import fitted_hospital
from tests.integrity import faults
from tests.relations import related


def drawn(where: str, entities: int = 80, seed: int = 1) -> dict[str, pd.DataFrame]:
    found = sample(fitted_every_type(), entities=entities, seed=seed, where=where)
    assert found is not None
    return found


def _number(value: object) -> float:
    """NaN, which nothing is true of, where there is no number."""
    return float(str(value)) if str(value).isdecimal() else math.nan


CONDITIONS: dict[str, Callable[[pd.Series], bool]] = {
    "sex = 'F'": lambda row: row["sex"] == "F",
    "SEX != 'F' and town in ('Ulm', 'Bonn')": lambda row: row["sex"] == "M" and row["town"] in ("Ulm", "Bonn"),
    "town is null": lambda row: pd.isna(row["town"]),
    "town is not null and not town = 'Ulm'": lambda row: row["town"] in ("Bonn", "Köln"),
    "grade >= 2": lambda row: row["grade"] >= 2,
    "grade in (1, 3)": lambda row: row["grade"] in (1, 3),
    "smoker = true": lambda row: row["smoker"] == "Y",
    "smoker = 'N' or smoker is null": lambda row: row["smoker"] == "N" or pd.isna(row["smoker"]),
    "alive = false": lambda row: not row["alive"],
    "vip = 1": lambda row: row["vip"] == 1,
    "age >= 65": lambda row: _number(row["age"]) >= 65,
    "age = '> 89'": lambda row: row["age"] == "> 89",
    "age >= 65 or age = '> 89'": lambda row: row["age"] == "> 89" or _number(row["age"]) >= 65,
    "not age < 65": lambda row: _number(row["age"]) >= 65,
    "score = -1 or score > 150": lambda row: row["score"] == -1 or row["score"] > 150,
    "height < 150.5": lambda row: row["height"] < 150.5,
    "born < '1950-01-01'": lambda row: date(*map(int, reversed(row["born"].split(".")))) < date(1950, 1, 1),
    "wakes >= '07:30'": lambda row: time.fromisoformat(row["wakes"]) >= time(7, 30),
    "fasting > '12h'": lambda row: row["fasting"] > timedelta(hours=12),
    "leave <= 30": lambda row: row["leave"] <= 30,
    "birthyear >= 1980": lambda row: row["birthyear"] >= 1980,
    "weekday in ('Mo', 'Su')": lambda row: row["weekday"] in ("Mo", "Su"),
    "(sex = 'F' or sex = 'M') and (not (grade = 1))": lambda row: row["grade"] != 1,
}


ALIKE = (
    "town is not null and not town = 'Ulm'",
    "grade in (1, 3)",
    "smoker = 'N' or smoker is null",
    "vip = 1",
    "age = '> 89'",
    "age >= 65 or age = '> 89'",
    "leave <= 30",
    "birthyear >= 1980",
    "(sex = 'F' or sex = 'M') and (not (grade = 1))",
)
"""Others of the same kind are in `make test`."""


@pytest.mark.parametrize("where", [pytest.param(c, marks=[pytest.mark.slow] if c in ALIKE else []) for c in CONDITIONS])
def test_so_many_entities_satisfy_it_and_everything_holds(where: str) -> None:
    frames = drawn(where)
    assert len(frames["people"]) == 80
    assert all(CONDITIONS[where](row) for _, row in frames["people"].iterrows())
    assert faults(fitted_every_type().schema, frames) == []


def test_it_hangs_on_neither_chunks_nor_threads() -> None:
    def made(chunk: int, threads: int) -> list[object]:
        options = SampleOptions(3000, 4, "sex = 'F'", threads, chunk=chunk)
        found = list(start(fitted_hospital(), options).batches())
        return [[row for batch in found for row in batch[table].to_pylist()] for table in found[0]]

    assert made(3000, 1) == made(BLOCK, 3)


def test_entities_are_those_of_the_whole_sample_that_satisfy_it() -> None:
    """Conditional sampling, not another distribution: their own values are those of the unconditioned sample, in order."""
    whole = sample(fitted_hospital(), entities=400, seed=6)
    some = sample(fitted_hospital(), entities=100, seed=6, where="sex = 'F'")
    assert whole is not None
    assert some is not None
    women = whole["patients"][whole["patients"]["sex"] == "F"].head(100)
    assert women.drop(columns="pid").reset_index(drop=True).equals(some["patients"].drop(columns="pid"))
    assert some["patients"]["pid"].tolist() == list(range(1, 101))


def test_nobody_at_all_satisfies_anything() -> None:
    assert len(drawn("sex = 'F'", entities=0)["people"]) == 0


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("sex = 'F' and sex = 'M'", "none of them satisfies it"),
        ("wage > 3", "There are: sex, town"),
        ("pid = 'P00001'", "no column of people that a condition can be set on"),
        ("memo = ''", "no column of people that a condition can be set on"),
        ("sex = 'X'", "never 'X'. Its values are: F, M"),
        ("sex < 'M'", "has no order"),
        ("age > '2100-01-01'", "is a number"),
        ("age > '> 90'", "is a number"),
        ("born > 1950", "a date or moment"),
        ("born > '31.12.1950'", "a date or moment"),
        ("wakes > 'noon'", "a time as"),
        ("fasting > 3", "a span as"),
        ("smoker = 'maybe'", "is true or false"),
        ("town = null", "write `is null`"),
        ("", "character 1"),
        ("sex", "one of = != <"),
        ("sex = F", "a text in single quotes"),
        ("sex = 'F' sex = 'M'", "`and` or `or`"),
        ("(sex = 'F'", "a closing parenthesis"),
        ("sex in 'F'", "an opening parenthesis"),
        ("sex in ('F'", "a comma"),
        ("sex = 'F", "character 7"),
        ("sex is 'F'", "`null`"),
        ("sex = __import__('os').system('ls')", "single quotes"),
        ("(" * 60 + "sex = 'F'" + ")" * 60, "within each other"),
        ("not " * 60 + "sex = 'F'", "within each other"),
    ],
)
def test_a_slip_is_said(where: str, says: str) -> None:
    with pytest.raises(PlanError, match=re.escape(says)):
        drawn(where, entities=3)


def test_an_entity_without_a_table_has_no_columns() -> None:
    with pytest.raises(PlanError, match="no table of their own"):
        entity_condition("number = 1", related("entity by column"))


def test_what_is_written_is_what_is_read() -> None:
    assert parse_condition("a = 1 or b < -2.5 and not \"c d\" in ('it''s', true)") == Joined(
        "or",
        (
            Comparison("a", "=", 1),
            Joined("and", (Comparison("b", "<", -2.5), Not(Among("c d", ("it's", True))))),
        ),
    )
    assert parse_condition("a IS NOT NULL") == Not(IsNull("a"))
    assert parse_condition("a not in (1)") == Not(Among("a", (1,)))


@settings(max_examples=examples(300))
@given(st.text(alphabet="ab ='<>!()\",.-+1e notrindsul", max_size=30))
def test_whatever_is_written_is_read_or_refused(text: str) -> None:
    with suppress(NotACondition):
        assert parse_condition(text) is not None


def test_a_moment_with_a_zone_is_read_as_staging_reads_one() -> None:
    described = Datetime(type="datetime", min="2100-01-01", max="2200-01-01")
    midnight = (datetime(2150, 1, 1) - datetime(1970, 1, 1)).total_seconds() * 1e6
    assert described.compared("2150-01-01 02:00+02:00") == midnight
    assert described.compared("2150-01-01 02:00") == midnight + 2 * 3600 * 1e6
