"""The plug-in contract, over every model that is installed: a third party's model can be put to the same tests."""

from __future__ import annotations

import numpy as np
import pytest

from mare.domain import Codes, Domain, Task
from mare.models import TabularModel, get_model, model_names, settle_options
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.privacy.curator import Curator, Gate
from mare.privacy.ledger import Ledger
from tests.views import ArrayView, array_view

COLUMNS = Domain(("unit", "urgent"), (5, 2))
HISTORY = Domain(("sex", "visits.unit[-1]"), (2, 6))
LAGS = {"visits.unit[-1]": ("unit", 1)}
PURE, APPROXIMATE = Budget(50.0, delta=0), Budget(50.0, 1e-9)


def visits(entities: int = 800, seed: int = 3) -> ArrayView:
    """One to four visits a person; the unit sticks, urgency follows it, and both follow nothing else."""
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(entities), rng.integers(1, 5, entities))
    first = np.r_[True, owner[1:] != owner[:-1]] if len(owner) else np.zeros(0, dtype=bool)
    unit, previous = np.zeros(len(owner), dtype=np.uint8), np.full(len(owner), 5, dtype=np.uint8)
    for row in range(len(owner)):
        if not first[row]:
            previous[row] = unit[row - 1]
        fresh = first[row] or rng.random() > 0.8
        unit[row] = rng.integers(0, 5) if fresh else unit[row - 1]
    urgent = (rng.random(len(owner)) < 0.15 + 0.7 * (unit >= 3)).astype(np.uint8)
    sex = rng.integers(0, 2, entities).astype(np.uint8)[owner]
    columns = {"unit": unit, "urgent": urgent, "sex": sex, "visits.unit[-1]": previous}
    return array_view(owner, columns, HISTORY.merge(COLUMNS), order=np.arange(len(owner)), everyone=np.arange(entities), cap=4)


def task_for(model: TabularModel) -> Task:
    return Task("visits.rows", COLUMNS, HISTORY, settle_options(model, {}), LAGS)


def curator_over(view: ArrayView, budget: Budget, seed: int = 1) -> tuple[Curator, Ledger]:
    ledger = Ledger(budget, "one person")
    return Gate(budget, ledger, SeededBits(seed)).curator(view, 1.0), ledger


def history(rows: int) -> Codes:
    rng = np.random.default_rng(0)
    codes = {name: rng.integers(0, size, rows).astype(np.uint8) for name, size in zip(HISTORY.names, HISTORY.sizes, strict=True)}
    return Codes(rows, codes)


@pytest.fixture(params=model_names())
def model(request: pytest.FixtureRequest) -> TabularModel:
    return get_model(request.param)


@pytest.mark.parametrize("budget", [PURE, APPROXIMATE], ids=["pure", "approximate"])
def test_it_spends_what_it_was_given_and_no_more(model: TabularModel, budget: Budget) -> None:
    curator, ledger = curator_over(visits(), budget)
    model.fit(curator, task_for(model))
    assert 0 <= curator.remaining < 0.05
    assert ledger.totals.epsilon <= budget.epsilon


def test_it_draws_one_row_per_row_of_history_within_its_domains(model: TabularModel) -> None:
    fitted = model.fit(curator_over(visits(), APPROXIMATE)[0], task_for(model))
    drawn = fitted.sample(history(1000), np.random.default_rng(5))
    assert set(drawn.columns) == set(COLUMNS.names)
    for name, size in zip(COLUMNS.names, COLUMNS.sizes, strict=True):
        assert drawn[name].dtype == np.uint8
        assert drawn[name].max() < size


def test_the_same_stream_draws_the_same_rows(model: TabularModel) -> None:
    fitted = model.fit(curator_over(visits(), APPROXIMATE)[0], task_for(model))
    one, two = (fitted.sample(history(200), np.random.default_rng(5)) for _ in range(2))
    assert all((one[name] == two[name]).all() for name in COLUMNS)


def test_it_comes_back_from_its_arrays(model: TabularModel) -> None:
    fitted = model.fit(curator_over(visits(), APPROXIMATE)[0], task_for(model))
    arrays = fitted.arrays()
    assert all(not values.dtype.hasobject for values in arrays.values())
    back = model.load(task_for(model), arrays)
    drawn = [m.sample(history(5000), np.random.default_rng(5)) for m in (fitted, back)]
    # arrays may be stored in single precision: a draw in a thousand may fall on the other side of a step
    assert all((drawn[0][name] != drawn[1][name]).mean() < 1e-3 for name in COLUMNS)


def test_a_view_without_rows_is_fitted_too(model: TabularModel) -> None:
    nobody = np.zeros(0, dtype=np.int64)
    columns = {name: nobody.astype(np.uint8) for name in (*HISTORY.names, *COLUMNS.names)}
    empty = array_view(nobody, columns, HISTORY.merge(COLUMNS), order=nobody, everyone=np.arange(10), cap=4)
    fitted = model.fit(curator_over(empty, APPROXIMATE)[0], task_for(model))
    assert fitted.sample(history(50), np.random.default_rng(1)).rows == 50


def test_no_rows_of_history_give_no_rows(model: TabularModel) -> None:
    fitted = model.fit(curator_over(visits(), APPROXIMATE)[0], task_for(model))
    assert fitted.sample(history(0), np.random.default_rng(1)).rows == 0


def test_its_workload_comes_from_the_domains(model: TabularModel) -> None:
    work = model.workload(task_for(model))
    assert work.histograms >= 1
    assert max(COLUMNS.sizes) <= work.largest <= work.cells


def test_it_says_what_it_is(model: TabularModel) -> None:
    assert model.name in model_names()
    assert model.summary.endswith(".")
