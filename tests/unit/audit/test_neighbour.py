"""D′: one entity and every row that it owns is gone, everything else is there, in another order."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

from mare.audit.entities import Ownership, ownership
from mare.audit.neighbour import HeldSource, KeptSource, WithoutEntity
from mare.errors import PlanError, SourceError
from mare.graph.building import column_groups
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
    return WithoutEntity(reader, found, found.keys_of((key,)))


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
        heaviest, rarest, extreme = found.heaviest(), found.rarest(), found.extreme()
    # 1 owns five rows and 2 owns five: the tie goes to the smaller key; ward z and sex M are 2's alone; 99 years are 3's
    assert heaviest is not None
    assert (heaviest.key, heaviest.why) == (("1",), "the heaviest")
    assert rarest is not None
    assert rarest.key == ("2",)
    assert extreme is not None
    assert extreme.key in {("1",), ("3",)}


def test_the_random_ones_hang_on_the_seed() -> None:
    rows: Rows = {"p": [{"id": str(i), "sex": "F", "age": 1} for i in range(50)], "c": [], "g": []}
    with owners(MemorySource.of(rows, TYPES)) as found:
        one, again, other = found.at_random(5, 1), found.at_random(5, 1), found.at_random(5, 2)
    assert one == again != other
    assert len({chosen.key for chosen in one}) == 5


def test_an_entity_that_is_chosen_twice_is_removed_once() -> None:
    rows: Rows = {"p": [{"id": "7", "sex": "F", "age": 1}], "c": [], "g": []}
    with owners(MemorySource.of(rows, TYPES)) as found:
        (only,) = found.worth_removing(3, 0)
    assert only.key == ("7",)
    assert only.why == "the heaviest and rare values and extreme values and at random"


def test_no_data_no_entity() -> None:
    with owners(MemorySource.of({"p": [], "c": [], "g": []}, TYPES)) as found:
        assert found.worth_removing(3, 0) == []


def test_an_entity_that_is_not_there_is_refused_without_telling_its_key() -> None:
    with owners(MemorySource.of(ROWS, TYPES)) as found, pytest.raises(SourceError, match="not in the source") as caught:
        found.keys_of(("4711",))
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
        assert found.extreme() is None
        assert found.rarest() is not None
