"""A number that is unrolled with its public key, on the scale of that key: the dose of a drug (mare-2024, IV; `medonc`)."""

from __future__ import annotations

import pandas as pd
import pytest

import mare

SCHEMA = """
mare: 1
entity: patients
tables:
  patients: {key: pid, columns: {sex: {type: category, values: [F, M]}}}
  prescriptions:
    key: [pid, drug]
    parent: {table: patients, column: pid, type: associative, via: drugs, column_via: drug, derived: [dose], max_rows: 3}
    columns:
      dose: DOSE
  drugs: {public: true, key: drug, rows: 3}
"""
DECLARED = "{type: integer, by: drug, ranges: {A: {min: 10, max: 20}, B: {min: 500, max: 1000}, C: {min: 100000, max: 200000}}}"
LEARNED = "{type: integer, by: drug, learn: true}"
RANGES = {"A": (10, 20), "B": (500, 1000), "C": (100_000, 200_000)}


def hospital(patients: int = 600) -> dict[str, pd.DataFrame]:
    given = [
        (pid, drug, low + (pid * 7) % (high - low + 1))
        for pid in range(patients)
        for number, (drug, (low, high)) in enumerate(RANGES.items())
        if (pid + number) % 3
    ]
    return {
        "patients": pd.DataFrame({"pid": range(patients), "sex": ["F", "M"] * (patients // 2)}),
        "prescriptions": pd.DataFrame(given, columns=["pid", "drug", "dose"]),
        "drugs": pd.DataFrame({"drug": list(RANGES)}),
    }


@pytest.mark.parametrize(("dose", "slack"), [(DECLARED, 1.0), (LEARNED, 2.0)], ids=["declared", "learned"])
def test_every_drug_keeps_its_own_scale(dose: str, slack: float) -> None:
    schema = mare.load_schema(SCHEMA.replace("DOSE", dose))
    release = mare.fit(mare.plan(schema, mare.Budget(epsilon=200, delta=1e-6)), hospital(), unsafe_seed=1)
    frames = mare.sample(release, seed=1)
    assert isinstance(frames, dict)
    found = frames["prescriptions"].groupby("drug")["dose"].agg(["min", "max", "count"])
    assert set(found.index) == set(RANGES)
    for drug, (low, high) in RANGES.items():
        assert found.loc[drug, "min"] >= low / slack
        assert found.loc[drug, "max"] <= high * slack
        assert found.loc[drug, "count"] > 100
