"""Made-up exports in the shape of published ones (`tests.published_tables`), uneven on purpose: for ready schemas to meet.

Each lacks some tables, as exports do, and holds what the real ones are known to hold: drugs that were started before they were
ordered, stops that nobody recorded, two versions of a score, results without an admission, people born 300 years ago. What has to
be in order there is in order here.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from pathlib import Path
from random import Random

from tests.published_tables import published

Tables = dict[str, list[Mapping[str, object]]]
BEGINS, ENDS = date(2014, 6, 30), date(2024, 6, 30)
"""Of the Synthea export."""


def write(folder: Path, model: str, tables: Tables, spell: Callable[[str], str] = str) -> Path:
    """A CSV file a table, with the published columns; ``spell`` writes the names."""
    folder.mkdir(exist_ok=True)
    for table, rows in tables.items():
        columns = [column.name for column in published(model)[table]]
        with (folder / f"{spell(table)}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow([spell(column) for column in columns])
            writer.writerows([row.get(column) for column in columns] for row in rows)
    return folder


def eicu(folder: Path, patients: int = 60, seed: int = 1) -> Path:
    """No diagnoses."""
    rng, made = Random(seed), Tables()
    for table in ("patient", "apachepatientresult", "lab", "medication", "vitalaperiodic", "hospital"):
        made[table] = []
    made["hospital"] = [
        {"hospitalid": n, "numbedscategory": "100 - 249", "teachingstatus": "f", "region": "West"} for n in (56, 58, 60)
    ]
    for person in range(patients):
        gender, age = rng.choice(["Female", "Male"]), rng.randrange(20, 95)
        for visit in range(rng.choice([1, 1, 1, 2, 3])):
            died = rng.random() < 0.1
            _unit_stay(made, person, visit, {"gender": gender, "age": age if age < 90 else "> 89"}, died, rng)
            if died:
                break
    return write(folder, "eicu", made)


def _unit_stay(made: Tables, person: int, visit: int, who: Mapping[str, object], died: bool, rng: Random) -> None:
    stay, length = 141_000 + len(made["patient"]), rng.randrange(600, 9000)
    admitted, left = -rng.randrange(0, 2000), length + (0 if died else rng.randrange(0, 5000))
    status = "Expired" if died else "Alive"
    made["patient"].append(
        {
            **who,
            "patientunitstayid": stay,
            "patienthealthsystemstayid": stay + 500_000,
            "uniquepid": f"{person:03d}-1",
            "ethnicity": rng.choice(["Caucasian", "Caucasian", "African American", "Hispanic"]),
            "hospitalid": rng.choice([56, 58, 60]),
            "wardid": rng.choice([82, 83]),
            "apacheadmissiondx": rng.choice(["Sepsis, pulmonary", "CHF", "DKA"]),
            "admissionheight": round(rng.gauss(170, 9), 1),
            "admissionweight": round(rng.gauss(80, 15), 1),
            "hospitaladmitoffset": admitted,
            "hospitaldischargeyear": 2014 + min(visit, 1),
            "hospitaldischargeoffset": left,
            "hospitaldischargestatus": status,
            "unittype": rng.choice(["MICU", "Med-Surg ICU"]),
            "unitadmittime24": f"{rng.randrange(24):02d}:{rng.randrange(60):02d}:00",
            "unitvisitnumber": visit + 1,
            "unitstaytype": "admit",
            "unitdischargeoffset": length,
            "unitdischargestatus": status,
        }
    )
    risk = rng.uniform(0.3, 0.9) if died else rng.uniform(0.01, 0.3)
    for version in ("IV", "IVa") if rng.random() < 0.9 else ():
        made["apachepatientresult"].append(
            {
                "apachepatientresultsid": len(made["apachepatientresult"]) + 1,
                "patientunitstayid": stay,
                "apacheversion": version,
                "apachescore": round(risk * 150),
                "acutephysiologyscore": round(risk * 120),
                "predictedicumortality": round(risk * (0.9 if version == "IV" else 0.8), 4),
                "predictedhospitalmortality": round(risk, 4),
                "actualicumortality": status.upper(),
                "actualhospitalmortality": status.upper(),
                "actualiculos": round(length / 1440, 4),
                "actualhospitallos": round((left - admitted) / 1440, 4),
            }
        )
    at = admitted
    for _ in range(rng.randrange(2, 8)):
        at = min(at + rng.randrange(0, 600), left)
        name, level = rng.choice([("potassium", 4.1), ("sodium", 139), ("creatinine", 1.1)])
        made["lab"].append(
            {
                "labid": len(made["lab"]) + 1,
                "patientunitstayid": stay,
                "labresultoffset": at,
                "labtypeid": 1,
                "labname": name,
                "labresult": round(rng.gauss(level, level / 20), 2),
                "labmeasurenamesystem": "mmol/L",
            }
        )
        # Given first and ordered afterwards, one time in three; stops that nobody recorded are 0.
        order = max(admitted, min(left, at + rng.choice([-30, -10, 45])))
        made["medication"].append(
            {
                "medicationid": len(made["medication"]) + 1,
                "patientunitstayid": stay,
                "drugorderoffset": order,
                "drugstartoffset": at,
                "drugstopoffset": 0 if rng.random() < 0.3 else at + rng.randrange(0, 4000),
                "drugivadmixture": rng.choice(["Yes", "No"]),
                "drugordercancelled": "No",
                "drugname": rng.choice(["POTASSIUM CHLORIDE", "MORPHINE", ""]),
                "routeadmin": "IV",
                "prn": "No",
                "gtc": rng.choice([0, 36]),
            }
        )
        systolic = round(rng.gauss(120, 15))
        diastolic = systolic - rng.randrange(30, 55)
        made["vitalaperiodic"].append(
            {
                "vitalaperiodicid": len(made["vitalaperiodic"]) + 1,
                "patientunitstayid": stay,
                "observationoffset": at,
                "noninvasivesystolic": systolic,
                "noninvasivediastolic": diastolic,
                "noninvasivemean": "" if rng.random() < 0.1 else round((systolic + 2 * diastolic) / 3),
            }
        )


def synthea(folder: Path, patients: int = 60, seed: int = 1) -> Path:
    """Without allergies, care plans, immunizations, procedures and providers; no income (an older version)."""
    rng, made = Random(seed), Tables()
    for table in ("patients", "encounters", "conditions", "medications", "observations", "organizations", "payers"):
        made[table] = []
    made["organizations"] = [{"Id": f"org-{n}", "NAME": f"Hospital {n}", "REVENUE": 0, "UTILIZATION": 0} for n in range(3)]
    made["payers"] = [{"Id": f"payer-{n}", "NAME": f"Insurer {n}"} for n in range(3)]
    for person in range(patients):
        _simulated_life(made, f"{person:08x}-0000-4000-8000-000000000000", rng)
    write(folder, "synthea-csv", made)
    with (folder / "patients.csv").open(newline="") as file:
        rows = [row[:-1] for row in csv.reader(file)]
    with (folder / "patients.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return folder


def _simulated_life(made: Tables, person: str, rng: Random) -> None:
    born = date(1930, 1, 1) + timedelta(days=rng.randrange(365 * 85))
    death = BEGINS + timedelta(days=rng.randrange(400, 3600)) if rng.random() < 0.2 else None
    last = death or ENDS
    made["patients"].append(
        {
            "Id": person,
            "BIRTHDATE": born,
            "DEATHDATE": death,
            "MARITAL": rng.choice(["M", "S", ""]),
            "RACE": rng.choice(["white", "white", "black", "asian"]),
            "ETHNICITY": "nonhispanic",
            "GENDER": rng.choice(["F", "M"]),
            "STATE": "Massachusetts",
            "COUNTY": "Suffolk",
            "FIRST": "Somebody",
            "HEALTHCARE_EXPENSES": round(rng.lognormvariate(10, 1), 2),
            "HEALTHCARE_COVERAGE": round(rng.lognormvariate(9, 1), 2),
        }
    )
    at = datetime(max(born, BEGINS).year, 7, 1, 9) + timedelta(days=rng.randrange(300))
    while at.date() <= last - timedelta(days=1):
        visit, until = f"e{len(made['encounters']):05d}", at + timedelta(minutes=rng.choice([15, 30, 60]))
        cost = 129.16
        made["encounters"].append(
            {
                "Id": visit,
                "START": _zulu(at),
                "STOP": _zulu(until),
                "PATIENT": person,
                "ORGANIZATION": f"org-{rng.randrange(3)}",
                "PROVIDER": "doctor",
                "PAYER": f"payer-{rng.randrange(3)}",
                "ENCOUNTERCLASS": rng.choice(["ambulatory", "wellness", "emergency"]),
                "CODE": rng.choice(["185345009", "162673000"]),
                "BASE_ENCOUNTER_COST": cost,
                "TOTAL_CLAIM_COST": round(cost + rng.random() * 500, 2),
                "PAYER_COVERAGE": round(rng.random() * cost, 2),
            }
        )
        whose = {"PATIENT": person, "ENCOUNTER": visit}
        if rng.random() < 0.4:
            over = min(at.date() + timedelta(days=rng.randrange(5, 40)), last)
            made["conditions"].append(
                {
                    **whose,
                    "START": at.date(),
                    "STOP": over if rng.random() < 0.7 else None,
                    "SYSTEM": "SNOMED-CT",
                    "CODE": rng.choice(["444814009", "38341003"]),
                }
            )
        if rng.random() < 0.3:
            made["medications"].append(
                {
                    **whose,
                    "START": _zulu(at),
                    "STOP": _zulu(min(at + timedelta(days=30), datetime.combine(last, at.time()))),
                    "PAYER": "payer-1",
                    "CODE": "314076",
                    "BASE_COST": round(rng.gauss(12, 2), 2),
                    "PAYER_COVERAGE": 0,
                    "DISPENSES": rng.randrange(1, 13),
                    "TOTALCOST": 100,
                }
            )
        for code, level, unit in (("8302-2", 170.0, "cm"), ("29463-7", 80.0, "kg")):
            value = round(rng.gauss(level, level / 15), 1)
            said = {"CATEGORY": "vital-signs", "CODE": code, "VALUE": value, "UNITS": unit, "TYPE": "numeric"}
            made["observations"].append({**whose, "DATE": _zulu(at), **said})
        at += timedelta(days=rng.choice([90, 180, 365]) + rng.randrange(20))
    # A quality of life that belongs to no encounter, as every run has them.
    made["observations"].append({"PATIENT": person, "DATE": _zulu(at), "CODE": "QALY", "VALUE": "40.1", "TYPE": "numeric"})


def _zulu(when: datetime) -> str:
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def mimic_iii(folder: Path, patients: int = 60, seed: int = 1) -> Path:
    """Without chart events and procedures, in capitals, as the files of the publisher are."""
    rng, made = Random(seed), Tables()
    used = ("patients", "admissions", "icustays", "transfers", "diagnoses_icd", "prescriptions", "labevents")
    for table in (*used, "d_icd_diagnoses", "d_labitems"):
        made[table] = []
    for code in ("4019", "4280", "25000", "41401"):
        made["d_icd_diagnoses"].append({"icd9_code": code, "short_title": code, "long_title": code})
    for item, label in ((50971, "Potassium"), (50983, "Sodium")):
        made["d_labitems"].append({"itemid": item, "label": label, "fluid": "Blood", "category": "Chemistry"})
    for person in range(patients):
        _shifted_life(made, 10_000 + person, rng)
    for rows in made.values():
        rows[:] = [{"row_id": number, **row} for number, row in enumerate(rows, 1)]
    return write(folder, "mimic-iii", made, str.upper)


def _shifted_life(made: Tables, person: int, rng: Random) -> None:
    at = datetime(rng.randrange(2100, 2190), 3, 1) + timedelta(days=rng.randrange(300), minutes=rng.randrange(1440))
    age = rng.randrange(20, 95)
    born = at - timedelta(days=365 * (300 if age > 89 else age))
    stays, dies, out = rng.choice([1, 1, 2, 3]), rng.random() < 0.3, at
    who = {"language": "ENGL", "religion": rng.choice(["CATHOLIC", ""]), "marital_status": "MARRIED", "ethnicity": "WHITE"}
    whose = {"subject_id": person}
    for visit in range(stays):
        out = at + timedelta(hours=rng.randrange(30, 400))
        ends = dies and visit == stays - 1
        admission = {**whose, "hadm_id": 100_000 + len(made["admissions"])}
        made["admissions"].append(
            {
                **admission,
                **who,
                "admittime": at,
                "dischtime": out,
                "deathtime": out if ends else None,
                "admission_type": rng.choice(["EMERGENCY", "ELECTIVE"]),
                "admission_location": "EMERGENCY ROOM ADMIT",
                "discharge_location": "DEAD/EXPIRED" if ends else rng.choice(["HOME", "SNF"]),
                "insurance": rng.choice(["Medicare", "Private"]),
                "diagnosis": "SECRET WORDS",
                "hospital_expire_flag": int(ends),
                "has_chartevents_data": 1,
            }
        )
        begin = at + timedelta(hours=rng.randrange(1, 10))
        left = begin + (out - begin) / 2
        unit, source = rng.choice(["MICU", "CCU"]), {"dbsource": "metavision"}
        made["icustays"].append(
            {
                **admission,
                **source,
                "icustay_id": 200_000 + len(made["icustays"]),
                "first_careunit": unit,
                "last_careunit": unit,
                "first_wardid": 23,
                "last_wardid": 23,
                "intime": begin,
                "outtime": left,
                "los": (left - begin).total_seconds() / 86400,
            }
        )
        steps = [
            ("admit", "", at, begin),
            ("transfer", unit, begin, left),
            ("transfer", "", left, out),
            ("discharge", "", out, None),
        ]
        for kind, where, since, until in steps:
            place = {"eventtype": kind, "curr_careunit": where, "curr_wardid": 23 if where else 7}
            made["transfers"].append({**admission, **source, **place, "intime": since, "outtime": until})
        for number in range(rng.randrange(1, 5)):
            code = rng.choice(["4019", "4280", "25000", "41401"])
            made["diagnoses_icd"].append({**admission, "seq_num": number + 1, "icd9_code": code})
            start = (at + (out - at) * rng.random()).replace(hour=0, minute=0, second=0, microsecond=0)
            drug = {
                "drug_type": "MAIN",
                "drug": "Furosemide",
                "dose_val_rx": rng.choice(["20", "40", "20-40"]),
                "dose_unit_rx": "mg",
            }
            made["prescriptions"].append(
                {**admission, **drug, "startdate": start, "enddate": start + timedelta(days=2), "route": "IV"}
            )
        for _ in range(rng.randrange(2, 7)):
            item, level = rng.choice([(50971, 4.1), (50983, 139.0)])
            value = round(rng.gauss(level, level / 20), 1)
            taken = {"charttime": at + (out - at) * rng.random(), "itemid": item, "value": value, "valuenum": value}
            made["labevents"].append({**admission, **taken, "valueuom": "mEq/L"})
        at = out + timedelta(days=rng.randrange(20, 700))
    outpatient = {"charttime": out - timedelta(days=20), "itemid": 50971, "value": "NEG", "valuenum": None}
    made["labevents"].append({**whose, **outpatient})
    death = out.date() if dies else out.date() + timedelta(days=90) if rng.random() < 0.2 else None
    made["patients"].append(
        {**whose, "gender": rng.choice("FM"), "dob": born.date(), "dod": death, "expire_flag": int(death is not None)}
    )
