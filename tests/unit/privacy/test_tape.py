"""The tape notices what one entity must not be able to cause. Each planted bug turns it red."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from mare.domain import Domain, Marginal
from mare.privacy.bits import OsBits
from mare.privacy.budget import Budget
from mare.privacy.curator import Clip, Gate
from mare.privacy.ledger import Ledger
from mare.privacy.tape import Entry, Query, Record, Recorder, Replayer, Tape, TapeMismatch
from tests.unit.privacy.listed_view import ROWS, ListedView, visits

WARD, AGE, BOTH = Marginal.of("ward"), Marginal.of("age"), Marginal.of("ward", "age")
BUDGETS = [Budget(1.0, delta=0), Budget(1.0, 1e-9)]

Fit = Callable[[Gate, ListedView], object]


def honest(gate: Gate, view: ListedView) -> object:
    """Learns from noisy answers only, and adapts to them."""
    gate.secret("truncation")
    curator = gate.curator(view, 1.0)
    size = curator.entities(0.2)
    ward, age = curator.counts([WARD, AGE], 0.3)
    chosen = BOTH if ward.values[0] > ward.values[1] else AGE
    return size.value, ward.values.tolist(), age.values.tolist(), curator.counts([chosen], 0.5)[0].values.tolist()


def audit(fit: Fit, view: ListedView, gone: int, budget: Budget) -> None:
    recorder = Recorder()
    first = fit(opened(budget, recorder), view)
    replayer = Replayer(recorder.record)
    second = fit(opened(budget, replayer), view.without(gone))
    replayer.finish()
    assert first == second


def opened(budget: Budget, tape: Tape) -> Gate:
    return Gate(budget, Ledger(budget, "one patient"), OsBits(), tape)


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("gone", [1, 2, 3, 4])
def test_an_honest_fit_does_the_same_without_one_entity(budget: Budget, gone: int) -> None:
    audit(honest, visits(), gone, budget)


@pytest.mark.parametrize("tape", [Recorder(), Replayer(Recorder().record)])
def test_a_tape_marks_the_release_not_private(tape: Tape) -> None:
    gate = opened(BUDGETS[0], tape)
    assert gate.ledger.status == "NOT PRIVATE"
    assert gate.ledger.reasons == (tape.reason,)


def test_a_recording_keeps_exact_and_released_answers_apart() -> None:
    recorder = Recorder()
    gate = opened(BUDGETS[1], recorder)
    (answer,) = gate.curator(visits(), 1.0).counts([BOTH])
    (entry,) = recorder.record.entries
    assert entry.exact[0].tolist() == [[2, 2, 0], [0, 1, 1]]
    assert entry.released[0].tolist() == answer.values.tolist() != entry.exact[0].tolist()
    assert entry.query.marginals == (BOTH,)
    assert (entry.query.view, entry.query.scale) == ("visits.rows", answer.scale)
    answer.values[:] = 0
    assert entry.released[0].any()


def test_a_replay_answers_as_recorded_and_with_the_same_keys() -> None:
    recorder = Recorder()
    first = opened(BUDGETS[1], recorder)
    key, counts = first.secret("truncation"), first.curator(visits(), 1.0).counts([BOTH])[0].values.tolist()
    second = opened(BUDGETS[1], Replayer(recorder.record))
    assert second.secret("truncation") == key
    assert second.curator(visits(), 1.0).counts([BOTH])[0].values.tolist() == counts


@dataclass(frozen=True)
class Uncapped(ListedView):
    """Planted bug: truncation that only pretends. It reports the cap, and counts everything."""

    def largest_entity(self) -> int:
        return min(super().largest_entity(), self.max_rows_per_entity)

    def without(self, gone: int) -> ListedView:
        return _same_kind(self, gone)


@dataclass(frozen=True)
class FanOut(ListedView):
    """Planted bug: a join downwards counts each row twice, and the row counts with them, but for the cap."""

    def largest_entity(self) -> int:
        return super().largest_entity() // 2

    def rows_per_entity(self) -> NDArray[np.int64]:
        return 2 * super().rows_per_entity()

    def counts(self, marginals: Sequence[Marginal], weights: NDArray[np.int64] | None = None) -> list[NDArray[np.int64]]:
        return [2 * table for table in super().counts(marginals, weights)]

    def without(self, gone: int) -> ListedView:
        return _same_kind(self, gone)


@dataclass(frozen=True)
class DataDrivenDomain(ListedView):
    """Planted bug: the domain is what occurs."""

    def without(self, gone: int) -> ListedView:
        rest = _same_kind(self, gone)
        sizes = [max(codes[i] for _, codes in rest.rows) + 1 for i in range(2)]
        return replace(rest, domain=Domain(self.domain.names, tuple(sizes)))


@dataclass(frozen=True)
class Flattered(ListedView):
    """Planted bug: an entity's norm is taken as if all its rows were in different cells, so its factor is too large."""

    def squared_norms(self, marginals: Sequence[Marginal]) -> NDArray[np.int64]:
        return len(marginals) * self.rows_per_entity()

    def without(self, gone: int) -> ListedView:
        return _same_kind(self, gone)


@dataclass(frozen=True)
class Shared(ListedView):
    """Planted bug: what an entity weighs depends on who else is there."""

    def squared_norms(self, marginals: Sequence[Marginal]) -> NDArray[np.int64]:
        norms = super().squared_norms(marginals)
        return norms if self.all_entities == 30 else len(marginals) * self.rows_per_entity() ** 2

    def without(self, gone: int) -> ListedView:
        return _same_kind(self, gone)


def _same_kind(view: ListedView, gone: int) -> ListedView:
    rows = tuple(row for row in view.rows if row[0] != gone)
    return replace(view, rows=rows, all_entities=view.all_entities - 1)


