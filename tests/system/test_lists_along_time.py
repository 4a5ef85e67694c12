"""A sequence whose rows have lists of public keys: what is in a list depends on the list before."""

from __future__ import annotations

import numpy as np
import pandas as pd

import mare

SCHEMA = """
mare: 1
entity: patients
tables:
  patients: {key: pid, columns: {sex: {type: category, values: [f, m]}}}
  cycles:
    key: cycle_id
    parent: {table: patients, column: pid, type: sequential, order_by: cycle_id, max_rows: 12}
    columns: {tolerated: {type: boolean}}
  given:
    key: [cycle_id, drug]
    parent: {table: cycles, column: cycle_id, type: associative, via: drugs, column_via: drug, max_rows: 2}
  drugs: {public: true, key: drug, rows: 4}
"""
PATIENTS = 400
DRUGS = ["a", "b", "c", "d"]


def hospital() -> dict[str, pd.DataFrame]:
    """Everybody stays with the drug of the first cycle, one in twenty changes at each."""
    rng = np.random.default_rng(3)
    lengths = rng.integers(6, 12, PATIENTS)
    pid = np.repeat(np.arange(PATIENTS), lengths)
    drug = np.repeat(rng.integers(0, 4, PATIENTS), lengths)
    for row in np.flatnonzero(rng.random(len(pid)) < 0.05):
        drug[row : np.searchsorted(pid, pid[row], side="right")] = rng.integers(0, 4)
    cycles = np.arange(len(pid))
    return {
        "patients": pd.DataFrame({"pid": range(PATIENTS), "sex": rng.choice(["f", "m"], PATIENTS)}),
        "cycles": pd.DataFrame({"cycle_id": cycles, "pid": pid, "tolerated": rng.random(len(pid)) < 0.8}),
        "given": pd.DataFrame({"cycle_id": cycles, "drug": np.array(DRUGS)[drug]}),
        "drugs": pd.DataFrame({"drug": DRUGS}),
    }


def stays(frames: dict[str, pd.DataFrame]) -> float:
    """How often a drug of a cycle is given in the next one too."""
    rows = frames["given"].merge(frames["cycles"], on="cycle_id").sort_values("cycle_id")
    rows["place"] = rows["pid"].map(frames["cycles"].groupby("pid")["cycle_id"].min())
    rows["place"] = rows["cycle_id"] - rows["place"]
    later = rows.assign(place=rows["place"] - 1)
    both = rows.merge(later, on=["pid", "drug", "place"])
    return len(both) / (rows["place"] > 0).sum()


def test_a_list_follows_the_list_before() -> None:
    true = hospital()
    # ε = 1,000: there the first lists of sequences have tables of their own, which once ended the fit.
    release = mare.fit(mare.plan(mare.load_schema(SCHEMA), mare.Budget(1000, 1e-9)), true, unsafe_seed=1)
    made = mare.sample(release, seed=2)
    assert 0.9 < stays(true) < 1
    assert abs(stays(made) - stays(true)) < 0.05
