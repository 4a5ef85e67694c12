"""What anonymeter says of a few hundred people and their copies, by the package itself. It asks for a NumPy before 2, which
mare's tests do not run with, so it is no dependency: its figures are kept in a file, made where it is installed:

    python3 -m venv elsewhere && elsewhere/bin/pip install anonymeter
    elsewhere/bin/python -m tests.anonymeter_figures > tests/fixtures/anonymeter.json
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from tests.drawn_people import drawn_people

Columns = dict[str, np.ndarray]
COPIED = {"a fifth are copies": 80, "nobody is a copy": 0}
PEOPLE, STATEMENTS, NEIGHBOURS = 400, 200, 3
HALVES = (["age", "sex", "ill"], ["weight", "city", "visits"])
SECRETS = {"city": False, "weight": True, "ill": False, "visits": True}
"""Which columns are inferred, and whether they are numbers."""
DRAWS = 20
"""Statements are drawn at random, so what is kept of them is the mean of so many evaluations."""


def sides(copied: int) -> tuple[Columns, Columns, Columns]:
    """Real people, synthetic ones of which so many are copies, and people who were not in the data."""
    real, others = drawn_people(PEOPLE, 1), drawn_people(PEOPLE - copied, 3)
    made = {name: np.concatenate([real[name][:copied], others[name]]) for name in real}
    return real, made, drawn_people(PEOPLE, 2)


def frame(columns: Columns) -> pd.DataFrame:
    """Categories as words: the package takes whole numbers for numbers."""
    words = {name: column for name, column in columns.items() if column.dtype.kind == "f"}
    codes = {name: np.array([f"v{code}" for code in columns[name]], object) for name in columns if name not in words}
    return pd.DataFrame({name: words.get(name, codes.get(name)) for name in columns})


def figures(copied: int) -> Iterator[tuple[str, dict[str, float]]]:
    """By anonymeter. Needs the package."""
    from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator

    ori, syn, control = (frame(columns) for columns in sides(copied))
    linked = LinkabilityEvaluator(ori, syn, HALVES, n_attacks=PEOPLE, n_neighbors=NEIGHBOURS, control=control)
    yield "linkability", told(linked.evaluate(n_jobs=1).results())
    for secret, is_number in SECRETS.items():
        known = [name for name in ori.columns if name != secret]
        inferred = InferenceEvaluator(ori, syn, known, secret, regression=is_number, n_attacks=PEOPLE, control=control)
        yield f"inference of {secret}", told(inferred.evaluate(n_jobs=1).results())
    for columns in (1, 3):
        drawn = []
        for seed in range(DRAWS):
            singled = SinglingOutEvaluator(ori, syn, n_attacks=STATEMENTS, n_cols=columns, control=control, seed=seed)
            drawn.append(told(singled.evaluate(mode="univariate" if columns == 1 else "multivariate").results()))
        yield f"singling out by {columns}", {name: float(np.mean([each[name] for each in drawn])) for name in drawn[0]}


def told(results: Any) -> dict[str, float]:
    """Rates as shares with the half-width of their interval, and the risk beyond people who were not in the data."""
    rates: Mapping[str, Any] = {"success": results.attack_rate, "control": results.control_rate}
    held = {name: float(rate.value) for name, rate in rates.items()}
    held |= {f"{name}, error": float(rate.error) for name, rate in rates.items()}
    risk = results.risk()
    return held | {"risk": float(risk.value), "risk, lower": float(risk.ci[0]), "risk, upper": float(risk.ci[1])}


if __name__ == "__main__":
    from importlib.metadata import version

    warnings.simplefilter("ignore")
    found = {world: dict(figures(copied)) for world, copied in COPIED.items()}
    print(json.dumps({"made with": f"anonymeter {version('anonymeter')}", **found}, indent=1))
