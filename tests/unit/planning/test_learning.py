"""The plan says beforehand, from the schema, ε and the number of entities, what a fit will not find out; and it is so."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mare
from mare.fitting.learning import weight_of
from mare.fitting.settling import open_codecs
from mare.graph.pdag import column_groups
from mare.planning import Warned
from mare.planning.learning import open_domains
from mare.privacy.budget import Budget
from mare.schema import Schema
from mare.stage_door import needs

from .examples import hospital, schema_of

LEARNED = {"type": "category", "learn": True}
NUMBER = {"type": "number", "learn": True, "precision": 1}


def people(**columns: dict[str, Any]) -> Schema:
    return schema_of({"people": {"key": "id", "columns": columns}}, entity="people")


CLINIC = people(ward=LEARNED, team=LEARNED, weight=NUMBER, height=NUMBER)


def frames(entities: int) -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(4)
    words = {name: rng.choice(list("abcdef"), entities) for name in ("ward", "team")}
    numbers = {"weight": rng.normal(80, 12, entities).round(1), "height": rng.normal(170, 9, entities).round(1)}
    return {"people": pd.DataFrame({"id": range(entities), **words, **numbers})}


def warned(schema: Schema, epsilon: float, entities: int, delta: float = 1e-9) -> dict[str, Warned]:
    made = mare.plan(schema, Budget(epsilon, delta), entities=entities)
    return {w.where: w for w in made.warnings if w.where.startswith("learned")}


def test_what_is_told_to_stay_unknown_does_and_what_is_not_does_not() -> None:
    """At ε = 0.2 of 300 each list is empty with certainty but for 1e-9, and each range three deviations below what stands clear;
    at ε = 200 of 3,000 none is by far. The seeds are fixed."""
    for epsilon, entities, unknown in ((0.2, 300, True), (200, 3000, False)):
        told = warned(CLINIC, epsilon, entities)
        fitted = mare.fit(mare.plan(CLINIC, Budget(epsilon, 1e-9), entities=entities), frames(entities), unsafe_seed=1)
        doubted = {doubt.where for doubt in fitted.doubts if "stood clear" in doubt.what}
        assert doubted == ({"people.ward", "people.team", "people.weight", "people.height"} if unknown else set())
        assert told.keys() == ({"learned lists", "learned ranges"} if unknown else set())
    assert "likely to stay empty" in warned(CLINIC, 0.2, 300)["learned lists"].what
    assert "people (ward, team)" in warned(CLINIC, 0.2, 300)["learned lists"].what
    assert "people (weight, height)" in warned(CLINIC, 0.2, 300)["learned ranges"].what


def test_the_epsilon_that_it_offers_is_enough() -> None:
    remedy = warned(CLINIC, 1, 600)["learned lists"].remedy
    offered = re.search(r"raise epsilon from 1 to (\d+)", remedy)
    assert offered is not None
    assert "learned lists" not in warned(CLINIC, float(offered[1]), 600)
    assert "no sensible epsilon" in warned(CLINIC, 1, 50)["learned lists"].remedy


def needed(schema: Schema, entities: int) -> int:
    notes = mare.plan(schema, Budget(2, 1e-9), entities=entities).notes
    (number,) = (match[1] for note in notes if (match := re.search(rf"that about ([\d,]+) of {entities:,} people", note)))
    return int(number.replace(",", ""))


def learning_share(schema: Schema, entities: int) -> float:
    return mare.plan(schema, Budget(2, 1e-9), entities=entities).phases.learn


def test_a_list_that_is_declared_leaves_more_for_the_others_or_for_the_models() -> None:
    declared = people(ward={"type": "category", "values": ["a", "b"]}, team=LEARNED, weight=NUMBER, height=NUMBER)
    assert needed(declared, 600) < needed(CLINIC, 600)
    assert learning_share(declared, 1900) < learning_share(CLINIC, 1900)


def test_few_people_with_much_to_tell_spend_more_on_telling_it() -> None:
    """Until it is clear of the noise; no more than most of the budget, and bins between known bounds are no reason."""
    shares = [learning_share(CLINIC, entities) for entities in (300, 1500, 1900, 5000)]
    assert shares[0] == 0.6
    assert shares[-1] == 0.25
    assert shares == sorted(shares, reverse=True)
    bounded = people(**{name: {"type": "number", "min": 0, "max": 300, "precision": 1} for name in ("weight", "height")})
    assert learning_share(bounded, 300) == 0.25


def test_where_nothing_is_learned_nothing_is_told() -> None:
    declared = people(ward={"type": "category", "values": ["a", "b"]})
    assert warned(declared, 0.1, 10) == {}
    assert not any("learned list" in note for note in mare.plan(declared, Budget(0.1, 1e-9), entities=10).notes)


def test_without_delta_only_ranges_are_told_of() -> None:
    assert warned(people(weight=NUMBER), 0.1, 100, delta=0).keys() == {"learned ranges"}


MIXED = people(
    ward=LEARNED,
    born={"type": "date", "min": "1900-01-01", "max": "2020-12-31"},
    weight=NUMBER,
    lab={"type": "number", "by": "ward", "learn": True},
    age={"type": "integer", "min": 0, "max": 120},
    grade={"type": "integer", "min": 1, "max": 5},
)


STAYS = hospital()
STAYS["admissions"]["columns"] = {
    "day": {"type": "date", "after": "previous.day", "within": "2y", "first": {"min": "2019-01-01", "max": "2024-12-31"}},
    "ward": LEARNED,
}


NAMED = people(ward=LEARNED, called={"type": "category", "determined": {"goes_with": "ward"}})


@pytest.mark.parametrize("schema", [CLINIC, MIXED, NAMED, schema_of(STAYS)], ids=["clinic", "mixed", "named", "stays"])
def test_what_is_learned_weighs_in_a_plan_what_it_weighs_in_a_fit(schema: Schema) -> None:
    made = mare.plan(schema, Budget(2, 1e-9), entities=1000)
    codecs = open_codecs(made, needs(schema, [planned.group for planned in made.groups]))
    opened = open_domains(schema, column_groups(schema))
    assert opened.weight == pytest.approx(weight_of(codecs.values()))
    assert opened.weight > 0
