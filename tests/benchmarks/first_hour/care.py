"""Worlds of somebody who is measured: a vet's animals, a clinical trial as SDTM, volunteers with wearables in one messy file."""

from __future__ import annotations

from datetime import date
from typing import Any

from numpy.random import Generator

from .world import FIRST, LAST, Row, Tables, World, at, clipped, days, later, numbered, rows, zipf

_VET = """
CREATE TABLE species(species_id int PRIMARY KEY, species_name text NOT NULL);
CREATE TABLE treatments(treatment_code char(4) PRIMARY KEY, label text NOT NULL, list_price numeric(8,2) NOT NULL);
CREATE TABLE vets(vet_id int PRIMARY KEY, vet_name text NOT NULL, licence_no text NOT NULL);
CREATE TABLE owners(owner_id int PRIMARY KEY, first_name text NOT NULL, last_name text NOT NULL, street text NOT NULL,
  city text NOT NULL, telephone text NOT NULL, member_since date NOT NULL, newsletter boolean NOT NULL);
CREATE TABLE pets(pet_id int PRIMARY KEY, owner_id int NOT NULL REFERENCES owners, species_id int NOT NULL REFERENCES species,
  pet_name text NOT NULL, breed text, sex varchar(2) NOT NULL, date_of_birth date NOT NULL, died_on date,
  neutered boolean NOT NULL);
CREATE TABLE visits(visit_id int PRIMARY KEY, pet_id int NOT NULL REFERENCES pets, vet_id int NOT NULL REFERENCES vets,
  visit_at timestamp NOT NULL, reason text NOT NULL, weight_kg numeric(5,2) NOT NULL, temperature numeric(3,1),
  total_fee numeric(10,2) NOT NULL, paid boolean NOT NULL);
CREATE TABLE visit_treatments(visit_id int NOT NULL REFERENCES visits, line_no smallint NOT NULL,
  treatment_code char(4) NOT NULL REFERENCES treatments, quantity smallint NOT NULL, unit_price numeric(8,2) NOT NULL,
  PRIMARY KEY(visit_id, line_no));
"""
_REASONS = ["vaccination", "check-up", "illness", "injury", "surgery"]


def _vet(fixed: Generator, rng: Generator) -> Tables:
    n, open_since, end = 1200, date(2019, 1, 1), date(2023, 12, 31)
    codes, price = [f"T{i:03d}" for i in range(1, 61)], fixed.lognormal(3.5, 0.6, 60).round(2)
    vets = rows(range(1, 9), [f"Dr. {name}" for name in fixed.choice(LAST, 8)], [f"L{i}" for i in range(8)])
    owners = rows(
        range(1, n + 1),
        rng.choice(FIRST, n),
        rng.choice(LAST, n),
        [f"Weg {i}" for i in range(n)],
        [f"Ort{i}" for i in zipf(rng, n, 40)],
        numbered(rng, n, 10**8, 10**9, "0{}"),
        days("2012-01-01", rng.integers(0, 4000, n)),
        rng.random(n) < 0.4,
    )
    pets, visits, lines = [], [], []
    for owner in owners:
        for _ in range(1 + rng.poisson(0.5)):
            kind, born = rng.choice(5, p=[0.45, 0.4, 0.08, 0.05, 0.02]), later(date(2010, 1, 1), rng.integers(0, 4900))
            weight = max(0.05, rng.normal([18, 4.3, 2, 0.3, 1][kind], [9, 1, 0.5, 0.1, 0.5][kind]))
            died = later(born, rng.integers(200, 4000)) if rng.random() < 0.1 else None
            died = None if died is not None and died > end else died
            called, breed = rng.choice(["Bello", "Luna", "Max", "Mia", "Rex"]), f"Breed{zipf(rng, 1, 80)[0]}"
            about = (called, breed if rng.random() < 0.8 else None, rng.choice(["m", "f", "mn", "fn"]), born, died)
            pets.append((len(pets) + 1, owner[0], kind + 1, *about, rng.random() < 0.6))
            day = max(later(born, 60), later(open_since, rng.integers(0, 200)))
            for _ in range(rng.poisson(3)):
                day, fee = later(day, rng.gamma(2, 90)), 0.0
                if day > (died or end):
                    break
                for line, what in enumerate(rng.choice(60, 1 + rng.poisson(0.7), replace=False), 1):
                    quantity = 1 + rng.poisson(0.2)
                    lines.append((len(visits) + 1, line, codes[what], quantity, price[what]))
                    fee += quantity * price[what]
                warm = round(rng.normal(38.6, 0.5), 1) if rng.random() < 0.7 else None
                found = (
                    rng.choice(_REASONS, p=[0.3, 0.3, 0.25, 0.1, 0.05]),
                    round(max(weight * rng.normal(1, 0.05), 0.01), 2),
                    warm,
                )
                when = at(day, rng.integers(480, 1080))
                visits.append((len(visits) + 1, len(pets), rng.integers(1, 9), when, *found, round(fee, 2), rng.random() < 0.9))
    return {
        "species": rows(range(1, 6), ["dog", "cat", "rabbit", "bird", "reptile"]),
        "treatments": rows(codes, [f"Treatment {i}" for i in range(60)], price),
        "vets": vets,
        "owners": owners,
        "pets": pets,
        "visits": visits,
        "visit_treatments": lines,
    }


