"""People for tests of risk and utility, column by column. Needs NumPy alone: other packages are asked about the same people."""

from __future__ import annotations

import numpy as np


def drawn_people(n: int, seed: int) -> dict[str, np.ndarray]:
    """Six columns that have something to do with each other; nobody is alike. Floats are numbers, whole numbers categories."""
    rng = np.random.default_rng(seed)
    age = rng.normal(60, 12, n)
    ill = (rng.random(n) < 1 / (1 + np.exp(-(age - 60) / 6))).astype(np.int64)
    weight = rng.normal(75, 12, n) + 8 * ill
    return {
        "age": age,
        "sex": rng.integers(0, 2, n),
        "ill": ill,
        "weight": weight,
        "city": rng.integers(0, 8, n),
        "visits": rng.poisson(3 + 2 * ill) * 1.0,
    }
