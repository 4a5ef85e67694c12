"""Whose rows they are: the stage and the audit work it out apart, and must agree. Removing one entity removes one, never more."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings

from mare.audit.entities import PLAIN, at_random, ownership
from mare.audit.variants import HeldSource, WithoutEntity
from mare.graph.pdag import column_groups
from mare.ports import Source
from mare.schema import Schema
from mare.stage import needs, stage
from tests.conftest import examples
from tests.memory_source import MemorySource
from tests.privacy.worlds import World, worlds
from tests.relations import related


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
@settings(max_examples=examples(15))
def test_the_stage_and_the_audit_agree_on_who_is_an_entity(world: World) -> None:
    one_goes(world)


def test_what_hangs_on_a_row_that_two_people_share_stays_with_the_other() -> None:
    """Each of them has a copy of the home and of its rooms: when one goes, the other's copy is as it was."""
    schema, number = related("rows of one's own"), pa.int64()
    rows = {
        "people": [{"pid": pid, "sex": "F", "home_id": 7} for pid in (1, 2)],
        "jobs": [{"job_id": 1, "pid": 1, "place_id": 8, "kind": "a"}],
        "homes": [{"home_id": home, "region": "north"} for home in (7, 8)],
        "rooms": [{"home_id": home, "size": home} for home in (7, 7, 8)],
    }
    texts = ("sex", "kind", "region")
    types = {table: {c: pa.string() if c in texts else number for c in content[0]} for table, content in rows.items()}
    source = MemorySource.of(rows, types)
    with ownership(source, schema, needs(schema, column_groups(schema))) as owners:
        neighbour = WithoutEntity(source, owners, owners.removal([PLAIN, "1"]))
        rooms = [room for batch in neighbour.read("rooms", ["home_id"]) for room in batch.column(0).to_pylist()]
        people = [pid for batch in neighbour.read("people", ["pid"]) for pid in batch.column(0).to_pylist()]
    assert (people, rooms) == ([2], [7, 7])