_TRIAL = """
dm: STUDYID, DOMAIN, USUBJID, SUBJID, RFSTDTC, RFENDTC, DTHDTC, DTHFL, SITEID, AGE, AGEU, SEX, RACE, ETHNIC, ARMCD, ARM, COUNTRY
ae: STUDYID, DOMAIN, USUBJID, AESEQ, AETERM, AEDECOD, AEBODSYS, AESEV, AESER, AEREL, AEOUT, AESTDTC, AEENDTC, AESTDY, AEENDY
lb: STUDYID, DOMAIN, USUBJID, LBSEQ, LBTESTCD, LBTEST, LBCAT, LBORRES, LBORRESU, LBSTRESN, LBSTRESU, LBNRLO, LBNRHI, LBNRIND, \
VISITNUM, VISIT, LBDTC, LBBLFL, LBDY
vs: STUDYID, DOMAIN, USUBJID, VSSEQ, VSTESTCD, VSTEST, VSPOS, VSORRES, VSORRESU, VSSTRESN, VSSTRESU, VISITNUM, VISIT, VSDTC, VSDY
ex: STUDYID, DOMAIN, USUBJID, EXSEQ, EXTRT, EXDOSE, EXDOSU, EXDOSFRM, EXROUTE, EXSTDTC, EXENDTC
ds: STUDYID, DOMAIN, USUBJID, DSSEQ, DSTERM, DSCAT, DSSTDTC
"""
_VISITS = [
    (1, "SCREENING 1", -14),
    (3, "BASELINE", 1),
    (4, "WEEK 2", 14),
    (5, "WEEK 4", 28),
    (8, "WEEK 8", 56),
    (12, "WEEK 24", 168),
]
_TESTS = [
    ("ALT", "Alanine Aminotransferase", "U/L", 24, 10, "CHEMISTRY"),
    ("HGB", "Hemoglobin", "g/dL", 13.5, 1.4, "HEMATOLOGY"),
    ("K", "Potassium", "mmol/L", 4.2, 0.4, "CHEMISTRY"),
    ("GLUC", "Glucose", "mg/dL", 100, 25, "CHEMISTRY"),
    ("WBC", "Leukocytes", "10^9/L", 6.5, 1.8, "HEMATOLOGY"),
]
_SIGNS = [
    ("SYSBP", "Systolic Blood Pressure", "mmHg", 135, 15),
    ("DIABP", "Diastolic Blood Pressure", "mmHg", 76, 9),
    ("PULSE", "Pulse Rate", "beats/min", 72, 9),
    ("WEIGHT", "Weight", "kg", 68, 13),
    ("TEMP", "Temperature", "C", 36.6, 0.4),
]
_SYSTEMS = ["SKIN", "GI", "CARDIAC", "NERVOUS", "GENERAL"]
_ARMS = {"Placebo": ("PBO", 0, "PLACEBO"), "Low Dose": ("LO", 54, "XANOMELINE"), "High Dose": ("HI", 81, "XANOMELINE")}
_STOPS = ["ADVERSE EVENT", "WITHDREW CONSENT", "DEATH", "LOST TO FOLLOW-UP"]


