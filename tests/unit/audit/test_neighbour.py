"""D′: one entity and every row that it owns is gone, everything else is there, in another order."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

from mare.audit.entities import Ownership, at_random, extreme, heaviest, orphan, ownership, rarest, worth_removing
from mare.audit.variants import HeldSource, KeptSource, WithoutEntity
from mare.errors import PlanError, SourceError
from mare.graph.pdag import column_groups
from mare.schema import Schema
from mare.schema.loading import load_schema
from mare.stage import needs
from tests.memory_source import MemorySource, Rows

SCHEMA = """
mare: 1
entity: p
tables:
  p: {key: id, columns: {sex: {type: category, values: [F, M]}, age: {type: integer, min: 0, max: 99}}}
  c: {key: k, parent: {table: p, column: p_id, max_rows: 4}, columns: {n: {type: integer, min: 0, max: 9}}}
  g: {parent: {table: c, column: c_id, max_rows: 3}, columns: {ward: {type: category, values: [a, b, z]}}}
"""
TYPES = {
    "p": {"id": pa.string(), "sex": pa.string(), "age": pa.int64()},
    "c": {"k": pa.int64(), "p_id": pa.float64(), "n": pa.int64()},
    "g": {"c_id": pa.int64(), "ward": pa.string()},
}
ROWS: Rows = {
    "p": [{"id": "1", "sex": "F", "age": 50}, {"id": "2", "sex": "M", "age": 51}, {"id": "3", "sex": "F", "age": 99}],
    "c": [
        {"k": 10, "p_id": 1.0, "n": 1},
        {"k": 11, "p_id": 1.0, "n": 2},
        {"k": 20, "p_id": 2.0, "n": 3},
        {"k": 90, "p_id": None, "n": 4},
        {"k": 91, "p_id": 99.0, "n": 5},
    ],
    "g": [
        {"c_id": 10, "ward": "a"},
        {"c_id": 11, "ward": "a"},
        {"c_id": 20, "ward": "z"},
        {"c_id": 20, "ward": "b"},
        {"c_id": 20, "ward": "b"},
        {"c_id": 90, "ward": "a"},
        {"c_id": None, "ward": "b"},
    ],
}


def schema() -> Schema:
    return load_schema(SCHEMA)


def owners(reader: MemorySource, described: Schema | None = None):
    described = described or schema()
    return ownership(reader, described, needs(described, column_groups(described)))


def read(source: HeldSource, table: str, columns: Sequence[str]) -> list[tuple[object, ...]]:
    batches = list(source.read(table, columns))
    assert all(batch.schema.names == list(columns) for batch in batches)
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def without(reader: MemorySource, found: Ownership, key: str) -> WithoutEntity:
    return WithoutEntity(reader, found, found.removal(("entity", key)))


def test_an_entity_goes_with_all_its_descendants() -> None:
    reader = MemorySource.of(ROWS, TYPES)
    with owners(reader) as found:
        neighbour = without(reader, found, "1")
        assert sorted(read(neighbour, "p", ["id", "sex"])) == [("2", "M"), ("3", "F")]
        assert sorted(read(neighbour, "c", ["n"])) == [(3,), (4,), (5,)]
        assert sorted(read(neighbour, "g", ["ward"])) == [("a",), ("b",), ("b",), ("b",), ("z",)]


def test_an_entity_without_children_goes_alone() -> None:
    reader = MemorySource.of(ROWS, TYPES)
    with owners(reader) as found:
        neighbour = without(reader, found, "3")
        assert len(read(neighbour, "p", ["id"])) == 2
        assert len(read(neighbour, "c", ["k"])) == 5
        assert len(read(neighbour, "g", ["ward"])) == 7


PARTS = """
mare: 1
entity: p
tables:
  p: {key: id, columns: {home: {type: category, values: [x, y], nullable: true}}}
  c: {key: k, parent: {table: p, column: [p_id, home], references: [id, home], max_rows: 3}, columns: {sex: {type: boolean}}}
  g: {parent: {table: c, column: [c_id, c_home], references: [k, home], max_rows: 3}, columns: {ward: {type: boolean}}}
  h: {parent: {table: c, column: c_id, max_rows: 3}, columns: {ward: {type: category, values: [a, b, z]}}}
