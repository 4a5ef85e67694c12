"""How clear a model's tables are: kept with its arrays, the same after loading, refused where damaged."""

from __future__ import annotations

import numpy as np
import pytest

from mare.errors import ReleaseError
from mare.models import get_model
from mare.models.clarity import PREFIX
from mare.privacy.budget import Budget
from tests.unit.models.test_contract import curator_over, visits
from tests.unit.models.test_privbayes import task


@pytest.mark.parametrize("name", ["privbayes", "independent"])
def test_it_survives_saving(name: str) -> None:
    model, asked = get_model(name), task() if name == "privbayes" else task_of_independent()
    fitted = model.fit(curator_over(visits(500), Budget(5.0, 1e-9))[0], asked)
    loaded = model.load(asked, fitted.arrays())
    ours, theirs = fitted.clarity, loaded.clarity  # type: ignore[attr-defined]
    assert set(ours.margins) == set(asked.columns) == set(theirs.margins)
    for column, margin in ours.margins.items():
        again = theirs.margins[column]
        assert margin.fractions.sum() == pytest.approx(1.0)
        assert (margin.fractions == again.fractions).all()
        assert (margin.deviation, margin.rows) == (again.deviation, again.rows)
    assert ours.tables == theirs.tables


def test_less_budget_is_less_clear() -> None:
    def deviations(epsilon: float) -> list[float]:
        fitted = get_model("privbayes").fit(curator_over(visits(500), Budget(epsilon, 1e-9))[0], task())
        return [margin.deviation for margin in fitted.clarity.margins.values()]  # type: ignore[attr-defined]

    assert max(deviations(50.0)) < min(deviations(1.0))


@pytest.mark.parametrize("kind", ["margin", "table"])
def test_what_is_damaged_is_refused(kind: str) -> None:
    model = get_model("privbayes")
    arrays = dict(model.fit(curator_over(visits(500), Budget(5.0, 1e-9))[0], task()).arrays())
    for name in [name for name in arrays if name.startswith(f"{PREFIX}{kind}")]:
        arrays[name] = np.full(3, -7.0)
    with pytest.raises(ReleaseError, match="noise"):
        model.load(task(), arrays)


def task_of_independent():  # type: ignore[no-untyped-def]
    from dataclasses import replace

    from mare.models import settle_options

    return replace(task(), options=settle_options(get_model("independent"), {}))
