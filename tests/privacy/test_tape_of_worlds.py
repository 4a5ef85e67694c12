"""The tape audit of whole fits, whatever the schema: trees of tables, caps of every kind, dirty rows, both kinds of budget."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from mare.audit import tape_audit
from mare.planning.planning import plan
from tests.privacy.worlds import World, worlds


def nobody_shows(world: World) -> None:
    report = tape_audit(plan(world.schema, world.budget), world.source(), random=1)
    assert report.passed, report.render()
    assert report.entities


@given(worlds())
@settings(max_examples=12)
def test_no_entity_shows_whatever_the_schema(world: World) -> None:
    nobody_shows(world)


@pytest.mark.slow
@given(worlds())
@settings(max_examples=200)
def test_no_entity_shows_whatever_the_schema_many_times_over(world: World) -> None:
    nobody_shows(world)
