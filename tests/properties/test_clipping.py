"""Whatever the data and the questions: clipped or not, no entity moves the answers further than was paid for."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mare.domain import Axis, Coarsening, Domain, Marginal
from mare.privacy.answers.clipping import Limit
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.privacy.curator import Clip, Gate
from mare.privacy.ledger import Ledger
from mare.privacy.tape import Recorder, Replayer, Tape, distance_squared
from tests.views import ArrayView, array_view

DOMAIN = Domain.of([("ward", 3), ("age", 4)])
LEVELS = {"age": (Coarsening(np.array([0, 0, 1, 1]), 2),)}
BUDGETS = [Budget(2.0, delta=0), Budget(2.0, 1e-9)]

axes = st.one_of(
    st.builds(Axis, st.just("ward"), lag=st.integers(0, 2)),
    st.builds(Axis, st.just("age"), level=st.integers(0, 1), lag=st.integers(0, 1), same_as_lag=st.integers(0, 1)),
)
marginals = st.lists(
    st.lists(axes, min_size=1, max_size=3, unique=True).map(lambda a: Marginal(tuple(a))),
    min_size=1,
    max_size=4,
    unique_by=lambda marginal: frozenset(marginal.axes),
)
rows = st.lists(st.tuples(st.integers(1, 5), st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=60)
bounds = st.floats(0.05, 20) | st.integers(1, 9)


def built(listed: list[tuple[int, int, int]]) -> ArrayView:
    """One more entity has no rows at all."""
    columns = {"ward": [w for _, w, _ in listed], "age": [a for _, _, a in listed]}
    return array_view([e for e, _, _ in listed], columns, DOMAIN, everyone=range(1, 7), cap=60, coarsenings=LEVELS)


def ask(view: ArrayView, asked: list[Marginal], clip: Clip | None, budget: Budget, tape: Tape) -> None:
    gate = Gate(budget, Ledger(budget, "one patient"), SeededBits(1), tape)
    gate.curator(view, 1.0).counts(asked, 1.0, clip)


@given(rows, marginals, st.none() | bounds.map(Clip), st.sampled_from(BUDGETS))
def test_no_entity_moves_the_tables_further_than_was_paid_for(
    listed: list[tuple[int, int, int]], asked: list[Marginal], clip: Clip | None, budget: Budget
) -> None:
    view = built(listed)
    recorder = Recorder()
    ask(view, asked, clip, budget, recorder)
    for entity in range(1, 7):
        replayer = Replayer(recorder.record)
        ask(view.without(entity), asked, clip, budget, replayer)
        replayer.finish()


@given(rows, marginals, bounds, st.booleans())
def test_a_factor_hangs_on_its_entity_alone(
    listed: list[tuple[int, int, int]], asked: list[Marginal], bound: float, pure: bool
) -> None:
    view = built(listed)
    limit = Limit(bound, len(asked), pure, 16)
    weights = limit.weights(view.rows_per_entity(), view.squared_norms(asked))
    for place, entity in enumerate(view.entity_ids.tolist()):
        alone = built([row for row in listed if row[0] == entity] or [(7, 0, 0)])
        own = int(np.searchsorted(alone.entity_ids, entity))
        assert limit.weights(alone.rows_per_entity(), alone.squared_norms(asked))[own] == weights[place]


@given(rows, marginals, bounds, st.sampled_from(BUDGETS))
def test_whoever_is_clipped_uses_nearly_all_that_is_paid_for(
    listed: list[tuple[int, int, int]], asked: list[Marginal], bound: float, budget: Budget
) -> None:
    """A bound that nobody comes near would be private as well, and cost more noise than it has to."""
    view = built([(1, w, a) for _, w, a in listed])
    recorder = Recorder()
    ask(view, asked, Clip(bound), budget, recorder)
    (entry,) = recorder.record.entries
    moved = distance_squared(entry.query, entry.exact, [np.zeros_like(table) for table in entry.exact])
    whole = 1 << 16
    factor = int(entry.exact[0].sum()) // len(listed)
    if factor < whole:
        # the factor is rounded down to a whole unit: one unit more would be too much
        assert moved <= entry.query.sensitivity_squared < moved * (factor + 1) ** 2 / factor**2 * (1 + 1e-9)