def _trial(fixed: Generator, rng: Generator) -> Tables:
    tables: Tables = {name: [] for name in ("dm", "ae", "lb", "vs", "ex", "ds")}
    study = "ABC-101"
    for number in range(1001, 1261):
        site, arm, start = 700 + rng.integers(0, 9), rng.choice(list(_ARMS)), later(date(2012, 7, 1), rng.integers(0, 500))
        (short, dose, drug), lasts = _ARMS[arm], 182 if rng.random() < 0.5 else rng.integers(10, 180)
        end, subject, dead = later(start, lasts), f"{study}-{site}-{number}", rng.random() < 0.02
        traits = (int(clipped(rng.normal(74, 8), 50, 92)), "YEARS", rng.choice(["F", "M"]))
        origin = rng.choice(["WHITE", "BLACK OR AFRICAN AMERICAN", "ASIAN"], p=[0.88, 0.1, 0.02])
        ethnic = rng.choice(["NOT HISPANIC OR LATINO", "HISPANIC OR LATINO"], p=[0.94, 0.06])
        death = (end, "Y") if dead else (None, None)
        person = (subject, number, start, end, *death, site, *traits, origin, ethnic, short, arm, "USA")
        tables["dm"].append((study, "DM", *person))
        tables["ae"] += [(study, "AE", subject, k, *e) for k, e in enumerate(_adverse_events(rng, dose > 0, start, lasts), 1)]
        own = rng.normal(0, 1, 10)
        for number_of_visit, visit, day in _VISITS:
            if day > lasts:
                continue
            when = later(start, day + rng.integers(-2, 3))
            at_visit = number_of_visit, visit
            results: list[Row] = []
            for k, (code, name, unit, mean, spread, group) in enumerate(_TESTS):
                if rng.random() < 0.04:
                    continue
                value = round(mean + spread * (0.8 * own[k] + 0.5 * rng.normal()), 1)
                low, high = round(mean - 1.6 * spread, 1), round(mean + 1.6 * spread, 1)
                flag = "LOW" if value < low else "HIGH" if value > high else "NORMAL"
                moment = f"{at(when, rng.integers(420, 960)):%Y-%m-%dT%H:%M}"
                told = (*at_visit, moment, "Y" if visit == "BASELINE" else None, day)
                results.append((code, name, group, value, unit, value, unit, low, high, flag, *told))
            _appended(tables["lb"], (study, "LB", subject), results)
            results = []
            for k, (code, name, unit, mean, spread) in enumerate(_SIGNS):
                still = code in ("WEIGHT", "TEMP")
                value = round(mean + spread * (0.8 * own[5 + k] + 0.5 * rng.normal()), 1 if still else 0)
                position = None if still else rng.choice(["SITTING", "STANDING"])
                results.append((code, name, position, value, unit, value, unit, *at_visit, when, day))
            _appended(tables["vs"], (study, "VS", subject), results)
        tables["ex"].append((study, "EX", subject, 1, drug, dose, "mg", "PATCH", "TRANSDERMAL", start, end))
        done = "PROTOCOL COMPLETED" if lasts == 182 else rng.choice(_STOPS, p=[0.5, 0.3, 0.05, 0.15])
        tables["ds"].append((study, "DS", subject, 1, done, "DISPOSITION EVENT", end))
    return tables


