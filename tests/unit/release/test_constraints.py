"""Which constraints of the source go into a release: those that the schema promises; the rest is said."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from mare.release.storage import output_tables
from mare.schema.loading import load_schema
from mare.schema.reflection import ColumnOrder, ReflectedColumn, ReflectedTable, Reflection

SCHEMA = """
mare: 1
entity: patients
tables:
  patients:
    key: pid
    columns:
      sex: {type: category, values: [F, M]}
      ward: {type: category, values: [a, b], rest: x}
      age: {type: integer, min: 18, max: 99, bins: 5}
      born: {type: date, min: 1900-01-01, max: 2020-12-31, bins: 5}
      code: {type: identifier, generate: pattern, pattern: "P{n:04d}"}
      note: {type: text, nullable: true}
  stays:
    key: sid
    parent: {table: patients, column: pid, type: sequential, order_by: begins, max_rows: 3, keep: last, memory: 1}
    columns:
      begins: {type: datetime, after: previous.ends, first: {min: 2000-01-01, max: 2020-01-01}, within: 5y, bins: 6}
      ends: {type: datetime, after: begins, within: 90d, bins: 6}
      told: {type: datetime, min: 2000-01-01, max: 2020-01-01, bins: 6}
      line: {type: position}
"""


def patients(**changes: ReflectedColumn) -> ReflectedTable:
    columns = {
        "pid": ReflectedColumn("pid", "integer", nullable=False, min=0),
        "sex": ReflectedColumn("sex", "string", values=("F", "M", "U")),
        "ward": ReflectedColumn("ward", "string", values=("a", "b")),
        "age": ReflectedColumn("age", "integer", min=0, max=60),
        "born": ReflectedColumn("born", "date", min=date(1850, 1, 1), max=date(2021, 1, 1)),
        "code": ReflectedColumn("code", "string"),
        "note": ReflectedColumn("note", "string", values=("x",)),
    }
    return ReflectedTable(
        "patients",
        tuple((columns | changes).values()),
        uniques=(("code",), ("sex", "age"), ("pid", "sex")),
        unread_checks=("length(note) < 9",),
        dialect="postgresql",
    )


STAYS = ReflectedTable(
    "stays",
    (
        ReflectedColumn("sid", "integer"),
        ReflectedColumn("pid", "integer"),
        ReflectedColumn("begins", "datetime"),
        ReflectedColumn("ends", "datetime"),
        ReflectedColumn("told", "datetime"),
        ReflectedColumn("line", "integer", min=1, max=3),
    ),
    orders=(ColumnOrder("begins", "ends"), ColumnOrder("begins", "ends", strict=True), ColumnOrder("begins", "told")),
    uniques=(("pid", "line"), ("pid", "begins")),
)


def made(first: ReflectedTable | None = None, second: ReflectedTable = STAYS) -> dict[str, ReflectedTable]:
    schema = load_schema(SCHEMA)
    return {table.name: table for table in output_tables(schema, Reflection("here", (first or patients(), second)))}


def column(table: ReflectedTable, name: str) -> ReflectedColumn:
    found = table.column(name)
    assert found is not None
    return found


def test_values_and_bounds_within_those_of_the_source_are_kept() -> None:
    table = made()["patients"]
    assert column(table, "sex").values == ("F", "M", "U")
    assert (column(table, "age").min, column(table, "pid").min) == (0, 0)
    assert (column(table, "born").min, column(table, "born").max) == (date(1850, 1, 1), date(2021, 1, 1))
    assert table.dialect == "postgresql"


def test_what_the_schema_does_not_promise_is_left_out_with_a_word() -> None:
    table = made()["patients"]
    assert (column(table, "ward").values, column(table, "age").max) == (None, None)
    told = "\n".join(table.unread_checks)
    assert "length(note) < 9" in told
    assert "ward is one of 2 values" in told
    assert "age <= 60" in told
    assert "UNIQUE (sex, age)" in told


def test_that_an_unsigned_number_is_not_negative_goes_without_saying() -> None:
    for word, low, said in (("int unsigned", 0, False), ("int unsigned", 1, True), ("int", 0, True)):
        reference = ReflectedColumn("pid", "integer", word, min=low)
        stays = made(second=replace(STAYS, columns=(STAYS.columns[0], reference, *STAYS.columns[2:])))["stays"]
        assert column(stays, "pid").min is None
        assert (f"pid >= {low}" in "\n".join(stays.unread_checks)) == said


def test_a_column_that_comes_out_null_passes_any_check() -> None:
    assert column(made()["patients"], "note").values == ("x",)


def test_uniques_hold_with_a_fresh_value_the_key_or_a_position_under_the_parent() -> None:
    tables = made()
    assert tables["patients"].uniques == (("code",), ("pid", "sex"))
    assert tables["stays"].uniques == (("pid", "line"),)


def test_a_unique_that_the_schema_names_is_kept_once_and_not_said_to_be_left_out() -> None:
    schema = load_schema(SCHEMA.replace("    key: sid\n", "    key: sid\n    unique: [[begins, pid]]\n"))
    stays = replace(STAYS, uniques=(("pid", "begins"), ("pid", "begins", "told")))
    tables = {table.name: table for table in output_tables(schema, Reflection("here", (patients(), stays)))}
    assert tables["stays"].uniques == (("pid", "begins"), ("pid", "begins", "told"))
    assert not [text for text in tables["stays"].unread_checks if "UNIQUE" in text]


def test_an_order_is_kept_where_the_schema_keeps_it() -> None:
    table = made()["stays"]
    assert table.orders == (ColumnOrder("begins", "ends"),)
    told = "\n".join(table.unread_checks)
    assert "begins < ends" in told
    assert "begins <= told: write `after: begins` at told in the schema" in told


def test_a_position_is_bounded_by_the_rows_that_a_parent_may_have() -> None:
    line = column(made()["stays"], "line")
    assert (line.min, line.max) == (1, 3)


def test_a_source_without_types_gets_those_of_the_schema() -> None:
    plain = [ReflectedTable(t.name, tuple(ReflectedColumn(c.name, "unknown") for c in t.columns)) for t in (patients(), STAYS)]
    tables = made(*plain)
    kinds = {c.name: c.kind for table in tables.values() for c in table.columns}
    assert kinds == {
        "pid": "integer",
        "sex": "string",
        "ward": "string",
        "age": "integer",
        "born": "date",
        "code": "string",
        "note": "string",
        "sid": "integer",
        "begins": "datetime",
        "ends": "datetime",
        "told": "datetime",
        "line": "integer",
    }


def test_a_release_file_keeps_them() -> None:
    import json

    from mare.release.archive import read_document, write_document
    from tests.fitted_hospital import fitted_hospital

    release = fitted_hospital()
    held = type(release)(release.schema, release.plan, tuple(made().values()), release.arrays, release.ledger)
    assert read_document(json.loads(write_document(held, 1)))[1] == held.tables
