"""One factor per entity for all tables of a call: exact, rounded down, public in what it promises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import inf, nan, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from mare.domain import Axis, Domain, Marginal
from mare.errors import InternalError, PrivacyError
from mare.privacy.answers.clipping import FEWEST_BITS, MOST_BITS, Limit
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.privacy.conversion import rho_from_budget
from mare.privacy.curator import ChosenClip, Clip, Curator, Gate
from mare.privacy.gaussian import LARGEST_SIGMA
from mare.privacy.ledger import Ledger
from mare.privacy.tape import Recorder, Replayer
from tests.unit.privacy.listed_view import DOMAIN, ROWS, ListedView, visits
from tests.views import ArrayView, array_view

WARD, AGE, BOTH = Marginal.of("ward"), Marginal.of("age"), Marginal.of("ward", "age")
PURE, ZCDP = Budget(1.0, delta=0), Budget(1.0, 1e-9)
BUDGETS = [PURE, ZCDP]


def opened(budget: Budget, view: ListedView | ArrayView, tape: Recorder | None = None) -> tuple[Curator, Ledger]:
    ledger = Ledger(budget, "one patient")
    return Gate(budget, ledger, SeededBits(1), tape).curator(view, 1.0), ledger


def test_the_noise_follows_the_clip_and_not_the_cap() -> None:
    curator, ledger = opened(ZCDP, visits(cap=100))
    capped, clipped = curator.counts([WARD, AGE], 0.5), curator.counts([WARD, AGE], 0.5, Clip(2))
    assert clipped[0].rows_deviation == pytest.approx(capped[0].rows_deviation / 50)
    first, second = ledger.charges
    assert (first.clip, first.sensitivity) == (None, pytest.approx(100 * sqrt(2)))
    assert (second.clip, second.sensitivity) == (2.0, pytest.approx(2 * sqrt(2)))
    assert second.scale == pytest.approx(2 * sqrt(2) / sqrt(2 * second.cost))
    assert second.cost == pytest.approx(rho_from_budget(ZCDP) / 2)


@pytest.mark.parametrize(("k", "budget"), [(1, PURE), (3, PURE), (1, ZCDP), (3, ZCDP)])
def test_a_charge_pays_for_the_clip_to_the_last_unit(k: int, budget: Budget) -> None:
    recorder = Recorder()
    curator, ledger = opened(budget, visits(), recorder)
    answers = curator.counts([WARD, AGE, BOTH][:k], 1.0, Clip(1.7))
    (charge,), (entry,) = ledger.charges, recorder.record.entries
    unit = answers[0].denominator
    assert unit == entry.query.denominator == 1 << MOST_BITS
    exact = Fraction(1.7) ** 2 * (k * k if budget.pure else k) * unit**2
    assert exact - 2 * k * k * 1.7 * unit <= entry.query.sensitivity_squared <= exact
    assert Fraction(entry.query.sensitivity) ** 2 >= entry.query.sensitivity_squared
    assert (charge.sensitivity, charge.scale) == (entry.query.sensitivity / unit, entry.query.scale / unit)
    assert entry.query.clip == charge.clip == answers[0].clip == 1.7
    for answer in answers:
        assert (answer.scale, answer.sensitivity, answer.cost) == (entry.query.scale, entry.query.sensitivity, charge.cost)


def test_the_ledger_says_how_far_entities_were_scaled_down() -> None:
    curator, ledger = opened(ZCDP, visits())
    curator.counts([WARD], 1.0, Clip(1.625))
    assert ledger.charges[0].clip == 1.625
    assert "1.625" in ledger.render(full=True)
    assert Ledger.from_json(ledger.to_json()).charges == ledger.charges


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_clip_beyond_the_cap_is_the_cap(budget: Budget) -> None:
    curator, ledger = opened(budget, visits())
    curator.counts([WARD, BOTH], 0.5)
    curator.counts([WARD, BOTH], 0.5, Clip(1e9))
    capped, clipped = ledger.charges
    assert clipped.clip == 3.0
    assert clipped.sensitivity == pytest.approx(capped.sensitivity, rel=1e-12)
    assert clipped.scale == pytest.approx(capped.scale, rel=1e-12)


@pytest.mark.parametrize("budget", BUDGETS)
def test_at_the_cap_nobody_is_scaled(budget: Budget) -> None:
    recorder = Recorder()
    curator, _ = opened(budget, visits(), recorder)
    curator.counts([BOTH], 1.0, Clip(3))
    (exact,) = recorder.record.entries[0].exact
    assert (exact >> MOST_BITS).tolist() == [[2, 2, 0], [0, 1, 1]]
    assert not (exact & ((1 << MOST_BITS) - 1)).any()


def test_an_entity_is_scaled_by_its_norm_over_all_tables() -> None:
    """Entity 1 of `visits`: ward [2, 1], ward × age [2 in one cell, 1 in another], so Σ‖h‖² = 5 + 5; the others fit."""
    recorder = Recorder()
    curator, _ = opened(ZCDP, visits(), recorder)
    curator.counts([WARD, BOTH], 1.0, Clip(2))
    ward, _ = recorder.record.entries[0].exact
    factor = sqrt(4 * 2 / 10)
    np.testing.assert_allclose(ward / 2**MOST_BITS, [2 * factor + 2, factor + 1], atol=2 * 2**-MOST_BITS)
    assert (ward / 2**MOST_BITS <= [2 * factor + 2, factor + 1]).all()


def test_under_pure_epsilon_an_entity_is_scaled_by_its_rows() -> None:
    recorder = Recorder()
    curator, _ = opened(PURE, visits(), recorder)
    curator.counts([WARD, BOTH], 1.0, Clip(2))
    ward, _ = recorder.record.entries[0].exact
    factor = (2 << MOST_BITS) // 3
    assert ward.tolist() == [2 * factor + (2 << MOST_BITS), factor + (1 << MOST_BITS)]


def halves() -> ArrayView:
    """Privacy.md's counter-example: half the patients with one row (A = 0), half with nine (A = 1, nine distinct B)."""
    entity, a, b = [], [], []
    for patient in range(100):
        rows = 1 if patient % 2 else 9
        entity += [patient] * rows
        a += [int(rows == 9)] * rows
        b += list(range(rows))
    return array_view(entity, {"a": a, "b": b}, Domain.of([("a", 2), ("b", 9)]), cap=9)


