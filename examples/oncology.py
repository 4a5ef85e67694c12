"""A simulated oncology hospital in a database: the world of `make demo`, of the README and of the tutorial.

    python examples/oncology.py oncology.sqlite [PATIENTS]
    python examples/oncology.py postgresql://me@host/hospital [PATIENTS]

Patients are treated in lines (treatment plans), lines in cycles, and at each cycle drugs of a public formulary are
given: the four tables of the MARE paper, section IV. What makes it worth synthesizing is that everything depends on
something: the regimen on the diagnosis and on the line, the drugs on the regimen, the days between cycles on the regimen and
on toxicity, and the dose on the toxicity of the cycles before. Seeded, so that it is the same for everyone.
"""

from __future__ import annotations

import random
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import NamedTuple

PATIENTS = 6000
OPENED, CLOSED = date(2014, 1, 1), date(2023, 12, 31)

# As hospitals are: some columns say what they may hold (CHECK), others leave it to the handbook.
TABLES = """
CREATE TABLE drugs (
    drug_id       TEXT PRIMARY KEY,
    name          TEXT NOT NULL,
    kind          TEXT NOT NULL,
    protocol_dose INTEGER NOT NULL
);
CREATE TABLE patients (
    patient_id INTEGER PRIMARY KEY,
    sex        TEXT NOT NULL CHECK (sex IN ('F', 'M')),
    birth_year INTEGER NOT NULL,
    diagnosis  TEXT NOT NULL,
    stage      INTEGER NOT NULL CHECK (stage BETWEEN 1 AND 4),
    diagnosed  DATE NOT NULL,
    died       DATE
);
CREATE TABLE lines (
    line_id     INTEGER PRIMARY KEY,
    patient_id  INTEGER NOT NULL REFERENCES patients (patient_id),
    line_number INTEGER NOT NULL,
    started     DATE NOT NULL,
    intent      TEXT NOT NULL CHECK (intent IN ('curative', 'palliative')),
    regimen     TEXT NOT NULL,
    UNIQUE (patient_id, line_number)
);
CREATE TABLE cycles (
    cycle_id     INTEGER PRIMARY KEY,
    line_id      INTEGER NOT NULL REFERENCES lines (line_id),
    cycle_number INTEGER NOT NULL,
    given        DATE NOT NULL,
    percent      INTEGER NOT NULL CHECK (percent BETWEEN 0 AND 100),
    ecog         INTEGER NOT NULL CHECK (ecog BETWEEN 0 AND 4),
    toxicity     INTEGER NOT NULL CHECK (toxicity BETWEEN 0 AND 4),
    UNIQUE (line_id, cycle_number)
);
CREATE TABLE prescriptions (
    cycle_id      INTEGER NOT NULL REFERENCES cycles (cycle_id),
    drug_id       TEXT NOT NULL REFERENCES drugs (drug_id),
    protocol_dose INTEGER NOT NULL,
    percent       INTEGER NOT NULL,
    dose          REAL NOT NULL,
    PRIMARY KEY (cycle_id, drug_id)
);
"""


class Drug(NamedTuple):
    """A drug of the formulary, with the protocol's dose in mg/m²."""

    name: str
    kind: str
    protocol_dose: int


DRUGS = {
    "BEN": Drug("bendamustine", "alkylating", 90),
    "CAP": Drug("capecitabine", "antimetabolite", 1000),
    "CAR": Drug("carboplatin", "platinum", 400),
    "CYC": Drug("cyclophosphamide", "alkylating", 600),
    "DOC": Drug("docetaxel", "taxane", 75),
    "DOX": Drug("doxorubicin", "anthracycline", 50),
    "FLU": Drug("fluorouracil", "antimetabolite", 400),
    "IRI": Drug("irinotecan", "topoisomerase", 180),
    "OXA": Drug("oxaliplatin", "platinum", 85),
    "PEM": Drug("pemetrexed", "antimetabolite", 500),
    "RIT": Drug("rituximab", "antibody", 375),
    "TRA": Drug("trastuzumab", "antibody", 220),
}


