"""Values come out in the kind of the stored column, also where nothing is known of them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from mare.sampling.storing import as_stored
from mare.schema.loading import load_schema
from mare.schema.reflection import ReflectedColumn, StorageKind


@pytest.mark.parametrize(("kind", "zero"), [("string", ""), ("integer", 0), ("number", 0.0), ("boolean", False)])
def test_a_value_without_a_name_is_zero_where_null_may_not_be(kind: StorageKind, zero: object) -> None:
    """Of a learned list noise may have left nothing: everything is one value, the empty text."""
    nameless = pa.array(["", ""])
    assert as_stored(nameless, None, ReflectedColumn("x", kind, nullable=False)).to_pylist() == [zero, zero]


def test_a_value_without_a_name_is_null_where_it_may_be_and_a_missing_one_stays_missing() -> None:
    assert as_stored(pa.array(["a", None]), None, ReflectedColumn("x", "string", nullable=False)).to_pylist() == ["a", ""]
    assert as_stored(pa.array(["", "7"]), None, ReflectedColumn("x", "integer")).to_pylist() == [None, 7]
    assert as_stored(pa.array([None, "7"]), None, ReflectedColumn("x", "integer", nullable=False)).to_pylist() == [None, 7]


@pytest.mark.parametrize(("precision", "written"), [("", ["3,5", "1000"]), (", precision: 2", ["3,50", "1000,00"])])
def test_a_column_of_texts_gets_numbers_as_its_source_writes_them(precision: str, written: list[str]) -> None:
    text = f"{{type: number, min: 0, max: 9, decimal: ',', thousands: '.'{precision}}}"
    schema = load_schema(f"mare: 1\nentity: t\ntables:\n  t: {{key: id, columns: {{x: {text}}}}}\n")
    described, numbers = schema.tables["t"].columns["x"], pa.array([3.5, 1000.0])
    assert as_stored(numbers, described, ReflectedColumn("x", "string")).to_pylist() == written
    assert as_stored(numbers, described, ReflectedColumn("x", "number")).to_pylist() == [3.5, 1000.0]
