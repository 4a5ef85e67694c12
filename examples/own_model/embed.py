"""Embedding: data frames in, data frames out, with a model of one's own.

    pip install -e examples/own_model
    python examples/own_model/embed.py

A clinic where patients tend to come back to the same ward. The model of this folder (`chain_model.py`) keeps that, the
independent baseline cannot; both are named in the schema like any other.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

import mare

SCHEMA = """
mare: 1
entity: patients
model: {model}
tables:
  patients:
    key: patient_id
    columns:
      sex:    {{type: category, values: [F, M]}}
      smoker: {{type: boolean}}
  visits:
    key: visit_id
    parent: {{table: patients, column: patient_id, type: sequential, order_by: number, memory: 1, max_rows: 6}}
    columns:
      number: {{type: position}}
      ward:   {{type: category, values: [cardiology, medicine, oncology, surgery]}}
      urgent: {{type: boolean}}
"""


def clinic(patients: int = 3000) -> dict[str, pd.DataFrame]:
    """The data, as it may come out of any pipeline."""
    rng = np.random.default_rng(1)
    wards = np.array(["cardiology", "medicine", "oncology", "surgery"])
    visits = pd.DataFrame({"patient_id": np.repeat(np.arange(patients), rng.integers(0, 7, patients))})
    visits.insert(0, "visit_id", np.arange(len(visits)))
    visits["number"] = visits.groupby("patient_id").cumcount() + 1
    # A new ward now and then, otherwise the same as last time.
    fresh = (visits["number"] == 1) | (rng.random(len(visits)) < 0.15)
    visits["ward"] = pd.Series(rng.choice(wards, len(visits))).where(fresh).ffill()
    visits["urgent"] = rng.random(len(visits)) < np.where(visits["ward"] == "cardiology", 0.7, 0.2)
    people = {"patient_id": np.arange(patients), "sex": rng.choice(["F", "M"], patients), "smoker": rng.random(patients) < 0.2}
    return {"patients": pd.DataFrame(people), "visits": visits}


def returns(visits: pd.DataFrame) -> float:
    """How often a patient comes back to the ward of the visit before."""
    ordered = visits.sort_values(["patient_id", "number"])
    again = ordered["ward"] == ordered.groupby("patient_id")["ward"].shift()
    return float(again[ordered["number"] > 1].mean())


def main() -> None:
    real = clinic()
    print(f"real         {len(real['visits']):,} visits, {returns(real['visits']):.0%} to the same ward as before")
    for model in ("independent", "chain"):
        schema = mare.load_schema(SCHEMA.format(model=model))
        plan = mare.plan(schema, mare.Budget(epsilon=2, delta=1e-9))
        release = mare.fit(plan, real)  # frames in
        frames = mare.sample(release, seed=7)  # frames out
        assert isinstance(frames, dict)
        visits = frames["visits"]
        print(f"{model:12s} {len(visits):,} visits, {returns(visits):.0%} to the same ward as before; {release.status}")


if __name__ == "__main__":
    main()
