"""The JSON Schema for editors: up to date, and of one mind with what loads."""

from __future__ import annotations

import json
from datetime import date, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator

from mare.schema import Schema
from mare.schema.loading import JSON_SCHEMA, ready_folder, ready_names
from mare.schema.yaml_nodes import Plain, read_nodes
from mare.schema.yaml_writing import dump_schema
from tests.json_schema import json_schema, json_schema_text, main
from tests.strategies import schemas


@cache
def validator() -> Draft202012Validator:
    return Draft202012Validator(json_schema())


def as_editors_see(text: str) -> Any:
    """The YAML as an editor reads it: no dates, all keys are texts."""
    return json.loads(json.dumps(_texts(read_nodes(text).data)))


def _texts(value: Plain) -> Any:
    if isinstance(value, dict):
        return {str(key): _texts(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_texts(item) for item in value]
    return str(value) if isinstance(value, date | datetime) else value


def test_the_file_is_up_to_date() -> None:
    written = (ready_folder() / JSON_SCHEMA).read_text(encoding="utf-8")
    assert written == json_schema_text(), "run: make schema"


def test_the_file_can_be_written_anew(tmp_path: Path) -> None:
    assert main(tmp_path / "s.json").read_text(encoding="utf-8") == json_schema_text()


def test_it_is_itself_valid() -> None:
    Draft202012Validator.check_schema(json_schema())


@pytest.mark.parametrize("name", ready_names())
def test_ready_schemas_are_valid(name: str) -> None:
    text = (ready_folder() / f"{name}.yaml").read_text(encoding="utf-8")
    assert [error.message for error in validator().iter_errors(as_editors_see(text))] == []


@given(schemas())
def test_what_mare_writes_is_valid(schema: Schema) -> None:
    assert [error.message for error in validator().iter_errors(as_editors_see(dump_schema(schema)))] == []


@pytest.mark.parametrize(
    "column",
    [
        "{type: integr, min: 1, max: 2}",
        "{type: integer, minimum: 1, max: 2}",
        "{type: integer, min: one, max: 2}",
        "{type: category, values: F}",
        "{type: datetime, after: x, within: 20z}",
        "{type: date, min: 2100, max: 2200}",
        "{min: 1, max: 2}",
    ],
)
def test_an_editor_sees_what_does_not_load(column: str) -> None:
    text = f"mare: 1\nentity: a\ntables:\n  a:\n    columns:\n      x: {column}\n"
    assert not validator().is_valid(as_editors_see(text))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("columns: {x: {type: integr, min: 1}}", ["integer", "category"]),
        ("references: {x: {kind: publik, table: a}}", ["public", "pool"]),
    ],
)
def test_a_mistyped_word_is_one_message_that_lists_the_words_there_are(line: str, words: list[str]) -> None:
    [error] = validator().iter_errors(as_editors_see(f"mare: 1\nentity: a\ntables:\n  a:\n    {line}\n"))
    assert "is not one of" in error.message
    assert all(word in error.message for word in words)


def test_a_model_may_be_written_as_its_name() -> None:
    assert validator().is_valid(as_editors_see("mare: 1\nentity: a\nmodel: independent\ntables:\n  a: {model: {name: x}}\n"))


def test_every_field_is_documented_for_editors() -> None:
    definitions = json_schema()["$defs"]
    assert isinstance(definitions, dict)
    silent = [
        f"{noun}.{name}"
        for noun, made in definitions.items()
        if isinstance(made, dict)
        for name, field in made.get("properties", {}).items()  # type: ignore[union-attr]
        if name not in ("type", "kind") and not (isinstance(field, dict) and (field.get("description") or "$ref" in field))
    ]
    assert silent == []
