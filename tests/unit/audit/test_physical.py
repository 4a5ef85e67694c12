"""What the physical audit compares beside the tape: catalogues, and fits that one of two databases refuses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
import pytest

from mare.audit import physical_audit
from mare.audit.physical import catalogue_differences
from mare.errors import SourceError
from mare.planning.planning import plan
from mare.privacy.budget import Budget
from mare.schema.loading import load_schema
from mare.schema.reflection import ReflectedColumn, ReflectedTable, Reflection
from tests.memory_source import MemorySource, hospital_rows, without
from tests.privacy.sessions import hospital

PLAN = plan(hospital(), Budget(2, 1e-9))
ROWS = hospital_rows(8)
ONE = Reflection(
    "here", (ReflectedTable("t", (ReflectedColumn("a", "integer", "INT"), ReflectedColumn("b", "date")), key=("a",)),)
)


class Refuses(MemorySource):
    """Cannot be read: a value is in the way, or the table is not of that kind."""

    why = "t.a: a value is in the way"

    def read(self, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        raise SourceError(f"{self.label} {self.why}")


def test_one_patient_less_passes_and_one_with_other_answers_does_not() -> None:
    there, gone = MemorySource.of(ROWS), MemorySource.of(without(ROWS, 3))
    assert physical_audit(PLAN, there, gone).passed
    two_less = MemorySource.of(without(without(ROWS, 3), 4))
    (difference, *_) = physical_audit(PLAN, there, two_less).differences
    assert "one entity moves it by" in difference


def test_a_refusal_on_either_side_is_a_difference() -> None:
    fine, refuses = MemorySource.of(without(ROWS, 3)), Refuses.of(ROWS)
    (with_them,) = physical_audit(PLAN, refuses, fine).differences
    assert "the fit with the entity ended with SourceError, the one without it did not" in with_them
    (without_them,) = physical_audit(PLAN, fine, refuses).differences
    assert "the fit ended with SourceError, the recorded one did not" in without_them


def test_what_both_refuse_in_the_same_words_was_not_audited() -> None:
    class There(Refuses):
        label = "another place"  # type: ignore[assignment]

    with pytest.raises(SourceError, match="in the way"):
        physical_audit(PLAN, Refuses.of(ROWS), There.of(ROWS))

    class Otherwise(Refuses):
        why = "t.b: another value is in the way"

    (difference,) = physical_audit(PLAN, Refuses.of(ROWS), Otherwise.of(ROWS)).differences
    assert "for different reasons" in difference


def test_catalogues_are_compared_to_the_last_word_but_not_by_their_labels() -> None:
    assert catalogue_differences(ONE, replace(ONE, label="there")) == []
    (table,) = ONE.tables
    typed = replace(table, columns=(replace(table.columns[0], kind="number", sql_type="REAL"), table.columns[1]))
    assert catalogue_differences(ONE, replace(ONE, tables=(typed,))) == [
        "column t.a: kind was 'integer', now 'number'",
        "column t.a: sql_type was 'INT', now 'REAL'",
    ]
    assert catalogue_differences(ONE, replace(ONE, tables=(replace(table, key=("b",)),))) == ["table t: key is not the same"]
    assert "the catalogue lists the tables" in catalogue_differences(ONE, replace(ONE, tables=()))[0]


def test_the_order_of_columns_counts_unless_it_was_changed_on_purpose() -> None:
    (table,) = ONE.tables
    turned = replace(ONE, tables=(replace(table, columns=table.columns[::-1]),))
    assert "has the columns" in catalogue_differences(ONE, turned)[0]
    assert catalogue_differences(ONE, turned, any_order=True) == []


def test_the_order_of_columns_that_are_left_out_is_the_catalogues() -> None:
    schema = load_schema(
        "mare: 1\nentity: people\ntables:\n  people:\n    key: id\n    columns:\n      sex: {type: category, values: [F, M]}\n"
        "    ignore_columns: [name, town]\n"
    )
    people = pa.table({"id": [1, 2, 3], "name": ["a", "b", "c"], "town": ["x", "y", "z"], "sex": ["F", "M", "F"]})
    there, turned = MemorySource({"people": people}), MemorySource({"people": people.select(["sex", "town", "name", "id"])})
    report = physical_audit(plan(schema, Budget(2, 1e-9)), there, turned, moved="not at all")
    assert report.passed, report.render()