def true_rows_in_the_split(gate: Gate, view: ListedView) -> object:
    """Planted bug: a true row count decides how the budget is shared."""
    curator = gate.curator(view, 1.0)
    return [answer.values.tolist() for answer in curator.counts([WARD], 1 / (1 + len(view.rows)))]


def true_rows_in_the_questions(gate: Gate, view: ListedView) -> object:
    """Planted bug: the order of the questions follows the true counts."""
    curator = gate.curator(view, 1.0)
    marginals = [WARD, AGE] if len(view.rows) > 4 else [AGE, WARD]
    return [answer.values.tolist() for answer in curator.counts(marginals)]


def one_question_less(gate: Gate, view: ListedView) -> object:
    """Planted bug: a true count decides whether something is asked at all."""
    curator = gate.curator(view, 1.0)
    curator.counts([WARD], 0.5)
    return [answer.values.tolist() for answer in curator.counts([AGE], 0.5)] if len(view.rows) > 4 else []


def one_key_more(gate: Gate, view: ListedView) -> object:
    """Planted bug: a key is drawn only when few rows are there."""
    return gate.secret("few") if len(view.rows) < 5 else None


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize(
    ("fit", "view", "gone", "said"),
    [
        (honest, Uncapped(ROWS, 4, visits().domain, 1), 1, "one entity moves it by"),
        (honest, FanOut(ROWS, 4, visits().domain, 3), 1, "one entity moves it by"),
        (honest, DataDrivenDomain(ROWS, 4, visits().domain, 3), 1, "the answer was shaped"),
        (true_rows_in_the_split, visits(), 2, "scale was"),
        (true_rows_in_the_questions, visits(), 1, "marginals was"),
        (one_question_less, visits(), 1, "asked in the recorded run only"),
        (one_key_more, visits(), 1, "was not drawn in the recorded run"),
    ],
    ids=["no truncation", "fan-out", "data-driven domain", "true n", "order", "missing question", "key"],
)
def test_planted_bugs_are_noticed(fit: Fit, view: ListedView, gone: int, said: str, budget: Budget) -> None:
    with pytest.raises(TapeMismatch, match=said):
        audit(fit, view, gone, budget)


def test_a_question_too_many_is_noticed() -> None:
    recorder = Recorder()
    opened(BUDGETS[0], recorder).curator(visits(), 1.0).counts([WARD], 0.5)
    again = opened(BUDGETS[0], Replayer(recorder.record)).curator(visits(), 1.0)
    again.counts([WARD], 0.5)
    with pytest.raises(TapeMismatch, match="was not asked in the recorded run"):
        again.counts([AGE], 0.5)


def test_the_distance_is_taken_over_the_whole_charge() -> None:
    """Each table alone is within the paid norm; both together are not."""
    view = Uncapped(((1, (0, 0)), (1, (0, 0))), 1, visits().domain, 1)
    recorder = Recorder()
    opened(BUDGETS[0], recorder).curator(view, 1.0).counts([WARD, AGE])
    replayer = Replayer(recorder.record)
    opened(BUDGETS[0], replayer).curator(view.without(1), 1.0).counts([WARD, AGE])
    with pytest.raises(TapeMismatch, match="moves it by 4 in L1, 2 was paid for") as caught:
        replayer.finish()
    assert len(caught.value.differences) == 1


def test_a_distance_that_is_just_paid_for_passes() -> None:
    view = ListedView(((1, (0, 0)), (1, (0, 0)), (1, (0, 0))), 1, visits().domain, 3)
    for budget in BUDGETS:
        recorder = Recorder()
        opened(budget, recorder).curator(view, 1.0).counts([WARD, AGE, BOTH])
        replayer = Replayer(recorder.record)
        opened(budget, replayer).curator(view.without(1), 1.0).counts([WARD, AGE, BOTH])
        replayer.finish()


def clipped(gate: Gate, view: ListedView) -> object:
    curator = gate.curator(view, 1.0)
    return [a.values.tolist() for a in curator.counts([WARD, BOTH], 0.5, Clip(1.2))]


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("gone", [1, 2, 3, 4])
def test_clipped_answers_do_not_show_one_entity(budget: Budget, gone: int) -> None:
    audit(clipped, visits(), gone, budget)


def test_a_factor_that_is_too_large_is_noticed() -> None:
    with pytest.raises(TapeMismatch, match="one entity moves it by") as caught:
        audit(clipped, Flattered(ROWS, 4, visits().domain, 3), 3, BUDGETS[1])
    assert len(caught.value.differences) == 1


def test_factors_that_hang_on_others_are_noticed() -> None:
    crowd = tuple((entity, (step % 2, step % 3)) for entity in range(30) for step in range(4))
    with pytest.raises(TapeMismatch, match="one entity moves it by"):
        audit(clipped, Shared(crowd, 30, visits().domain, 4), 1, BUDGETS[1])


@pytest.mark.parametrize(("now", "fits"), [([4, 8], True), ([3, 8], True), ([1, 8], False)])
def test_one_entity_counts_once_for_a_learned_value(now: list[int], fits: bool) -> None:
    """Twice as much was paid for, but a value for which one entity speaks twice would come through its threshold."""
    query = Query("values of ward", "visits", (), "stable keys", "L2", 4.0, 16, 1.0, 1.0, denominator=2, listed=True)
    keys, before = np.array([3, 8]), np.array([4, 8])
    replayer = Replayer(Record([Entry(query, (keys, before), (keys,))]))
    replayer.answer(query, (keys, np.array(now)), list)
    if fits:
        replayer.finish()
    else:
        with pytest.raises(TapeMismatch, match="counts more than once for one value"):
            replayer.finish()
