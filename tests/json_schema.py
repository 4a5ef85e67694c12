"""The schema language as JSON Schema, so that editors complete and check the YAML while it is written.

`python -m tests.json_schema` writes `schemas/mare.schema.json`; a test fails when that file has fallen behind.
"""

from __future__ import annotations

import json
from pathlib import Path

from mare.schema.loading import JSON_SCHEMA, ready_folder
from mare.schema.schema import Schema

Json = bool | int | float | str | None | list["Json"] | dict[str, "Json"]


def json_schema() -> dict[str, Json]:
    """JSON Schema (draft 2020-12) of a schema file."""
    made: Json = Schema.model_json_schema(mode="validation")
    made = _told_apart(_without_titles(made))
    assert isinstance(made, dict)
    definitions = made["$defs"]
    assert isinstance(definitions, dict)
    # A model may be written as its name alone.
    definitions["ModelChoice"] = {"anyOf": [{"type": "string"}, definitions["ModelChoice"]]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "mare schema", **made}


def json_schema_text() -> str:
    """As it is written to the file."""
    return json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"


def _without_titles(value: Json) -> Json:
    """Pydantic's titles repeat the names; a field that is called `title` stays."""
    if isinstance(value, dict):
        return {k: _without_titles(v) for k, v in value.items() if not (k == "title" and isinstance(v, str))}
    return [_without_titles(item) for item in value] if isinstance(value, list) else value


def _told_apart(value: Json) -> Json:
    """One of several that a word tells apart (`type`, `kind`): the word decides which one is checked, so that an editor says
    which words there are, and not that nothing of all of them fits."""
    if isinstance(value, list):
        return [_told_apart(item) for item in value]
    if not isinstance(value, dict):
        return value
    told = {name: _told_apart(item) for name, item in value.items()}
    discriminator = told.pop("discriminator", None)
    if not isinstance(discriminator, dict):
        return told
    word, mapping = discriminator["propertyName"], discriminator["mapping"]
    assert isinstance(word, str)
    assert isinstance(mapping, dict)
    del told["oneOf"]
    cases: list[Json] = [
        {"if": {"properties": {word: {"const": name}}, "required": [word]}, "then": {"$ref": to}} for name, to in mapping.items()
    ]
    return {**told, "type": "object", "required": [word], "properties": {word: {"enum": [*mapping]}}, "allOf": cases}


def main(target: Path | None = None) -> Path:
    """Write the file beside the ready schemas."""
    path = target or ready_folder() / JSON_SCHEMA
    path.write_text(json_schema_text(), encoding="utf-8")
    return path


if __name__ == "__main__":
    print(main())
