"""Whatever is written, loading ends in a schema or in a `SchemaError` whose faults have a place and a remedy."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mare.errors import SchemaError
from mare.schema import Fault, Schema
from mare.schema.loading import load_document
from mare.schema.yaml_writing import dump_schema, inline, plain_schema
from tests.strategies import schemas

_WORDS = [
    "people",
    "stays",
    "at",
    "seq",
    "previous.at",
    "parent.at",
    "nope",
    "category0",
    "",
    0,
    -1,
    True,
    None,
    [],
    {},
    ["at"],
    {"x": 1},
]


def _places(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else []
    return [place for key, item in items for place in [(*path, key), *_places(item, (*path, key))]]


@st.composite
def spoiled(draw: st.DrawFn) -> str:
    """A valid schema with one to three places removed or overwritten, as YAML."""
    data: Any = plain_schema(draw(schemas(max_tables=5)))
    for _ in range(draw(st.integers(1, 3))):
        *steps, last = draw(st.sampled_from(_places(data)))
        at = data
        for step in steps:
            at = at[step]
        if draw(st.booleans()):
            del at[last]
        else:
            at[last] = draw(st.sampled_from(_WORDS))
    return inline(data) + "\n"


def _faults(text: str) -> tuple[object, ...]:
    try:
        return load_document(text).faults
    except SchemaError as error:
        return error.faults or ("a SchemaError without faults",)


@given(spoiled())
def test_a_spoiled_schema_loads_or_says_what_is_wrong(text: str) -> None:
    for fault in _faults(text):
        assert isinstance(fault, Fault)
        assert fault.what
        assert fault.remedy
        assert fault.line is not None


@given(schemas(), st.data())
def test_a_cut_file_loads_or_says_what_is_wrong(schema: Schema, data: st.DataObject) -> None:
    text = dump_schema(schema)
    cut = text[: data.draw(st.integers(1, len(text)))] + "\n"
    assert all(isinstance(fault, Fault) for fault in _faults(cut))