class Regimen(NamedTuple):
    """Which drugs are given together, how often, how many times, and how hard they hit."""

    drugs: tuple[str, ...]
    days: int
    cycles: int
    harm: float


REGIMENS = {
    "AC": Regimen(("CYC", "DOX"), 21, 4, 0.45),
    "TH": Regimen(("DOC", "TRA"), 21, 6, 0.35),
    "CAPE": Regimen(("CAP",), 21, 7, 0.25),
    "FOLFOX": Regimen(("FLU", "OXA"), 14, 8, 0.35),
    "FOLFIRI": Regimen(("FLU", "IRI"), 14, 8, 0.45),
    "CARBO-PEM": Regimen(("CAR", "PEM"), 21, 5, 0.35),
    "DOCE": Regimen(("DOC",), 21, 6, 0.40),
    "R-CHOP": Regimen(("CYC", "DOX", "RIT"), 21, 6, 0.50),
    "R-BENDA": Regimen(("BEN", "RIT"), 28, 5, 0.20),
}


class Disease(NamedTuple):
    """How common it is, its share of women, the typical age, the chance of each stage, and the regimens line by line."""

    share: float
    women: float
    age: int
    stages: tuple[float, float, float, float]
    lines: tuple[tuple[str, ...], ...]


DISEASES = {
    "breast": Disease(0.30, 0.99, 60, (0.40, 0.35, 0.15, 0.10), (("AC", "AC", "TH"), ("TH", "CAPE"), ("CAPE", "DOCE"))),
    "colorectal": Disease(0.26, 0.45, 68, (0.15, 0.25, 0.35, 0.25), (("FOLFOX",), ("FOLFIRI",), ("CAPE",))),
    "lung": Disease(0.24, 0.42, 70, (0.10, 0.10, 0.25, 0.55), (("CARBO-PEM",), ("DOCE",), ("DOCE",))),
    "lymphoma": Disease(0.12, 0.45, 62, (0.20, 0.25, 0.25, 0.30), (("R-CHOP",), ("R-BENDA",), ("R-BENDA",))),
    "prostate": Disease(0.08, 0.00, 72, (0.05, 0.15, 0.25, 0.55), (("DOCE",), ("DOCE", "CARBO-PEM"), ("CARBO-PEM",))),
}


class Cycle(NamedTuple):
    given: date
    percent: int
    """Of the protocol's dose."""
    ecog: int
    toxicity: int


def simulate_oncology(path: Path, patients: int = PATIENTS, seed: int = 1) -> None:
    """Write the hospital into a new SQLite file."""
    rng = random.Random(seed)
    people: list[tuple[object, ...]] = []
    lines: list[tuple[object, ...]] = []
    cycles: list[tuple[object, ...]] = []
    given: list[tuple[object, ...]] = []
    for patient in range(1, patients + 1):
        name = _pick(rng, {name: disease.share for name, disease in DISEASES.items()})
        disease = DISEASES[name]
        sex = "F" if rng.random() < disease.women else "M"
        stage = 1 + rng.choices(range(4), disease.stages)[0]
        diagnosed = OPENED + timedelta(days=rng.randrange((CLOSED - OPENED).days - 100))
        born = diagnosed.year - max(19, min(95, round(rng.gauss(disease.age, 11))))
        clock = diagnosed + timedelta(days=14 + int(rng.expovariate(1 / 20)))
        frailty = (diagnosed.year - born) / 100 + 0.1 * stage
        for number in range(1, _lines(rng, stage) + 1):
            if clock > CLOSED:
                break
            regimen = rng.choice(disease.lines[min(number, 3) - 1])
            intent = "curative" if number == 1 and stage <= 3 else "palliative"
            lines.append((len(lines) + 1, patient, number, clock.isoformat(), intent, regimen))
            for place, cycle in enumerate(_cycles(rng, REGIMENS[regimen], clock, frailty, number), 1):
                cycles.append((len(cycles) + 1, len(lines), place, cycle.given.isoformat(), *cycle[1:]))
                for drug, dose in ((drug, DRUGS[drug].protocol_dose) for drug in REGIMENS[regimen].drugs):
                    given.append((len(cycles), drug, dose, cycle.percent, dose * cycle.percent / 100))
                clock = cycle.given
            clock += timedelta(days=30 + int(rng.expovariate(stage / 600)))
        died = clock + timedelta(days=int(rng.expovariate(1 / 250))) if rng.random() < 0.05 + 0.15 * stage else None
        dead = None if died is None or died > CLOSED else died.isoformat()
        people.append((patient, sex, born, name, stage, diagnosed.isoformat(), dead))
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(TABLES)
        database.executemany("INSERT INTO drugs VALUES (?, ?, ?, ?)", [(key, *drug) for key, drug in DRUGS.items()])
        database.executemany("INSERT INTO patients VALUES (?, ?, ?, ?, ?, ?, ?)", people)
        database.executemany("INSERT INTO lines VALUES (?, ?, ?, ?, ?, ?)", lines)
        database.executemany("INSERT INTO cycles VALUES (?, ?, ?, ?, ?, ?, ?)", cycles)
        database.executemany("INSERT INTO prescriptions VALUES (?, ?, ?, ?, ?)", given)