def share_of_one(table: NDArray[np.int64]) -> float:
    return float(table[1].sum() / table.sum())


def test_one_factor_for_all_tables_keeps_them_in_agreement_where_a_clip_each_does_not() -> None:
    one, two = Marginal.of("a"), Marginal.of("a", "b")
    recorder = Recorder()
    curator, _ = opened(ZCDP, halves(), recorder)
    curator.counts([one], 0.3, Clip(3))
    curator.counts([two], 0.3, Clip(3))
    curator.counts([one, two], 0.4, Clip(3))
    alone, pair, together = (entry.exact for entry in recorder.record.entries)
    assert share_of_one(pair[0]) == pytest.approx(0.90, abs=1e-4)  # the truth: nobody is cut
    assert share_of_one(alone[0]) == pytest.approx(0.75, abs=1e-4)  # a heavy patient has norm 9 in one cell
    np.testing.assert_array_equal(together[0], together[1].sum(axis=1))
    assert share_of_one(together[0]) == pytest.approx(share_of_one(together[1]), abs=0) == pytest.approx(0.80, abs=0.01)


def test_the_mass_of_every_table_is_the_same() -> None:
    recorder = Recorder()
    curator, _ = opened(ZCDP, visits(), recorder)
    curator.counts([WARD, AGE, BOTH, Marginal.of()], 1.0, Clip(1.3))
    assert len({int(table.sum()) for table in recorder.record.entries[0].exact}) == 1


def test_answers_in_units_are_told_in_rows_too() -> None:
    curator, _ = opened(Budget(4000.0, 1e-9), visits())
    (answer,) = curator.counts([BOTH], 1.0, Clip(3))
    np.testing.assert_allclose(answer.rows, [[2, 2, 0], [0, 1, 1]], atol=0.5)
    assert answer.rows_deviation == answer.standard_deviation / answer.denominator
    np.testing.assert_array_equal(answer.rows * answer.denominator, answer.values)


@pytest.mark.parametrize("bound", [0, -1, nan, inf, True, "3", None])
def test_a_clip_that_is_none_is_refused(bound: object) -> None:
    with pytest.raises(PrivacyError, match="is not one: it must be a finite number above 0"):
        Clip(bound)  # type: ignore[arg-type]


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize(("clip", "said"), [(Clip(1e-9), "too small to keep anything"), (3.0, "is no clip")])
def test_a_clip_that_cannot_be_used_charges_nothing(budget: Budget, clip: object, said: str) -> None:
    curator, ledger = opened(budget, visits())
    with pytest.raises(PrivacyError, match=said):
        curator.counts([WARD], 1.0, clip)  # type: ignore[arg-type]
    assert (ledger.charges, curator.remaining) == ((), 1.0)


def test_where_noise_is_large_factors_have_fewer_bits() -> None:
    curator, _ = opened(Budget(1e-3, 1e-9), visits())
    (answer,) = curator.counts([WARD], 0.001, Clip(2))
    assert answer.scale <= LARGEST_SIGMA
    assert 1 << FEWEST_BITS <= answer.denominator < 1 << MOST_BITS
    assert answer.rows_deviation > LARGEST_SIGMA / (1 << MOST_BITS)
    with pytest.raises(PrivacyError, match="scale of the discrete gaussian noise"):
        opened(Budget(1e-9, 1e-9), visits())[0].counts([WARD], 1e-6, Clip(2))


