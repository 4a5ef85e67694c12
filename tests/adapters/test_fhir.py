"""A FHIR bulk export as a source: which files are which tables, what a resource is as a row, and that no line ends the read."""

from __future__ import annotations

import gzip
import json
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from mare.errors import SourceError
from mare.finding import find_copy, open_source
from mare.ports import Forgiving, RemovedRows
from mare_adapters.sources import fhir
from mare_adapters.sources.fhir import RESOURCES
from tests.fhir_export import UNREADABLE, hospital, write_export

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "from-a-fhir-export.md"


def written(folder: Path, resource: str, *contents: object) -> Path:
    lines = [one if isinstance(one, str) else json.dumps({"resourceType": resource, **dict(one)}) for one in contents]  # type: ignore[call-overload]
    (folder / f"{resource}.ndjson").write_text("\n".join(lines), encoding="utf-8")
    return folder


def read(folder: Path, table: str, *columns: str) -> list[dict[str, Any]]:
    with open_source(folder) as source:
        names = columns or [column.name for column in source.reflect().table(table).columns]  # type: ignore[union-attr]
        return [row for batch in source.read(table, names) for row in batch.to_pylist()]


def one(folder: Path, resource: str, **content: object) -> dict[str, Any]:
    (row,) = read(written(folder, resource, content), RESOURCES[resource][0])
    return row


def test_files_are_tables_by_the_type_that_their_names_say(tmp_path: Path) -> None:
    for name in ("Patient.ndjson", "1.Encounter.ndjson", "Observation-2024_01.ndjson", "MimicObservationLabevents.ndjson"):
        (tmp_path / name).write_text("")
    for name in ("Patient.001.ndjson.gz", "Condition.000.NDJSON.GZ"):
        (tmp_path / name).write_bytes(gzip.compress(b""))
    for name in ("Immunization.ndjson", "PatientEncounter.ndjson", "Patientlike.ndjson", "manifest.json"):
        (tmp_path / name).write_text("")
    with open_source(tmp_path) as source:
        reflection = source.reflect()
    # All six: whether somebody has a procedure is no fact of the catalogue.
    assert {table.name for table in reflection} == {table for table, _ in RESOURCES.values()}
    assert {left.name for left in reflection.left_out} == {
        "Immunization.ndjson",
        "PatientEncounter.ndjson",
        "Patientlike.ndjson",
        "manifest.json",
    }
    assert "Patient, Encounter" in next(left.reason for left in reflection.left_out if left.name == "Immunization.ndjson")


def test_files_one_folder_down_and_files_of_other_kinds_beside_them_are_found(tmp_path: Path) -> None:
    (tmp_path / "export").mkdir()
    written(tmp_path / "export", "Patient", {"id": "a"})
    (tmp_path / "wards.csv").write_text("ward\nw\n")
    assert [row["id"] for row in read(tmp_path, "patient", "id")] == ["a"]
    assert read(tmp_path, "wards") == [{"ward": "w"}]


def test_a_folder_may_say_the_type_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "Patient").mkdir()
    for name in "ab":
        (tmp_path / "Patient" / f"{name}.ndjson").write_text(json.dumps({"resourceType": "Patient", "id": name}))
    assert [row["id"] for row in read(tmp_path, "patient", "id")] == ["a", "b"]


def test_a_folder_without_a_type_says_how_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "data.ndjson").write_text("{}")
    with pytest.raises(SourceError, match=r"Patient\.ndjson"), open_source(tmp_path):
        pass


def test_the_parts_of_a_type_are_one_table(tmp_path: Path) -> None:
    made = hospital(patients=9)
    write_export(tmp_path, made)
    assert [row["id"] for row in read(tmp_path, "patient", "id")] == [one["id"] for one in made["Patient"]]


def test_columns_and_their_types_do_not_depend_on_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "bare").mkdir()
    write_export(tmp_path / "full", hospital(patients=9))
    for resource in RESOURCES:
        written(tmp_path / "bare", resource, "{}")
    with open_source(tmp_path / "full") as full, open_source(tmp_path / "bare") as bare:
        assert full.reflect().tables == bare.reflect().tables
        for table in full.reflect():
            names = [column.name for column in table.columns]
            schemas = {batch.schema for source in (full, bare) for batch in source.read(table.name, names)}
            assert len(schemas) == 1


