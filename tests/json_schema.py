"""The schema language as JSON Schema, so that editors complete and check the YAML while it is written.

`python -m tests.json_schema` writes `schemas/mare.schema.json`; a test fails when that file has fallen behind.
"""

from __future__ import annotations

import json
from pathlib import Path

from mare.schema.ready import folder
from mare.schema.schema import Schema

FILE_NAME = "mare.schema.json"

Json = bool | int | float | str | None | list["Json"] | dict[str, "Json"]


def json_schema() -> dict[str, Json]:
    """JSON Schema (draft 2020-12) of a schema file."""
    made: Json = Schema.model_json_schema(mode="validation")
    made = _without_titles(made)
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


def main(target: Path | None = None) -> Path:
    """Write the file beside the ready schemas."""
    path = target or folder() / FILE_NAME
    path.write_text(json_schema_text(), encoding="utf-8")
    return path


if __name__ == "__main__":
    print(main())