def test_a_clip_in_l2_needs_norms() -> None:
    with pytest.raises(InternalError, match="norms are missing"):
        Limit(2.0, 1, False, 16).weights(np.array([1]), None)


class Contradicted(ListedView):
    norms: NDArray[np.int64]

    def squared_norms(self, marginals: Sequence[Marginal]) -> NDArray[np.int64]:
        return self.norms


@pytest.mark.parametrize(
    "norms",
    [
        np.array([1, 1, 2, 0]),  # three rows have a norm of at least √3
        np.array([10, 1, 2, 0]),  # and of at most 3
        np.array([5, 1, 2]),
        np.array([5.0, 1.0, 2.0, 0.0]),
    ],
    ids=["low", "high", "short", "float"],
)
def test_norms_that_cannot_be_do_not_set_a_factor(norms: NDArray[np.int64]) -> None:
    view = Contradicted(ROWS, 4, DOMAIN, 3)
    object.__setattr__(view, "norms", norms)
    with pytest.raises(InternalError, match="contradict"):
        opened(ZCDP, view)[0].counts([WARD], 1.0, Clip(2))


class Uncounted(ListedView):
    answered: NDArray[np.int64]

    def largest_entity(self) -> int:
        return 3

    def rows_per_entity(self) -> NDArray[np.int64]:
        return self.answered


@pytest.mark.parametrize(
    "rows", [np.array([3.0, 1.0]), np.array([[3, 1]]), np.array([3, -1])], ids=["float", "matrix", "negative"]
)
def test_row_counts_that_cannot_be_are_not_used(rows: NDArray[np.int64]) -> None:
    view = Uncounted(ROWS, 4, DOMAIN, 3)
    object.__setattr__(view, "answered", rows)
    with pytest.raises(InternalError, match="no counts"):
        opened(ZCDP, view)[0].counts([WARD], 1.0, Clip(2))


def wards(patients: int, rows: int) -> ArrayView:
    """So many patients with so many rows each in one ward, and as many with a single row."""
    entity = [p for p in range(patients) for _ in range(rows)] + list(range(patients, 2 * patients))
    return array_view(entity, {"ward": [0] * len(entity), "age": [0] * len(entity)}, DOMAIN, cap=64)


@pytest.mark.parametrize("budget", [Budget(2.0, delta=0), Budget(2.0, 1e-9)])
def test_a_clip_is_chosen_by_how_many_it_cuts(budget: Budget) -> None:
    curator, ledger = opened(budget, wards(2000, 5))
    (none, *_), (half, *_) = (curator.counts([WARD, BOTH], 0.4, Clip.chosen(above=k, portion=0.25)) for k in (0, 2000))
    assert none.clip in (2**2.5, 8.0, 2**3.5, 16.0, 2**4.5, 32.0, 2**5.5, 64.0)  # nobody is above 5
    assert half.clip in (1.0, 2**0.5, 2.0, 2**1.5, 4.0)
    choice, counts, *_ = ledger.charges
    assert (choice.mechanism, choice.sensitivity) == ("exponential choice", 1.0)
    assert counts.clip == none.clip
    assert choice.cost / (choice.cost + counts.cost) == pytest.approx(0.25)
    assert curator.remaining == pytest.approx(0.2)


@pytest.mark.parametrize("budget", [Budget(2.0, delta=0), Budget(2.0, 1e-9)])
def test_where_nothing_is_said_noise_and_bias_are_balanced(budget: Budget) -> None:
    hundred = Domain.of([("ward", 100), ("age", 3)])
    few, many = (
        opened(budget, replace(wards(patients, 50), domain=hundred))[0].counts([WARD], 1.0, Clip.chosen())[0].clip
        for patients in (300, 30_000)
    )
    assert few is not None
    assert few < 50  # the noise of a wide clip would drown three hundred
    assert many == 64.0  # and is nothing among thirty thousand


def test_a_choice_that_knows_nothing_seldom_takes_a_wide_clip() -> None:
    """Thirteen bounds, and a share that tells none of them from another. All alike, 64 would come in one call of thirteen, and 4
    or more in nine. By C^-2 it is one of sixteen for 4 or more: 30 of 120 have a chance below 10^-9, and the noise is seeded."""
    curator, _ = opened(ZCDP, wards(50, 5))
    clips = [curator.counts([WARD], 1e-6, Clip.chosen(portion=0.04))[0].clip or 0.0 for _ in range(120)]
    assert sum(clip >= 4 for clip in clips) < 30
    assert sum(clip == 64 for clip in clips) < 6
    assert len(set(clips)) > 2  # it is a choice still


