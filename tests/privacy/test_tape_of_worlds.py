"""The tape audit of whole fits, whatever the schema: trees of tables, caps of every kind, dirty rows, both kinds of budget."""

from __future__ import annotations

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from mare.audit import tape_audit
from mare.errors import PlanError
from mare.planning.planning import plan
from mare.privacy.budget import Budget
from mare.schema import Schema
from tests.conftest import examples
from tests.datasets import dataset
from tests.privacy.worlds import World, worlds
from tests.strategies import schemas


@given(worlds())
@settings(max_examples=examples(24, quick=5))
def test_no_entity_shows_whatever_the_schema(world: World) -> None:
    report = tape_audit(plan(world.schema, world.budget), world.source(), random=1)
    assert report.passed, report.render()
    assert report.entities


@pytest.mark.slow
@given(schemas(), st.integers(0, 1000), st.sampled_from([Budget(2, 1e-9), Budget(2, delta=0)]))
@settings(max_examples=25)
def test_no_entity_shows_in_dirty_data_of_any_schema_that_can_be_fitted(schema: Schema, seed: int, budget: Budget) -> None:
    try:
        report = tape_audit(plan(schema, budget), dataset(schema, seed, entities=8), random=1)
    except PlanError:  # what cannot be planned with this budget, or not be fitted yet
        reject()
    assert report.passed, report.render()
