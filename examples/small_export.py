"""A small simulated hospital in the shape of a MIMIC-IV export: what `ehr_export.py` is tried on. Seeded."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta
from pathlib import Path

import pandas as pd


def write_export(folder: Path, patients: int = 1500, seed: int = 1) -> None:
    """A small hospital in the shape of MIMIC-IV, its dates shifted into the future as there."""
    rng = random.Random(seed)
    people: list[dict[str, object]] = []
    stays: list[dict[str, object]] = []
    moves: list[dict[str, object]] = []
    providers = [f"P{number:05d}" for number in range(30)]
    for subject in range(10_000, 10_000 + patients):
        age, year = rng.choice([*range(18, 90), 91]), rng.randrange(2110, 2190)
        clock = datetime(year, 1, 1) + timedelta(minutes=rng.randrange(525_600))
        died = None
        for _ in range(min(8, int(rng.expovariate(0.7)))):
            emergency = rng.random() < 0.3 + age / 200
            leaves = clock + timedelta(minutes=int(rng.lognormvariate(8.2 + 0.3 * emergency, 0.7)))
            if rng.random() < age / 3000:
                died = leaves
            stay = 20_000_000 + len(stays)
            stays.append(_admission(rng, subject, stay, clock, leaves, emergency, died, rng.choice(providers)))
            moves += _transfers(rng, subject, stay, clock, leaves, emergency, len(moves))
            clock = leaves + timedelta(minutes=int(rng.expovariate(1 / 300_000)))
            if died is not None:
                break
        dod: date | None = None if died is None else died.date()
        group = rng.choice(["2008 - 2010", "2011 - 2013", "2014 - 2016", "2017 - 2019", "2020 - 2022"])
        person = {"subject_id": subject, "gender": rng.choice("FM"), "anchor_age": age, "anchor_year": year}
        people.append({**person, "anchor_year_group": group, "dod": dod})
    (folder / "hosp").mkdir(parents=True)
    staff: list[dict[str, object]] = [{"provider_id": provider} for provider in providers]
    for name, rows in {"patients": people, "admissions": stays, "transfers": moves, "provider": staff}.items():
        pd.DataFrame.from_records(rows).to_csv(folder / "hosp" / f"{name}.csv.gz", index=False)


def _admission(
    rng: random.Random, subject: int, stay: int, begins: datetime, ends: datetime, emergency: bool, died: datetime | None, by: str
) -> dict[str, object]:
    waited = timedelta(minutes=rng.randrange(60, 900))
    return {
        "subject_id": subject,
        "hadm_id": stay,
        "admittime": begins,
        "dischtime": ends,
        "deathtime": died,
        "admission_type": rng.choice(["EW EMER.", "URGENT"]) if emergency else rng.choice(["ELECTIVE", "OBSERVATION ADMIT"]),
        "admit_provider_id": by,
        "admission_location": "EMERGENCY ROOM" if emergency else "PHYSICIAN REFERRAL",
        "discharge_location": "DIED" if died else rng.choice(["HOME", "HOME", "HOME HEALTH CARE", "SKILLED NURSING FACILITY"]),
        "insurance": rng.choice(["Medicare", "Medicaid", "Other"]),
        "language": rng.choice(["ENGLISH", "ENGLISH", "ENGLISH", "?"]),
        "marital_status": rng.choice(["MARRIED", "SINGLE", "WIDOWED", None]),
        "race": rng.choice(["WHITE", "WHITE", "BLACK/AFRICAN AMERICAN", "ASIAN"]),
        "edregtime": begins - waited if emergency else None,
        "edouttime": begins + timedelta(minutes=20) if emergency else None,
        "hospital_expire_flag": int(died is not None),
    }


def _transfers(
    rng: random.Random, subject: int, stay: int, begins: datetime, ends: datetime, emergency: bool, number: int
) -> list[dict[str, object]]:
    """The way through the hospital: the emergency department, wards, the discharge."""
    times = [begins, *sorted(begins + (ends - begins) * rng.random() for _ in range(rng.randrange(3)))]
    kinds = ["ED" if emergency else "admit", *["transfer"] * (len(times) - 1)]
    units = ["Emergency Department" if emergency else "Medicine", *rng.choices(["Medicine", "MICU", "Surgery"], k=len(times) - 1)]
    ways = [*zip(kinds, units, times, [*times[1:], ends], strict=True), ("discharge", None, ends, None)]
    return [
        {
            "subject_id": subject,
            "hadm_id": stay,
            "transfer_id": 30_000_000 + number + place,
            "eventtype": kind,
            "careunit": unit,
            "intime": entered,
            "outtime": left,
        }
        for place, (kind, unit, entered, left) in enumerate(ways)
    ]
