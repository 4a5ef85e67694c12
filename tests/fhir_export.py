"""A made-up FHIR bulk export: people with encounters, conditions, measurements, drugs and procedures, uneven on purpose.

References are written in every way that exports have them, files come in parts and packed, some moments are parts of dates, some
lines cannot be read.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

Resource = dict[str, object]
Export = dict[str, list[Resource]]
BEGINS, ENDS = datetime(2015, 1, 1), datetime(2023, 12, 31, 23, 59)
LOINC, SNOMED, RXNORM = "http://loinc.org", "http://snomed.info/sct", "http://www.nlm.nih.gov/research/umls/rxnorm"
CHRONIC = {"38341003": ("Hypertension", "314076"), "44054006": ("Diabetes type 2", "860975"), "13645005": ("COPD", "895994")}
ACUTE = {"444814009": "Sinusitis", "10509002": "Bronchitis", "283371005": "Laceration"}
US_CORE = "http://hl7.org/fhir/us/core/StructureDefinition/us-core-"


def concept(system: str, code: str, display: str) -> Resource:
    return {"coding": [{"system": system, "code": code, "display": display}], "text": display}


def moment(when: datetime) -> str:
    return when.strftime("%Y-%m-%dT%H:%M:%S-05:00")


def hospital(patients: int = 60, seed: int = 1) -> Export:
    """The resources by type; nobody is seen before birth, after death or after the end."""
    rng = Random(seed)
    made: Export = {t: [] for t in ("Patient", "Encounter", "Condition", "Observation", "MedicationRequest", "Procedure")}
    for number in range(patients):
        _person(f"p{number:04d}", rng, made)
    return made


def _person(name: str, rng: Random, made: Export) -> None:
    born = datetime(1935, 1, 1) + timedelta(days=rng.randrange(365 * 80))
    dies = rng.random() < 0.1 + 0.3 * (born.year < 1950)
    death = BEGINS + timedelta(days=rng.randrange(700, 3200)) if dies else None
    patient: Resource = {
        "resourceType": "Patient",
        "id": name,
        "gender": rng.choice(["female", "male"]),
        "birthDate": born.strftime("%Y-%m-%d" if rng.random() < 0.9 else "%Y"),
        "maritalStatus": concept("v3", rng.choice("MSD"), "…"),
        "address": [{"state": "MA", "country": "US", "city": "Nowhere", "line": ["1 Street"]}],
        "name": [{"family": "Secret"}],
        "extension": [
            {
                "url": f"{US_CORE}race",
                "extension": [
                    {"url": "ombCategory", "valueCoding": {"code": "2106-3", "display": rng.choice(["White", "Asian"])}}
                ],
            }
        ],
    }
    if death is not None:
        patient["deceasedDateTime"] = moment(death)
    made["Patient"].append(patient)
    ill = [code for code in CHRONIC if rng.random() < (0.5 if born.year < 1965 else 0.15)]
    at, last = max(born, BEGINS) + timedelta(days=rng.randrange(5, 200)), death or ENDS
    for visit in range(rng.randrange(1, 9) + 3 * len(ill)):
        if at >= last - timedelta(days=8):
            break
        _encounter(f"{name}-e{visit}", name, at, ill if visit == 0 else [], ill, rng, made)
        at += timedelta(days=rng.choice([30, 90, 180, 365]) + rng.randrange(10), minutes=rng.randrange(600))


def _encounter(name: str, whose: str, at: datetime, new: Sequence[str], ill: Sequence[str], rng: Random, made: Export) -> None:
    kind = rng.choices(["AMB", "EMER", "IMP"], [8, 1, 1])[0]
    until = at + (timedelta(days=rng.randrange(1, 7)) if kind == "IMP" else timedelta(minutes=rng.choice([15, 30, 60])))
    subject: Resource = {
        "reference": rng.choice(["Patient/{}", "urn:uuid:{}", "https://ehr.example/fhir/Patient/{}"]).format(whose)
    }
    visit: Resource = {"reference": f"Encounter/{name}/_history/1" if rng.random() < 0.1 else f"Encounter/{name}"}
    about = {"subject": subject, "encounter": visit}
    made["Encounter"].append(
        {
            "resourceType": "Encounter",
            "id": name,
            "status": "finished",
            "class": {"code": kind},
            "type": [concept(SNOMED, "185345009" if kind == "AMB" else "50849002", "Encounter")],
            "subject": subject,
            "period": {"start": moment(at), "end": moment(until)},
        }
    )
    acute = [rng.choice(list(ACUTE))] if rng.random() < 0.3 else []
    for code in [*new, *acute]:
        condition: Resource = {
            "resourceType": "Condition",
            "id": f"{name}-c{code}",
            "clinicalStatus": concept("status", "resolved" if code in ACUTE else "active", "…"),
            "verificationStatus": concept("status", "confirmed", "…"),
            "category": [concept("category", "encounter-diagnosis", "…")],
            "code": concept(SNOMED, code, ACUTE.get(code) or CHRONIC[code][0]),
            "onsetDateTime": moment(at),
            **about,
        }
        if code in ACUTE:
            condition["abatementDateTime"] = moment(min(until + timedelta(days=rng.randrange(3, 8)), ENDS))
        made["Condition"].append(condition)
    _measurements(name, at, ill, about, rng, made)
    for code in ill if rng.random() < 0.4 else ():
        drug = concept(RXNORM, CHRONIC[code][1], "A drug")
        contained = {
            "contained": [{"resourceType": "Medication", "id": "m", "code": drug}],
            "medicationReference": {"reference": "#m"},
        }
        made["MedicationRequest"].append(
            {
                "resourceType": "MedicationRequest",
                "id": f"{name}-m{code}",
                "status": "active",
                "intent": "order",
                "authoredOn": moment(at),
                "dosageInstruction": [{"doseAndRate": [{"doseQuantity": {"value": rng.choice([5, 10.0, 20]), "unit": "mg"}}]}],
                **(contained if rng.random() < 0.2 else {"medicationCodeableConcept": drug}),
                **about,
            }
        )
    if kind == "IMP":
        performed = {"start": moment(at + timedelta(hours=3)), "end": moment(at + timedelta(hours=5))}
        code = rng.choice(["80146002", "232717009"])
        made["Procedure"].append(
            {
                "resourceType": "Procedure",
                "id": f"{name}-pr",
                "status": "completed",
                "code": concept(SNOMED, code, "Operation"),
                "performedPeriod": performed,
                **about,
            }
        )


def _measurements(name: str, at: datetime, ill: Sequence[str], about: Mapping[str, object], rng: Random, made: Export) -> None:
    high = "38341003" in ill
    shared = {"resourceType": "Observation", "status": "final", "effectiveDateTime": moment(at), **about}
    systolic = round(rng.gauss(150 if high else 118, 9))
    pressures = {"8480-6": systolic, "8462-4": systolic - 40 - rng.randrange(10)}
    made["Observation"].append(
        {
            **shared,
            "id": f"{name}-bp",
            "category": [concept("category", "vital-signs", "…")],
            "code": concept(LOINC, "85354-9", "Blood pressure"),
            "component": [
                {"code": concept(LOINC, code, "…"), "valueQuantity": {"value": value, "unit": "mmHg", "code": "mm[Hg]"}}
                for code, value in pressures.items()
            ],
        }
    )
    plain = [("29463-7", "vital-signs", round(rng.gauss(78, 12), 1), "kg")]
    if "44054006" in ill:
        plain.append(("4548-4", "laboratory", round(rng.gauss(7.6, 0.6), 1), "%"))
    made["Observation"] += [
        {
            **shared,
            "id": f"{name}-{code}",
            "category": [concept("category", category, "…")],
            "code": concept(LOINC, code, "…"),
            "valueQuantity": {"value": value, "unit": unit, "code": unit},
        }
        for code, category, value, unit in plain
    ]


UNREADABLE = ('{"resourceType": "Patient", "id": ', "[1, 2]", '{"resourceType": "Group", "id": "g"}', "null")


def write_export(folder: Path, made: Export, unreadable: Sequence[str] = ()) -> Path:
    """In parts of different names, some of them packed, with these lines among those of each type."""
    folder.mkdir(exist_ok=True)
    (folder / "log.ndjson").write_text("{}\n")
    for resource, content in made.items():
        lines = [json.dumps(one) for one in content]
        middle = len(lines) // 2
        parts = [lines[:middle] + list(unreadable), lines[middle:]]
        first, second = (f"{resource}.000.ndjson", f"{resource}.001.ndjson.gz")
        (folder / first).write_text("".join(f"{line}\n" for line in parts[0]), encoding="utf-8")
        (folder / second).write_bytes(gzip.compress("\n".join(parts[1]).encode(), mtime=0))
    return folder
