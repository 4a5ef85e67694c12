"""The tape audit over every kind of relation: whoever leaves, nothing shows beyond what was paid for.

Small, dirty data: lists over their caps, rows that two people share, parents that are not there, references to others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mare.audit import tape_audit
from mare.errors import PrivacyError
from mare.fitting.public_keys import ChosenKeys
from mare.planning.planning import plan
from mare.privacy.budget import Budget
from mare.schema.loading import load_schema
from tests.conftest import examples
from tests.datasets import dataset, strange_keys
from tests.memory_source import MemorySource
from tests.privacy.benchmark import Looking
from tests.privacy.seams import change_stage, fit_module
from tests.relations import EVERY_KIND, RELATIONS, related


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_no_entity_shows_through_a_relation(kind: str) -> None:
    schema = related(kind)
    report = tape_audit(plan(schema, Budget(2, 1e-9)), dataset(schema, seed=3, entities=10), random=examples(2))
    assert report.passed, report.render()
    assert report.tightest > 0


@pytest.mark.parametrize(
    "kind",
    [
        "association, the rest as rows",
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("rows of one's own", "orphans are entities")),
    ],
)
def test_no_entity_shows_under_pure_epsilon_either(kind: str) -> None:
    schema = related(kind)
    report = tape_audit(plan(schema, Budget(2, 0)), dataset(schema, seed=4, entities=8), random=2)
    assert report.passed, report.render()


_SEX, _WHO = "sex: {type: category, values: [F, M]}", "who: {type: integer, min: 0, max: 9, bins: 10}"
WITH_PEOPLE = [kind for kind, text in RELATIONS.items() if _SEX in text]


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=[] if kind == "same entity, along its intervals" else [pytest.mark.slow]) for kind in WITH_PEOPLE],
)
def test_no_entity_shows_beside_a_column_that_says_who_is_who(kind: str) -> None:
    """In tables of one column, one who leaves and one whose rows change look like one: so these say who is who."""
    schema = load_schema(RELATIONS[kind].replace("model: independent", "model: privbayes").replace(_SEX, f"{_SEX}\n      {_WHO}"))
    tables = dict(dataset(schema, seed=3, entities=10)._tables)
    people = tables["people"]
    who = pa.array(np.arange(people.num_rows) % 10, type=people["who"].type)
    tables["people"] = people.set_column(people.schema.get_field_index("who"), "who", who)
    recorder = Looking("people.who", times=10_000, seed=1)
    report = tape_audit(plan(schema, Budget(8, 1e-9)), MemorySource(tables), random=examples(2, quick=1), recorder=recorder)
    assert report.passed, report.render()


def test_no_entity_shows_in_keys_that_a_public_table_lacks() -> None:
    """Where they are clear of the noise they are looked for: which there are is a list that stands in the release."""
    schema = related("public references")
    report = tape_audit(plan(schema, Budget(60, 1e-3)), strange_keys(schema), random=4)
    assert report.passed, report.render()
    assert any(query.view == "takes.other" and "values that more than" in query.what for query in report.queries)


# ---------------------------------------------------------------------- it can fail


def test_a_list_of_public_keys_without_a_cap_is_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `multiplicity` and the cap of the list, an entity has more rows than its sensitivity."""
    change_stage(monkeypatch, needs=lambda needs: replace(needs, max_rows=10**6, multiplicity=10**6))
    schema = related("association")
    with pytest.raises(PrivacyError, match="the cap does not hold"):
        tape_audit(plan(schema, Budget(2, 1e-9)), dataset(schema, seed=3, entities=10))


@pytest.mark.parametrize(
    "kind", [pytest.param("the same in all rows", marks=pytest.mark.slow), "the same in all rows further down"]
)
def test_a_fact_about_one_that_is_settled_by_the_rows_of_all_shows(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """What is the same in all rows of somebody is read from their own first row, and from nobody else's."""

    def by_majority(above: Any, count: int, codes: Any, size: int) -> Any:
        held = np.full(count, size, dtype=np.uint8)
        held[above] = np.bincount(codes, minlength=size).argmax() if len(codes) % 2 else codes.min(initial=0)
        return held

    for module in ("mare.stage.staged", "mare.relational.coding"):
        monkeypatch.setattr(f"{module}.context_codes", by_majority)
    schema = related(kind)
    report = tape_audit(plan(schema, Budget(2, 1e-9)), dataset(schema, seed=3, entities=10), random=6)
    assert not report.passed


def test_keys_that_are_chosen_by_true_counts_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """The selected keys stand in the release: chosen without noise, they tell who was there (leak 2)."""

    def by_true_counts(door: Any, wanted: Any, bounds: Any, share: float) -> ChosenKeys:
        counts = np.bincount(door._staged.tables["gives"].key, minlength=6)
        return ChosenKeys({"gives": tuple(sorted(np.argsort(-counts, kind="stable")[:2].tolist()))}, {}, ())

    monkeypatch.setattr(fit_module, "choose_keys", by_true_counts)
    schema = related("association, the rest as rows")
    report = tape_audit(plan(schema, Budget(2, 1e-9)), dataset(schema, seed=3, entities=8), random=8)
    assert not report.passed
