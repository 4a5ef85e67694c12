"""A cohort study: one wide table of 36 columns beside the key, one row a participant.

Planted: skewed, signed and zero-inflated numbers; ordinal scales that hang together; a block of laboratory columns that is
missing together; questions that are asked of some only (packs a day of smokers, pregnancies of women); sums and classes that
repeat other columns (bmi, its class, the sum of a scale); a change between two visits that may be negative; dropouts without
a second visit.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from .tools import Frames, days


def generate(entities: int, seed: int) -> Frames:
    rng = np.random.default_rng([seed, 3])
    n = entities

    def chosen(shares: np.ndarray, values: list[str]) -> np.ndarray:
        """One value a person, by the person's own shares."""
        edges = np.cumsum(shares, axis=1) / shares.sum(axis=1, keepdims=True)
        return np.array(values, dtype=object)[np.minimum((rng.random(n)[:, None] > edges).sum(axis=1), len(values) - 1)]

    sex = rng.choice(["female", "male"], n, p=[0.55, 0.45])
    woman = sex == "female"
    age = np.clip(rng.gamma(9, 6, n), 20, 89).round().astype(int)
    centre = rng.choice(["Aarhus", "Graz", "Lyon", "Porto"], n, p=[0.4, 0.3, 0.2, 0.1])
    ses = rng.normal(0, 1, n)
    education = np.digitize(ses + rng.normal(0, 0.6, n), [-1.0, 0.0, 1.0]) + 1
    income = np.round(np.exp(7.6 + 0.35 * ses + rng.normal(0, 0.35, n)), -1)
    income[rng.random(n) < 0.08 + 0.05 * (education == 1)] = np.nan
    ones = np.ones(n)
    marital = chosen(
        np.stack([np.maximum(60 - age, 3), 40 * ones, age / 5, np.maximum(age - 55, 1)], 1),
        ["single", "married", "divorced", "widowed"],
    )
    smoking = chosen(np.stack([50 + 8 * ses.clip(-3, 3), 25 * ones, 25 - 7 * ses.clip(-3, 3)], 1), ["never", "former", "current"])
    packs = np.where(smoking == "current", np.round(rng.gamma(3, 0.3, n), 1), np.nan)
    alcohol = np.where(rng.random(n) < 0.3, 0.0, np.round(rng.lognormal(1.5 + 0.3 * ~woman, 0.9, n), 1))
    activity = np.where(rng.random(n) < 0.22, 0, rng.gamma(1.6, 120, n) // 10 * 10).astype(int)
    height = np.round(rng.normal(np.where(woman, 165, 178), 6.5, n), 0)
    bmi_true = np.exp(3.25 + 0.003 * (age - 50) - 0.0002 * activity - 0.03 * ses + rng.normal(0, 0.16, n))
    weight = np.round(bmi_true * (height / 100) ** 2, 1)
    bmi = np.round(weight / (height / 100) ** 2, 1)
    bmi_class = np.array(["under", "normal", "over", "obese"], dtype=object)[np.digitize(bmi, [18.5, 25, 30])]
    sbp = np.round(rng.normal(98 + 0.45 * age + 0.6 * (bmi - 26), 13, n)).astype(int)
    dbp = np.round(0.45 * sbp + rng.normal(22, 7, n)).astype(int)
    treated = np.where(rng.random(n) < 1 / (1 + np.exp(-(sbp - 150) / 10)), 1, 0)
    mood = rng.normal(0, 1, n) - 0.3 * ses + 0.25 * woman
    items = {f"phq_{k}": np.clip(np.round(0.7 + 0.75 * mood + rng.normal(0, 0.6, n)), 0, 3).astype(int) for k in range(1, 6)}
    total = sum(items.values())
    health = np.clip(np.round(3.6 - 0.5 * mood - 0.015 * (age - 50) + rng.normal(0, 0.6, n)), 1, 5).astype(int)
    sleep = np.clip(np.round((7.3 - 0.35 * mood + rng.normal(0, 0.9, n)) * 2) / 2, 3, 12)
    glucose = np.round(np.exp(1.65 + 0.012 * (bmi - 26) + rng.normal(0, 0.12, n)), 1)
    triglycerides = np.round(np.exp(0.2 + 0.04 * (bmi - 26) + rng.normal(0, 0.45, n)), 2)
    crp = np.round(np.exp(0.2 + 0.07 * (bmi - 26) + rng.normal(0, 1.0, n)), 2)
    crp[crp < 0.3] = 0.3
    z_score = np.round(rng.normal(-0.03 * (age - 45) + 0.05 * (bmi - 26), 1.0, n), 2)
    calcium = np.where(rng.random(n) < np.clip(0.95 - 0.012 * (age - 20), 0.05, 0.95), 0.0, np.round(rng.lognormal(4.0, 1.4, n)))
    blood = rng.random(n) < 0.12 + 0.1 * (centre == "Porto")
    for column in (glucose, triglycerides, crp):
        column[blood] = np.nan
    z_score[(age < 40) | (rng.random(n) < 0.05)] = np.nan
    pregnancies = np.where(woman, np.minimum(rng.poisson(np.clip((age - 18) / 14, 0, 2.1)), 9), np.nan)
    visit = np.datetime64("2012-01-01") + rng.integers(0, 365 * 3, n)
    dropped = rng.random(n) < 0.15 + 0.1 * (smoking == "current") + 0.1 * (education == 1)
    second = visit + rng.normal(365 * 5, 60, n).round().astype(int)
    change = np.round(rng.standard_t(4, n) * 3 + 1.2 - 0.05 * (age - 50), 1)
    event = np.where(
        rng.random(n) < 1 / (1 + np.exp(-(-6.5 + 0.06 * age + 0.01 * (sbp - 120) + 0.6 * (smoking == "current")))), 1, 0
    )
    cause = np.where(rng.random(n) < 0.6, "heart", np.where(rng.random(n) < 0.7, "stroke", "other")).astype(object)
    cause[event == 0] = None
    frame = pd.DataFrame(
        {
            "participant": np.arange(10_001, 10_001 + n),
            "centre": centre,
            "sex": sex,
            "age": age,
            "education": education,
            "income": income,
            "marital": marital,
            "smoking": smoking,
            "packs_a_day": packs,
            "alcohol": alcohol,
            "activity": activity,
            "height": height,
            "weight": weight,
            "bmi": bmi,
            "bmi_class": bmi_class,
            "sbp": sbp,
            "dbp": dbp,
            "treated": treated,
            **items,
            "phq_sum": total,
            "health": health,
            "sleep": sleep,
            "glucose": glucose,
            "triglycerides": triglycerides,
            "crp": crp,
            "bone_z": z_score,
            "calcium": calcium,
            "pregnancies": pregnancies,
            "visit": days(visit),
            "second_visit": days(np.where(dropped, np.datetime64("NaT"), second)),
            "weight_change": np.where(dropped, np.nan, change),
            "event": event,
            "cause": cause,
        }
    )
    return {"participants": frame}
