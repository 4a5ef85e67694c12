"""A simulated hospital in a SQLite file: what `demo.py` synthesizes. Seeded, so that it is the same for everyone."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from datetime import date, datetime, timedelta
from pathlib import Path

import numpy as np

_TABLES = """
CREATE TABLE patients (
    patient_id INTEGER PRIMARY KEY,
    sex        TEXT NOT NULL,
    birth_year INTEGER NOT NULL,
    insurance  TEXT NOT NULL,
    died       DATE
);
CREATE TABLE admissions (
    admission_id INTEGER PRIMARY KEY,
    patient_id   INTEGER NOT NULL REFERENCES patients (patient_id),
    admitted     TIMESTAMP NOT NULL,
    discharged   TIMESTAMP NOT NULL,
    ward         TEXT NOT NULL,
    urgent       BOOLEAN NOT NULL,
    severity     INTEGER NOT NULL,
    crp          REAL
);
"""
_WARDS = ("cardiology", "oncology", "orthopedics", "medicine", "surgery")


def simulate_hospital(path: Path, patients: int = 2000, seed: int = 1) -> None:
    """Write the hospital. Older patients come more often, urgent cases are sicker, sicker ones stay longer."""
    rng = np.random.default_rng(seed)
    people: list[tuple[object, ...]] = []
    stays: list[tuple[object, ...]] = []
    for patient in range(1, patients + 1):
        born = int(np.clip(rng.normal(1958, 18), 1910, 2006))
        frailty = (2025 - born) / 100
        clock = datetime(2015, 1, 1) + timedelta(minutes=int(rng.integers(0, 9 * 525_600)))
        ward = _WARDS[int(rng.choice(5, p=[0.25, 0.15, 0.2, 0.25, 0.15]))]
        for _ in range(int(rng.poisson(2.4 * frailty))):
            urgent = bool(rng.random() < 0.25 + 0.5 * frailty)
            severity = int(np.clip(1 + rng.poisson(0.6 + 1.5 * urgent), 1, 5))
            leaves = clock + timedelta(minutes=int(rng.gamma(1.5, 1200.0 * severity)))
            crp = None if rng.random() < 0.15 else round(float(min(400.0, rng.lognormal(0.8 + 0.6 * severity, 0.8))), 1)
            stays.append((len(stays) + 1, patient, clock.isoformat(" "), leaves.isoformat(" "), ward, urgent, severity, crp))
            clock = leaves + timedelta(minutes=int(rng.exponential(260_000)))
            if rng.random() < 0.3:
                ward = _WARDS[int(rng.integers(0, 5))]
        dead = rng.random() < 0.25 * frailty
        died = (clock.date() + timedelta(days=int(rng.integers(0, 300)))) if dead else None
        sex = "F" if rng.random() < 0.52 else "M"
        insurance = ("public", "private", "none")[int(rng.choice(3, p=[0.8, 0.17, 0.03]))]
        people.append((patient, sex, born, insurance, _iso(died)))
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(_TABLES)
        database.executemany("INSERT INTO patients VALUES (?, ?, ?, ?, ?)", people)
        database.executemany("INSERT INTO admissions VALUES (?, ?, ?, ?, ?, ?, ?, ?)", stays)


def _iso(day: date | None) -> str | None:
    return None if day is None else day.isoformat()


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "hospital.sqlite")
    simulate_hospital(target, patients=int(sys.argv[2]) if len(sys.argv) > 2 else 2000)
    print(f"{target}: a simulated hospital; no person is behind any row")
