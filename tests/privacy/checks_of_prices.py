"""Parts of the suite that planted bugs in paying must turn red: every part of δ made anew, what breaks down, what a cache keeps,
what a refusal says, and when the budget file pays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1, log1p, sqrt
from typing import Any

import numpy as np
import pytest

from mare.audit.variants import HeldSource
from mare.domain import Axis, Domain, Marginal
from mare.errors import MareError, PrivacyError
from mare.fitting import FitOptions
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.privacy.conversion import epsilon_from_rho
from mare.privacy.curator import Clip, Curator, Gate
from mare.privacy.gaussian import GaussianTable
from mare.privacy.learner import Learner
from mare.privacy.ledger import Charge, Ledger
from mare.privacy.qualities import NormRank, Summed, Tvd
from mare.privacy.stable_keys import UNIT
from mare.privacy.tape import Counts, Query, Recorder, distance_squared
from mare.schema.loading import load_schema
from tests.even_grids import even_grid
from tests.memory_source import MemorySource, hospital_rows
from tests.privacy.checks_of_learning import LISTS_BELOW, lists_below
from tests.privacy.seams import fit_module
from tests.privacy.sessions import BOTH, CANARY, CAP, PURE, WARD, ZCDP, asked, everything, hospital, pair, replay_against, wards
from tests.raw_columns import ListedColumn, listed
from tests.views import ArrayView, array_view


class _Errors(Recorder):
    """Keeps, of each answer, how far its draws may have been from their distribution: told by the tables that they came from."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.errors: list[Fraction] = []
        self._now = Fraction(0)
        original = GaussianTable.draw

        def draw(table: GaussianTable, count: int, bits: Any) -> Counts:
            self._now += count * table.total_variation
            return original(table, count, bits)

        patch.setattr(GaussianTable, "draw", draw)

    def answer(self, query: Query, exact: Sequence[Counts], release: Callable[[], list[Counts]]) -> list[Counts]:
        self._now = Fraction(0)
        released = super().answer(query, exact, release)
        self.errors.append(self._now)
        return released


def deltas_add_up() -> None:
    """Of a fit that learns lists: what its noise may be off by, what its lists may let out, and ρ as ε, all within ε and δ."""
    budget = Budget(2, 1e-6)
    with pytest.MonkeyPatch.context() as patch:
        recorder = _Errors(patch)
        made = plan(load_schema(LISTS_BELOW), budget)
        ledger = fit_module.run_fit(made, lists_below(), FitOptions(bits=SeededBits(3), tape=recorder)).ledger
    assert any(recorder.errors), "all noise was exact: nothing was tried"
    for charge, error in zip(ledger.charges, recorder.errors, strict=True):
        assert error <= Fraction(charge.total_variation), f"{charge.what}: the noise may be off by more than was charged"
    listing = [charge for charge in ledger.charges if charge.mechanism == "stable keys"]
    assert listing, "no list was learned: nothing was tried"
    assert all("at most 1 of an entity" not in charge.what for charge in listing), "everybody named one value: nothing was tried"
    for charge in listing:
        assert _gets_out(charge) <= charge.delta, f"{charge.what}: one entity's own values get out more often than delta"
    totals = ledger.totals
    error = float(sum(recorder.errors)) * (1 + exp(budget.epsilon))
    due = totals.delta_conversion + sum(charge.delta for charge in listing) + error
    assert due <= budget.delta, f"delta comes to {due:.3g}, {budget.delta:.3g} was promised"
    spent = epsilon_from_rho(float(sum(Fraction(charge.cost) for charge in ledger.charges)), totals.delta_conversion)
    assert spent <= budget.epsilon * (1 + 1e-9), f"epsilon comes to {spent:.3g}, {budget.epsilon:.3g} was promised"


def _gets_out(charge: Charge) -> float:
    """The chance that any of an entity's own values gets out, however many of k₀ it names, by the law of the noise in units of
    a voice: 1/√t + X > T for one of t."""
    told = re.search(r"more than ([\d.]+) entities speak for, .* at most (\d+) of an entity", charge.what)
    assert told is not None, charge.what
    threshold, most = round(float(told[1]) * UNIT), int(told[2])
    scale = charge.scale * UNIT
    law = np.exp(-(np.arange(int(40 * scale) + 60) ** 2) / (2 * scale**2))
    beyond = np.cumsum(law[::-1])[::-1] / (2 * law.sum() - 1)  # P(X ≥ x)
    voices = ((named, int(UNIT / sqrt(named))) for named in range(1, most + 1))
    return max(-expm1(named * log1p(-beyond[threshold - voice + 1])) for named, voice in voices)


# ---------------------------------------------------------------------- paid before it is looked at


@dataclass(frozen=True, eq=False)
class _BrokenView(ArrayView):
    """A stage that breaks down whatever it is asked, but for the assertion of the cap, which is told to nobody."""

    def largest_entity(self) -> int:
        return self.max_rows_per_entity

    def _broken(self, *_: object) -> Any:
        raise MareError("the stage broke down")

    entities = rows_per_entity = squared_norms = counts = _broken  # type: ignore[assignment]


class _BrokenColumn(ListedColumn):
    def binned(self, edges: Sequence[float], label: str) -> ArrayView:
        return _broken_view(super().binned(edges, label))

    def keys(self, most: int, key: bytes) -> Any:
        raise MareError("the stage broke down")


def _broken_view(whole: ArrayView) -> _BrokenView:
    known = (whole.domain, whole.entity_ids, whole.owner, whole.position, whole.columns, whole.max_rows_per_entity)
    return _BrokenView(*known)


