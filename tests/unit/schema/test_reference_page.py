"""docs/reference/schema.md cannot rot: its examples load, its tables are up to date, and no field is left out."""

from __future__ import annotations

import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from mare.schema.checks import find_faults
from mare.schema.faults import Fault
from mare.schema.schema import Schema, Table
from mare.schema.structure import build_schema
from mare.schema.yaml_nodes import read_nodes
from tests.field_tables import nouns, own_fields, refreshed

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "schema.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = [(match[1], TEXT[: match.start()].count("\n") + 1) for match in re.finditer(r"```yaml\n(.*?)```", TEXT, re.DOTALL)]


def plain(text: str) -> dict[str, Any]:
    document = read_nodes(text)
    assert document.faults == []
    assert isinstance(document.data, dict)
    return document.data  # type: ignore[return-value]


def merged(base: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """The base with the change laid over it."""
    out = deepcopy(base)
    for key, value in change.items():
        if isinstance(value, dict) and isinstance(out.get(key), dict) and "type" not in value and "kind" not in value:
            out[key] = merged(out[key], value)
        else:
            out[key] = deepcopy(value)
    return out


def schema_of(block: str) -> Schema:
    """A block is a whole file, a change to the hospital, or a change to its admissions."""
    base, change = plain(BLOCKS[0][0]), plain(block)
    if "mare" not in change:
        change = change if change.keys() <= Schema.model_fields.keys() - {"description"} else {"tables": {"admissions": change}}
        change = merged(base, change)
    schema, faults = build_schema(change)
    assert schema is not None, [str(f) for f in faults]
    return schema


def open_questions(block: str) -> list[Fault]:
    return [f for f in find_faults(schema_of(block)) if not (block.startswith("# draft") and f.severity == "unsettled")]


@pytest.mark.parametrize("block", [pytest.param(block, id=f"line {line}") for block, line in BLOCKS])
def test_every_example_loads_without_a_fault(block: str) -> None:
    assert [str(fault) for fault in open_questions(block)] == []


@pytest.mark.parametrize("block", [pytest.param(block, id=f"line {line}") for block, line in BLOCKS[1:]])
def test_every_example_changes_the_hospital(block: str) -> None:
    assert schema_of(block) != schema_of(BLOCKS[0][0])


def test_the_tables_are_up_to_date() -> None:
    assert refreshed(TEXT) == TEXT, "run: python -m tests.field_tables docs/reference/schema.md"


def test_every_field_of_every_noun_is_documented() -> None:
    marked = set(re.findall(r"<!-- fields: (\w+) -->", TEXT))
    assert marked == {name for name, noun in nouns().items() if own_fields(noun)}


def test_every_field_says_what_it_is_for() -> None:
    silent = [
        f"{name}.{field}"
        for name, noun in nouns().items()
        for field, info in own_fields(noun).items()
        if field not in ("type", "kind") and not info.description
    ]
    assert silent == []


@pytest.mark.parametrize("name", sorted(nouns()))
def test_every_field_occurs_in_an_example(name: str) -> None:
    examples = "\n".join(block for block, _ in BLOCKS)
    missing = [field for field in own_fields(nouns()[name]) if not re.search(rf"\b{field}\b[\"']?:", examples)]
    assert missing == []


def test_a_block_that_is_a_change_to_the_admissions_names_fields_of_a_table() -> None:
    for block, line in BLOCKS[1:]:
        keys = plain(block).keys()
        assert keys <= Schema.model_fields.keys() or keys <= Table.model_fields.keys(), f"line {line}"
