"""Cross-tabs of any domain: dense noise and a threshold, without the dense table."""

from __future__ import annotations

from dataclasses import replace
from math import nan

import numpy as np
import pytest
from numpy.typing import NDArray

from mare.domain import Axis, Domain, Marginal
from mare.errors import InternalError, PrivacyError
from mare.privacy.answers.sparse_counts import SparseCounts
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.privacy.curator import Clip, Curator, Gate
from mare.privacy.ledger import Ledger
from mare.privacy.sparse import MOST_PHANTOMS
from mare.privacy.tape import Recorder, Replayer
from tests.unit.privacy.listed_view import DOMAIN, ROWS, ListedView, visits
from tests.views import array_view

WARD, AGE, BOTH = Marginal.of("ward"), Marginal.of("age"), Marginal.of("ward", "age")
PURE, ZCDP = Budget(1.0, delta=0), Budget(1.0, 1e-9)
BUDGETS = [PURE, ZCDP]
GENEROUS = [Budget(4000.0, delta=0), Budget(4000.0, 1e-9)]


def opened(budget: Budget, view: object, seed: int = 1) -> tuple[Curator, Ledger]:
    ledger = Ledger(budget, "one patient")
    return Gate(budget, ledger, SeededBits(seed)).curator(view, 1.0), ledger  # type: ignore[arg-type]


@pytest.mark.parametrize("budget", GENEROUS)
def test_with_next_to_no_noise_the_cells_are_those_that_reach_the_minimum(budget: Budget) -> None:
    curator, _ = opened(budget, visits())
    both, age = curator.counts([BOTH, AGE], 0.5, minimum=2)
    assert (both.cells.tolist(), both.values.tolist(), both.shape) == ([0, 1], [2, 2], (2, 3))
    assert (age.cells.tolist(), age.values.tolist(), age.threshold) == ([0, 1], [2, 3], 2)
    assert [codes.tolist() for codes in both.codes()] == [[0, 0], [0, 1]]
    assert (both.marginal, both.denominator, both.clip) == (BOTH, 1, None)


@pytest.mark.parametrize("budget", GENEROUS)
def test_clipped_cells_are_held_against_the_minimum_in_rows(budget: Budget) -> None:
    curator, _ = opened(budget, visits())
    (both,) = curator.counts([BOTH], 0.5, Clip(2), minimum=1)
    assert both.threshold == both.denominator == 1 << 16
    # entity 1 is scaled: its two rows in cell 0 stay above 1, its single row in cell 5 does not; cell 4 is at 1 but for noise
    assert both.cells.tolist() in ([0, 1], [0, 1, 4])
    assert both.clip == 2.0
    np.testing.assert_allclose(both.rows, both.values / 65536)


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("clip", [None, Clip(1.5)])
def test_sparse_counts_cost_what_dense_ones_do(budget: Budget, clip: Clip | None) -> None:
    curator, ledger = opened(budget, visits())
    (dense, _), (sparse, _) = curator.counts([BOTH, AGE], 0.5, clip), curator.counts([BOTH, AGE], 0.5, clip, minimum=3)
    assert (sparse.scale, sparse.sensitivity, sparse.cost) == (dense.scale, dense.sensitivity, dense.cost)
    assert (sparse.clip, sparse.denominator, sparse.mechanism) == (dense.clip, dense.denominator, dense.mechanism)
    assert sparse.standard_deviation == dense.standard_deviation
    first, second = ledger.charges
    assert second.what.startswith("counts of at least 3 of ward × age; age")
    assert replace(second, what=first.what, total_variation=first.total_variation) == first


@pytest.mark.parametrize("budget", BUDGETS)
def test_phantoms_come_as_often_as_they_should(budget: Budget) -> None:
    empty = array_view([], {"ward": [], "age": []}, Domain.of([("ward", 2**20), ("age", 2**12)]), everyone=[1], cap=2)
    curator, _ = opened(budget, empty)
    (dense,) = curator.counts([AGE], 0.5)
    minimum = int((13 if budget.pure else 4.6) * dense.scale)
    (answer,) = curator.counts([BOTH], 0.5, minimum=minimum)
    assert answer.expected_phantoms > 1000
    assert len(answer.cells) == pytest.approx(answer.expected_phantoms, abs=6 * answer.expected_phantoms**0.5)
    assert answer.values.min() >= minimum
    assert (np.diff(answer.cells) > 0).all()


