"""Tape audit of choices, scores and learned domains: on D, and again on D′ with the recorded answers; bugs it must find."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mare.codec import OpenBins
from mare.domain import Axis, Domain, Marginal
from mare.errors import InternalError
from mare.fitting.bin_placing import coarse_grid, cuts_of, learned_order, open_cuts, open_grid, placed_bins
from mare.fitting.coarse_to_fine import looked_at
from mare.fitting.learning import asking
from mare.fitting.tapering import tapered
from mare.privacy import stable_keys
from mare.privacy.answers import judging, scoring
from mare.privacy.answers.clipping import Clip
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.privacy.curator import Gate
from mare.privacy.fine_histograms import quantile_bins
from mare.privacy.ledger import Ledger
from mare.privacy.qualities import Candidate, Distance, FScore, NormRank, Summed, Tvd, TvdToReleased, Weighting
from mare.privacy.tape import Recorder, Replayer, Tape, TapeMismatch
from tests.conftest import examples
from tests.even_grids import even_grid
from tests.raw_columns import ListedColumn, listed
from tests.views import ArrayView, array_view

BUDGETS = {"zcdp": Budget(2.0, 1e-6), "pure": Budget(2.0, delta=0)}
DOMAIN = Domain.of([("sex", 2), ("ward", 3), ("age", 4)])
SEX, WARD, AGE = (Axis(name) for name in DOMAIN)
Data = TypeVar("Data", ArrayView, ListedColumn)


def opened(budget: Budget, tape: Tape, seed: int) -> Gate:
    return Gate(budget, Ledger(budget, "one patient"), SeededBits(seed), tape)


def audit(fit: Callable[[Gate, Data], object], data: Data, gone: int, budget: Budget) -> None:
    """Raises `TapeMismatch` when the missing entity shows through; what is learned must be the same to the last bit."""
    recorder = Recorder()
    first = fit(opened(budget, recorder, 1), data)
    replayer = Replayer(recorder.record)
    second = fit(opened(budget, replayer, 2), data.without(gone))
    replayer.finish()
    assert first == second


def lonely(n: int = 60) -> ArrayView:
    """Everyone in one cell but for entity 1, whose five rows are at odds with all others: what moves TVD most."""
    who = [1] * 5 + list(range(2, n))
    sex = [1] * 5 + [0] * (n - 2)
    return array_view(who, {"sex": sex, "ward": [2 * s for s in sex], "age": [3 * s for s in sex]}, DOMAIN, cap=5)


QUALITIES: dict[str, list[Candidate | None]] = {
    "tvd": [None, Tvd(SEX, (WARD,)), Tvd(SEX, (WARD, AGE)), Tvd(WARD, (Axis("ward", lag=1),))],
    "conditional": [Tvd(SEX, (WARD,), given=(AGE,)), Tvd(WARD, (AGE,), given=(SEX, Axis("sex", same_as_lag=1)))],
    "merged": [None, Tvd(SEX, (WARD,), (AGE,), merged=True), Tvd(WARD, (AGE,), (SEX,), merged=True)],
    "released": [TvdToReleased(SEX, (WARD,), (7, 3)), TvdToReleased(SEX, (AGE,), (1, 0)), None],
    "summed": [
        None,
        Summed((TvdToReleased(SEX, (WARD,), (7, 3)), TvdToReleased(AGE, (WARD,), (1, 1, 1, 1)))),
        Summed((Tvd(SEX, (WARD,), (AGE,)), Tvd(AGE, (WARD,), (SEX,)))),
    ],
    "f": [FScore(SEX, (WARD,)), FScore(SEX, (WARD, AGE))],
    "distance": [
        Distance(Marginal.of("sex"), np.array([1.0, 50.0])),
        Distance(Marginal.of("sex", "ward"), np.full((2, 3), 4.0), 2.5),
    ],
    "rank": [NormRank((Marginal.of("sex"), Marginal.of("age")), clip, 3) for clip in (0.5, 1, 2, 4)],
    "mixed": [None, FScore(SEX, (WARD,)), Tvd(SEX, (WARD,)), NormRank((), 1, 5)],
}


def choosing(candidates: list[Candidate | None], weighting: Weighting) -> Callable[[Gate, ArrayView], object]:
    def fit(gate: Gate, view: ArrayView) -> object:
        curator = gate.curator(view, 1.0)
        chosen = curator.select(candidates, 0.3, [0.5 * i for i in range(len(candidates))], weighting)
        scores = curator.scores(candidates, 0.3, weighting)
        again = curator.select(candidates, 0.3, scores.entities.tolist(), weighting)
        return chosen.index, chosen.scale, scores.values.tolist(), again.index

    return fit


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS.keys())
@pytest.mark.parametrize("weighting", ["entity", "row"])
@pytest.mark.parametrize("quality", QUALITIES)
def test_no_entity_shows_through_a_choice(quality: str, weighting: Weighting, budget: Budget) -> None:
    for gone in (1, 2):
        audit(choosing(QUALITIES[quality], weighting), lonely(), gone, budget)


rows = st.lists(
    st.tuples(st.integers(1, 5), st.integers(0, 1), st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=25
).map(lambda found: [row for i, row in enumerate(found) if sum(row[0] == other[0] for other in found[:i]) < 6])


@given(rows, st.sampled_from(sorted(QUALITIES)), st.sampled_from(["entity", "row"]), st.sampled_from(sorted(BUDGETS)))
@settings(max_examples=examples(120))
def test_nor_in_data_of_any_kind(found: list[tuple[int, ...]], quality: str, weighting: Weighting, budget: str) -> None:
    columns = {name: [row[i + 1] for row in found] for i, name in enumerate(DOMAIN)}
    view = array_view([row[0] for row in found], columns, DOMAIN, everyone=range(1, 6), cap=6)
    for gone in range(1, 6):
        audit(choosing(QUALITIES[quality], weighting), view, gone, BUDGETS[budget])


def wards() -> ListedColumn:
    values: dict[int, list[str | float | None]] = {i: ["a" if i % 3 else "b", "c"] for i in range(2, 90)}
    return listed(values | {1: ["only mine", "a", "b", "c", "mine too"], 99: [None]}, cap=5)


def numbers() -> ListedColumn:
    values: dict[int, list[str | float | None]] = {i: [float(i % 20)] for i in range(2, 300)}
    return listed(values | {1: [1e9, 1e9, -5.0, 7.0, None]}, cap=5)


def learning_values(gate: Gate, column: ListedColumn) -> object:
    found = gate.learner(column, 0.5, 0.5).categories(per_entity=2)
    again = gate.learner(column, 0.5, 0.5).categories(most=1, per_entity=5)
    return found.values, found.counts.tolist(), again.values, again.counts.tolist()


def learning_numbers(gate: Gate, column: ListedColumn) -> object:
    learner = gate.learner(column, 0.6)
    fine = learner.histogram(even_grid(-8, 32, 16), 0.5, Clip.chosen())
    counts = learner.histogram(even_grid(0, 19, step=1.0), 0.5, Clip(2.0))
    return fine.noisy.tolist(), quantile_bins(counts, 6).cuts, *looking_closer(gate, column)


def looking_closer(gate: Gate, column: ListedColumn) -> tuple[object, ...]:
    """Every grid but the first follows from noisy answers: bounds of which nothing is known, then what lies between them."""
    placed = OpenBins(None, None, "linear", 20)
    bounds_asked, bins_asked = (asking(gate.learner(column, 0.2)) for _ in range(2))
    (found,) = looked_at(bounds_asked, [open_grid(None, placed)], [open_cuts(None)], 64)
    order = learned_order(found, None, placed)
    known = replace(placed, low=order.low, high=order.high)
    (closer,) = looked_at(bins_asked, [coarse_grid(known)], [cuts_of(known, None)], 64)
    return order, placed_bins(known, tapered(closer))


@pytest.mark.parametrize("gone", [1, 2, 3, 99])
def test_no_entity_shows_through_a_learned_list(gone: int) -> None:
    audit(learning_values, wards(), gone, BUDGETS["zcdp"])


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS.keys())
@pytest.mark.parametrize("gone", [1, 2])
def test_no_entity_shows_through_learned_numbers(gone: int, budget: Budget) -> None:
    audit(learning_numbers, numbers(), gone, budget)


def test_order_of_the_data_does_not_show() -> None:
    column = wards()
    backwards = replace(column, rows=column.rows[::-1], everyone=column.everyone[::-1])
    recorder = Recorder()
    first = learning_values(opened(BUDGETS["zcdp"], recorder, 1), column)
    replayer = Replayer(recorder.record)
    assert learning_values(opened(BUDGETS["zcdp"], replayer, 2), backwards.without(5)) == first
    replayer.finish()


# ------------------------------------------------------------------ planted bugs


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS.keys())
def test_planted_bug_tvd_with_the_sensitivity_of_a_released_one(monkeypatch: pytest.MonkeyPatch, budget: Budget) -> None:
    monkeypatch.setattr(judging, "_sensitivity", lambda candidate, shape, mass, where: mass)
    with pytest.raises(TapeMismatch, match="one entity moves it by"):
        audit(choosing(QUALITIES["tvd"], "entity"), lonely(), 1, budget)


@pytest.mark.parametrize("quality", ["tvd", "released", "distance"])
def test_planted_bug_rows_weighed_and_entities_paid_for(monkeypatch: pytest.MonkeyPatch, quality: str) -> None:
    honest = scoring.exact_scores
    planted = lambda till, judged, weighting: honest(till, judged, "row")  # noqa: E731
    monkeypatch.setattr("mare.privacy.answers.selecting.exact_scores", planted)
    with pytest.raises(TapeMismatch, match="one entity moves it by"):
        audit(choosing(QUALITIES[quality], "entity"), lonely(), 1, BUDGETS["zcdp"])


def test_planted_bug_a_distribution_that_was_never_released() -> None:
    """The true margin in place of a released one: the public numbers are not the same on D′."""

    def fit(gate: Gate, view: ArrayView) -> object:
        (margin,) = view.counts([Marginal.of("sex")])
        return gate.curator(view, 1.0).select([TvdToReleased(SEX, (WARD,), tuple(margin.tolist())), None]).index

    with pytest.raises(TapeMismatch, match="public was"):
        audit(fit, lonely(), 1, BUDGETS["zcdp"])


def test_planted_bug_a_penalty_with_the_true_number_of_rows() -> None:
    def fit(gate: Gate, view: ArrayView) -> object:
        return gate.curator(view, 1.0).select([Tvd(SEX, (WARD,)), None], penalties=[0.1 * len(view.owner), 0]).index

    with pytest.raises(TapeMismatch, match="public was"):
        audit(fit, lonely(), 2, BUDGETS["zcdp"])


def test_planted_bug_a_reference_from_the_data() -> None:
    def fit(gate: Gate, view: ArrayView) -> object:
        (table,) = view.counts([Marginal.of("sex")])
        return gate.curator(view, 1.0).scores([Distance(Marginal.of("sex"), table.astype(np.float64))]).values.tolist()

    with pytest.raises(TapeMismatch, match="public was"):
        audit(fit, lonely(), 2, BUDGETS["zcdp"])


@dataclass(frozen=True)
class EveryRowNames(ListedColumn):
    """Planted bug: a value counts once per row, not once per entity."""

    def keys(self, most: int, key: bytes) -> Mapping[int, Mapping[str, int]]:
        counts: dict[str, int] = {}
        for _, value in self.rows:
            counts[str(value)] = counts.get(str(value), 0) + 1
        return {1: counts}


@dataclass(frozen=True)
class UncappedNames(ListedColumn):
    """Planted bug: an entity names all its values."""

    def keys(self, most: int, key: bytes) -> Mapping[int, Mapping[str, int]]:
        return super().keys(10**6, key)


@dataclass(frozen=True)
class UnstableNames(ListedColumn):
    """Planted bug: which values are named depends on the entity's place among all."""

    def keys(self, most: int, key: bytes) -> Mapping[int, Mapping[str, int]]:
        place = {entity: i for i, entity in enumerate(self.everyone)}
        moved = replace(self, rows=tuple((place[entity], value) for entity, value in self.rows))
        return ListedColumn.keys(moved, most, key)