ANSWERS: dict[str, Callable[[Curator], object]] = {
    "number of entities": lambda curator: curator.entities(),
    "number of entities with rows": lambda curator: curator.entities(with_rows=True),
    "counts": lambda curator: curator.counts([WARD]),
    "clipped counts": lambda curator: curator.counts([WARD], clip=Clip(2.0)),
    "counts with a chosen clip": lambda curator: curator.counts([WARD], clip=Clip.chosen()),
    "scores": lambda curator: curator.scores([Tvd(Axis("ward"), (Axis("age"),))]),
    "choice": lambda curator: curator.select([Tvd(Axis("ward"), (Axis("age"),)), None]),
    "choice of a sum": lambda curator: curator.select([Summed((Tvd(Axis("ward"), (Axis("age"),)),)), None]),
    "choice of a clip": lambda curator: curator.select([NormRank((WARD,), 1.0, 1.0)]),
}
LESSONS: dict[str, Callable[[Learner], object]] = {
    "list of values": lambda learner: learner.categories(),
    "histogram": lambda learner: learner.histogram(even_grid(0, 9, 3)),
}


def whatever_breaks_down_has_been_paid_for() -> None:
    """Every kind of answer: by the time that the stage is asked, the charge stands in the ledger."""
    column = listed({patient: ["a", "b"] for patient in range(9)})
    for what, ask in (ANSWERS | LESSONS).items():
        ledger = Ledger(ZCDP, "one patient")
        gate = Gate(ZCDP, ledger, SeededBits(1))
        broken = _BrokenColumn(column.rows, column.everyone, column.max_rows_per_entity)
        asked_of = gate.learner(broken, 1.0, delta_share=1.0) if what in LESSONS else gate.curator(_broken_view(wards()), 1.0)
        with pytest.raises(MareError, match="broke down"):
            ask(asked_of)  # type: ignore[arg-type]
        assert ledger.charges, f"{what}: the stage was asked before anything was paid"


class _Unpaid(HeldSource):
    """A source that may not be read before somebody has paid."""

    def read(self, table: str, columns: Sequence[str]) -> Any:
        assert PAID, f"table {table} was read before the budget was taken from its file"
        return super().read(table, columns)


PAID: list[Budget] = []


def the_budget_file_pays_first() -> None:
    """The reservation is gone before the first row is read, come what may."""
    PAID.clear()

    def reserve(budget: Budget, unit: str) -> Any:
        PAID.append(budget)

    made = plan(hospital(), ZCDP)
    fit_module.run_fit(made, _Unpaid(MemorySource.of(hospital_rows(4))), FitOptions(bits=SeededBits(1), reserve=reserve))
    assert PAID == [ZCDP]


# ---------------------------------------------------------------------- caches and words


def repeating() -> ArrayView:
    """As `wards`, but the canary's rows are all in one ward and of different ages: heavy by one norm, light by another."""
    owner, ward, age = [CANARY] * CAP, [3] * CAP, list(range(CAP))
    for entity in range(1, 9):
        owner, ward, age = [*owner, entity], [*ward, entity % 3], [*age, entity % 5]
    return array_view(owner, {"ward": ward, "age": age}, Domain.of([("ward", 4), ("age", CAP)]), everyone=range(10), cap=CAP)


def chosen_and_then_clipped(curator: Curator) -> object:
    """A clip is chosen by the norms of one table, and then another table is clipped."""
    ranks = [NormRank((BOTH,), bound, 1.0) for bound in (1.0, 3.0)]
    return [curator.select(ranks, 0.2), curator.counts([WARD], 0.4, clip=Clip(1.0)), curator.counts([BOTH], 0.4, clip=Clip(1.0))]


def a_clip_after_a_choice_passes_the_tape() -> None:
    view = repeating()
    sessions = asked(view, ZCDP, chosen_and_then_clipped), asked(view.without(CANARY), ZCDP, chosen_and_then_clipped)
    replay_against(*sessions, SeededBits)


def scores_see_the_canary() -> None:
    """Whoever leaves moves every score that they have a part in: an answer that stays put is that of other data."""
    for budget in (ZCDP, PURE):
        tapes = []
        for session in pair(everything, budget):
            tapes.append(Recorder())
            session(SeededBits(1), tapes[-1])
        there, gone = (tape.record.entries for tape in tapes)
        judged = [(a, b) for a, b in zip(there, gone, strict=True) if " by Tvd" in a.query.what]
        assert len(judged) == 2, "no score was asked: nothing was tried"
        for one, other in judged:
            moved = distance_squared(one.query, one.exact, other.exact)
            assert moved > 0, f"{one.query.what}: the answer without the canary is the one with it"


def refusals_tell_no_number() -> None:
    """A stage whose cap does not hold, by one row and by many: the gate refuses in the same words."""
    told = set()
    for rows in (CAP + 1, CAP + 5):
        view = array_view([0] * rows, {"ward": [1] * rows}, Domain.of([("ward", 4)]), everyone=range(3), cap=CAP)
        curator = Gate(ZCDP, Ledger(ZCDP, "one patient"), SeededBits(1)).curator(view, 1.0)
        with pytest.raises(PrivacyError, match="the cap does not hold") as refusal:
            curator.counts([Marginal.of("ward")])
        told.add(str(refusal.value))
    assert len(told) == 1, f"a refusal tells how far a cap was missed: {sorted(told)}"


CHECKS = (
    deltas_add_up,
    whatever_breaks_down_has_been_paid_for,
    the_budget_file_pays_first,
    a_clip_after_a_choice_passes_the_tape,
    scores_see_the_canary,
    refusals_tell_no_number,
)