def _lines(rng: random.Random, stage: int) -> int:
    """Nobody below stage 2 always needs treatment; the further it went, the more lines."""
    if rng.random() < (0.25, 0.05, 0.0, 0.1)[stage - 1]:
        return 0
    return 1 + sum(rng.random() < 0.12 * stage for _ in range(2))


def _cycles(rng: random.Random, regimen: Regimen, start: date, frailty: float, number: int) -> Iterator[Cycle]:
    """A line's cycles. Severe toxicity (grade 3 or 4) lowers the next dose, delays the next cycle, or ends the line."""
    day, percent = start, 100
    ecog = min(4, int(rng.expovariate(1 / (0.3 + 0.5 * frailty + 0.25 * (number - 1)))))
    for _ in range(max(1, min(10, round(rng.gauss(regimen.cycles, 1.0))))):
        harm = regimen.harm * (0.3 + frailty) * (percent / 100) ** 2 + 0.06 * ecog
        toxicity = sum(rng.random() < harm for _ in range(4))
        yield Cycle(day, percent, ecog, toxicity)
        if toxicity == 4 and rng.random() < 0.5:
            return
        if toxicity >= 3 and rng.random() < 0.9:
            percent = max(50, percent - 25)
        elif toxicity <= 1 and rng.random() < 0.3:
            percent = min(100, percent + 25)
        ecog = max(0, min(4, ecog + rng.choices((-1, 0, 1), (0.1, 0.8, 0.05 + 0.1 * toxicity))[0]))
        day += timedelta(days=min(31, regimen.days + (7 if toxicity >= 3 else 0)))


def _pick(rng: random.Random, shares: dict[str, float]) -> str:
    return rng.choices(list(shares), list(shares.values()))[0]


def fill_postgres(url: str, patients: int = PATIENTS) -> None:
    """The same hospital in an empty database of a PostgreSQL server."""
    import psycopg

    with tempfile.TemporaryDirectory() as folder, psycopg.connect(url) as live:
        simulate_oncology(Path(folder) / "oncology.sqlite", patients)
        live.execute(TABLES)
        with closing(sqlite3.connect(Path(folder) / "oncology.sqlite")) as database:
            for table in ("drugs", "patients", "lines", "cycles", "prescriptions"):
                with live.cursor().copy(f"COPY {table} FROM STDIN") as copy:
                    for row in database.execute(f"SELECT * FROM {table}"):
                        copy.write_row(row)


if __name__ == "__main__":
    target = sys.argv[1] if len(sys.argv) > 1 else "oncology.sqlite"
    count = int(sys.argv[2]) if len(sys.argv) > 2 else PATIENTS
    if target.startswith("postgresql://"):
        fill_postgres(target, count)
    else:
        simulate_oncology(Path(target), count)
    print("A simulated oncology hospital is there; no person is behind any row.")
