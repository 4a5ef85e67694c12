"""Columns that say the same of different keys: which drugs a cycle has, one column a drug."""

from __future__ import annotations

import numpy as np
import pytest

from mare.domain import Domain, Task
from mare.models import settle_options
from mare.models.privbayes import PrivBayesModel
from mare.models.privbayes.fitted import FittedPrivBayes
from mare.privacy.budget import Budget
from tests.unit.models.test_contract import curator_over
from tests.views import ArrayView, array_view

PEOPLE, CYCLES, DRUGS = 1500, 5, 12
COLUMNS = Domain.of([(f"exists(drug)#{drug}", 2) for drug in range(DRUGS)])
OTHERS = Domain.of([(f"other{place}", 4) for place in range(10)])
BEFORE = {f"before.{name}": (name, 1) for name in COLUMNS}
HISTORY = Domain.of([("regimen", 9)]).merge(OTHERS).merge(Domain.of([(name, 3) for name in BEFORE]))


def cycles() -> ArrayView:
    """The regimen of a person says which drugs all cycles have, and nothing else does; the cycle before has the same, where there
    is one."""
    rng = np.random.default_rng(3)
    regimen = np.repeat(rng.integers(0, 9, PEOPLE), CYCLES)
    first = np.tile(np.arange(CYCLES) == 0, PEOPLE)
    drugs = {name: ((regimen == drug % 9) | (regimen == (drug + 4) % 9)).astype(int) for drug, name in enumerate(COLUMNS)}
    before = {lag: np.where(first, 2, drugs[name]) for lag, (name, _) in BEFORE.items()}
    others = {name: rng.integers(0, 4, PEOPLE * CYCLES) for name in OTHERS}
    people, order = np.repeat(np.arange(PEOPLE), CYCLES), np.tile(np.arange(CYCLES), PEOPLE)
    return array_view(people, {"regimen": regimen, **others, **before, **drugs}, HISTORY.merge(COLUMNS), order=order, cap=CYCLES)


@pytest.mark.parametrize("alike", [True, False])
def test_what_all_of_them_depend_on_is_chosen_for_all_at_once(alike: bool) -> None:
    """Each is too rare to show it alone. (ε = 3, seeded noise: of ten seeds all gave every drug its regimen where they are alike,
    and one of ten did where each is on its own.)"""
    task = Task(
        "prescriptions.context",
        COLUMNS,
        HISTORY,
        settle_options(PrivBayesModel(), {}),
        lags=BEFORE,
        told_by=dict.fromkeys((*COLUMNS, *HISTORY), float(PEOPLE * CYCLES)),
        alike=(COLUMNS.names,) if alike else (),
    )
    curator, _ = curator_over(cycles(), Budget(3.0, 1e-9))
    model = PrivBayesModel().fit(curator, task)
    assert isinstance(model, FittedPrivBayes)
    with_regimen = [family.column for family in model.families if "regimen" in {axis.column for axis in family.parents}]
    assert (len(with_regimen) == DRUGS) == alike
