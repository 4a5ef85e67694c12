"""Whose rows they are: the stage and the audit work it out apart, and must agree. Removing one entity removes one, never more."""

from __future__ import annotations

from hypothesis import given, settings

from mare.audit.entities import at_random
from mare.audit.neighbour import HeldSource, WithoutEntity
from mare.audit.ownership import ownership
from mare.graph.building import column_groups
from mare.ports import Source
from mare.schema import Schema
from mare.stage import needs, stage
from tests.privacy.worlds import World, worlds


def staged_entities(schema: Schema, source: Source) -> int:
    with stage(source, needs(schema, column_groups(schema)), b"k" * 32) as staged:
        return staged.entities


def one_goes(world: World) -> None:
    """Every entity taken out in turn (a few of them): the number of entities falls by one."""
    source = world.source()
    tables = needs(world.schema, column_groups(world.schema))
    with ownership(source, world.schema, tables) as owners:
        everyone = at_random(owners, 10_000, 0)
        before = staged_entities(world.schema, HeldSource(source))
        assert before == len(everyone), "the stage and the audit do not agree on who is an entity"
        for chosen in everyone[:4]:
            neighbour = WithoutEntity(source, owners, owners.removal(chosen.entity))
            now = staged_entities(world.schema, neighbour)
            assert now == before - 1, "one entity went, and another number of them is missing"


@given(worlds())
@settings(max_examples=10)
def test_the_stage_and_the_audit_agree_on_who_is_an_entity(world: World) -> None:
    one_goes(world)