def one_list(gate: Gate, column: ListedColumn) -> object:
    return gate.learner(column, 0.5, 0.5).categories(per_entity=1).values


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (EveryRowNames, "counts more than once for one value"),
        (UncappedNames, "where it may name 1 to 1"),
        (UnstableNames, "one entity moves it by|counts more than once"),
    ],
)
def test_planted_bugs_in_who_names_what(kind: type[ListedColumn], said: str) -> None:
    values: dict[int, list[str | float | None]] = {i: ["a", "b", "c"] for i in range(40)}
    plain = listed(values | {-1: ["a", "a", "a", "mine"]})
    with pytest.raises((TapeMismatch, InternalError), match=said):
        audit(one_list, kind(plain.rows, (-1, *range(40)), plain.max_rows_per_entity), -1, BUDGETS["zcdp"])


def test_planted_bug_a_grid_from_the_data() -> None:
    def fit(gate: Gate, column: ListedColumn) -> object:
        held = [value for _, value in column.rows if isinstance(value, float)]
        return gate.learner(column, 1.0).histogram(even_grid(min(held), max(held), 8)).noisy.tolist()

    with pytest.raises(TapeMismatch, match="marginals was"):
        audit(fit, numbers(), 1, BUDGETS["zcdp"])


def test_planted_bug_without_a_threshold_a_value_of_one_gets_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the tape cannot see (it replays the released list) the released list shows."""
    assert "only mine" not in learning_values_of(wards())
    monkeypatch.setattr("mare.privacy.learner.key_threshold", lambda sigma, per_entity, delta: -(10**6))
    assert "only mine" in learning_values_of(wards())


def learning_values_of(column: ListedColumn) -> tuple[str, ...]:
    budget = BUDGETS["zcdp"]
    gate = Gate(budget, Ledger(budget, "one patient"), SeededBits(1))
    return gate.learner(column, 0.5, 0.5).categories(per_entity=5).values


def test_the_threshold_hides_one_voice_and_not_three() -> None:
    """Deterministic: T is worked out for one full voice. Were it three, the same T would let out more than δ."""
    sigma, delta = 0.6, 1e-4
    threshold = stable_keys.key_threshold(sigma, 1, delta)
    weights = {k: float(np.exp(-k * k / (2 * sigma**2))) for k in range(-60, 61)}
    whole = sum(weights.values())

    def gets_out(voices: int) -> float:
        return sum(weight for k, weight in weights.items() if voices * stable_keys.UNIT + k > threshold) / whole

    assert gets_out(1) <= delta < gets_out(3)
