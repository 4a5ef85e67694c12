"""Scores and choices of the curator: sensitivities worked out, charged first, exact, refused when in doubt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import exp, inf, nan, prod, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from mare.domain import Axis, Domain, Marginal
from mare.errors import BudgetError, InternalError, MareError, PrivacyError
from mare.privacy.answers import scoring
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.privacy.conversion import rho_from_budget
from mare.privacy.curator import Curator, Gate
from mare.privacy.ledger import Ledger
from mare.privacy.qualities import UNIT, Candidate, Distance, FScore, NormRank, Summed, Tvd, TvdToReleased, Weighting
from tests.views import ArrayView, array_view

PURE, ZCDP = Budget(1.0, delta=0), Budget(1.0, 1e-9)
LOUD = {"gaussian": Budget(5000.0, 1e-9), "laplace": Budget(5000.0, delta=0)}
DOMAIN = Domain.of([("sex", 2), ("ward", 3), ("age", 4)])
SEX, WARD, AGE = (Axis(name) for name in DOMAIN)
BY_WARD, BY_AGE = Tvd(SEX, (WARD,)), Tvd(SEX, (AGE,))


def view(cap: int = 3) -> ArrayView:
    """Entity 1 has three rows, 2 has two, 3 to 6 have one each; ward follows sex, age does not."""
    who = [1, 1, 1, 2, 2, 3, 4, 5, 6]
    sex = [0, 0, 1, 1, 1, 0, 0, 1, 1]
    return array_view(
        who, {"sex": sex, "ward": [2 * s for s in sex], "age": [0, 1, 2, 3, 0, 1, 0, 1, 0]}, DOMAIN, everyone=range(1, 8), cap=cap
    )


def opened(budget: Budget = ZCDP, cap: int = 3, seed: int = 1, data: ArrayView | None = None) -> tuple[Gate, Curator]:
    gate = Gate(budget, Ledger(budget, "one patient"), SeededBits(seed))
    return gate, gate.curator(view(cap) if data is None else data, 1.0)


def exactly(candidate: Candidate, weighting: Weighting = "entity") -> float:
    """The score with next to no noise."""
    _, curator = opened(Budget(5000.0, delta=0))
    return float(curator.scores([candidate], 1.0, weighting).entities[0])


CASES: list[tuple[Candidate, int]] = [
    (BY_WARD, 2),
    (Tvd(SEX, (WARD,), given=(AGE,)), 2),
    (Tvd(Axis("ward"), (Axis("ward", lag=1), AGE)), 2),
    (TvdToReleased(SEX, (WARD,), (3, 1)), 1),
    (Summed((BY_WARD, TvdToReleased(AGE, (WARD,), (1, 2, 3, 4)), Tvd(SEX, (WARD,), given=(AGE,)))), 5),
    (FScore(SEX, (WARD, AGE)), 1),
    (Distance(Marginal.of("sex"), np.array([2.0, 3.0])), 1),
    (Distance(Marginal.of("sex"), np.array([2.0, 3.0]), weight=2.5), 2.5),  # type: ignore[list-item]
]


@pytest.mark.parametrize(("weighting", "mass"), [("entity", 1), ("row", 7)])
def test_a_merged_score_is_charged_for_its_rounding_too(weighting: Weighting, mass: int) -> None:
    _, curator = opened(cap=7)
    chosen = curator.select([None, Tvd(SEX, (WARD,), (AGE,), merged=True)], 0.5, weighting=weighting)
    sizes = [curator.domain.size(name) for name in ("sex", "ward", "age")]
    assert chosen.sensitivity == 2 * mass + (prod(sizes) + 1) / 2**20


@pytest.mark.parametrize(("candidate", "sensitivity"), CASES, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize(("weighting", "times"), [("entity", 1), ("row", 7)])
def test_a_choice_costs_what_its_sensitivity_says(
    candidate: Candidate, sensitivity: float, weighting: Weighting, times: int
) -> None:
    gate, curator = opened(cap=7)
    chosen = curator.select([None, candidate], 0.5, weighting=weighting)
    (charge,) = gate.ledger.charges
    assert (charge.mechanism, charge.norm, charge.cells) == ("exponential choice", "max", 2)
    assert charge.sensitivity == chosen.sensitivity == sensitivity * times
    assert charge.cost == chosen.cost == pytest.approx(0.5 * rho_from_budget(ZCDP))
    assert chosen.rule == "exponential mechanism"
    epsilon = 2 * Fraction(charge.sensitivity) / Fraction(charge.scale)
    assert epsilon**2 / 8 <= Fraction(charge.cost)
    assert float(epsilon) == pytest.approx(sqrt(8 * charge.cost))
    assert curator.remaining == pytest.approx(0.5)


def test_under_pure_epsilon_a_choice_costs_its_epsilon() -> None:
    gate, curator = opened(PURE)
    chosen = curator.select([BY_WARD, None], 0.25)
    assert chosen.rule == "noisy maximum"
    assert (chosen.cost, chosen.scale) == (0.25, 2 * 2 / 0.25)
    assert gate.ledger.totals.epsilon == 0.25


def test_the_rank_of_norms_moves_by_one_whatever_the_weighting() -> None:
    for weighting in ("entity", "row"):
        _, curator = opened(cap=7)
        grid: list[Candidate] = [NormRank((Marginal.of("sex"),), clip, 2) for clip in (1, 2, 3)]
        assert curator.select(grid, 0.5, weighting=weighting).sensitivity == 1  # type: ignore[arg-type]


@pytest.mark.parametrize("budget", [PURE, ZCDP])
def test_the_largest_sensitivity_of_the_candidates_counts(budget: Budget) -> None:
    _, curator = opened(budget)
    mixed: list[Candidate | None] = [TvdToReleased(SEX, (WARD,), (1, 1)), None, BY_WARD]
    assert curator.select(mixed, 0.5).sensitivity == 2


@pytest.mark.parametrize(("m", "budget"), [(1, ZCDP), (3, ZCDP), (3, PURE)])
def test_scores_together_cost_what_they_move_together(m: int, budget: Budget) -> None:
    gate, curator = opened(budget)
    answer = curator.scores([BY_WARD, BY_AGE, Tvd(WARD, (AGE,))][:m], 0.5)
    (charge,) = gate.ledger.charges
    assert charge.sensitivity == pytest.approx(2 * m if budget.pure else 2 * sqrt(m))
    assert charge.norm == ("L1" if budget.pure else "L2")
    assert charge.cells == m
    assert answer.sensitivity / answer.denominator == charge.sensitivity
    assert answer.scale / answer.denominator == charge.scale
    assert len(answer.values) == len(answer.candidates) == m


def test_different_sensitivities_add_up() -> None:
    gate, curator = opened(PURE)
    curator.scores([BY_WARD, TvdToReleased(SEX, (WARD,), (1, 1)), None], 0.5)
    assert gate.ledger.charges[0].sensitivity == 3


@pytest.mark.parametrize("budget", LOUD.values(), ids=LOUD.keys())
def test_with_next_to_no_noise_scores_are_the_formulas(budget: Budget) -> None:
    _, curator = opened(budget)
    answer = curator.scores([BY_WARD, Tvd(SEX, (AGE,), given=(WARD,)), None], 0.5)
    # weight of sex 0: 2/3 of entity 1, and 3, 4; of sex 1 the rest of 6. ward says sex: ½Σ|C - rc/n| = 2·a·b/n
    a = 2 / 3 + 2
    assert answer.entities == pytest.approx([2 * a * (6 - a) / 6, 0, 0], abs=0.02)


def test_one_unit_of_weight_per_entity_or_per_row() -> None:
    whole = Distance(Marginal(()), np.array(0.0))
    assert exactly(whole) == pytest.approx(6, abs=0.02)
    assert exactly(whole, "row") == pytest.approx(9, abs=0.02)


def test_what_each_quality_means() -> None:
    assert exactly(TvdToReleased(SEX, (WARD,), (5, 0)), "row") == pytest.approx(5, abs=0.02)
    assert exactly(FScore(SEX, (WARD,)), "row") == pytest.approx(-0.5, abs=0.02)
    assert exactly(Distance(Marginal.of("sex"), np.array([4.0, 3.0]), 0.5), "row") == pytest.approx(1.0, abs=0.02)
    assert exactly(NormRank((), 1.5, 0)) == pytest.approx(-2, abs=0.02)
    # squared norms over sex: 5 of entity 1, 4 of entity 2; over both tables 5 + 5 and 4 + 2
    assert exactly(NormRank((Marginal.of("sex"),), 2.1, 0)) == pytest.approx(-1, abs=0.02)
    assert exactly(NormRank((Marginal.of("sex"),), 2, 0)) == pytest.approx(-1, abs=0.02)
    assert exactly(NormRank((Marginal.of("sex"), Marginal.of("age")), sqrt(2.9), 1)) == pytest.approx(-1, abs=0.02)
    assert exactly(NormRank((Marginal.of("sex"), Marginal.of("age")), sqrt(3.1), 1)) == pytest.approx(0, abs=0.02)


def test_candidates_are_counted_in_batches_and_come_back_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    class Counting(ArrayView):
        def counts(self, marginals: Sequence[Marginal], weights: NDArray[np.int64] | None = None) -> list[NDArray[np.int64]]:
            asked.append(len(marginals))
            return super().counts(marginals, weights)

    data = view()
    counting = Counting(**{name: getattr(data, name) for name in data.__dataclass_fields__})
    monkeypatch.setattr(scoring, "MOST_SCORED", 14)
    _, curator = opened(Budget(5000.0, delta=0), data=counting)
    answer = curator.scores([BY_WARD, BY_AGE, BY_WARD, Tvd(WARD, (AGE,))])
    _, plain = opened(Budget(5000.0, delta=0))
    monkeypatch.undo()
    assert answer.values.tolist() == plain.scores([BY_WARD, BY_AGE, BY_WARD, Tvd(WARD, (AGE,))]).values.tolist()
    assert asked == [2, 1, 1]


@pytest.mark.parametrize("budget", LOUD.values(), ids=LOUD.keys())
def test_the_best_is_chosen_when_choosing_is_next_to_exact(budget: Budget) -> None:
    _, curator = opened(budget)
    candidates = [None, BY_AGE, BY_WARD, Tvd(SEX, (AGE,), given=(WARD,))]
    chosen = curator.select(candidates, 0.2)
    assert (chosen.index, chosen.candidate) == (2, BY_WARD)
    assert curator.select([None, BY_AGE, BY_WARD], 0.2, penalties=[0, 0, 5]).index == 1
    assert curator.select([BY_AGE, BY_WARD, None], 0.2, penalties=[5, 5, 0]).index == 2
    assert curator.select([BY_AGE, BY_WARD, None], 0.2, penalties=[0, -5, 0]).index == 1


@pytest.mark.parametrize("budget", [Budget(1.5, 1e-9), Budget(1.5, delta=0)], ids=["exponential", "noisy maximum"])
def test_choices_follow_their_distribution(budget: Budget) -> None:
    """χ² of 1,500 choices among scores that are known: 0, and TVD of ward and of age with penalties to keep them near."""
    candidates = [None, BY_WARD, BY_AGE]
    _, exact = opened(Budget(5000.0, delta=0))
    true = [0.0, *exact.scores([BY_WARD, BY_AGE]).entities.tolist()]
    penalties = [0.0, true[1] - 3.0, true[2] + 2.0]
    data = view()
    curators = (opened(budget, seed=seed, data=data)[1] for seed in range(1500))
    seen = Counter(curator.select(candidates, 1.0, penalties).index for curator in curators)
    scale = opened(budget)[1].select(candidates, 1.0).scale
    behind = [3.0, 0.0, 5.0]
    if budget.pure:  # permute and flip: the chance of each, by the orders in which three coins may be thrown
        p = [exp(-b / scale) for b in behind]
        chances = [sum(_first_heads(order, p)[i] for order in _orders()) / 6 for i in range(3)]
    else:
        weights = [exp(-b / scale) for b in behind]
        chances = [w / sum(weights) for w in weights]
    chi = sum((seen[i] - 1500 * chance) ** 2 / (1500 * chance) for i, chance in enumerate(chances))
    assert chi < 20.7  # two degrees of freedom: one seed in 30,000


def _orders() -> list[tuple[int, ...]]:
    return [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]


def _first_heads(order: tuple[int, ...], p: list[float]) -> list[float]:
    chance, left = [0.0] * 3, 1.0
    for i in order:
        chance[i] = left * p[i]
        left *= 1 - p[i]
    return chance


def test_noise_of_scores_beyond_the_sampler_is_told_in_coarser_units() -> None:
    gate, curator = opened(Budget(1.0, 1e-9), cap=3)
    answer = curator.scores([BY_WARD], 1e-9)
    assert 1 <= answer.denominator < 2**12
    assert answer.scale <= 2.0**30
    assert gate.ledger.charges[0].sensitivity == 2
    with pytest.raises(PrivacyError, match="scale"):
        curator.scores([BY_WARD], 1e-16)


@dataclass(frozen=True)
class MyQuality:
    child: Axis


BAD: list[tuple[Sequence[object], str]] = [
    ([], "nothing to judge"),
    ([None, None], "nothing to judge"),
    ([Distance(Marginal.of("sex"), np.zeros(2), 0.0)], "nothing to judge"),
    ([MyQuality(SEX)], "no quality 'MyQuality'. Candidates are: Tvd"),
    ([BY_WARD, "tvd"], "candidate 1: there is no quality 'str'"),
    ([Tvd(SEX, ())], "has no parents"),
    ([Tvd(SEX, (SEX,))], "an axis occurs twice"),
    ([Tvd(SEX, (WARD,), given=(WARD,))], "an axis occurs twice"),
    ([Tvd(SEX, (Axis("weight"),))], "no column 'weight'"),
    ([Tvd(SEX, (Axis("ward", level=1),))], "no level 1"),
    ([Tvd(SEX, (Axis("ward", lag=3),))], "3 rows back"),
    ([TvdToReleased(SEX, (WARD,), (1, 1, 1))], "2 whole numbers"),
    ([TvdToReleased(SEX, (WARD,), (0.5, 0.5))], "2 whole numbers"),  # type: ignore[arg-type]
    ([TvdToReleased(SEX, (WARD,), (True, 1))], "2 whole numbers"),
    ([TvdToReleased(SEX, (WARD,), (2, -1))], "must not be negative"),
    ([TvdToReleased(SEX, (WARD,), (0, 0))], "add up to more than 0"),
    ([TvdToReleased(SEX, (WARD,), (2**61, 0))], "less than 2"),
    ([Summed(())], "at least one Tvd"),
    ([Summed((BY_WARD, FScore(SEX, (WARD,))))], "at least one Tvd or TvdToReleased"),  # type: ignore[arg-type]
    ([Summed((BY_WARD, Tvd(SEX, ())))], "part 1: it has no parents"),
    ([FScore(WARD, (SEX,))], "'ward' has 3. Use Tvd"),
    ([Distance(Marginal.of("sex"), np.zeros(3))], "the reference is shaped"),
    ([Distance(Marginal.of("sex"), np.array([nan, 0]))], "missing, infinite"),
    ([Distance(Marginal.of("sex"), np.array([inf, 0]))], "missing, infinite"),
    ([Distance(Marginal.of("sex"), np.array(["a", "b"]))], "not numbers"),  # type: ignore[arg-type]
    ([Distance(Marginal.of("sex"), np.zeros(2), nan)], "the weight is nan"),
    ([Distance(Marginal.of("sex"), np.zeros(2), -1)], "the weight is -1"),
    ([Distance(Marginal.of("sex"), np.zeros(2), 1e9)], "the weight is"),
    ([NormRank((), nan, 1)], "the clip is nan"),
    ([NormRank((), 1, -1)], "the rank is -1"),
    ([NormRank((), 1, True)], "the rank is True"),
    ([NormRank((Marginal.of("weight"),), 1, 1)], "no column 'weight'"),
]


@pytest.mark.parametrize(("candidates", "said"), BAD)
def test_what_cannot_be_judged_is_refused_and_nothing_is_charged(candidates: Sequence[Candidate | None], said: str) -> None:
    gate, curator = opened()
    for ask in (curator.select, curator.scores):
        with pytest.raises(PrivacyError, match=said):
            ask(candidates)
    assert (gate.ledger.charges, curator.remaining) == ((), 1.0)


@pytest.mark.parametrize("penalties", [[nan, 0], [inf, 0], [0], [0, 0, 0], [[0, 0]], ["a", 0], [2e13, 0]])
def test_penalties_that_are_none_are_refused(penalties: list[float]) -> None:
    gate, curator = opened()
    with pytest.raises(PrivacyError, match="penalties"):
        curator.select([BY_WARD, None], 0.5, penalties)
    assert gate.ledger.charges == ()


def test_an_unknown_weighting_is_refused() -> None:
    gate, curator = opened()
    with pytest.raises(PrivacyError, match=r"no weighting 'patient'\. Weightings: entity, row"):
        curator.select([BY_WARD], 0.5, weighting="patient")  # type: ignore[arg-type]
    assert gate.ledger.charges == ()


def test_a_cross_tab_too_large_to_score_is_refused_with_its_size() -> None:
    wide = replace(view(), domain=Domain.of([("sex", 2**14), ("ward", 2**14), ("age", 4)]))
    gate, curator = opened(data=wide)
    with pytest.raises(PrivacyError, match=f"{2**28:,} cells"):
        curator.select([BY_WARD])
    assert gate.ledger.charges == ()


def test_what_is_not_left_is_not_spent_on_choices() -> None:
    gate, curator = opened()
    curator.select([BY_WARD], 0.9)
    with pytest.raises(BudgetError, match="is left"):
        curator.select([BY_WARD], 0.2)
    with pytest.raises(BudgetError, match="is left"):
        curator.scores([BY_WARD], 0.2)
    with pytest.raises(BudgetError, match="too small"):
        curator.select([BY_WARD], 5e-324)
    assert len(gate.ledger.charges) == 1


def test_a_cap_that_does_not_hold_closes_the_gate_for_choices_too() -> None:
    gate, curator = opened(cap=2)
    for ask in (curator.select, curator.scores):
        with pytest.raises(PrivacyError, match="cap does not hold"):
            ask([BY_WARD])
    assert gate.ledger.charges == ()


class Odd(ArrayView):
    """A view whose tables a test writes by hand."""

    answer: list[NDArray[np.int64]]
    paid: Ledger

    def counts(self, marginals: Sequence[Marginal], weights: NDArray[np.int64] | None = None) -> list[NDArray[np.int64]]:
        assert len(self.paid.charges) == 1, "counted before it was paid"
        return self.answer


def odd(answer: list[NDArray[np.int64]]) -> tuple[Gate, Curator]:
    data = view()
    one = Odd(**{name: getattr(data, name) for name in data.__dataclass_fields__})
    object.__setattr__(one, "answer", answer)
    gate, curator = opened(data=one)
    object.__setattr__(one, "paid", gate.ledger)
    return gate, curator


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ([], InternalError),
        ([np.zeros((3, 2), dtype=np.int64)], InternalError),
        ([np.zeros((2, 3))], InternalError),
        ([np.full((2, 3), 9 * UNIT)], InternalError),
        ([np.full((2, 3), -1)], PrivacyError),
    ],
    ids=["number", "shape", "type", "fan-out", "negative"],
)
def test_tables_that_cannot_be_counts_are_not_scored_but_paid(answer: list[NDArray[np.int64]], error: type[MareError]) -> None:
    gate, curator = odd(answer)
    with pytest.raises(error):
        curator.select([BY_WARD])
    assert len(gate.ledger.charges) == 1
    assert curator.remaining == 0


def test_counts_too_large_to_be_scored_exactly_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring.scores, "LARGEST", 4)
    for candidates in ([BY_WARD], [NormRank((), 1, 1000)]):
        _, curator = opened()
        with pytest.raises(PrivacyError, match=r"too large to be scored|overflowed"):
            curator.select(candidates)  # type: ignore[arg-type]


def test_the_ledger_names_a_few_candidates_and_counts_the_rest() -> None:
    gate, curator = opened()
    curator.select([None, BY_WARD, NormRank((), 2, 1), *[BY_AGE] * 6], 0.5)
    curator.scores([Distance(Marginal(()), np.array(1.0))], 0.5)
    assert [charge.what for charge in gate.ledger.charges] == [
        "choice among 9 by NormRank or Tvd: none; sex × ward; clip 2 for 1; sex × age; sex × age; sex × age; and 3 more",
        "scores of 1 by Distance: rows",
    ]
