"""Ready schemas meet exports that lack some of their tables: cut down, fitted, and nothing comes out that a doctor laughs at."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import duckdb
import pytest

import mare as library
from mare.errors import PlanError
from mare.schema.loading import load_schema
from tests import made_exports
from tests.command_line import mare

SEEDS = ("--unsafe-seed", 3, "--seed", 3)
Never = Mapping[str, str]
"""What no row may be: by name, a query that finds such rows."""


def met(name: str, source: Path, folder: Path, never: Never, *facts: object) -> duckdb.DuckDBPyConnection:
    """`init --like`, `check` and `synth`, as a user would; none of the queries finds anything."""
    for command in (
        ("init", source, "--like", name, "-o", "mine.yaml", *facts),
        ("check", "mine.yaml", "--from", source),
        ("synth", "mine.yaml", "--from", source, "--to", "made.duckdb", "--epsilon", 200, *SEEDS, "--quiet"),
    ):
        done = mare(*command, folder=folder)
        assert done.returncode == 0, done.stdout + done.stderr
    made = duckdb.connect(str(folder / "made.duckdb"), read_only=True)
    found = {what: made.execute(f"SELECT count(*) FROM {query}").fetchall()[0][0] for what, query in never.items()}
    assert {what: count for what, count in found.items() if count} == {}
    return made


def count(made: duckdb.DuckDBPyConnection, query: str) -> int:
    return int(made.execute(f"SELECT count(*) FROM {query}").fetchall()[0][0])


@pytest.mark.slow
def test_eicu(tmp_path: Path) -> None:
    never = {
        "a version of the score twice": "(SELECT 1 FROM apachepatientresult"
        " GROUP BY patientunitstayid, apacheversion HAVING count(*) > 1)",
        "a score that disagrees with its stay": "apachepatientresult JOIN patient USING (patientunitstayid)"
        " WHERE actualhospitalmortality <> upper(hospitaldischargestatus)",
        "a stay after death": "(SELECT row_number() OVER (PARTITION BY uniquepid ORDER BY patientunitstayid DESC) AS back,"
        " hospitaldischargestatus FROM patient) WHERE back > 1 AND hospitaldischargestatus = 'Expired'",
        "a drug that stops before it starts": "medication WHERE drugstopoffset < drugstartoffset AND drugstopoffset <> 0",
        "a diastolic pressure above the systolic": "vitalaperiodic WHERE noninvasivediastolic > noninvasivesystolic",
        "a mean pressure outside the two": "vitalaperiodic"
        " WHERE noninvasivemean NOT BETWEEN noninvasivediastolic AND noninvasivesystolic",
        "anything after the hospital": "lab JOIN patient USING (patientunitstayid)"
        " WHERE labresultoffset > hospitaldischargeoffset",
    }
    made = met("eicu-core", made_exports.eicu(tmp_path / "export", 50), tmp_path, never, "--entities", 50)
    drugs, late = count(made, "medication"), count(made, "medication WHERE drugorderoffset > drugstartoffset")
    assert drugs * 0.1 < late < drugs * 0.9, "some drugs are given first and ordered afterwards, others not"
    assert count(made, "medication WHERE drugstopoffset = 0") > 0
    assert load_schema(tmp_path / "mine.yaml").entity_name == "uniquepid"


def test_synthea(tmp_path: Path) -> None:
    times = {"encounters": "START", "medications": "START", "observations": "DATE"}
    never = {
        f"{table} after {what}": f"{table} t JOIN patients p ON p.Id = t.PATIENT WHERE left(t.{when}, 10) {beyond}"
        for table, when in times.items()
        for what, beyond in (
            ("the export", f"> '{made_exports.ENDS}'"),
            ("death", "> p.DEATHDATE::VARCHAR"),
            ("(before) birth", "< p.BIRTHDATE::VARCHAR"),
        )
    }
    never["a condition that ends before it begins"] = "conditions WHERE STOP < START"
    never["a measurement twice at an encounter"] = "(SELECT 1 FROM observations GROUP BY ENCOUNTER, CODE HAVING count(*) > 1)"
    between = "--between", made_exports.BEGINS, made_exports.ENDS
    made = met("synthea-csv", made_exports.synthea(tmp_path / "export", 50), tmp_path, never, *between, "--entities", 50)
    assert count(made, "encounters") > 100
    assert "INCOME" not in load_schema(tmp_path / "mine.yaml").tables["patients"].columns


@pytest.mark.slow
def test_mimic_iii_in_capitals(tmp_path: Path) -> None:
    never = {
        "an admission after death": "ADMISSIONS JOIN PATIENTS USING (SUBJECT_ID) WHERE DISCHTIME::DATE > DOD",
        "an admission before birth": "ADMISSIONS JOIN PATIENTS USING (SUBJECT_ID) WHERE ADMITTIME::DATE < DOB",
        "another one after it": "(SELECT row_number() OVER (PARTITION BY SUBJECT_ID ORDER BY ADMITTIME DESC) AS back, DEATHTIME"
        " FROM ADMISSIONS) WHERE back > 1 AND DEATHTIME IS NOT NULL",
        "a flag that disagrees": "ADMISSIONS WHERE HOSPITAL_EXPIRE_FLAG <> (DEATHTIME IS NOT NULL)::INT",
        "a stay outside its admission": "ICUSTAYS i JOIN ADMISSIONS a USING (HADM_ID)"
        " WHERE i.INTIME < a.ADMITTIME OR i.OUTTIME > a.DISCHTIME",
        "a ward that was not left": "TRANSFERS WHERE OUTTIME < INTIME",
        "a drug after the discharge": "PRESCRIPTIONS p JOIN ADMISSIONS a USING (HADM_ID) WHERE p.STARTDATE > a.DISCHTIME::DATE",
        "a result outside its admission": "LABEVENTS l JOIN ADMISSIONS a USING (HADM_ID)"
        " WHERE l.CHARTTIME NOT BETWEEN a.ADMITTIME AND a.DISCHTIME",
        "a code that is none": "DIAGNOSES_ICD WHERE ICD9_CODE NOT IN (SELECT ICD9_CODE FROM D_ICD_DIAGNOSES)",
        "free text": "ADMISSIONS WHERE DIAGNOSIS IS NOT NULL",
    }
    made = met("mimic-iii", made_exports.mimic_iii(tmp_path / "export", 50), tmp_path, never, "--entities", 50)
    assert count(made, "ADMISSIONS") > 50
    assert "chartevents" not in load_schema(tmp_path / "mine.yaml").tables


@pytest.mark.slow
@pytest.mark.shared
def test_omop(shared_data: Path, tmp_path: Path) -> None:
    starts = {
        "visit_occurrence": "visit_start_date",
        "condition_occurrence": "condition_start_date",
        "drug_exposure": "drug_exposure_start_date",
        "procedure_occurrence": "procedure_date",
        "measurement": "measurement_date",
        "observation": "observation_date",
        "death": "death_date",
    }
    never = {
        f"{t} before birth": f"{t} JOIN person USING (person_id) WHERE {d} < birth_datetime::DATE" for t, d in starts.items()
    }
    never |= {f"{t} after the end": f"{t} WHERE {d} > DATE '2022-12-31'" for t, d in starts.items()}
    never |= {
        f"{t} outside its visit": f"{t} JOIN visit_occurrence v USING (visit_occurrence_id)"
        f" WHERE {d} NOT BETWEEN visit_start_date AND visit_end_date"
        for t, d in starts.items()
        if t not in ("visit_occurrence", "death")
    }
    never["a birthday that disagrees"] = (
        "person WHERE (year_of_birth, month_of_birth) <> (year(birth_datetime), month(birth_datetime))"
    )
    never["a condition that is no condition"] = (
        "condition_occurrence JOIN concept ON concept_id = condition_concept_id WHERE domain_id <> 'Condition'"
    )
    never["a text"] = "drug_exposure WHERE sig IS NOT NULL OR stop_reason IS NOT NULL"
    facts = "--between", "1990-01-01", "2022-12-31", "--entities", 28
    made = met("omop-cdm-5.4", shared_data / "omop_synthea27nj", tmp_path, never, *facts)
    assert count(made, "measurement WHERE visit_occurrence_id IS NOT NULL") > 0.9 * count(made, "measurement")
    assert count(made, "measurement WHERE operator_concept_id = 0") > 0.9 * count(made, "measurement")


@pytest.mark.slow
@pytest.mark.shared
def test_mimic_iv_core(shared_data: Path, tmp_path: Path) -> None:
    never = {
        "an admission before the anchor year": "admissions JOIN patients USING (subject_id) WHERE year(admittime) < anchor_year",
        "an admission after death": "admissions JOIN patients USING (subject_id) WHERE dischtime::DATE > dod",
        "a death that disagrees": "admissions WHERE (deathtime IS NOT NULL) <> coalesce(discharge_location = 'DIED', false)",
        "another race": "(SELECT 1 FROM admissions GROUP BY subject_id HAVING count(DISTINCT race) > 1)",
    }
    made = met("mimic-iv-core", shared_data / "mimic4_demo_partial", tmp_path, never, "--entities", 100)
    assert count(made, "admissions") > 100


@pytest.mark.slow
@pytest.mark.shared
def test_mimic_iv_icu_without_its_chart(shared_data: Path, tmp_path: Path) -> None:
    never = {"a stay after death": "icustays JOIN patients USING (subject_id) WHERE intime::DATE > dod"}
    made = met("mimic-iv-icu", shared_data / "mimic4_demo_partial", tmp_path, never)
    assert count(made, "icustays") > 50


def test_what_an_export_lacks_is_told_with_what_to_do(tmp_path: Path) -> None:
    source = made_exports.mimic_iii(tmp_path / "export", 3)
    done = mare("check", "mimic-iii", "--from", source)
    assert done.returncode == 2
    assert "mare init SOURCE --like SCHEMA" in done.stdout
    done = mare("synth", "mimic-iii", "--from", source, "--to", tmp_path / "out.sqlite", "--epsilon", 1)
    assert done.returncode == 2
    assert "mare init SOURCE --like SCHEMA" in done.stderr


def test_in_python_and_what_does_not_go_together(tmp_path: Path) -> None:
    source = made_exports.mimic_iii(tmp_path / "export", 3)
    text = library.draft(source, like="mimic-iii", entities=3)
    assert "left out: procedures_icd, chartevents" in text
    with pytest.raises(PlanError, match="leave out entity"):
        library.draft(source, like="mimic-iii", entity="patients")
    done = mare("init", source, "--like", "mimic-iii", "--peek")
    assert done.returncode == 2
    assert "--peek" in done.stderr
