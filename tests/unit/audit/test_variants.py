"""The same data told otherwise: copies that know their own rows and nobody else's, and another order of the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest

from mare.audit import AuditReport, ReplayAudit
from mare.audit.entities import Ownership, ownership
from mare.audit.tape import MANY_TIMES, OTHER_ORDER
from mare.audit.variants import MANY, HeldSource, Reordered, Repeated, reordered, repeated
from mare.graph.pdag import column_groups
from mare.privacy.bits import SeededBits
from mare.privacy.tape import Recorder, Replayer, TapeMismatch
from mare.schema.loading import load_schema
from mare.stage import needs, stage
from tests.memory_source import MemorySource, Rows
from tests.privacy.sessions import ZCDP, asked, everything, wards

SCHEMA = """
mare: 1
entity: p
tables:
  p: {key: id, columns: {sex: {type: category, values: [F, M]}}}
  c:
    key: [up, n]
    parent: {table: p, column: up, max_rows: 5}
    columns: {n: {type: position}}
    references: {drug: {kind: public, table: drugs, nullable: true}}
  drugs: {public: true, key: drug}
"""
ROWS: Rows = {
    "p": [{"id": 1, "sex": "F"}, {"id": 12, "sex": "M"}],
    "c": [{"up": "1", "n": 1, "drug": "x"}, {"up": "12", "n": 1, "drug": "y"}, {"up": "gone", "n": 1, "drug": None}],
    "drugs": [{"drug": "x"}, {"drug": "y"}],
}
TEXT, NUMBER = pa.string(), pa.int64()
TYPES = {"p": {"id": NUMBER, "sex": TEXT}, "c": {"up": TEXT, "n": NUMBER, "drug": TEXT}, "drugs": {"drug": TEXT}}


@contextmanager
def owners(reader: MemorySource, text: str = SCHEMA) -> Iterator[Ownership]:
    schema = load_schema(text)
    with ownership(reader, schema, needs(schema, column_groups(schema))) as found:
        yield found


def rows(source: Any, table: str, columns: list[str]) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for batch in source.read(table, columns) for row in batch.to_pylist()]


def many(times: int | None = 3, content: Rows = ROWS, types: Any = TYPES) -> Repeated:
    reader = MemorySource.of(content, types)
    with owners(reader) as found:
        return repeated(HeldSource(reader), found, times)


def test_every_copy_has_rows_and_keys_of_its_own_that_find_each_other() -> None:
    source = many()
    people = [key for (key,) in rows(source, "p", ["id"])]
    children = [key for (key,) in rows(source, "c", ["up"])]
    assert len(people) == len(set(people)) == 6
    assert {1, 12} <= set(people)
    # a text of digits refers to a number, in each copy
    assert {key for key in children if str(key).isdecimal()} == {str(key) for key in people}
    assert {"gone", "gone~1", "gone~2"} <= set(children)


def test_what_leads_to_a_public_table_stays_and_so_does_that_table() -> None:
    source = many()
    assert {drug for (drug,) in rows(source, "c", ["drug"])} == {"x", "y", None}
    assert rows(source, "drugs", ["drug"]) == [("x",), ("y",)]


def test_the_stage_finds_every_child_of_every_copy() -> None:
    schema = load_schema(SCHEMA)
    source = many()
    tables = needs(schema, column_groups(schema))
    with stage(source, tables, b"key", vocabularies={"c.drug": [("x",), ("y",)]}) as staged:
        assert staged.entities == 6
        assert len(staged.tables["c"].parent) == 6


def test_where_numbers_have_no_room_left_all_keys_are_texts_of_one_type() -> None:
    content: Rows = {**ROWS, "p": [{"id": 2**61, "sex": "F"}], "c": [{"up": str(2**61), "n": 1, "drug": None}]}
    source = many(2, content)
    assert source.step is None
    assert rows(source, "p", ["id"]) == [(str(2**61),), (f"{2**61}~1",)] == rows(source, "c", ["up"])
    assert len({batch.schema for batch in source.read("p", ["id"])}) == 1


def test_without_a_number_there_are_many_and_at_least_twice_as_many() -> None:
    assert many(None).times == MANY // 2
    assert many(None, {**ROWS, "p": [], "c": []}).times == MANY


def test_another_order_holds_the_same_rows_and_the_same_catalogue() -> None:
    content: Rows = {**ROWS, "p": [{"id": i, "sex": "F"} for i in range(50)]}
    reader = MemorySource.of(content, TYPES)
    with owners(reader) as found:
        source = reordered(HeldSource(reader), found, seed=1)
    there, here = rows(source, "p", ["id"]), rows(reader, "p", ["id"])
    assert sorted(there) == sorted(here)
    assert there != here
    assert rows(source, "drugs", ["drug"]) == rows(reader, "drugs", ["drug"])
    assert [t.name for t in source.reflect()] == ["drugs", "c", "p"]
    assert [c.name for c in source.reflect().tables[2].columns] == ["sex", "id"]
    assert [batch.num_rows for batch in Reordered(reader, source.private, 1, 20).read("p", ["id"])] == [20, 20, 10]


def test_a_replay_that_may_not_move_says_so_and_one_that_may_move_anywhere_does_not() -> None:
    recorder, view = Recorder(), wards()
    asked(view, ZCDP, everything)(SeededBits(1), recorder)
    other = asked(view.without(3), ZCDP, everything)
    for moved, fails in (("paid for", False), ("not at all", True), ("anywhere", False)):
        replayer = Replayer(recorder.record, moved=moved)  # type: ignore[arg-type]
        other(SeededBits(2), replayer)
        if fails:
            with pytest.raises(TapeMismatch, match="nobody joined or left"):
                replayer.finish()
        else:
            replayer.finish()


def test_the_report_names_how_the_data_was_told() -> None:
    report = AuditReport((), (), (), (ReplayAudit(MANY_TIMES, ("a scale",)), ReplayAudit(OTHER_ORDER, ())))
    assert not report.passed
    assert f"Told otherwise: {MANY_TIMES}, {OTHER_ORDER}." in report.render()
    assert report.differences == (f"{MANY_TIMES}: a scale",)
