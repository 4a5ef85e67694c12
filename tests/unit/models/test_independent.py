"""The independent baseline: noisy histograms made into distributions, and drawn from."""

from __future__ import annotations

import numpy as np
import pytest

from mare.domain import Codes, Domain, Task
from mare.errors import PlanError, ReleaseError
from mare.models import get_model
from mare.models.independent import FittedIndependent, IndependentModel, nonnegative

TASK = Task("t.rows", Domain(("a", "b"), (2, 5)), Domain(("h",), (9,)))


def test_it_is_found_by_name() -> None:
    assert isinstance(get_model("independent"), IndependentModel)


def test_the_workload_is_one_histogram_per_column() -> None:
    work = IndependentModel().workload(TASK)
    assert (work.histograms, work.largest, work.cells) == (2, 5, 7)


def test_norm_subtraction_keeps_the_total_and_leaves_nothing_negative() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        counts = rng.normal(3, 30, 40)
        mended = nonnegative(counts, "norm-sub")
        assert (mended >= 0).all()
        assert mended.sum() == pytest.approx(max(counts.sum(), 0), abs=1e-6)


def test_clipping_adds_mass_and_norm_subtraction_does_not() -> None:
    counts = np.array([100.0, -50.0, -20.0, 10.0])
    assert nonnegative(counts, "clip").tolist() == [100, 0, 0, 10]
    assert nonnegative(counts, "norm-sub").tolist() == [40, 0, 0, 0]


def test_counts_that_drowned_give_the_uniform_distribution() -> None:
    from mare.models.independent import _probabilities

    assert _probabilities(np.array([-5.0, -3.0]), "norm-sub").tolist() == [0.5, 0.5]


def test_samples_follow_the_distribution_and_never_the_impossible() -> None:
    fitted = FittedIndependent({"a": np.array([0.25, 0.75]), "b": np.array([0.0, 0.5, 0.0, 0.5, 0.0])})
    drawn = fitted.sample(Codes(20_000, {}), np.random.default_rng(1))
    assert abs(drawn["a"].mean() - 0.75) < 0.02
    assert set(np.unique(drawn["b"]).tolist()) == {1, 3}


def test_an_unknown_rule_is_refused_before_anything_is_measured() -> None:
    task = Task("t.rows", TASK.columns, TASK.history, {"negatives": "wish"})
    with pytest.raises(PlanError, match=r"negatives is 'wish'; it may be norm-sub or clip"):
        IndependentModel().fit(None, task)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [np.array([0.5, 0.6]), np.array([np.nan, 1.0]), np.array([-0.5, 1.5]), np.array([1.0])])
def test_arrays_that_are_no_distribution_are_refused(bad: np.ndarray) -> None:
    arrays = {"column.a": bad, "column.b": np.full(5, 0.2)}
    with pytest.raises(ReleaseError):
        IndependentModel().load(TASK, arrays)


def test_what_was_fitted_loads_again() -> None:
    fitted = FittedIndependent({"a": np.array([0.25, 0.75]), "b": np.full(5, 0.2)})
    again = IndependentModel().load(TASK, fitted.arrays())
    history = Codes(100, {})
    one, two = fitted.sample(history, np.random.default_rng(0)), again.sample(history, np.random.default_rng(0))
    np.testing.assert_array_equal(one["b"], two["b"])
