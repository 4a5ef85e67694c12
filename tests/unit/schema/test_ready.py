"""The ready schemas load without a fault, say what they are for, and fit the published shape of their data."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from mare.schema import EntityByColumn, Schema
from mare.schema.loading import ReadySchema, load_document, load_schema, ready_file, ready_folder, ready_names, ready_schemas
from tests.published_tables import published

NAMES = ("eicu-core", "fhir-r4", "medonc", "mimic-iii", "mimic-iv-core", "mimic-iv-icu", "omop-cdm-5.4", "synthea-csv")
GUIDE = Path(__file__).resolve().parents[3] / "docs" / "guides" / "ready-schemas.md"
PUBLISHED = {
    "eicu-core": "eicu",
    "mimic-iii": "mimic-iii",
    "mimic-iv-core": "mimic-iv",
    "mimic-iv-icu": "mimic-iv",
    "omop-cdm-5.4": "omop-cdm-5.4",
    "synthea-csv": "synthea-csv",
}


def header(name: str) -> str:
    """The comment that a ready schema opens with."""
    path = ready_file(name)
    assert path is not None
    lines = path.read_text(encoding="utf-8").splitlines()
    end = next(i for i, line in enumerate(lines) if not line.startswith("#"))
    return "\n".join(lines[:end])


def described(schema: Schema, table: str) -> set[str]:
    """Every column of the table that the schema says something about."""
    noun = schema.tables[table]
    entity = {schema.entity.by} if isinstance(schema.entity, EntityByColumn) and schema.entity.table == table else set()
    via = noun.parent.column_via or () if noun.parent is not None else ()
    referring = {column for reference in noun.references for column in noun.reference_columns(reference)}
    owned = {*(noun.key or ()), *schema.parent_columns(table), *via}
    return {*noun.columns, *noun.ignore_columns, *owned, *referring} | entity


@cache
def loaded(name: str) -> Schema:
    return load_schema(name)


@cache
def listed() -> tuple[ReadySchema, ...]:
    return ready_schemas()


def test_those_of_the_issues_are_there() -> None:
    assert ready_names() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_name_leads_to_its_file(name: str) -> None:
    assert ready_file(name) == ready_folder() / f"{name}.yaml"
    assert load_schema(name).name == name


@pytest.mark.parametrize(
    "not_a_name", ["", "mimic", "mimic-iv-core.yaml", "schemas/medonc.yaml", "../schemas/medonc", "mare.schema"]
)
def test_a_path_or_an_unknown_name_is_not_found(not_a_name: str) -> None:
    assert ready_file(not_a_name) is None


@pytest.mark.parametrize("name", NAMES)
def test_a_ready_schema_has_no_fault_and_nothing_unsettled(name: str) -> None:
    assert [str(fault) for fault in load_document(name).faults] == []


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("heading", ["Licence of the data", "Shape", "Source of the facts", "Met", "To review before a release"])
def test_the_opening_comment_says(name: str, heading: str) -> None:
    assert len(re.findall(rf"^# {heading}:", header(name), flags=re.MULTILINE)) == 1


@pytest.mark.parametrize("name", NAMES)
def test_nothing_was_taken_from_data(name: str) -> None:
    path = ready_file(name)
    assert path is not None
    assert "peeked" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_every_private_table_has_an_enforced_cap(name: str) -> None:
    schema = loaded(name)
    parents = {table: noun.parent for table, noun in schema.tables.items() if noun.parent is not None}
    assert parents
    assert [table for table, parent in parents.items() if parent.max_rows is None] == []


@pytest.mark.parametrize(("name", "model"), PUBLISHED.items())
def test_every_published_table_is_described_and_no_other(name: str, model: str) -> None:
    assert set(loaded(name).tables) == set(published(model))


@pytest.mark.parametrize(("name", "model"), PUBLISHED.items())
def test_every_published_column_is_described_and_no_other(name: str, model: str) -> None:
    schema = loaded(name)
    for table, columns in published(model).items():
        if schema.tables[table].ignore:
            continue
        there = {column.name for column in columns}
        said = described(schema, table)
        assert said <= there, f"{table}: the published table has no {said - there}"
        if not schema.tables[table].public:
            assert there <= said, f"{table}: nothing is said about {there - said}"


@pytest.mark.parametrize(("name", "model"), PUBLISHED.items())
def test_what_may_not_be_null_in_the_source_never_comes_out_null(name: str, model: str) -> None:
    schema = loaded(name)
    for table, columns in published(model).items():
        noun = schema.tables[table]
        required = {column.name for column in columns if column.required}
        nullable = {n for n, column in noun.columns.items() if column.nullable}
        nullable |= {n for n, reference in noun.references.items() if reference.nullable}
        left_out = set(noun.ignore_columns) if noun.parent is not None else set()
        # Synthea's answers in words are not kept: their VALUE is empty.
        assert not (required & nullable) - {"VALUE"}, table
        assert not required & left_out, table


def test_the_list_says_whom_each_protects() -> None:
    listed = {one.name: (one.entity, one.tables) for one in ready_schemas()}
    assert listed["eicu-core"] == ("uniquepid", 7)
    assert listed["mimic-iv-core"] == ("patients", 4)
    assert listed["omop-cdm-5.4"] == ("person", 20)


@pytest.mark.parametrize("name", NAMES)
def test_the_summary_is_one_line_that_fits_a_terminal(name: str) -> None:
    (summary,) = [one.summary for one in listed() if one.name == name]
    assert summary
    assert len(summary) <= 120
    assert "\n" not in summary


@pytest.mark.parametrize("name", NAMES)
def test_the_guide_has_a_section_and_a_command_for_each(name: str) -> None:
    section = re.search(
        rf"^## {re.escape(name)}\n(.*?)(?=^## |\Z)", GUIDE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    assert section is not None
    assert "Edit:" in section[1]
    assert f"$ mare plan {name} --epsilon" in section[1]


def test_a_wheel_reads_its_own_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Installed from a wheel the schemas lie in `mare/_schemas`, and the repository is not there."""
    from mare.schema import loading

    package = tmp_path / "site-packages" / "mare"
    (package / "_schemas").mkdir(parents=True)
    (package / "_schemas" / "mine.yaml").write_text("mare: 1\n")
    monkeypatch.setattr(loading, "__file__", str(package / "schema" / "loading.py"))
    assert ready_names() == ("mine",)
    assert ready_file("mine") == package / "_schemas" / "mine.yaml"