"""


def test_whoever_refers_to_a_part_of_a_key_belongs_to_all_who_have_it() -> None:
    """Two people have a row 7, in different homes. One person's home is NULL, and only the key of the table names them."""
    text = pa.string()
    rows: Rows = {
        "p": [{"id": "1", "home": "x"}, {"id": "2", "home": "y"}, {"id": "3", "home": None}],
        "c": [{"k": "7", "p_id": n, "home": home, "sex": "F"} for n, home in (("1", "x"), ("2", "y"), ("3", None))],
        "g": [{"c_id": "7", "c_home": home, "ward": ward} for home, ward in (("x", "a"), ("y", "b"), (None, "z"))],
        "h": [{"c_id": "7", "ward": "a"}],
    }
    reader = MemorySource.of(rows, {name: dict.fromkeys(held[0], text) for name, held in rows.items()})
    with owners(reader, load_schema(PARTS)) as found:
        first, third = without(reader, found, "1"), without(reader, found, "3")
        assert sorted(read(first, "p", ["id"])) == [("2",), ("3",)]
        assert sorted(read(first, "g", ["ward"])) == [("b",), ("z",)]
        assert read(first, "h", ["ward"]) == [("a",)], "it is the second one's, too"
        assert sorted(read(third, "p", ["id"])) == [("1",), ("2",)]
        assert len(read(third, "c", ["k"])) == len(read(third, "g", ["ward"])) == 3, "a foreign key that is NULL leads nowhere"


def test_the_other_rows_come_in_another_order() -> None:
    reader = MemorySource.of(ROWS, TYPES)
    with owners(reader) as found:
        assert [n for (n,) in read(without(reader, found, "3"), "c", ["n"])] == [5, 4, 3, 2, 1]


def test_a_table_that_nobody_owns_is_read_as_it_is() -> None:
    reader = MemorySource.of({**ROWS, "wards": [{"code": "a"}]}, {**TYPES, "wards": {"code": pa.string()}})
    with owners(reader) as found:
        assert read(without(reader, found, "1"), "wards", ["code"]) == [("a",)]


def test_a_held_source_is_not_opened_or_closed_and_tells_what_the_reader_tells() -> None:
    class Once(MemorySource):
        def __enter__(self) -> Once:
            raise AssertionError("the audit holds the snapshot already")

    reader = Once.of(ROWS, TYPES)
    with HeldSource(reader) as held:
        assert held.label == "memory"
        assert held.reflect().table("g") is not None
        assert len(read(held, "p", ["id"])) == 3
        with pytest.raises(AssertionError, match="nothing may peek"):
            held.peek("p", "sex", 3)


def test_a_kept_source_reads_once() -> None:
    reader = MemorySource.of(ROWS, TYPES)
    kept = KeptSource(reader)
    assert read(kept, "p", ["id"]) == read(KeptSource(reader, kept.kept), "p", ["id"])
    reader.read_columns.clear()
    read(kept, "p", ["id"])
    assert reader.read_columns == {}


def test_the_heaviest_the_rare_and_the_extreme_are_found() -> None:
    reader = MemorySource.of(ROWS, TYPES)
    with owners(reader) as found:
        heavy, rare, far, lost = heaviest(found), rarest(found), extreme(found), orphan(found)
    # 1 owns five rows and 2 owns five: the tie goes to the smaller key; ward z and sex M are 2's alone; 99 years are 3's
    assert heavy is not None
    assert (heavy.entity, heavy.why) == (("entity", "1"), "the heaviest")
    assert rare is not None
    assert rare.entity == ("entity", "2")
    assert far is not None
    assert far.entity in {("entity", "1"), ("entity", "3")}
    assert lost is None


def test_the_random_ones_hang_on_the_seed() -> None:
    rows: Rows = {"p": [{"id": str(i), "sex": "F", "age": 1} for i in range(50)], "c": [], "g": []}
    with owners(MemorySource.of(rows, TYPES)) as found:
        one, again, other = at_random(found, 5, 1), at_random(found, 5, 1), at_random(found, 5, 2)
    assert one == again != other
    assert len({chosen.entity for chosen in one}) == 5


def test_an_entity_that_is_chosen_twice_is_removed_once() -> None:
    rows: Rows = {"p": [{"id": "7", "sex": "F", "age": 1}], "c": [], "g": []}
    with owners(MemorySource.of(rows, TYPES)) as found:
        (only,) = worth_removing(found, 3, 0)
    assert only.entity == ("entity", "7")
    assert only.why == "the heaviest and rare values and extreme values and at random"


def test_no_data_no_entity() -> None:
    with owners(MemorySource.of({"p": [], "c": [], "g": []}, TYPES)) as found:
        assert worth_removing(found, 3, 0) == []


def test_an_entity_that_is_not_there_is_refused_without_telling_its_key() -> None:
    with owners(MemorySource.of(ROWS, TYPES)) as found, pytest.raises(SourceError, match="not in the source") as caught:
        found.removal(("entity", "4711"))
    assert "4711" not in str(caught.value)


def test_an_entity_table_without_a_key_cannot_be_audited() -> None:
    keyless = load_schema("mare: 1\nentity: p\ntables:\n  p: {columns: {sex: {type: category, values: [F, M]}}}\n")
    reader = MemorySource.of({"p": [{"sex": "F"}]}, {"p": {"sex": pa.string()}})
    with pytest.raises(PlanError, match="has no key"), owners(reader, keyless):
        pass


