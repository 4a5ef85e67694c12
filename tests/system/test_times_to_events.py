"""Studies of times to events: what a distance of hardly any length does to the numbers that it is a distance of."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mare
from mare.schema.loading import load_schema

STUDY = load_schema("""
mare: 1
entity: patients
tables:
  patients:
    key: id
    columns:
      relapse: {type: number, learn: true}
      death:   {type: number, after: relapse, learn: true}
""")


@pytest.mark.parametrize("seed", range(2))
def test_who_never_relapses_is_followed_up_until_then_and_not_for_a_quadrillion_days(seed: int) -> None:
    rng = np.random.default_rng(seed)
    relapse = np.round(rng.exponential(900, 400), 1)
    death = relapse + np.where(rng.random(400) < 0.97, 0.0, np.round(rng.exponential(300, 400), 1))
    people = pd.DataFrame({"id": range(400), "relapse": relapse, "death": death})
    release = mare.fit(mare.plan(STUDY, mare.Budget(0.6, 1e-9)), {"patients": people}, unsafe_seed=seed)
    drawn = mare.sample(release, seed=seed)["patients"]
    assert (drawn["death"] >= drawn["relapse"]).all()
    assert drawn["death"].max() < 1e7
