"""What holds for every schema: it survives being written, and the checks have nothing to say about a valid one."""

from __future__ import annotations

from hypothesis import given

from mare.schema import Schema
from mare.schema.checks import find_faults
from mare.schema.loading import dump_schema, load_schema
from mare.schema.yaml_nodes import read_nodes
from mare.schema.yaml_writing import rewrite_plain
from tests.strategies import schemas


@given(schemas())
def test_a_written_schema_loads_as_the_same_schema(schema: Schema) -> None:
    assert load_schema(dump_schema(schema)) == schema


@given(schemas())
def test_writing_is_stable(schema: Schema) -> None:
    text = dump_schema(schema)
    assert dump_schema(load_schema(text)) == text


@given(schemas())
def test_a_valid_settled_schema_has_no_faults(schema: Schema) -> None:
    assert [str(fault) for fault in find_faults(schema)] == []


@given(schemas(), schemas())
def test_any_schema_can_be_rewritten_into_any_other(one: Schema, other: Schema) -> None:
    text = "# kept\n" + dump_schema(one)
    rewritten = rewrite_plain(text, read_nodes(dump_schema(other)).data)
    assert load_schema(rewritten) == other
    assert rewritten.startswith("# kept\n")


@given(schemas())
def test_rewriting_with_the_same_schema_changes_nothing(schema: Schema) -> None:
    text = "# one\n" + dump_schema(schema) + "# two\n"
    assert rewrite_plain(text, read_nodes(text).data) == text
