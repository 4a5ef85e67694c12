"""From a file, a name or a text to a schema: what is wrong is said with its line, all at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import mare
from mare.errors import SchemaError
from mare.schema import Fault
from mare.schema.loading import load_document, load_schema
from mare.schema.yaml_nodes import read_nodes

DESIGN = """\
mare: 1
entity: patients                       # the privacy unit
tables:
  patients:
    key: subject_id
    columns:
      gender:     {type: category, values: [F, M]}
      anchor_age: {type: integer, min: 18, max: 91}
      dod:        {type: date, min: 2100-01-01, max: 2220-12-31, nullable: true}
  admissions:
    key: hadm_id
    parent: {table: patients, column: subject_id, type: sequential, order_by: admittime, memory: 2, max_rows: 10, keep: last}
    columns:
      admittime: {type: datetime, after: previous.dischtime, first: {min: 2100-01-01, max: 2215-01-01}, within: 20y}
      dischtime: {type: datetime, after: admittime, within: 365d, scale: log}   # discharge never precedes admission
      race:      {type: category, learn: true, max_values: 40}                  # domain learned, and paid for
"""


def faults_of(source: str | Path) -> tuple[Fault, ...]:
    with pytest.raises(SchemaError) as error:
        load_schema(source)
    assert all(isinstance(fault, Fault) for fault in error.value.faults)
    for fault in error.value.faults:
        assert fault.what in str(error.value)
        assert fault.remedy in str(error.value)
    return tuple(fault for fault in error.value.faults if isinstance(fault, Fault))


def one_fault(source: str) -> Fault:
    faults = faults_of(source)
    assert len(faults) == 1, [str(f) for f in faults]
    return faults[0]


def test_the_example_of_the_design_loads() -> None:
    schema = mare.load_schema(DESIGN)
    assert schema.entity == "patients"
    assert schema.tables["admissions"].parent is not None
    assert schema.tables["admissions"].parent.order_by == ("admittime",)


def test_a_path_a_string_and_a_text_load_the_same(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(DESIGN, encoding="utf-8")
    assert load_schema(file) == load_schema(str(file)) == load_schema(DESIGN)


def test_the_name_of_a_ready_schema_loads() -> None:
    assert load_schema("mimic-iv-core").entity == "patients"


@pytest.mark.parametrize(
    ("text", "line", "what", "remedy"),
    [
        pytest.param("mare: 1\n\ttables: {}\n", 2, "not YAML", "spaces", id="tab"),
        pytest.param("mare: 1\ntables: {a: {public: true}\n", 3, "not YAML", "bracket", id="open brace"),
        pytest.param("mare: 1\ntables: x: y\n", 2, "not YAML", "quotes", id="two colons"),
        pytest.param("mare: 1\nname: 'x\n", 3, "not YAML", "quote", id="open quote"),
        pytest.param("mare: 1\n---\nmare: 1\n", 2, "not YAML", "one schema per file", id="two documents"),
        pytest.param("mare: 1\nname: \x00\n", 2, "not YAML", "UTF-8", id="control character"),
        pytest.param("mare: 1\nentity: @x\n", 2, "not YAML", "quotes", id="reserved character"),
        pytest.param("# nothing\n\n", None, "empty", "mare init", id="empty"),
        pytest.param("- a\n- b\n", 1, "a list, not a schema", "mare: 1", id="a list"),
        pytest.param("just\ntext\n", 1, "not a schema", "mare: 1", id="a text"),
        pytest.param("mare: 1\ntables: {}\nmare: 1\n", 3, "mare is written twice (first on line 1)", "Keep one", id="twice"),
        pytest.param("mare: 1\ntables: {}\nname: !py x\n", 3, "tag", "Remove the tag", id="tag"),
        pytest.param("mare: 1\ntables: &t {a: *t}\n", 2, "alias", "Write the value out", id="loop"),
    ],
)
def test_what_is_not_yaml_is_told_with_its_line(text: str, line: int | None, what: str, remedy: str) -> None:
    faults = faults_of(text)
    assert faults[0].line == line
    assert what in faults[0].what
    assert remedy in faults[0].remedy


def _slips() -> list[Any]:
    data = read_nodes((Path(__file__).parent / "slips.yaml").read_text(encoding="utf-8")).data
    assert isinstance(data, list)
    return [pytest.param(slip, id=str(slip["case"])) for slip in data if isinstance(slip, dict)]


@pytest.mark.parametrize("slip", _slips())
def test_a_slip_is_told_with_line_place_and_remedy(slip: dict[str, Any]) -> None:
    assert slip["replace"] in DESIGN
    faults = faults_of(DESIGN.replace(slip["replace"], slip["by"], 1))
    told = [f for f in faults if ".".join(map(str, f.path)) == slip["at"]]
    assert len(told) == 1, [str(f) for f in faults]
    assert told[0].where == f"line {slip['line']}, {slip['at']}"
    assert slip["says"] in told[0].what
    assert slip["write"] in told[0].remedy


def test_a_misspelt_required_field_is_one_fault() -> None:
    text = "mare: 1\ntables:\n  a:\n    references:\n      r: {kind: pool, tabel: a}\n"
    assert "Did you mean `table`" in one_fault(text).remedy


def test_all_structural_faults_are_told_at_once_in_the_order_of_the_file() -> None:
    text = DESIGN.replace("type: category", "type: kategory").replace("memory: 2", "memory: 99").replace("key: s", "kye: s")
    assert sorted(f.line or 0 for f in faults_of(text)) == [5, 7, 12, 16]
    with pytest.raises(SchemaError) as error:
        load_schema(text)
    lines = [line for line in str(error.value).splitlines() if line.startswith("  - line")]
    assert lines == sorted(lines, key=lambda line: int(line.split()[2].rstrip(",")))
    assert str(error.value).startswith("the schema text: 4 faults")


def test_a_draft_loads_and_keeps_its_open_questions_with_lines() -> None:
    document = load_document("mare: 1\ntables:\n  a:\n    columns:\n      x: {type: unknown}\n")
    assert {(f.line, f.path[0], f.severity) for f in document.faults} == {
        (1, "entity", "unsettled"),
        (3, "tables", "unsettled"),
        (5, "tables", "unsettled"),
    }
    assert document.line_of(("tables", "a", "columns", "x", "type")) == 5
    assert document.line_of(("tables", "a", "columns", "x", "values", 3)) == 5
    assert document.line_of(("nowhere",)) == 1


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("012", "012"),
        ("12", 12),
        ("-0", 0),
        ("1.50", 1.5),
        ("1e3", 1000.0),
        ("0x1F", 31),
        ("no", "no"),
        ("yes", "yes"),
        ("Y", "Y"),
        ("true", True),
        ('"true"', "true"),
        ('"> 89"', "> 89"),
        ("12:30", "12:30"),
    ],
)
def test_values_are_read_as_a_person_means_them(written: str, read: object) -> None:
    text = f"mare: 1\nentity: a\ntables:\n  a:\n    columns:\n      x: {{type: category, values: [{written}]}}\n"
    column = load_schema(text).tables["a"].columns["x"]
    assert column.type == "category"
    assert column.values == (read,)
    assert type(column.values[0]) is type(read)


def test_names_are_texts_whatever_they_look_like() -> None:
    text = 'mare: 1\nentity: "Pätient: 1"\ntables:\n  "Pätient: 1":\n    key: id\n    columns:\n'
    text += "      2020: {type: boolean, true: Y, false: N}\n      true: {type: boolean}\n      null: {type: boolean}\n"
    schema = load_schema(text)
    assert list(schema.tables["Pätient: 1"].columns) == ["2020", "true", "null"]


def test_anchors_and_merge_keys_of_yaml_work() -> None:
    text = "mare: 1\nentity: a\ntables:\n  a:\n    columns:\n      x: &age {type: integer, min: 0, max: 9}\n"
    text += "      y: *age\n      z: {<<: *age, max: 5}\n"
    columns = load_schema(text).tables["a"].columns
    assert columns["x"] == columns["y"]
    assert columns["z"].model_dump(include={"min", "max"}) == {"min": 0, "max": 5}


def test_ranges_keep_numbers_and_texts_apart() -> None:
    text = "mare: 1\nentity: a\ntables:\n  a:\n    columns:\n      t: {type: category, values: [1, '1']}\n"
    text += "      v: {type: number, by: t, ranges: {1: {min: 0, max: 1}, '1': {min: 0, max: 2}}}\n"
    column = load_schema(text).tables["a"].columns["v"]
    assert column.type == "number"
    assert {type(key) for key in column.ranges or {}} == {int, str}


def test_what_is_not_there_is_told_with_what_is(tmp_path: Path) -> None:
    (tmp_path / "ehr.yaml").write_text(DESIGN, encoding="utf-8")
    fault = one_fault(str(tmp_path / "erh.yaml"))
    assert "there is no schema" in fault.what
    assert "ehr.yaml" in fault.remedy
    assert "mimic-iv-core" in fault.remedy
    assert "mare init" in fault.remedy
    assert "is a folder" in faults_of(tmp_path)[0].what


def test_a_file_that_is_not_text_is_told(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_bytes(b"mare: 1\nname: \xff\xfe\n")
    (fault,) = faults_of(file)
    assert fault.line == 2
    assert "UTF-8" in fault.what


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + DESIGN.encode())
    assert load_schema(file) == load_schema(DESIGN)


def test_aliases_of_aliases_that_stand_for_billions_of_values_are_refused() -> None:
    lines = ["mare: 1", "a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    fault = one_fault("\n".join([*lines, "tables: {}", ""]))
    assert "more than 1,000,000" in fault.what
    assert "Write out" in fault.remedy
