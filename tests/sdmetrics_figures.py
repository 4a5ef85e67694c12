"""What SDMetrics says of two clinics, by the package itself. It asks for an older pandas than mare's tests run with, so it is no
dependency: its figures are kept in a file, made where it is installed, and made anew wherever it is found.

    python -m tests.sdmetrics_figures > tests/fixtures/sdmetrics.json
"""

from __future__ import annotations

import json
from typing import Any

import pandas as pd

from tests.clinic import Frames, clinic


def clinics() -> tuple[Frames, Frames]:
    """The real one; and another with values that the real one lacks, a repeated key and stays of nobody."""
    real, made = clinic(200, 1), clinic(180, 2)
    people, stays = made["patients"].copy(), made["stays"].copy()
    people.loc[:5, "age"] = 99
    people.loc[10:12, "sex"] = "X"
    people.loc[20, "pid"] = people.loc[21, "pid"]
    stays.loc[:9, "pid"] = 10_000
    return real, {**made, "patients": people, "stays": stays}


def figures(real: Frames, made: Frames) -> dict[str, float]:
    """By SDMetrics. Needs the package."""
    from sdmetrics.column_pairs import CorrelationSimilarity, ReferentialIntegrity
    from sdmetrics.multi_table import CardinalityShapeSimilarity
    from sdmetrics.single_column import (
        BoundaryAdherence,
        CategoryAdherence,
        KeyUniqueness,
        KSComplement,
        TVComplement,
    )

    people, others = real["patients"], made["patients"]
    found: dict[str, Any] = {f"shape {c}": KSComplement.compute(people[c], others[c]) for c in ("age", "weight")}
    found["shape begins"] = KSComplement.compute(real["stays"]["begins"], made["stays"]["begins"])
    found["shape sex"] = TVComplement.compute(people["sex"], others["sex"])
    found["shape ward"] = TVComplement.compute(real["stays"]["ward"].dropna(), made["stays"]["ward"].dropna())
    both = ["age", "weight"]
    found["correlation"] = CorrelationSimilarity.compute(people[both], others[both])
    found["boundary age"] = BoundaryAdherence.compute(people["age"], others["age"])
    found["category sex"] = CategoryAdherence.compute(people["sex"], others["sex"])
    found["key pid"] = KeyUniqueness.compute(people["pid"], others["pid"])
    keys, foreign = (real["patients"]["pid"], real["stays"]["pid"]), (made["patients"]["pid"], made["stays"]["pid"])
    found["references"] = ReferentialIntegrity.compute(keys, foreign)
    found["cardinality"] = CardinalityShapeSimilarity.compute(_owned(real), _owned(made), _METADATA)
    return {name: float(value) for name, value in found.items()}


def _owned(frames: Frames) -> dict[str, pd.DataFrame]:
    """With keys that tell: the package counts the children of a repeated key for all that have it."""
    people = frames["patients"].drop_duplicates("pid")
    return {"patients": people, "stays": frames["stays"]}


_METADATA = {
    "tables": {
        "patients": {"primary_key": "pid", "columns": {"pid": {"sdtype": "id"}}},
        "stays": {"primary_key": "sid", "columns": {"sid": {"sdtype": "id"}, "pid": {"sdtype": "id"}}},
    },
    "relationships": [
        {
            "parent_table_name": "patients",
            "child_table_name": "stays",
            "parent_primary_key": "pid",
            "child_foreign_key": "pid",
        }
    ],
}

if __name__ == "__main__":
    print(json.dumps(figures(*clinics()), indent=1))
