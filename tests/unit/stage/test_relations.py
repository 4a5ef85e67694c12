"""Staging of every kind of relation: one owner a row, keys matched and cut, references inside the entity, orphans apart."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from mare.codec import evenly, table_codec
from mare.graph.pdag import column_groups
from mare.relational.public import PublicTable
from mare.relational.relations import back_codes, previous_of_item, rank_codes, relations
from mare.relational.unrolling import FoldedContext, Unrolling
from mare.schema.loading import load_schema
from mare.stage import Cuts, Staged, needs, stage
from tests.memory_source import MemorySource
from tests.relations import related

KEY = b"k" * 32


@contextmanager
def staged(kind: str, rows: dict[str, list[dict[str, object]]], folder: Path, **vocabularies: list[str]) -> Iterator[Staged]:
    schema = related(kind)
    kinds = {int: pa.int64(), str: pa.string()}
    types = {
        table: {c: next((kinds[type(r[c])] for r in content if type(r[c]) in kinds), pa.int64()) for c in content[0]}
        for table, content in rows.items()
        if content
    }
    source = MemorySource.of({table: content for table, content in rows.items() if content}, types)
    wanted = needs(schema, column_groups(schema))
    keys = {name: [(key,) for key in listed] for name, listed in vocabularies.items()}
    with stage(source, wanted, KEY, folder=folder, vocabularies=keys) as found:
        yield found


def owners(found: Staged, table: str) -> list[int]:
    return found.tables[table].entity.tolist()


PEOPLE = [{"pid": n, "sex": "F"} for n in (1, 2)]


def test_a_row_that_two_people_refer_to_is_there_once_for_each(tmp_path: Path) -> None:
    rows = {
        "people": [{"pid": 1, "sex": "F", "home_id": 7}, {"pid": 2, "sex": "M", "home_id": 7}],
        "jobs": [{"job_id": 1, "pid": 1, "place_id": 7, "kind": "a"}, {"job_id": 2, "pid": 2, "place_id": None, "kind": "a"}],
        "homes": [{"home_id": 7, "region": "north"}, {"home_id": 8, "region": "south"}],
        "rooms": [{"home_id": 7, "size": 1}, {"home_id": 8, "size": 2}],
    }
    with staged("rows of one's own", rows, tmp_path) as found:
        assert sorted(np.bincount(owners(found, "homes")).tolist()) == [1, 2]
        assert found.notes.orphans["homes"] == 0
        # the room of the shared home is there under every copy, the other home is nobody's
        assert len(owners(found, "rooms")) == 3
        assert found.tables["rooms"].counts.tolist() == [1, 1, 1]
        assert (np.diff(found.tables["homes"].entity) >= 0).all()


def test_of_owned_rows_that_share_a_key_the_first_by_what_it_holds_is_taken(tmp_path: Path) -> None:
    rows = {
        "people": [{"pid": 1, "sex": "F", "home_id": 7}],
        "jobs": [{"job_id": 1, "pid": 1, "place_id": 7, "kind": "a"}],
        "homes": [{"home_id": 7, "region": "north"}, {"home_id": 7, "region": "south"}],
        "rooms": [{"home_id": 7, "size": 1}],
    }
    with staged("rows of one's own", rows, tmp_path) as found:
        taken = found.values("homes")["region"].to_pylist()
    rows["homes"].reverse()
    with staged("rows of one's own", rows, tmp_path) as found:
        assert taken == found.values("homes")["region"].to_pylist()  # whatever the order of the source
    assert len(taken) == 2
    assert len(set(taken)) == 1


def test_public_keys_are_matched_and_cut(tmp_path: Path) -> None:
    gives = [{"pid": 1, "drug_id": key, "dose": 5, "unit": "mg", "route": "iv"} for key in (10, 10, 10, 20, 99)]
    with staged(
        "association with derived values", {"people": PEOPLE, "gives": gives}, tmp_path, gives=["10", "20", "30"]
    ) as found:
        table = found.tables["gives"]
        assert table.key is not None
        assert sorted(table.key.tolist()) == [0, 0, 1]  # the third 10 is one too many, and 99 is no public key
        assert found.notes.truncated["gives"] == Cuts(unknown_key=1, multiplicity=1)


@pytest.fixture
def folded() -> FoldedContext:
    public = {"drugs": PublicTable("drugs", pa.table({"drug_id": [10, 20, 30], "kind": ["x", "y", "x"]}), ("drug_id",))}
    unrolling = Unrolling(("drug_id",), public["drugs"].vocabulary(), (0, 2), 2, ("dose",), "rows")
    parent, key = np.array([0, 0, 0, 2, 2]), np.array([0, 0, 1, 2, 1])
    return FoldedContext(unrolling, 3, parent, key, {"dose": (np.array([4, 3, 2, 1, 0], dtype=np.uint8), 5)}, 4)


def test_a_context_has_a_slot_for_every_time_a_key_may_occur(folded: FoldedContext) -> None:
    assert [folded[f"dose(drug_id)#{slot}"].tolist() for slot in range(4)] == [[4, 5, 5], [3, 5, 5], [5, 5, 1], [5, 5, 5]]
    assert folded["exists(drug_id)#0"].tolist() == [2, 0, 0]
    assert folded["count"].tolist() == [1, 0, 1]  # the rest: rows whose key has no column
    with pytest.raises(KeyError):
        folded["exists(kind)#0"]


def test_the_rest_is_dropped_with_all_that_hangs_on_it(tmp_path: Path) -> None:
    gives = [{"gid": n, "pid": 1 + n % 2, "drug_id": 10 * (1 + n % 3), "route": "iv"} for n in range(6)]
    doses = [{"gid": n, "amount": n} for n in range(6)]
    with staged(
        "association, the rest dropped",
        {"people": PEOPLE, "gives": gives, "doses": doses},
        tmp_path,
        gives=["10", "20", "30"],
    ) as found:
        schema = related("association, the rest dropped")
        public = {"drugs": PublicTable("drugs", pa.table({"drug_id": [10, 20, 30]}), ("drug_id",))}
        unrolling = relations(schema, public, {"gives": (0,)})["gives"].unrolling
        assert unrolling is not None
        found.drop_rest("gives", unrolling)
        table, below = found.tables["gives"], found.tables["doses"]
        assert table.key is not None
        assert set(table.key.tolist()) == {0}
        assert len(below.parent) == len(table.parent)
        assert np.array_equal(table.entity[below.parent], below.entity)
        values = found.values("doses")["amount"].to_pylist()
        assert {value % 3 for value in values} == {0}  # those of the first key alone


def test_rows_of_ones_own_stand_alone_also_when_others_of_them_were_dropped(tmp_path: Path) -> None:
    """The place of a job and that of a drug may be the same number: that does not make their homes siblings."""
    rows: dict[str, list[dict[str, object]]] = {
        "people": PEOPLE,
        "jobs": [{"job_id": 1, "pid": 1, "place_id": 7, "kind": "a"}],
        "gives": [{"gid": n, "pid": 1, "drug_id": 10 * n, "route": "iv", "home_id": 7 + n} for n in (1, 2)],
        "homes": [{"home_id": 7 + n, "region": "north"} for n in range(3)],
        "rooms": [{"home_id": 7 + n, "size": n} for n in range(3)],
    }
    with staged("rows of an association's own", rows, tmp_path, gives=["10", "20"]) as found:
        public = {"drugs": PublicTable("drugs", pa.table({"drug_id": [10, 20]}), ("drug_id",))}
        unrolling = relations(related("rows of an association's own"), public, {"gives": (0,)})["gives"].unrolling
        assert unrolling is not None
        found.drop_rest("gives", unrolling)
        homes = found.tables["homes"]
        assert homes.parent.tolist() == [0, 0]
        assert homes.position.tolist() == [0, 0]
        assert found.values("rooms")["size"].to_pylist() == [0, 1]


def test_the_rest_of_a_group_is_cut_to_what_its_column_holds(tmp_path: Path) -> None:
    gives = [{"pid": 1, "drug_id": key, "route": "iv"} for key in (10, 20, 30, 40)]
    with staged(
        "association, the rest by its group", {"people": PEOPLE, "gives": gives}, tmp_path, gives=["10", "20", "30", "40"]
    ) as found:
        schema = related("association, the rest by its group")
        rows = pa.table({"drug_id": [10, 20, 30, 40], "kind": ["x", "x", "x", "y"]})
        unrolling = relations(schema, {"drugs": PublicTable("drugs", rows, ("drug_id",))}, {"gives": (0,)})["gives"].unrolling
        assert unrolling is not None
        found.drop_rest("gives", unrolling)
        table = found.tables["gives"]
        assert table.key is not None
        groups = [unrolling.groups[key] for key in table.key.tolist() if key != 0]
        assert sorted(groups) == [0, 1]


def test_rows_without_a_parent_are_entities_where_the_schema_says_so(tmp_path: Path) -> None:
    stay = {"begins": None, "ends": None, "ward": "a"}
    rows = {
        "people": PEOPLE,
        "stays": [{"sid": n, "pid": pid, **stay} for n, pid in enumerate([1, None, None, 77, 77])],
        "notes": [{"sid": sid, "kind": "a"} for sid in (0, 3, None, 500, 500)],
        "calls": [{"pid": pid, "kind": "a"} for pid in (1, 77, 88)],
    }
    with staged("orphans are entities", rows, tmp_path) as found:
        # two people, two stays of nobody, whoever 77 is; a note of nobody, whoever had stay 500; whoever 88 is
        assert found.entities == 2 + 2 + 1 + 1 + 1 + 1
        assert len(owners(found, "stays")) == 5 + 2  # two unknown ones stand in for the parents of notes
        assert found.tables["stays"].unknown is not None
        assert found.tables["stays"].unknown.sum() == 2
        stays, calls = found.tables["stays"], found.tables["calls"]
        both = set(stays.entity[stays.parent >= 2].tolist()) & set(calls.entity.tolist())
        assert len(both) == 1  # 77 is one entity, whichever table misses them
        assert found.entity_view("sizes", "people").entities() == 2
        for table in found.tables.values():
            assert (np.diff(table.entity) >= 0).all()


def test_an_entity_by_column_is_one_for_each_value(tmp_path: Path) -> None:
    stays = [{"sid": n, "person_no": who, "number": n} for n, who in enumerate(["a", "b", "a", None, None])]
    labs = [{"sid": n, "value": 1} for n in range(5)]
    with staged("entity by column", {"stays": stays, "labs": labs}, tmp_path) as found:
        assert found.entities == 4
        assert sorted(np.bincount(owners(found, "stays")).tolist()) == [1, 1, 1, 2]
        assert len(owners(found, "labs")) == 5


def test_a_row_of_somebody_else_is_not_found(tmp_path: Path) -> None:
    stay = {"begins": None, "ends": None, "ward": "a"}
    rows = {
        "people": PEOPLE,
        "stays": [{"sid": 1, "pid": 1, **stay}, {"sid": 2, "pid": 2, **stay}],
        "labs": [{"pid": 1, "sid": 1, "then_sid": 2, "value": 1}, {"pid": 2, "sid": 2, "then_sid": 2, "value": 2}],
    }
    schema = related("same entity, by position")
    with staged("same entity, by position", rows, tmp_path) as found:
        for table in found.tables.values():
            codec = evenly(table_codec(schema, table.needs.name, table.needs.values))
            found.encode(table.needs.name, codec, relations(schema, {}, {})[table.needs.name])
        labs, stays = found.placed.tables["labs"], found.tables["stays"]
        assert (labs.targets["stay"] >= 0).all()
        assert np.array_equal(stays.entity[labs.targets["stay"]], found.tables["labs"].entity)
        assert sorted((labs.targets["then"] >= 0).tolist()) == [False, True]


def test_positions_are_places_among_the_entitys_own() -> None:
    there = np.array([0, 0, 0, 2, 2])
    codes = rank_codes(np.array([2, 0, -1, 4]), np.array([0, 0, 1, 2]), there, 4, True)
    assert codes.tolist() == [2, 0, 3, 1]
    assert rank_codes(np.array([-1]), np.array([1]), there, 3, False).tolist() == [0]


def test_earlier_rows_are_so_many_back() -> None:
    #            itself  1 back  2 back  3 back: too far  nowhere  a later one
    target = np.array([0, 0, 0, 0, -1, 6])
    assert back_codes(target, 2, True).tolist() == [2, 0, 1, 3, 3, 3]
    assert back_codes(target, 2, False).tolist() == [2, 0, 1, 2, 2, 2]


def test_the_previous_row_of_the_same_item_is_found_in_the_same_sequence() -> None:
    parent = np.array([0, 0, 0, 0, 1, 1])
    item = np.array([5, 6, 5, 5, 5, 6], dtype=np.uint8)
    assert previous_of_item(parent, [item]).tolist() == [-1, -1, 0, 2, -1, -1]
    assert previous_of_item(parent, [item, np.array([0, 0, 1, 0, 0, 0], dtype=np.uint8)]).tolist() == [-1, -1, -1, 0, -1, -1]


def test_only_what_is_needed_of_a_reference_is_read() -> None:
    schema = load_schema(
        """
mare: 1
entity: p
tables:
  p: {key: id, columns: {a: {type: category, values: [x]}}}
  w: {pool: {rows: 2}, key: wid}
  c:
    parent: {table: p, column: pid, max_rows: 2}
    references: {wid: {kind: pool, table: w}, seen: {kind: broken, table: p, nullable: true}}
    columns: {b: {type: category, values: [x]}}
"""
    )
    assert {n.name: n.columns for n in needs(schema, column_groups(schema))} == {"p": ("id", "a"), "c": ("pid", "b")}
