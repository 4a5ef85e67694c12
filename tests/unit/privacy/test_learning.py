"""Learning domains: what it costs, what it hides, and what it makes of dirty columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import inf, nan

import pytest

from mare.errors import BudgetError, InternalError, MareError, PrivacyError
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.privacy.conversion import learning_delta, rho_from_budget
from mare.privacy.curator import Clip, Gate
from mare.privacy.fine_histograms import quantile_bins
from mare.privacy.learner import Learner
from mare.privacy.ledger import Ledger
from tests.even_grids import even_grid
from tests.raw_columns import ListedColumn, listed

PURE, ZCDP, LOUD = Budget(1.0, delta=0), Budget(1.0, 1e-9), Budget(2000.0, 1e-9)


def opened(column: ListedColumn, budget: Budget = ZCDP, delta_share: float = 1.0, seed: int = 1) -> tuple[Gate, Learner]:
    gate = Gate(budget, Ledger(budget, "one patient"), SeededBits(seed))
    return gate, gate.learner(column, 0.5, delta_share)


def wards(common: int = 4000, rare: int = 3) -> ListedColumn:
    """Two values that many hold, one that few do, one that a single entity does; every entity twice in its ward."""
    values: dict[int, Sequence[str | None]] = {i: ["a" if i % 3 else "b"] * 2 for i in range(common)}
    values |= {10**6 + i: ["rare", None] for i in range(rare)}
    return listed(values | {-1: ["only mine"]})


def test_categories_cost_one_voice_and_their_delta() -> None:
    gate, learner = opened(listed({1: ["a", "b", "c", "d", "e"]}, cap=9), delta_share=0.25)
    found = learner.categories(per_entity=4, share=0.5)
    (charge,) = gate.ledger.charges
    assert (charge.mechanism, charge.norm, charge.view, charge.cells) == ("stable keys", "L2", "visits.ward", 4)
    assert charge.sensitivity == found.sensitivity == 1.0
    assert charge.cost == pytest.approx(0.25 * rho_from_budget(ZCDP))
    assert Fraction(1) / (2 * Fraction(charge.scale) ** 2) <= Fraction(charge.cost)
    assert charge.delta == found.delta == pytest.approx(0.25 * learning_delta(ZCDP))
    assert charge.total_variation == 0
    assert gate.ledger.totals.delta_learning == charge.delta
    assert gate.ledger.totals.delta <= ZCDP.delta
    assert learner.remaining == 0.5
    assert f"more than {found.threshold:.4f} entities" in charge.what


def test_who_has_two_rows_names_two_values_at_most() -> None:
    _, learner = opened(listed({1: ["a", "b"]}))
    assert learner.categories(per_entity=50).per_entity == 2


def test_common_values_are_learned_and_the_one_of_a_single_entity_is_not() -> None:
    _, learner = opened(wards())
    found = learner.categories()
    assert found.values == ("a", "b")
    assert found.counts.tolist() == pytest.approx([4000 * 2 / 3, 4000 / 3], abs=6 * found.scale)
    assert all(count > found.threshold for count in found.counts)


def test_of_too_many_values_those_with_the_largest_noisy_counts_stay() -> None:
    column = listed({i: [f"{i % 40:02d}"] for i in range(40 * 60)} | {10**6 + i: ["99"] for i in range(900)})
    _, learner = opened(column, LOUD)
    found = learner.categories(most=1)
    assert found.values == ("99",)
    _, learner = opened(column, LOUD)
    found = learner.categories(most=41)
    assert (len(found.values), list(found.values)) == (41, sorted(found.values))


def test_without_any_value_the_list_is_empty() -> None:
    for column in (listed({}), listed({1: [None]})):
        _, learner = opened(column)
        assert learner.categories().values == ()


def test_order_of_the_data_does_not_matter() -> None:
    column = wards()
    backwards = replace(column, rows=column.rows[::-1], everyone=column.everyone[::-1])
    found, again = (opened(one)[1].categories(per_entity=2) for one in (column, backwards))
    assert found.values == again.values
    assert found.counts.tolist() == again.counts.tolist()


def test_a_single_value_gets_out_as_rarely_as_delta_says_and_not_never() -> None:
    """Hiding everything would be easy: with a large δ the value of a single entity does get out, as often as that δ says."""
    leaky = Budget(0.5, 0.99)
    out = 0
    for seed in range(1000):
        gate = Gate(leaky, Ledger(leaky, "one patient"), SeededBits(seed))
        out += gate.learner(listed({1: ["mine"]}), 0.001, 1.0).categories().values == ("mine",)
    # 15 at most are expected; 35 is beyond five standard deviations
    assert 3 <= out <= 35


@pytest.mark.parametrize("rows", [1, 4])
def test_a_histogram_is_one_row_per_entity_unless_told_otherwise(rows: int) -> None:
    gate, learner = opened(listed({i: [float(i)] * rows for i in range(100)}))
    found = learner.histogram(even_grid(0, 100, 10), share=0.5)
    (charge,) = gate.ledger.charges
    assert charge.sensitivity == pytest.approx(1.0, rel=1e-4)
    assert charge.cells == 11
    assert found.deviation == pytest.approx(charge.scale)
    assert found.cost == pytest.approx(0.25 * rho_from_budget(ZCDP))
    assert len(found.noisy) == 10


def test_a_clip_can_be_given() -> None:
    gate, learner = opened(listed({i: [float(i)] * 9 for i in range(10)}))
    learner.histogram(even_grid(0, 100, 10), 0.5, Clip(3.0))
    assert gate.ledger.charges[0].sensitivity == pytest.approx(3.0, rel=1e-4)


@pytest.mark.parametrize("budget", [LOUD, Budget(2000.0, delta=0)])
def test_dirty_values_have_a_place_and_never_crash(budget: Budget) -> None:
    values = [1.0, 2.0, 2.0, -inf, -7.0, inf, 99.0, nan, None, "text"]
    _, learner = opened(listed({i: [value] for i, value in enumerate(values)}), budget)
    found = learner.histogram(even_grid(0, 3, step=1.0))
    assert [round(n) for n in found.noisy] == [2, 1, 2, 2]
    assert round(found.missing) == 3


def test_bins_at_noisy_quantiles_end_to_end() -> None:
    column = listed({i: [float(min(i % 700, 350))] for i in range(20_000)})
    _, learner = opened(column)
    bins = quantile_bins(learner.histogram(even_grid(0, 399, step=1.0)), 6, most=10)
    assert len(bins.cuts) <= 11
    assert bins.cuts[-2:] == (350, 400)  # what is empty beyond 350 is no bin
    assert bins.weights[350:].sum() == pytest.approx(10_000, rel=0.1)


BAD_CATEGORIES: list[tuple[dict[str, object], str]] = [
    ({"most": 0}, "values to keep is 0"),
    ({"most": 10**7}, "values to keep"),
    ({"most": True}, "values to keep"),
    ({"per_entity": 0}, "values per entity is 0"),
    ({"per_entity": -2}, "values per entity is -2"),
    ({"per_entity": 1.5}, "values per entity is 1.5"),
    ({"per_entity": 5000}, "values per entity"),
]


@pytest.mark.parametrize(("asked", "said"), BAD_CATEGORIES)
def test_what_cannot_be_learned_is_refused_and_nothing_is_charged(asked: dict[str, int], said: str) -> None:
    gate, learner = opened(wards(10))
    with pytest.raises(PrivacyError, match=said):
        learner.categories(**asked)
    assert (gate.ledger.charges, learner.remaining) == ((), 1.0)


def test_at_delta_zero_a_list_of_values_is_refused_with_the_remedy() -> None:
    gate, learner = opened(wards(10), PURE)
    with pytest.raises(PrivacyError, match=r"delta = 0.*`values`.*public vocabulary.*delta above 0"):
        learner.categories()
    assert (gate.ledger.charges, learner.remaining) == ((), 1.0)


def test_without_a_share_of_delta_no_list_is_learned() -> None:
    gate, learner = opened(wards(10), delta_share=0.0)
    with pytest.raises(PrivacyError, match="delta_share"):
        learner.categories()
    assert gate.ledger.charges == ()


def test_delta_runs_out() -> None:
    gate = Gate(ZCDP, Ledger(ZCDP, "one patient"), SeededBits(1))
    for _ in range(3):
        gate.learner(wards(10), 0.1, 1 / 3).categories()
    assert gate.ledger.totals.delta <= ZCDP.delta
    with pytest.raises(BudgetError, match="delta"):
        gate.learner(wards(10), 0.1, 1 / 3).categories()
    with pytest.raises(BudgetError, match="share"):
        gate.learner(wards(10), 0.1, nan).categories()
    assert len(gate.ledger.charges) == 3


def test_budget_runs_out() -> None:
    gate, learner = opened(wards(10))
    learner.histogram(even_grid(0, 1), 0.75)
    with pytest.raises(BudgetError, match=r"50\.0000% of the budget was asked and 25\.0000% is left"):
        learner.histogram(even_grid(0, 1), 0.5)
    assert learner.remaining == 0.25
    assert gate.remaining == 0.5
    with pytest.raises(BudgetError, match="is left"):
        gate.learner(wards(10), 0.6)


def test_what_is_no_grid_is_refused() -> None:
    gate, learner = opened(wards(10))
    with pytest.raises(PrivacyError, match="no grid"):
        learner.histogram((0.0, 1.0))  # type: ignore[arg-type]
    assert gate.ledger.charges == ()


def test_a_cap_of_zero_is_refused_and_nothing_is_set_aside() -> None:
    gate = Gate(ZCDP, Ledger(ZCDP, "one patient"), SeededBits(1))
    with pytest.raises(PrivacyError, match="at least 1"):
        gate.learner(listed({1: ["a"]}, cap=0), 0.5)
    assert gate.remaining == 1.0


def test_a_cap_that_does_not_hold_closes_the_gate() -> None:
    gate, learner = opened(listed({1: ["a", "b"]}, cap=1))
    with pytest.raises(PrivacyError, match="cap does not hold"):
        learner.categories()
    with pytest.raises(PrivacyError, match="cap does not hold"):
        learner.histogram(even_grid(0, 1))
    assert (gate.ledger.charges, learner.remaining) == ((), 1.0)


class Broken(ListedColumn):
    answer: Mapping[int, Mapping[str, int]] | None = None

    def keys(self, most: int, key: bytes) -> Mapping[int, Mapping[str, int]]:
        if self.answer is None:
            raise MareError("the stage broke down")
        return self.answer


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (None, MareError),
        ({1: {"a": 0}}, InternalError),
        ({1: {"a": 2**61}}, InternalError),
        ({2: {"a": 1, "b": 1}}, InternalError),
    ],
)
def test_a_breakdown_after_the_charge_gives_nothing_back(
    answer: Mapping[int, Mapping[str, int]] | None, error: type[MareError]
) -> None:
    column = Broken(((1, "a"),), (1,), 1)
    object.__setattr__(column, "answer", answer)
    gate, learner = opened(column)
    with pytest.raises(error):
        learner.categories()
    assert len(gate.ledger.charges) == 1
    assert learner.remaining == 0


def test_the_public_facts_of_a_learner_lead_nowhere_else() -> None:
    _, learner = opened(wards(10))
    assert learner.name == "visits.ward"
    public = [getattr(learner, name) for name in dir(learner) if not name.startswith("_")]
    assert not any(isinstance(value, ListedColumn | Gate) for value in public)


def test_whoever_names_many_values_speaks_softly_for_each() -> None:
    """A value that a hundred hold alone is worth as much as one that four hundred hold beside three others."""
    alone: dict[int, Sequence[str]] = {i: ["alone"] for i in range(100)}
    among = {10**6 + i: ["a", "b", "c", "d"] for i in range(400)}
    _, learner = opened(listed(alone | among), LOUD)
    found = learner.categories(per_entity=50)
    assert found.values == ("a", "alone", "b", "c", "d")
    assert found.counts.tolist() == pytest.approx([200, 100, 200, 200, 200], abs=6 * found.scale + 1)
    assert found.sensitivity == 1
