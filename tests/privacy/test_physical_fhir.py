"""D and D′ are two FHIR exports, one of them without the odd patient's lines: whatever stood in them, nobody else is read in
another way, and a fit asks and releases the same. As `test_physical_neighbours` for other files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import pytest

from mare.planning import Plan
from mare.planning.planning import plan
from mare.privacy.budget import Budget
from mare.schema.loading import load_schema
from tests.fhir_export import Export, hospital, write_export
from tests.privacy.test_physical_neighbours import nobody_shows, read

ODD = "p0002"
SCHEMA = """
mare: 1
entity: patient
model: independent
calendar: {min: 2015-01-01, max: 2023-12-31}
tables:
  patient:
    key: id
    columns:
      gender: {type: category, values: [female, male], nullable: true}
      birth_date: {type: date, min: 1900-01-01, bins: 5, nullable: true}
      deceased: {type: boolean}
      deceased_at: {type: datetime, bins: 5, nullable: true}
      race: {type: category, learn: true, max_values: 5, nullable: true}
  encounter:
    key: id
    parent: {table: patient, column: patient_id, type: sequential, order_by: start_at, memory: 1, max_rows: 3}
    columns:
      class: {type: category, values: [AMB, EMER, IMP], nullable: true}
      start_at: {type: datetime, bins: 5, nullable: true}
  observation:
    key: id
    parent: {table: patient, column: patient_id, type: sequential, order_by: effective_at, memory: 1, max_rows: 4}
    references:
      encounter_id: {table: encounter, kind: same_entity, nullable: true}
    columns:
      code: {type: category, values: ["8480-6", "8462-4", "29463-7"], nullable: true}
      effective_at: {type: datetime, bins: 5, nullable: true}
      value_number: {type: number, min: 0, max: 300, bins: 5, nullable: true}
"""


@cache
def planned() -> Plan:
    return plan(load_schema(SCHEMA), Budget(epsilon=3, delta=1e-6), entities=12)


def changed(**values: object) -> Callable[[str], str]:
    """A line whose resource says this."""
    return lambda line: json.dumps({**json.loads(line), **values})


ODDITIES: Mapping[str, Mapping[str, Callable[[str], str]]] = {
    "nothing odd": {},
    "lines that are no JSON": {"Patient": lambda line: line[:-1], "Encounter": lambda line: "!" + line},
    "bytes that are no letters": {"Patient": lambda line: line.replace("female", "f\udcff").replace("male", "m\udcff")},
    "half letters": {"Patient": changed(gender="\ud800"), "Encounter": changed(id="\udfff")},
    "values of the wrong shape": {
        "Patient": changed(gender=["x"], birthDate={"a": 1}, deceasedDateTime=True, extension={"url": 3}),
        "Encounter": changed(period=[], **{"class": "AMB"}),
        "Observation": changed(component=[None, 3, {}], valueQuantity={"value": "much"}),
    },
    "numbers beyond all numbers": {
        "Observation": lambda line: json.dumps({**json.loads(line), "valueQuantity": {"value": "N"}}).replace('"N"', "9" * 400)
    },
    "no number": {"Observation": changed(valueQuantity={"value": float("nan")}, component=None)},
    "moments that are none": {
        "Patient": changed(birthDate="0000-00-00", deceasedDateTime="soon"),
        "Encounter": changed(period={"start": "2019-02-30T25:00:00Z"}),
    },
    "years 1 and 9999": {"Patient": changed(birthDate="0001", deceasedDateTime="9999-12-31T23:59:59.999999Z")},
    "references to nobody": {"Encounter": changed(subject={"reference": "Group/1"}), "Observation": changed(subject=None)},
    "keys that are numbers": {"Patient": changed(id=7), "Encounter": changed(subject={"reference": "Patient/7"})},
    "resources of another type": {"Observation": changed(resourceType="Patient")},
    "a long line": {"Patient": changed(gender="x" * 2_000_000)},
    "components by the hundred": {
        "Observation": changed(component=[{"code": {"coding": [{"code": "8480-6"}]}, "valueInteger": n} for n in range(300)])
    },
}
QUICK = {"nothing odd", "lines that are no JSON", "values of the wrong shape"}


def whose(resource: Mapping[str, object]) -> bool:
    return str(resource["id"]).startswith(ODD)


def written(folder: Path, changes: Mapping[str, Callable[[str], str]], *, without: bool) -> Path:
    made: Export = hospital(patients=12)
    rest: Export = {kind: [one for one in content if not (without and whose(one))] for kind, content in made.items()}
    write_export(folder, rest, unreadable=["!"])
    if not without:
        for kind, change in changes.items():
            path = folder / f"{kind}.000.ndjson"
            lines = path.read_text(encoding="utf-8").splitlines()
            odd = [change(line) if line != "!" and whose(json.loads(line)) else line for line in lines]
            assert odd != lines
            path.write_bytes("".join(f"{line}\n" for line in odd).encode("utf-8", "surrogateescape"))
    return folder


@pytest.mark.parametrize("name", ODDITIES)
def test_everybody_else_is_read_as_without_the_odd_patient(name: str, tmp_path: Path) -> None:
    there = read(written(tmp_path / "with", ODDITIES[name], without=False), planned())
    gone = read(written(tmp_path / "without", {}, without=True), planned())
    for table, (types, rows) in gone.items():
        assert there[table][0] == types
        assert not rows - there[table][1], f"rows of others in {table} are read in another way"


@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n in QUICK else [pytest.mark.slow]) for n in ODDITIES])
def test_an_odd_patient_does_not_show_in_a_fit(name: str, tmp_path: Path) -> None:
    there = written(tmp_path / "with", ODDITIES[name], without=False)
    nobody_shows(there, written(tmp_path / "without", {}, without=True), planned())
