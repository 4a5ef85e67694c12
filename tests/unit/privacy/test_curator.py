"""The gate: sensitivities worked out, charged first, noise in every cell, refused when in doubt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import inf, nan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mare.domain import Axis, Domain, Marginal
from mare.errors import BudgetError, InternalError, MareError, PrivacyError
from mare.privacy.bits import OsBits, SeededBits
from mare.privacy.budget import Budget
from mare.privacy.conversion import epsilon_from_rho, rho_from_budget
from mare.privacy.curator import MOST_CELLS, Curator, Gate
from mare.privacy.ledger import Ledger
from mare.privacy.qualities import TvdToReleased
from tests.unit.privacy.listed_view import DOMAIN, ROWS, ListedView, visits
from tests.views import array_view

WARD, AGE, BOTH = Marginal.of("ward"), Marginal.of("age"), Marginal.of("ward", "age")
PURE, ZCDP = Budget(1.0, delta=0), Budget(1.0, 1e-9)


def gate(budget: Budget = ZCDP, seed: int = 1) -> Gate:
    return Gate(budget, Ledger(budget, "one patient"), SeededBits(seed))


@pytest.mark.parametrize(("k", "cap"), [(1, 3), (2, 3), (3, 7)])
def test_gaussian_counts_cost_what_their_sensitivity_says(k: int, cap: int) -> None:
    door = gate()
    answers = door.curator(visits(cap), 0.5).counts([WARD, AGE, BOTH][:k])
    (charge,) = door.ledger.charges
    assert (charge.mechanism, charge.norm, charge.histograms) == ("discrete gaussian", "L2", k)
    assert charge.sensitivity == pytest.approx(cap * sqrt(k))
    assert Fraction(k * cap**2) / (2 * Fraction(charge.scale) ** 2) <= Fraction(charge.cost)
    assert charge.cost == pytest.approx(0.5 * rho_from_budget(ZCDP))
    assert charge.scale == pytest.approx(cap * sqrt(k / (2 * charge.cost)))
    for answer in answers:
        assert (answer.scale, answer.sensitivity, answer.cost) == (charge.scale, charge.sensitivity, charge.cost)
        assert answer.standard_deviation == charge.scale


@pytest.mark.parametrize(("k", "cap"), [(1, 3), (2, 3), (3, 7)])
def test_laplace_counts_cost_what_their_sensitivity_says(k: int, cap: int) -> None:
    door = gate(PURE)
    door.curator(visits(cap), 0.5).counts([WARD, AGE, BOTH][:k])
    (charge,) = door.ledger.charges
    assert (charge.mechanism, charge.norm, charge.sensitivity) == ("discrete laplace", "L1", k * cap)
    assert charge.cost == 0.5
    assert charge.scale == pytest.approx(k * cap / 0.5)
    assert Fraction(k * cap) / Fraction(charge.scale) <= Fraction(charge.cost)


def test_the_number_of_entities_moves_by_one_whatever_the_cap() -> None:
    door = gate(PURE)
    size = door.curator(visits(cap=100), 0.5).entities()
    assert (size.sensitivity, size.scale, size.cost) == (1.0, 2.0, 0.5)
    assert size.standard_deviation == pytest.approx(2 * sqrt(2), rel=0.05)
    assert door.ledger.charges[0].what == "number of entities"


def test_entities_with_rows_are_those_that_a_view_tells_anything_of() -> None:
    people = array_view([1, 1, 3], {"ward": [0, 1, 1]}, Domain.of([("ward", 2)]), everyone=range(5))
    door = gate(Budget(2000.0, delta=0))
    curator = door.curator(people, 1.0)
    assert (curator.entities(0.5).value, curator.entities(0.5, with_rows=True).value) == (5, 2)
    assert [charge.what for charge in door.ledger.charges] == ["number of entities", "number of entities with rows"]
    assert {charge.sensitivity for charge in door.ledger.charges} == {1.0}


def test_first_rows_are_told_apart_with_little_noise_and_paid_from_the_same_budget() -> None:
    door = gate(Budget(2000.0, 0))
    curator = door.curator(visits(cap=100), 1.0)
    beginnings = curator.beginnings(0.25)
    assert curator.remaining == 0.75
    (ward,) = beginnings.counts([Marginal.of("ward")])
    assert ward.values.tolist() == [2, 1]
    assert ward.sensitivity == 1
    assert beginnings.remaining == 0
    (charge,) = door.ledger.charges
    assert (charge.view, charge.cost) == ("visits.rows, first rows", 500.0)
    with pytest.raises(BudgetError):
        curator.beginnings(0.8)
    with pytest.raises(PrivacyError, match="no sequences"):
        beginnings.beginnings(0.5)


@pytest.mark.parametrize("budget", [PURE, ZCDP], ids=["pure", "approximate"])
def test_how_sharp_a_choice_would_be_is_known_before_it_is_made_and_costs_nothing(budget: Budget) -> None:
    door = gate(budget)
    curator = door.curator(visits(), 1.0)
    blur = curator.blur(0.25)
    assert not door.ledger.charges
    chosen = curator.select([TvdToReleased(Axis("ward"), (Axis("age"),), (1, 1)), None], 0.25)
    assert (chosen.scale, chosen.sensitivity) == (pytest.approx(blur), 1.0)


@pytest.mark.parametrize("budget", [Budget(2000.0, 1e-9), Budget(2000.0, delta=0)], ids=["gaussian", "laplace"])
def test_with_next_to_no_noise_the_answers_are_the_counts(budget: Budget) -> None:
    curator = gate(budget).curator(visits(), 1.0)
    ward, both, total = curator.counts([WARD, BOTH, Marginal.of()], 0.5)
    assert ward.values.tolist() == [4, 2]
    assert both.values.tolist() == [[2, 2, 0], [0, 1, 1]]
    assert total.values.tolist() == 6
    assert curator.entities(0.5).value == 4
    assert (ward.marginal, both.marginal) == (WARD, BOTH)


@pytest.mark.parametrize("budget", [PURE, ZCDP])
def test_every_cell_gets_its_own_noise_those_at_zero_too(budget: Budget) -> None:
    empty = ListedView((), 0, Domain.of([("ward", 40), ("age", 50)]), 3)
    (answer,) = gate(budget).curator(empty, 1.0).counts([BOTH])
    assert answer.values.shape == (40, 50)
    assert np.std(answer.values) == pytest.approx(answer.standard_deviation, rel=0.1)
    assert np.count_nonzero(answer.values == 0) < 400


def test_shares_are_of_the_curators_own_budget() -> None:
    door = gate(PURE)
    one, two = door.curator(visits(), 0.25), door.curator(visits(), 0.75)
    assert door.remaining == 0
    one.counts([WARD], 0.5)
    assert (one.remaining, two.remaining) == (0.5, 1.0)
    two.counts([WARD], 1.0)
    assert [charge.cost for charge in door.ledger.charges] == [0.125, 0.75]


@pytest.mark.parametrize("budget", [PURE, ZCDP])
def test_shares_that_add_up_to_one_in_floats_are_all_paid(budget: Budget) -> None:
    door = gate(budget)
    for _ in range(10):
        curator = door.curator(visits(), 0.1)
        for share in (1 / 3, 1 / 3, 1 / 3):
            curator.counts([WARD], share)
        assert curator.remaining < 1e-9
    assert door.remaining < 1e-9
    assert door.ledger.totals.epsilon <= budget.epsilon
    assert door.ledger.totals.epsilon == pytest.approx(budget.epsilon, rel=1e-6)


@pytest.mark.parametrize("budget", [PURE, ZCDP])
def test_ten_tenths_are_a_hair_too_much_and_the_hair_is_cut_off(budget: Budget) -> None:
    assert 10 * Fraction(0.1) > 1
    door = gate(budget)
    for _ in range(10):
        door.curator(visits(), 0.1).counts([WARD])
    assert door.ledger.totals.epsilon <= budget.epsilon


def test_what_was_spent_cannot_be_spent_again() -> None:
    door = gate()
    curator = door.curator(visits(), 0.5)
    curator.counts([WARD], 0.9)
    with pytest.raises(BudgetError, match=r"20\.0000% of the budget was asked and 10\.0000% is left"):
        curator.counts([WARD], 0.2)
    assert len(door.ledger.charges) == 1
    curator.counts([WARD], 0.1)
    with pytest.raises(BudgetError, match="is left"):
        curator.entities(1e-12)


def test_more_than_the_whole_is_not_granted() -> None:
    door = gate()
    door.curator(visits(), 0.6)
    with pytest.raises(BudgetError, match=r"60\.0000% of the budget was asked and 40\.0000% is left"):
        door.curator(visits(), 0.6)
    assert door.remaining == pytest.approx(0.4)


@pytest.mark.parametrize("share", [0.0, -0.5, 1.1, nan, inf, True, "1", None])
def test_a_share_that_is_none_is_refused(share: object) -> None:
    door = gate()
    with pytest.raises(BudgetError, match="share"):
        door.curator(visits(), share)  # type: ignore[arg-type]
    curator = door.curator(visits(), 0.5)
    with pytest.raises(BudgetError, match="share"):
        curator.counts([WARD], share)  # type: ignore[arg-type]
    assert door.ledger.charges == ()


def test_a_share_too_small_for_any_noise_is_refused_and_nothing_is_charged() -> None:
    door = gate(PURE)
    curator = door.curator(visits(), 1e-9)
    with pytest.raises(PrivacyError, match="scale"):
        curator.counts([WARD], 1e-9)
    with pytest.raises(BudgetError, match="too small"):
        curator.counts([WARD], 5e-324)
    assert (door.ledger.charges, curator.remaining) == ((), 1.0)


def test_a_cap_that_does_not_hold_closes_the_gate() -> None:
    door = gate()
    with pytest.raises(PrivacyError, match="cap does not hold") as caught:
        door.curator(visits(cap=2), 0.5).counts([WARD])
    assert door.ledger.charges == ()
    assert "3" not in str(caught.value)  # how many rows it has is nobody's business


def test_a_cap_of_zero_is_refused_and_nothing_is_set_aside() -> None:
    door = gate()
    with pytest.raises(PrivacyError, match="at least 1"):
        door.curator(visits(cap=0), 0.5)
    assert door.remaining == 1.0


def test_a_column_that_is_not_there_is_refused_by_name() -> None:
    door = gate()
    with pytest.raises(PrivacyError, match=r"no column 'sex'. Its columns: ward, age"):
        door.curator(visits(), 0.5).counts([WARD, Marginal.of("sex")])
    assert door.ledger.charges == ()


@pytest.mark.parametrize(
    ("axis", "said"),
    [
        (Axis("ward", lag=3), "looks 3 rows back; the view remembers 2"),
        (Axis("ward", lag=1, same_as_lag=2), "looks 3 rows back; the view remembers 2"),
        (Axis("ward", new_since=3), "looks 3 rows back; the view remembers 2"),
        (Axis("ward", level=1), "no level 1 of column 'ward'. Its levels: 0 to 0"),
    ],
)
def test_axes_that_the_view_does_not_have_are_refused(axis: Axis, said: str) -> None:
    door = gate()
    with pytest.raises(PrivacyError, match=said):
        door.curator(visits(), 0.5).counts([Marginal((axis,))])
    assert door.ledger.charges == ()


def test_a_cross_tab_is_not_paid_for_twice() -> None:
    door = gate()
    for again in (BOTH, Marginal.of("age", "ward")):
        with pytest.raises(PrivacyError, match="asked twice"):
            door.curator(visits(), 0.1).counts([BOTH, WARD, again])
    assert door.ledger.charges == ()


def test_a_domain_that_is_too_large_is_refused_with_its_size() -> None:
    wide = replace(visits(), domain=Domain.of([("ward", 2**20), ("age", 2**20)]))
    door = gate()
    with pytest.raises(PrivacyError, match=f"{2**40:,} cells.*at most {MOST_CELLS:,} are answered at once"):
        door.curator(wide, 0.5).counts([BOTH])
    assert door.ledger.charges == ()


def test_asking_nothing_costs_nothing() -> None:
    door = gate()
    curator = door.curator(visits(), 0.5)
    assert curator.counts([]) == []
    assert (curator.remaining, door.ledger.charges) == (1.0, ())


class Watched(ListedView):
    """A view that looks into the ledger when it is asked to count."""

    ledger: Ledger

    def counts(self, marginals: Sequence[Marginal], weights: NDArray[np.int64] | None = None) -> list[NDArray[np.int64]]:
        assert len(self.ledger.charges) == 1, "counted before it was paid"
        raise MareError("the stage broke down")


def test_the_charge_comes_first_and_a_crash_gives_nothing_back() -> None:
    door = gate()
    view = Watched(ROWS, 4, DOMAIN, 3)
    object.__setattr__(view, "ledger", door.ledger)
    curator = door.curator(view, 0.5)
    with pytest.raises(MareError, match="broke down"):
        curator.counts([WARD])
    assert len(door.ledger.charges) == 1
    assert curator.remaining == 0.0


class Odd(ListedView):
    answer: list[NDArray[np.int64]]

    def counts(self, marginals: Sequence[Marginal], weights: NDArray[np.int64] | None = None) -> list[NDArray[np.int64]]:
        return self.answer


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ([np.zeros(3, dtype=np.int64)], InternalError),
        ([np.zeros(2, dtype=np.float64)], InternalError),
        ([], InternalError),
        ([np.array([-1, 0])], PrivacyError),
        ([np.array([2**61, 0])], PrivacyError),
        ([np.array([len(ROWS), 1])], InternalError),
    ],
    ids=["shape", "type", "number", "negative", "overflow", "one row too many"],
)
def test_answers_that_cannot_be_counts_do_not_leave(answer: list[NDArray[np.int64]], error: type[MareError]) -> None:
    view = Odd(ROWS, 4, DOMAIN, 3)
    object.__setattr__(view, "answer", answer)
    with pytest.raises(error):
        gate().curator(view, 0.5).counts([WARD])


def test_the_public_facts_of_the_view_can_be_asked() -> None:
    curator = gate().curator(visits(), 0.5)
    assert (curator.name, curator.domain, curator.max_rows_per_entity) == ("visits.rows", DOMAIN, 3)


def test_no_public_name_of_a_curator_leads_to_the_view() -> None:
    curator = gate().curator(visits(), 0.5)
    public = [getattr(curator, name) for name in dir(curator) if not name.startswith("_")]
    assert not any(isinstance(value, ListedView | Gate) for value in public)


def test_a_seeded_source_makes_the_release_not_private() -> None:
    ledger = Ledger(ZCDP, "one patient")
    Gate(ZCDP, ledger, SeededBits(1))
    assert ledger.status == "NOT PRIVATE"
    assert "seed" in ledger.reasons[0]


def test_noise_comes_from_the_operating_system_unless_told_otherwise() -> None:
    ledger = Ledger(ZCDP, "one patient")
    door = Gate(ZCDP, ledger)
    first, second = (door.curator(visits(), 0.5).counts([BOTH])[0].values.tolist() for _ in range(2))
    assert isinstance(door._bits, OsBits)
    assert first != second
    assert ledger.status == "PRIVATE"


def test_a_ledger_of_another_budget_is_refused() -> None:
    with pytest.raises(BudgetError, match="another budget"):
        Gate(PURE, Ledger(ZCDP, "one patient"))


def test_what_a_ledger_already_paid_is_gone() -> None:
    ledger = Ledger(PURE, "one patient")
    Gate(PURE, ledger).curator(visits(), 0.75).counts([WARD])
    second = Gate(PURE, Ledger.from_json(ledger.to_json()))
    assert second.remaining == 0.25
    with pytest.raises(BudgetError, match="is left"):
        second.curator(visits(), 0.5)


def test_a_secret_key_is_fresh_for_a_fit_and_the_same_within_it() -> None:
    one, two = Gate(PURE, Ledger(PURE, "one patient")), Gate(PURE, Ledger(PURE, "one patient"))
    assert len(one.secret("truncation")) == 32
    assert one.secret("truncation") == one.secret("truncation")
    assert len({one.secret("truncation"), one.secret("other"), two.secret("truncation")}) == 3


def test_a_delta_too_small_for_any_numerical_error_gets_exact_noise() -> None:
    budget = Budget(1.0, 1e-60)
    door = gate(budget)
    door.curator(visits(), 1.0).counts([BOTH])
    assert door.ledger.charges[0].total_variation == 0
    assert door.ledger.totals.delta <= 1e-60


asked = st.lists(
    st.tuples(st.floats(0.01, 1), st.lists(st.tuples(st.floats(0.01, 1), st.integers(0, 3)), max_size=4)), max_size=5
)


@given(asked, st.sampled_from([PURE, ZCDP, Budget(8.0, 1e-5), Budget(0.05, 1e-12)]))
def test_whatever_is_asked_the_total_stays_within_the_budget(
    plan: list[tuple[float, list[tuple[float, int]]]], budget: Budget
) -> None:
    door = gate(budget)
    for share, questions in plan:
        curator: Curator | None = None
        try:
            curator = door.curator(visits(), share)
            for part, k in questions:
                if k:
                    curator.counts([WARD, AGE, BOTH][:k], part)
                else:
                    curator.entities(part)
        except BudgetError:
            continue
    totals = door.ledger.totals
    assert totals.epsilon <= budget.epsilon
    assert totals.delta <= budget.delta
    # the truth from the charges themselves: the scales that were really used
    if budget.pure:
        assert sum(Fraction(c.sensitivity) / Fraction(c.scale) for c in door.ledger.charges) <= Fraction(totals.epsilon)
    else:
        rho = sum((Fraction(c.sensitivity) / Fraction(c.scale)) ** 2 / 2 for c in door.ledger.charges)
        assert rho <= Fraction(totals.rho or 0.0) * (1 + Fraction(1, 10**12))
        assert epsilon_from_rho(float(rho), budget.delta) <= totals.epsilon


def test_dp_accounting_never_finds_more_than_the_ledger_reports() -> None:
    pld = pytest.importorskip("dp_accounting.pld", reason="the oracle dp-accounting is not installed")
    from dp_accounting import GaussianDpEvent, LaplaceDpEvent

    for budget in (Budget(2.0, 1e-6), Budget(2.0, delta=0)):
        door = gate(budget)
        curator = door.curator(visits(), 0.8)
        curator.counts([WARD, AGE], 0.5)
        curator.entities(0.1)
        curator.counts([BOTH], 0.4)
        accountant = pld.PLDAccountant(value_discretization_interval=1e-3)
        for charge in door.ledger.charges:
            event = LaplaceDpEvent if budget.pure else GaussianDpEvent
            accountant.compose(event(charge.scale / charge.sensitivity))
        # the oracle cuts tails, so it has no answer at δ = 0
        truth = accountant.get_epsilon(door.ledger.totals.delta or 1e-12)
        assert 0.5 * door.ledger.totals.epsilon < truth <= door.ledger.totals.epsilon + 3e-3
