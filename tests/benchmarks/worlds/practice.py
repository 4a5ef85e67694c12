"""A general practice: patients, a problem list of 150 codes with a heavy tail, laboratory values of twelve tests in long format.

Planted: problems depend on age, sex, smoking and on each other (diabetes brings hypertension and kidney disease); a problem
is entered once a person. Laboratory values have a level of their own for each person and test and drift from visit to visit;
diabetes raises hba1c, kidney disease creatinine and potassium; tests come in panels of the same day; a flag says whether a
value is outside its limits. The test decides scale, unit and decimals.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from .tools import Frames, days

# unit, median, spread on the log scale, decimals, lower and upper limit, panel
TESTS: dict[str, tuple[str, float, float, int, float, float, str]] = {
    "sodium": ("mmol/L", 140.0, 0.018, 0, 135.0, 145.0, "renal"),
    "potassium": ("mmol/L", 4.3, 0.09, 1, 3.5, 5.1, "renal"),
    "creatinine": ("umol/L", 78.0, 0.25, 0, 50.0, 110.0, "renal"),
    "hba1c": ("mmol/mol", 36.0, 0.09, 0, 20.0, 42.0, "glucose"),
    "hb": ("g/L", 141.0, 0.09, 0, 120.0, 170.0, "blood"),
    "platelets": ("10*9/L", 250.0, 0.23, 0, 150.0, 400.0, "blood"),
    "ferritin": ("ug/L", 95.0, 0.9, 0, 15.0, 300.0, "blood"),
    "crp": ("mg/L", 2.2, 1.2, 1, 0.0, 5.0, "single"),
    "tsh": ("mU/L", 1.9, 0.55, 2, 0.4, 4.0, "single"),
    "alt": ("U/L", 23.0, 0.5, 0, 0.0, 45.0, "liver"),
    "ldl": ("mmol/L", 3.1, 0.28, 1, 0.0, 4.0, "lipids"),
    "psa": ("ug/L", 1.1, 0.9, 2, 0.0, 4.0, "single"),
}
PANELS = ["renal", "glucose", "blood", "liver", "lipids"]
CHAPTERS = "ABDEFGHIJKLMNRS"
DIABETES, HYPERTENSION, KIDNEY, LUNG, DEPRESSION = "E11", "I10", "N18", "J44", "F32"
FIRST, LAST = np.datetime64("1990-01-01"), np.datetime64("2024-12-31")


def codes() -> list[str]:
    """150 codes, ten a chapter, with the five that the world is about among them."""
    listed = {DIABETES, HYPERTENSION, KIDNEY, LUNG, DEPRESSION}
    for chapter in CHAPTERS:
        number = 0
        while sum(code[0] == chapter for code in listed) < 10:
            listed.add(f"{chapter}{number:02d}")
            number += 7
    return sorted(listed)


def generate(entities: int, seed: int) -> Frames:
    rng = np.random.default_rng([seed, 1])
    vocabulary = codes()
    born = rng.choice(np.arange(1925, 2015), entities, p=_pyramid())
    age = 2024 - born
    sex = rng.choice(["F", "M"], entities, p=[0.52, 0.48])
    deprivation = rng.choice([1, 2, 3, 4, 5], entities, p=[0.15, 0.2, 0.25, 0.22, 0.18])
    smoker = np.where(rng.random(entities) < 0.08 + 0.05 * deprivation, "current", "never")
    smoker = np.where((smoker == "never") & (age > 35) & (rng.random(entities) < 0.3), "former", smoker).astype(object)
    smoker[(age < 14) | (rng.random(entities) < 0.06)] = None
    joined = LAST - rng.integers(30, 365 * np.clip(age, 1, 34) + 31)
    patients = pd.DataFrame(
        {
            "patient_id": np.arange(1, entities + 1),
            "sex": sex,
            "birth_year": born,
            "deprivation": deprivation,
            "smoking": smoker,
            "registered": days(joined),
        }
    )
    rank = np.random.default_rng(150).permutation(len(vocabulary))  # the same in every draw
    tail = 1 / (1 + rank) ** 1.1
    tail = tail / tail.sum()
    problems, labs = [], []
    for i in range(entities):
        held = _problems(rng, vocabulary, tail, int(age[i]), sex[i], smoker[i])
        start = max(joined[i], FIRST)
        for code in held:
            onset = start + int((LAST - start).astype(int) * rng.beta(1.6, 1.0))
            chronic = code in (DIABETES, HYPERTENSION, KIDNEY, LUNG) or rng.random() < 0.35
            problems.append(
                (i + 1, onset, code, "active" if chronic else "resolved", rng.choice(["GP", "hospital"], p=[0.8, 0.2]))
            )
        labs.extend(_labs(rng, i + 1, int(age[i]), sex[i], set(held), start))
    listed = pd.DataFrame(problems, columns=["patient_id", "noted", "code", "status", "source"]).sort_values(
        ["patient_id", "noted"], kind="stable", ignore_index=True
    )
    values = pd.DataFrame(labs, columns=["patient_id", "taken", "test", "value", "unit", "flag"])
    listed["noted"], values["taken"] = days(listed["noted"]), days(values["taken"])
    vocabulary_table = pd.DataFrame({"code": vocabulary, "chapter": [code[0] for code in vocabulary]})
    listed.insert(0, "problem_id", np.arange(1, len(listed) + 1))
    values.insert(0, "lab_id", np.arange(1, len(values) + 1))
    return {"patients": patients, "problems": listed, "labs": values, "problem_codes": vocabulary_table}


def _pyramid() -> np.ndarray:
    years = np.arange(1925, 2015)
    weight = np.where(years < 1950, (years - 1920) / 30, 1.0)
    return np.asarray(weight / weight.sum())


def _problems(
    rng: np.random.Generator, vocabulary: list[str], tail: np.ndarray, age: int, sex: str, smoker: str | None
) -> list[str]:
    held: list[str] = []
    if rng.random() < 0.003 * max(age - 30, 0):
        held.append(DIABETES)
    if rng.random() < min(0.012 * max(age - 35, 0) * (2 if held else 1), 0.9):
        held.append(HYPERTENSION)
    if rng.random() < (0.3 if DIABETES in held else 0.02) * (age > 55):
        held.append(KIDNEY)
    if rng.random() < {"current": 0.25, "former": 0.12}.get(smoker or "", 0.01) * (age > 45):
        held.append(LUNG)
    if rng.random() < (0.18 if sex == "F" else 0.09) * (age > 15):
        held.append(DEPRESSION)
    more = min(rng.negative_binomial(1.1, 1.1 / (1.1 + 0.05 * age + 0.5)), 20)
    for code in rng.choice(vocabulary, more, p=tail):
        if code not in held:
            held.append(str(code))
    return held


def _labs(rng: np.random.Generator, patient: int, age: int, sex: str, held: set[str], start: np.datetime64) -> list[tuple]:  # type: ignore[type-arg]
    visits = min(rng.poisson(0.4 + 0.03 * age + 1.5 * len(held & {DIABETES, HYPERTENSION, KIDNEY})), 14)
    span = max(int((LAST - start).astype(int)), 1)
    moments = np.sort(rng.integers(0, span, visits))
    level = {test: rng.normal(0, 0.75) for test in TESTS}
    now = dict(level)
    rows = []
    for moment in moments:
        likely = {"renal": 0.5, "blood": 0.45, "lipids": 0.25, "liver": 0.25, "glucose": 0.75 if DIABETES in held else 0.12}
        wanted = [test for test, row in TESTS.items() if row[6] in PANELS and rng.random() < 0.93 * likely[row[6]]]
        wanted += [test for test, share in (("crp", 0.2), ("tsh", 0.15)) if rng.random() < share]
        if sex == "M" and age > 50 and rng.random() < 0.25:
            wanted.append("psa")
        for test in wanted:
            unit, median, spread, decimals, low, high, _ = TESTS[test]
            now[test] = level[test] + 0.6 * (now[test] - level[test]) + rng.normal(0, 0.5)
            value = median * np.exp(spread * now[test])
            if test == "hba1c" and DIABETES in held:
                value *= 1.5
            if test == "creatinine":
                value *= (1.6 if KIDNEY in held else 1.0) * (1.2 if sex == "M" else 1.0)
            if test == "hb" and sex == "F":
                value *= 0.93
            value = round(float(value), decimals)
            flag = "low" if value < low else "high" if value > high else None
            rows.append((patient, start + int(moment), test, value, unit, flag))
    return rows
