"""What is called close is near, too: noise has a Cramér's V, and a date that is in no pair is a column all the same."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

import mare
from mare.evaluation.evaluation import Evaluation
from mare.evaluation.verdict import graded, verdict
from mare.schema import Schema
from mare.schema.loading import load_schema
from tests.clinic import Frames, clinic, clinic_schema

PEOPLE = """
mare: 1
entity: people
tables:
  people:
    key: pid
    columns:
      town: {type: category, values: [a, b, c, d, e]}
      team: {type: category, values: [a, b, c, d, e]}
      born: {type: date, min: 1900-01-01, max: 2020-01-01}
"""


@cache
def schema() -> Schema:
    return load_schema(PEOPLE)


def people(seed: int, moved: int = 0, since: str = "1950-01-01", size: int = 3000) -> Frames:
    """Two in three belong to a team of their town; ``moved`` says of which town instead."""
    rng = np.random.default_rng(seed)
    town, any_team = rng.integers(0, 5, size), rng.integers(0, 5, size)
    team = np.where(rng.random(size) < 0.67, (town + moved) % 5, any_team)
    letters = np.array(list("abcde"))
    born = pd.Timestamp(since) + pd.to_timedelta(rng.integers(0, 9000, size), "D")
    return {"people": pd.DataFrame({"pid": np.arange(size), "town": letters[town], "team": letters[team], "born": born})}


def test_a_relation_as_strong_as_the_real_one_and_another_is_not_close() -> None:
    found = mare.evaluate(schema(), people(1), people(2, moved=1))
    means = found.means
    assert means["synthetic"]["row"].v_error < 0.2 * means["shuffled"]["row"].v_error  # by Cramér's V alone nothing is wrong
    assert means["synthetic"]["row"].tvd > means["independent"]["row"].tvd
    assert graded(found, "row") == ("poor", None)
    line = next(line for line in verdict(found).splitlines() if "pairs within a row" in line)
    assert line.endswith("poor, further off than shuffled columns")
    lost = "What columns of a row have to do with each other is mostly lost: further off than shuffled columns."
    assert lost in found.to_html()


@pytest.mark.parametrize("held_out", [False, True])
@pytest.mark.parametrize("size", [100, 1000])
def test_two_halves_of_the_same_people_are_close(size: int, held_out: bool) -> None:
    other = clinic(size, 7, first=90_000) if held_out else None
    found = mare.evaluate(clinic_schema(), clinic(size, 1), clinic(size, 2, first=50_000), holdout=other)
    assert {kind: graded(found, kind)[0] for kind in found.means["synthetic"]} == dict.fromkeys(
        ("row", "ancestor", "previous", "sibling", "linked"), "close"
    )


@pytest.mark.parametrize(
    ("distances", "word"),
    [
        ((0.545, 0.447, 0.389, 0.454), "fair"),  # as a stranger met it: called close, as all of the relation seemed to be left
        ((0.191, 0.109, 0.174, 0.199), "fair"),
        ((0.470, 0.447, 0.389, 0.454), "close"),  # no further than other people, who are few
        ((0.150, 0.109, 0.174, 0.199), "close"),
    ],
)
def test_what_is_further_off_than_shuffled_columns_and_other_people_is_not_close(
    distances: tuple[float, float, float, float], word: str
) -> None:
    found = mare.evaluate(schema(), people(1, size=400), people(2, size=400), holdout=people(3, size=400))
    sets = dict(zip(("synthetic", "holdout", "shuffled", "independent"), distances, strict=True))
    means = {name: {"row": replace(found.means[name]["row"], tvd=tvd)} for name, tvd in sets.items()}  # type: ignore[index]
    assert graded(replace(found, means=means), "row")[0] == word  # type: ignore[arg-type]


def test_a_date_that_is_far_off_counts_among_the_single_columns() -> None:
    def held(since: str) -> Evaluation:
        return mare.evaluate(schema(), people(1), people(2, since=since))

    right, wrong = held("1950-01-01"), held("1980-01-01")
    assert right.one_way["synthetic"] < 0.04
    assert wrong.one_way["synthetic"] > 0.2
    first = verdict(wrong).partition("Columns, worst first")[2].splitlines()[3]
    assert first.split()[0] == "people.born"
    assert "in people.born." in wrong.to_html()