def test_a_patient_is_a_row(tmp_path: Path) -> None:
    race = {"url": "ombCategory", "valueCoding": {"code": "2028-9", "display": "Asian"}}
    row = one(
        tmp_path,
        "Patient",
        id="a",
        gender="female",
        birthDate="1980-02-03",
        deceasedDateTime="2019-05-06T07:08:09.125+02:00",
        maritalStatus={"coding": [{"system": "none"}, {"code": "M"}]},
        communication=[{"language": {"coding": [{"code": "de"}]}}],
        address=[{"state": "MA", "country": "US"}, {"state": "NY"}],
        extension=[{"url": "other"}, {"url": "http://x/us-core-race", "extension": [race]}],
    )
    assert row == {
        "id": "a",
        "gender": "female",
        "birth_date": date(1980, 2, 3),
        "deceased": True,
        "deceased_at": datetime(2019, 5, 6, 7, 8, 9, 125000),
        "marital_status": "M",
        "language": "de",
        "race": "Asian",
        "ethnicity": None,
        "state": "MA",
        "country": "US",
    }


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2019", datetime(2019, 1, 1)),
        ("2019-05", datetime(2019, 5, 1)),
        ("2019-05-06", datetime(2019, 5, 6)),
        ("2019-05-06T07:08:09Z", datetime(2019, 5, 6, 7, 8, 9)),
        ("2019-05-06T23:30:00-05:00", datetime(2019, 5, 6, 23, 30)),
        ("2016-12-31T23:59:60Z", datetime(2016, 12, 31, 23, 59, 59)),
        ("2019-02-30", None),
        ("0000", None),
        ("yesterday", None),
        (7, None),
        ({"value": "2019"}, None),
        (None, None),
    ],
)
def test_moments_are_those_of_the_clock_on_the_wall(written: object, meant: datetime | None, tmp_path: Path) -> None:
    assert one(tmp_path, "Patient", deceasedDateTime=written)["deceased_at"] == meant


@pytest.mark.parametrize(
    ("reference", "meant"),
    [
        ("Patient/a", "a"),
        ("urn:uuid:a", "a"),
        ("https://ehr.example/r4/Patient/a", "a"),
        ("Patient/a/_history/3", "a"),
        ("Group/a", None),
        ("Patient?identifier=x|a", None),
        ("#a", None),
        ("a", None),
        (7, None),
    ],
)
def test_references_lead_to_their_id(reference: object, meant: str | None, tmp_path: Path) -> None:
    assert one(tmp_path, "Encounter", id="e", subject={"reference": reference})["patient_id"] == meant


def test_a_pressure_is_a_row_for_each_component(tmp_path: Path) -> None:
    def part(code: str, value: object) -> dict[str, object]:
        return {"code": {"coding": [{"code": code}]}, "valueQuantity": {"value": value, "code": "mm[Hg]"}}

    panel = {
        "id": "o",
        "status": "final",
        "code": {"coding": [{"code": "85354-9"}]},
        "component": [part("8480-6", 120), part("8462-4", 80.5)],
        "effectivePeriod": {"start": "2020-01-01"},
    }
    rows = read(written(tmp_path, "Observation", panel), "observation", "id", "code", "value_number", "status", "effective_at")
    begun = datetime(2020, 1, 1)
    assert [tuple(row.values()) for row in rows] == [
        ("o#1", "8480-6", 120.0, "final", begun),
        ("o#2", "8462-4", 80.5, "final", begun),
    ]
    both = {**panel, "valueString": "high"}
    rows = read(written(tmp_path, "Observation", both), "observation", "id", "code", "value_text", "value_number")
    assert next(tuple(row.values()) for row in rows) == ("o", "85354-9", "high", None)
    assert len(rows) == 3
    nameless = {name: value for name, value in panel.items() if name != "id"}
    assert [row["id"] for row in read(written(tmp_path, "Observation", nameless), "observation", "id")] == [None, None]


def test_a_drug_may_stand_in_the_request_or_inside_it(tmp_path: Path) -> None:
    said = {"medicationCodeableConcept": {"coding": [{"code": "1"}], "text": "words"}}
    inside = {
        "contained": [{"id": "x"}, {"id": "m", "code": {"coding": [{"code": "2"}]}}],
        "medicationReference": {"reference": "#m"},
    }
    apart = {"medicationReference": {"reference": "Medication/3"}}
    rows = read(
        written(tmp_path, "MedicationRequest", said, inside, apart), "medication_request", "code", "display", "medication_id"
    )
    assert [tuple(row.values()) for row in rows] == [("1", "words", None), ("2", None, None), (None, None, "3")]


def test_lines_that_cannot_be_read_are_left_out_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fhir, "_LONGEST", 1 << 12)
    long = json.dumps({"resourceType": "Patient", "id": "long", "text": "x" * 20_000})
    digits = '{"resourceType": "Patient", "x": ' + "1" * 3900 + ", 2}"
    written(
        tmp_path,
        "Patient",
        {"id": "a"},
        *UNREADABLE,
        long,
        "",
        digits,
        "\ufeff" + '{"resourceType": "Patient", "id": "b"}',
    )
    with open_source(tmp_path) as source:
        ids = [value for batch in source.read("patient", ["id"]) for value in batch["id"].to_pylist()]
        assert isinstance(source, Forgiving)
        assert ids == ["a", "b"]
        assert source.unread["patient"] == len(UNREADABLE) + 2