def _adverse_events(rng: Generator, treated: bool, start: date, lasts: int) -> list[Row]:
    found: list[Row] = []
    for _ in range(rng.poisson(4 if treated else 2.5)):
        term, first = zipf(rng, 1, 180)[0], rng.integers(1, lasts + 1)
        last = first + int(rng.gamma(1, 12))
        severity = rng.choice(["MILD", "MODERATE", "SEVERE"], p=[0.6, 0.32, 0.08])
        likely = [0.3, 0.2, 0.3, 0.2] if treated else [0.5, 0.25, 0.2, 0.05]
        related = rng.choice(["NONE", "REMOTE", "POSSIBLE", "PROBABLE"], p=likely)
        out = rng.choice(["RECOVERED/RESOLVED", "NOT RECOVERED/NOT RESOLVED"], p=[0.7, 0.3])
        what = (f"TERM {term}", f"PT{term}", _SYSTEMS[term % 5], severity, rng.choice(["N", "Y"], p=[0.98, 0.02]), related, out)
        found.append((*what, later(start, first - 1), later(start, last - 1) if rng.random() < 0.7 else None, first, last))
    return found


def _appended(table: list[Row], whose: Row, results: list[Row]) -> None:
    """Numbered on from the subject's last row."""
    before = table[-1][3] if table and table[-1][2] == whose[2] else 0
    table += [(*whose, before + k, *result) for k, result in enumerate(results, 1)]


_WEARABLES = (
    "wearables: Proband, Datum, Geschlecht, Alter, Gerät, Schritte, Ruhepuls, Strecke_km, Schlaf_min, Trainingsstunden, "
    "Alkohol, Befinden, Firmware"
)


def _wearables(fixed: Generator, rng: Generator) -> Tables:
    """Decimal commas, two ways of writing a date, two of a sex, a word that means NULL."""
    measured = []
    for person in range(220):
        fit, first = rng.normal(0, 1), later(date(2022, 3, 1), rng.integers(0, 200))
        who = rng.choice(["m", "f", "F", "M"], p=[0.4, 0.4, 0.1, 0.1]), int(clipped(rng.normal(41, 12), 18, 75))
        device = rng.choice(["Fitbit", "Garmin", "Apple Watch", "Withings"], p=[0.4, 0.3, 0.2, 0.1])
        for day in (later(first, k) for k in range(rng.integers(10, 45))):
            steps = int(clipped(rng.normal(8000 + 2500 * fit - 1500 * (day.weekday() >= 5), 2500), 50, 40000))
            sleep: Any = int(clipped(rng.normal(430, 55), 0, 900)) if rng.random() > 0.1 else None
            mood = ["gut", "mittel", "schlecht"][int(clipped(rng.normal(0.8 - 0.3 * fit, 0.7), 0, 2))]
            written = f"{day:%d.%m.%Y}" if person % 7 else f"{day:%Y-%m-%d}"
            numbers = (
                _comma(58 - 4 * fit + rng.normal(0, 3), 1),
                _comma(steps * 0.00072, 2),
                sleep,
                _comma(rng.gamma(2, 1.5), 1),
            )
            walked = steps if rng.random() > 0.03 else "n/a"
            drank = rng.choice(["ja", "nein"], p=[0.25, 0.75])
            measured.append((f"P{person:04d}", written, *who, device, walked, *numbers, drank, mood, "1.2.0"))
    return {"wearables": measured}


def _comma(number: float, places: int) -> str:
    return f"{number:.{places}f}".replace(".", ",")


VET = World("vet", "duckdb", _VET, ("2010-01-01", "2023-12-31"), 1200, _vet)
TRIAL = World("trial", "folder", _TRIAL, ("2012-06-01", "2014-12-31"), 260, _trial)
WEARABLES = World("wearables", "csv", _WEARABLES, ("2022-03-01", "2022-12-31"), 220, _wearables, separator=";")
