"""Writing a schema and rewriting a file: nothing is lost, and comments stay."""

from __future__ import annotations

import pytest

from mare.schema import Schema
from mare.schema.loading import dump_schema, load_schema
from mare.schema.yaml_nodes import read_nodes
from mare.schema.yaml_writing import rewrite_plain

from .examples import spoiled

FILE = """\
# Our hospital. Licence: ours.
mare: 1
entity: patients          # the privacy unit
tables:
  # people
  patients:
    key: subject_id
    columns:
      gender:  {type: category, values: [F, M]}   # as recorded
      age:     {type: integer, min: 18, max: 91}
      # how they came
      ward:
        type: category
        values:
        - A   # surgery
        - B
  drugs: {public: true}   # a vocabulary

# the end
"""


def changed(**columns: object) -> Schema:
    """FILE's schema with columns changed, or removed (None)."""
    data = load_schema(FILE).model_dump(exclude_defaults=True)
    described = data["tables"]["patients"]["columns"]
    for name, column in columns.items():
        if column is None:
            del described[name]
        else:
            described[name] = column
    return Schema.model_validate(data)


def test_a_column_stands_on_one_line_and_defaults_are_left_out() -> None:
    text = dump_schema(spoiled({}))
    assert "      gender: {type: category, values: [F, M]}\n" in text
    assert "  drugs: {public: true, rows: 30, key: drug_id}\n" in text
    assert "    key: [hadm_id, seq]\n" in text
    assert "nullable: false" not in text
    assert "peeked" not in text


def test_long_lines_are_broken_after_commas() -> None:
    values = [f"value number {n}" for n in range(60)]
    schema = spoiled({"patients.columns.x": {"type": "category", "values": values}})
    text = dump_schema(schema)
    assert max(map(len, text.splitlines())) <= 120
    assert load_schema(text) == schema


def test_a_description_of_several_lines_is_a_block() -> None:
    schema = load_schema(FILE).model_copy(update={"description": "First line.\n\nSecond: with a colon."})
    text = dump_schema(schema)
    assert "description: |-\n  First line.\n\n  Second: with a colon.\n" in text
    assert load_schema(text) == schema


@pytest.mark.parametrize(
    "description", ["a\n", " a\nb", "a \nb", "\n", "a\n\tb", "a\x07\nb", "a\u2028b", "\ufeff", "…", "🩺\n🩺"]
)
def test_any_text_comes_back(description: str) -> None:
    schema = load_schema(FILE).model_copy(update={"description": description})
    assert load_schema(dump_schema(schema)) == schema


def test_an_empty_schema_comes_back() -> None:
    schema = Schema(mare=1, tables={})
    assert load_schema(dump_schema(schema)) == schema


@pytest.mark.parametrize("number", [0.1, 1e16, 1e-7, 1.5e300, -0.5, 123456789.0])
def test_numbers_come_back_exactly(number: float) -> None:
    schema = changed(age={"type": "number", "min": min(number, 0.0), "max": max(number, 0.0)})
    assert load_schema(dump_schema(schema)) == schema


def rewritten_as(text: str, schema: Schema) -> str:
    return rewrite_plain(text, read_nodes(dump_schema(schema)).data)


def test_rewriting_keeps_comments_order_and_alignment() -> None:
    schema = changed(age={"type": "integer", "min": 18, "max": 120})
    assert rewritten_as(FILE, schema) == FILE.replace("max: 91", "max: 120")


def test_rewriting_adds_and_removes_fields_inside_braces() -> None:
    schema = changed(gender={"type": "category", "learn": True}, age={"type": "integer", "min": 18, "max": 91, "nullable": True})
    text = rewritten_as(FILE, schema)
    assert "      gender:  {type: category, learn: true}   # as recorded\n" in text
    assert "max: 91, nullable: true}\n" in text
    assert load_schema(text) == schema


def test_rewriting_removes_a_whole_column() -> None:
    schema = changed(age=None)
    text = rewritten_as(FILE, schema)
    assert "age:" not in text
    assert "# how they came" in text
    assert load_schema(text) == schema


def test_rewriting_replaces_a_block_list() -> None:
    schema = changed(ward={"type": "category", "values": ["A", "B", "C"]})
    text = rewritten_as(FILE, schema)
    assert "        values: [A, B, C]\n" in text
    assert load_schema(text) == schema


def test_rewriting_adds_tables_columns_and_top_fields_where_they_belong() -> None:
    data = changed(new={"type": "boolean"}).model_dump(exclude_defaults=True)
    data["tables"]["visits"] = {"parent": {"table": "patients", "column": "subject_id", "max_rows": 3}}
    data["name"] = "hospital"
    schema = Schema.model_validate(data)
    text = rewritten_as(FILE, schema)
    assert load_schema(text) == schema
    assert "        - B\n      new: {type: boolean}\n" in text
    assert "  visits:\n    parent: {table: patients" in text
    assert [line for line in FILE.splitlines() if "#" in line] == [line for line in text.splitlines() if "#" in line]


def test_rewriting_settles_a_draft() -> None:
    draft = "mare: 1\nentity:\ntables:\n  a:\n    columns:\n      x: {type: unknown} # ?\n"
    schema = load_schema("mare: 1\nentity: a\ntables:\n  a:\n    columns:\n      x: {type: boolean}\n")
    assert rewritten_as(draft, schema) == draft.replace("entity:", "entity: a").replace("unknown", "boolean")


def test_what_shares_text_is_written_out_rather_than_changed_in_two_places() -> None:
    text = "# kept\nmare: 1\nentity: a\ntables:\n  a:\n    columns:\n      x: &n {type: integer, min: 0, max: 9}\n      y: *n\n"
    data = load_schema(text).model_dump(exclude_defaults=True)
    data["tables"]["a"]["columns"]["y"]["max"] = 5
    schema = Schema.model_validate(data)
    rewritten = rewritten_as(text, schema)
    assert load_schema(rewritten) == schema
    assert rewritten.startswith("# kept\n")