def test_no_value_columns_no_rare_and_no_extreme_entity() -> None:
    bare = load_schema("mare: 1\nentity: p\ntables:\n  p: {key: id, columns: {sex: {type: category, values: [F, M]}}}\n")
    reader = MemorySource.of({"p": [{"id": "1", "sex": "F"}]}, {"p": {"id": pa.string(), "sex": pa.string()}})
    with owners(reader, bare) as found:
        assert extreme(found) is None
        assert rarest(found) is not None
    numbers = load_schema("mare: 1\nentity: p\ntables:\n  p: {key: id, columns: {age: {type: integer, min: 0, max: 9}}}\n")
    reader = MemorySource.of({"p": [{"id": "1", "age": 3}]}, {"p": {"id": pa.string(), "age": pa.int64()}})
    with owners(reader, numbers) as found:
        assert extreme(found) is not None
        assert rarest(found) is None


ORPHANS = SCHEMA.replace("{table: p, column: p_id, max_rows: 4}", "{table: p, column: p_id, max_rows: 4, orphans: entity}")


def test_orphans_that_share_a_dangling_key_are_one_entity_and_go_with_their_descendants() -> None:
    rows: Rows = {**ROWS, "c": [*ROWS["c"], {"k": 92, "p_id": 99.0, "n": 6}], "g": [*ROWS["g"], {"c_id": 92, "ward": "z"}]}
    reader = MemorySource.of(rows, TYPES)
    with owners(reader, load_schema(ORPHANS)) as found:
        lost = orphan(found)
        assert lost is not None
        assert lost.entity[0] == "dangling"
        neighbour = WithoutEntity(reader, found, found.removal(lost.entity))
        assert len(read(neighbour, "p", ["id"])) == 3
        assert sorted(read(neighbour, "c", ["n"])) == [(1,), (2,), (3,), (4,)]
        assert ("z",) in read(neighbour, "g", ["ward"])
        assert len(read(neighbour, "g", ["ward"])) == 7


def test_each_orphan_row_with_a_null_key_is_an_entity_also_when_two_are_alike() -> None:
    twins = [{"k": None, "p_id": None, "n": 7}, {"k": None, "p_id": None, "n": 7}]
    reader = MemorySource.of({**ROWS, "c": [*ROWS["c"][:3], *twins]}, TYPES)
    with owners(reader, load_schema(ORPHANS)) as found:
        lone = [chosen for chosen in at_random(found, 100, 0) if chosen.entity[0] == "lone"]
        assert len(lone) == 2
        for chosen in lone:
            neighbour = WithoutEntity(reader, found, found.removal(chosen.entity))
            assert sorted(read(neighbour, "c", ["n"])) == [(1,), (2,), (3,), (7,)]
            assert len(read(neighbour, "p", ["id"])) == 3


BY_COLUMN = """
mare: 1
entity: {table: c, by: person}
tables:
  c: {key: k, parent: {max_rows: 4}, columns: {n: {type: integer, min: 0, max: 9}}}
  g: {parent: {table: c, column: c_id, max_rows: 3}, columns: {ward: {type: category, values: [a, b, z]}}}
"""


def test_an_entity_by_column_is_a_value_of_it() -> None:
    types = {"c": {"k": pa.int64(), "person": pa.string(), "n": pa.int64()}, "g": TYPES["g"]}
    people: Rows = {"c": [{"k": row["k"], "person": str(row["p_id"]), "n": row["n"]} for row in ROWS["c"][:3]], "g": ROWS["g"]}
    reader = MemorySource.of(people, types)
    with owners(reader, load_schema(BY_COLUMN)) as found:
        neighbour = without(reader, found, "1.0")
        assert read(neighbour, "c", ["n"]) == [(3,)]
        assert len(read(neighbour, "g", ["ward"])) == 5


OWNED = """
mare: 1
entity: p
tables:
  p:
    key: id
    columns: {sex: {type: category, values: [F, M]}}
    references: {home: {kind: owned, table: homes, nullable: true}}
  homes: {key: h, columns: {town: {type: category, values: [x, y]}}}
"""


def test_rows_of_ones_own_belong_to_everyone_who_refers_to_them_and_stay_in_the_source() -> None:
    types = {"p": {"id": pa.string(), "sex": pa.string(), "home": pa.int64()}, "homes": {"h": pa.int64(), "town": pa.string()}}
    people: Rows = {
        "p": [{"id": str(i), "sex": "F", "home": home} for i, home in enumerate([7, 7, 8, None])],
        "homes": [{"h": h, "town": "x"} for h in (7, 8, 9)],
    }
    reader = MemorySource.of(people, types)
    with owners(reader, load_schema(OWNED)) as found:
        weights = found.connection.execute("SELECT entity[2], count(*) FROM owned_1 GROUP BY ALL ORDER BY ALL").fetchall()
        assert weights == [("0", 1), ("1", 1), ("2", 1)]
        neighbour = without(reader, found, "0")
        assert len(read(neighbour, "p", ["id"])) == 3
        assert len(read(neighbour, "homes", ["h"])) == 3