def test_values_of_the_wrong_shape_are_null_and_counted_where_they_said_something(tmp_path: Path) -> None:
    odd = {
        "id": 7,
        "gender": ["x"],
        "birthDate": "soon",
        "address": "here",
        "maritalStatus": {"coding": {"code": "M"}},
        "extension": 3,
    }
    written(tmp_path, "Patient", odd)
    with open_source(tmp_path) as source:
        names = ["id", "gender", "birth_date", "state", "marital_status", "race"]
        (row,) = [row for batch in source.read("patient", names) for row in batch.to_pylist()]
        assert isinstance(source, Forgiving)
        assert list(row.values()) == ["7", None, None, None, "M", None]
        assert dict(source.unread) == {"patient.birth_date": 1}


def test_half_letters_and_bytes_that_are_none_are_read_as_signs(tmp_path: Path) -> None:
    names = (b"\\ud800", b"Z\xfc", b"\xc3\xbc")
    lines = [b'{"resourceType": "Patient", "id": "' + name + b'"}' for name in names]
    (tmp_path / "Patient.ndjson").write_bytes(b"\n".join(lines))
    ids = [row["id"] for row in read(tmp_path, "patient", "id")]
    assert len(set(ids)) == 3
    assert ids[2] == "ü"


def test_no_key_is_read_as_another_one(tmp_path: Path) -> None:
    """A byte that is no letter, and half a character that is read as the same sign; a whole one with the same half is kept."""
    names = (b"Z\xe9", b"Z\\udce9", b"\\ud83d\\udce9")
    lines = [b'{"resourceType": "Patient", "id": "' + name + b'"}' for name in names]
    (tmp_path / "Patient.ndjson").write_bytes(b"\n".join(lines))
    ids = [row["id"] for row in read(tmp_path, "patient", "id")]
    assert len(ids) == len(set(ids)) == 2
    assert ids[1] == "\U0001f4e9"


def test_a_component_says_what_is_measured_and_never_of_whom(tmp_path: Path) -> None:
    part = {
        "valueInteger": 7,
        "subject": {"reference": "Patient/other"},
        "status": "entered",
        "id": "x",
        "resourceType": "Patient",
    }
    panel = {"id": "o", "status": "final", "subject": {"reference": "Patient/own"}, "component": [part]}
    (row,) = read(written(tmp_path, "Observation", panel), "observation", "id", "patient_id", "status", "value_number")
    assert tuple(row.values()) == ("o#1", "own", "final", 7.0)


def test_a_type_that_nobody_has_is_an_empty_table(tmp_path: Path) -> None:
    assert read(written(tmp_path, "Patient", {"id": "a"}), "procedure") == []


def test_a_line_of_any_depth_does_not_end_the_read(tmp_path: Path) -> None:
    deep = '{"resourceType": "Patient", "x": ' + "[" * 200_000 + "]" * 200_000 + "}"
    assert [row["id"] for row in read(written(tmp_path, "Patient", deep, {"id": "a"}), "patient", "id")] == ["a"]


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """A batch is given out before the file is read to its end."""
    line = '{"resourceType": "Patient", "id": "a"}\n'
    (tmp_path / "Patient.ndjson").write_text(line * 40_000 + "!\n")
    with open_source(tmp_path) as source:
        batches = source.read("patient", ["id"])
        assert len(next(iter(batches))) == 32_768
        assert isinstance(source, Forgiving)
        assert source.unread["patient"] == 0


@pytest.mark.parametrize(
    ("content", "message"), [(b"plain", "not compressed"), (gzip.compress(b"x" * 9999, mtime=0)[:30], "ends too early")]
)
def test_a_damaged_file_is_named(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "Patient.ndjson.gz").write_bytes(content)
    with pytest.raises(SourceError, match=message):
        read(tmp_path, "patient", "id")


def test_a_copy_lacks_the_lines_of_the_rows_that_are_gone(tmp_path: Path) -> None:
    source = write_export(tmp_path / "export", hospital(patients=6), UNREADABLE)
    rows = read(source, "observation")
    gone = {place for place, row in enumerate(rows) if row["patient_id"] == "p0003"}
    removed = {"observation": RemovedRows(("id",), frozenset(gone), len(rows))}
    (tmp_path / "copy").mkdir()
    copy = find_copy(source)
    assert copy is not None
    copied = copy(source, tmp_path / "copy", removed)
    assert gone
    assert read(Path(str(copied)), "observation") == [row for place, row in enumerate(rows) if place not in gone]
    assert (tmp_path / "copy" / "Observation.000.ndjson").read_text().count(UNREADABLE[1]) == 1


def test_the_guide_lists_every_column() -> None:
    page = GUIDE.read_text(encoding="utf-8")
    for resource, (table, fields) in RESOURCES.items():
        (line,) = [line for line in page.splitlines() if line.startswith(f"| `{table}` ")]
        assert f"| {resource} |" in line
        assert [word.strip("` ") for word in line.split("|")[3].split(",")] == list(fields)