def test_one_huge_table_does_not_cut_the_entities_of_the_others() -> None:
    view = replace(wards(3000, 50), domain=Domain.of([("ward", 40), ("age", 3)]))
    small, large = Marginal((Axis("age"),)), Marginal((Axis("ward"), Axis("age"), Axis("ward", lag=1), Axis("age", lag=1)))

    def clip(*marginals: Marginal) -> float | None:
        return opened(ZCDP, view)[0].counts(marginals, 1.0, Clip.chosen())[0].clip

    assert clip(small, Marginal((Axis("age"), Axis("age", lag=1))), large) == 64.0
    assert clip(large) != 64.0


def test_the_norms_that_a_clip_is_chosen_by_are_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    work_out = ListedView.squared_norms

    def counted(view: ListedView, marginals: Sequence[Marginal]) -> NDArray[np.int64]:
        asked.append(len(marginals))
        return work_out(view, marginals)

    monkeypatch.setattr(ListedView, "squared_norms", counted)
    curator, _ = opened(ZCDP, visits())
    curator.counts([WARD, BOTH], 0.4, Clip.chosen())
    curator.counts([WARD], 0.4, Clip.chosen())
    assert asked == [2, 1]
    curator.counts([WARD], 0.1, Clip(2.0))
    assert asked == [2, 1, 1]


def test_one_entity_does_not_show_through_a_chosen_clip() -> None:
    view = wards(6, 5)
    for budget in BUDGETS:
        recorder = Recorder()
        opened(budget, view, recorder)[0].counts([WARD, BOTH], 1.0, Clip.chosen(above=3))
        for gone in (0, 11):
            replayer = Replayer(recorder.record)
            ledger = Ledger(budget, "one patient")
            Gate(budget, ledger, SeededBits(2), replayer).curator(view.without(gone), 1.0).counts(
                [WARD, BOTH], 1.0, Clip.chosen(above=3)
            )
            replayer.finish()


@pytest.mark.parametrize(
    ("clip", "said"),
    [
        ({"grid": ()}, "grid"),
        ({"grid": (1.0, nan)}, "grid"),
        ({"above": -1}, "should be cut"),
        ({"above": inf}, "should be cut"),
        ({"portion": 0}, "portion"),
        ({"portion": 1}, "portion"),
        ({"bias": 0.0}, "bias"),
    ],
)
def test_a_choice_of_clips_that_is_none_is_refused(clip: dict[str, object], said: str) -> None:
    with pytest.raises(PrivacyError, match=said):
        Clip.chosen(**clip)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("asked", "share", "clip"),
    [
        ([WARD], 1.0, Clip.chosen([1e-9, 2])),
        ([WARD], 1.1, Clip.chosen()),
        ([WARD], 1.0, Clip.chosen(portion=5e-324)),
        ([Marginal.of("sex")], 1.0, Clip.chosen()),
    ],
    ids=["grid", "share", "portion", "column"],
)
def test_no_clip_is_chosen_for_what_cannot_be_answered(asked: list[Marginal], share: float, clip: ChosenClip) -> None:
    for budget in BUDGETS:
        curator, ledger = opened(budget, visits())
        with pytest.raises(PrivacyError):
            curator.counts(asked, share, clip)
        assert (ledger.charges, curator.remaining) == ((), 1.0)


def test_a_chosen_clip_is_not_paid_for_for_too_many_cells() -> None:
    wide = array_view([1], {"ward": [0], "age": [0]}, Domain.of([("ward", 2**20), ("age", 2**14)]), cap=64)
    curator, ledger = opened(ZCDP, wide)
    with pytest.raises(PrivacyError, match="are answered at once"):
        curator.counts([BOTH], 1.0, Clip.chosen())
    assert (ledger.charges, curator.remaining) == ((), 1.0)


@pytest.mark.parametrize("budget", [Budget(1e-5, delta=0), Budget(1e-3, 1e-9)])
def test_a_cap_whose_noise_cannot_be_drawn_stops_no_smaller_clip(budget: Budget) -> None:
    """And what can be chosen is public: with a patient more it is the same."""
    offered = []
    for patients in (20, 21):
        curator, ledger = opened(budget, replace(wards(patients, 5), max_rows_per_entity=10**6))
        (counts,) = curator.counts([WARD], 0.01, Clip.chosen())
        assert counts.clip is not None
        assert counts.clip < 10**6
        choice, paid = ledger.charges
        assert paid.sensitivity >= counts.clip * 0.99  # the price is that of the clip that was chosen
        offered.append(choice.cells)
    assert offered[0] == offered[1] < len(Clip.chosen().bounds(10**6))