def test_the_largest_domain_is_answered_and_its_codes_are_read() -> None:
    domain = Domain.of([("ward", 2**31), ("age", 2**32)])
    view = array_view([1, 1, 1, 2], {"ward": [5, 5, 2**31 - 1, 5], "age": [7, 7, 2**32 - 1, 7]}, domain)
    (answer,) = opened(Budget(4000.0, delta=0), view)[0].counts([BOTH], minimum=1)
    assert answer.cells.tolist() == [5 * 2**32 + 7, 2**63 - 1]
    assert [codes.tolist() for codes in answer.codes()] == [[5, 2**31 - 1], [7, 2**32 - 1]]
    alone = replace(answer, shape=(2**63,), marginal=WARD)
    assert [codes.tolist() for codes in alone.codes()] == [answer.cells.tolist()]


def test_a_domain_beyond_all_indices_is_refused() -> None:
    view = replace(visits(), domain=Domain.of([("ward", 2**32), ("age", 2**32)]))
    curator, ledger = opened(ZCDP, view)
    with pytest.raises(PrivacyError, match=r"ward × age has 18,446,744,073,709,551,616 cells; at most 2\^63"):
        curator.counts([WARD, BOTH], minimum=10)
    with pytest.raises(PrivacyError, match=r"Coarsen columns, or measure fewer together\. Nothing was charged"):
        curator.counts([BOTH])
    assert (ledger.charges, curator.remaining) == ((), 1.0)


@pytest.mark.parametrize("minimum", [0, -3, 2.5, nan, True, "3", 2**62])
def test_a_minimum_that_is_none_is_refused(minimum: object) -> None:
    curator, ledger = opened(ZCDP, visits())
    with pytest.raises(PrivacyError, match="minimum cell size"):
        curator.counts([WARD], minimum=minimum)  # type: ignore[call-overload]
    assert (ledger.charges, curator.remaining) == ((), 1.0)


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("clip", [None, Clip(1.5)])
def test_a_flood_of_phantoms_is_refused_with_the_minimum_that_fits(budget: Budget, clip: Clip | None) -> None:
    view = replace(visits(), domain=Domain.of([("ward", 2**20), ("age", 2**14)]))
    for asked in ([BOTH], [BOTH, Marginal((Axis("age", lag=1), Axis("ward")))]):
        curator, ledger = opened(budget, view)
        said = r"minimum=(\d+)"
        with pytest.raises(PrivacyError, match=said) as caught:
            curator.counts(asked, 0.5, clip, minimum=1)
        with pytest.raises(PrivacyError, match=said) as dense:
            curator.counts(asked, 0.5, clip)
        fits = int(str(caught.value).split("minimum=")[1].split()[0])
        assert f"minimum={fits}:" in str(dense.value)
        with pytest.raises(PrivacyError, match=f"minimum={fits}"):
            curator.counts(asked, 0.5, clip, minimum=fits - 1)
        assert f"at most {MOST_PHANTOMS:,}" in str(caught.value)
        assert (ledger.charges, curator.remaining) == ((), 1.0)


def test_asking_nothing_costs_nothing() -> None:
    curator, ledger = opened(ZCDP, visits())
    assert curator.counts([], minimum=3) == []
    assert ledger.charges == ()


def test_a_delta_too_small_for_any_numerical_error_gets_exact_noise() -> None:
    for delta, exact in ((1e-9, False), (1e-60, True)):
        curator, ledger = opened(Budget(1.0, delta), visits())
        curator.counts([BOTH, WARD], minimum=3)
        assert (ledger.charges[0].total_variation == 0) == exact
        assert ledger.totals.delta <= delta


class Doubled(ListedView):
    def sparse_counts(
        self, marginal: Marginal, weights: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        cells, counts = super().sparse_counts(marginal, weights)
        return cells, 2 * counts


@pytest.mark.parametrize("clip", [None, Clip(1.5)])
def test_a_row_that_counts_twice_is_a_bug_and_does_not_leave(clip: Clip | None) -> None:
    with pytest.raises(InternalError, match="counted twice"):
        opened(ZCDP, Doubled(ROWS, 4, DOMAIN, 3))[0].counts([BOTH], 1.0, clip, minimum=3)


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_tape_replays_listed_cells(budget: Budget) -> None:
    recorder = Recorder()

    def ask(view: ListedView, tape: Recorder | Replayer) -> list[SparseCounts]:
        return (
            Gate(budget, Ledger(budget, "one patient"), SeededBits(1), tape)
            .curator(view, 1.0)
            .counts([BOTH, AGE], 1.0, Clip(1.2), minimum=1)
        )

    first = ask(visits(), recorder)
    for gone in (1, 2, 3, 4):
        replayer = Replayer(recorder.record)
        second = ask(visits().without(gone), replayer)
        replayer.finish()
        for one, two in zip(first, second, strict=True):
            assert (one.cells.tolist(), one.values.tolist()) == (two.cells.tolist(), two.values.tolist())
