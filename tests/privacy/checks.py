"""The parts of the suite that planted bugs must turn red, as functions: each passes on the code as it is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np
import pyarrow as pa
import pytest

from mare.audit import account_faults, mechanism_audit, session_audit, tape_audit
from mare.domain import Domain, Marginal
from mare.errors import BudgetError, MareError
from mare.fitting import FitOptions, run_fit
from mare.planning.planning import plan
from mare.privacy.bits import OsBits, SeededBits
from mare.privacy.budget import Budget
from mare.privacy.curator import Clip, Gate
from mare.privacy.ledger import Ledger
from mare.privacy.noise import Mechanism, prepare_noise
from mare.privacy.qualities import NormRank
from mare.privacy.tape import Recorder
from mare.schema.loading import load_schema
from tests.memory_source import MemorySource, Rows, hospital_rows, without
from tests.privacy.sessions import BOTH, CAP, PURE, WARD, ZCDP, everything, hospital, learning, pair, replay_against, wards
from tests.privacy.test_noise_distributions import excess, gaussian_weight, laplace_weight
from tests.raw_columns import listed
from tests.views import ArrayView, array_view

BUDGETS = (Budget(2, 1e-9), Budget(2, delta=0))


def telling_rows() -> Rows:
    """Patient 1 has more stays than the cap; nobody but patient 2 was ever in ward c or is so old."""
    rows = hospital_rows(patients=24, heaviest=9)
    for patient in rows["patients"]:
        patient["age"] = 95 if patient["pid"] == 2 else int(str(patient["age"])) % 70
    for stay in rows["stays"]:
        stay["ward"] = "b" if stay["ward"] == "c" else stay["ward"]
    own = [stay for stay in rows["stays"] if stay["pid"] == 2] or rows["stays"][:1]
    rows["stays"] += [{**own[0], "sid": 8000, "pid": 2, "ward": "c"}]
    return rows


def hospital_passes_the_tape() -> None:
    """`mare.audit.tape_audit` of a whole fit, entities chosen by the audit."""
    for budget in BUDGETS:
        report = tape_audit(plan(hospital(), budget), MemorySource.of(telling_rows()), random=3)
        assert report.passed, report.render()


def sessions_pass_the_tape() -> None:
    """Every kind of answer of a curator, with a canary that is as heavy as its cap allows, and the account made anew."""
    for budget in (ZCDP, PURE):
        recorder, ledger = replay_against(*pair(everything, budget), SeededBits)
        faults = account_faults(recorder.record, ledger, budget)
        assert not faults, faults


def sessions_pass_the_canary() -> None:
    report = session_audit(*pair(), runs=200, seed=3)
    assert report.passed, report.render()


def one_count_passes_the_canary() -> None:
    for budget in BUDGETS:
        report = mechanism_audit(budget, draws=200_000, seed=1)
        assert report.passed, report.render()


def draws_follow_their_distribution() -> None:
    laws: list[tuple[Mechanism, object]] = [
        ("discrete laplace", laplace_weight(0.8)),
        ("discrete gaussian", gaussian_weight(0.8)),
    ]
    for mechanism, law in laws:
        drawn = prepare_noise(mechanism, 0.8, 200_000).draw(SeededBits(11))
        assert excess(drawn, law, 0.8) < 1, f"{mechanism} is not drawn from its distribution"  # type: ignore[arg-type]


def empty_cells_get_noise() -> None:
    empty = array_view([], {"ward": [], "age": []}, Domain.of([("ward", 40), ("age", 50)]), everyone=range(3), cap=3)
    for budget in BUDGETS:
        gate = Gate(budget, Ledger(budget, "one patient"), SeededBits(4))
        (answer,) = gate.curator(empty, 1.0).counts([BOTH])
        assert np.std(answer.values) > 0.8 * answer.standard_deviation, "cells at zero got too little noise"


def a_seeded_release_says_so() -> None:
    release = run_fit(plan(hospital(), BUDGETS[0]), MemorySource.of(hospital_rows(4)), FitOptions(bits=SeededBits(1)))
    assert release.status == "NOT PRIVATE", "seeded noise was released as PRIVATE"


def two_fits_draw_their_own_noise() -> None:
    drawn = []
    for _ in range(2):
        gate = Gate(ZCDP, Ledger(ZCDP, "one patient"), OsBits())
        drawn.append((gate.secret("truncation"), gate.curator(wards(), 1.0).counts([BOTH])[0].values.tolist()))
    assert drawn[0][0] != drawn[1][0], "two fits have one truncation key"
    assert drawn[0][1] != drawn[1][1], "two fits have the same noise"


def what_is_spent_is_gone() -> None:
    curator = Gate(ZCDP, Ledger(ZCDP, "one patient"), SeededBits(1)).curator(wards(), 1.0)
    curator.counts([WARD], 0.7)
    with pytest.raises(BudgetError):
        curator.counts([WARD], 0.7)


class _Breaks(ArrayView):
    """A stage that breaks down while it counts: what it was asked is known by then, so it must have been paid."""

    def counts(self, marginals: Sequence[Marginal], weights: object = None) -> list[np.ndarray]:
        raise MareError("the stage broke down")


def a_breakdown_has_been_paid_for() -> None:
    whole = wards()
    view = _Breaks(whole.domain, whole.entity_ids, whole.owner, whole.position, whole.columns, whole.max_rows_per_entity)
    ledger = Ledger(ZCDP, "one patient")
    curator = Gate(ZCDP, ledger, SeededBits(1)).curator(view, 1.0)
    with pytest.raises(MareError, match="broke down"):
        curator.counts([WARD])
    assert len(ledger.charges) == 1, "an answer was worked out before it was paid for"


def clipped_tables_agree() -> None:
    """The counter-example of privacy.md: half the patients with 1 row (A = 0), half with 9 rows (A = 1, nine distinct B)."""
    people = range(200)
    owner = [p for p in people for _ in range(1 if p % 2 else 9)]
    a = [0 if p % 2 else 1 for p in owner]
    b = [row for p in people for row in range(1 if p % 2 else 9)]
    view = array_view(owner, {"a": a, "b": b}, Domain.of([("a", 2), ("b", 9)]), cap=9)
    budget = Budget(4000, 1e-9)
    curator = Gate(budget, Ledger(budget, "one patient"), SeededBits(1)).curator(view, 1.0)
    one, two = curator.counts([Marginal.of("a"), Marginal.of("a", "b")], clip=Clip(3.0))
    shares = [float(table.rows.reshape(2, -1)[1].sum() / table.rows.sum()) for table in (one, two)]
    assert shares[0] == pytest.approx(shares[1], abs=0.01), (
        f"P(A = 1) is {shares[0]:.2f} in one table, {shares[1]:.2f} in the other"
    )


def rows_without_an_owner_change_nothing() -> None:
    rows = hospital_rows(12)
    stray = {**rows["stays"][-1], "begins": datetime(2019, 1, 1), "ends": datetime(2019, 1, 2)}
    strays = [{**stray, "sid": 9001, "pid": None}, {**stray, "sid": 9002, "pid": 4711}]
    answers = []
    for stays in (rows["stays"], [*rows["stays"], *strays]):
        recorder = Recorder()
        source = MemorySource.of({**rows, "stays": stays})
        run_fit(plan(hospital(), BUDGETS[0]), source, FitOptions(bits=SeededBits(1), tape=recorder))
        answers.append([table.tolist() for entry in recorder.record.entries for table in entry.exact])
    assert answers[0] == answers[1], "rows that nobody owns are counted, and nobody protects them"


GRANDCHILDREN = """
mare: 1
entity: p
model: independent
tables:
  p: {key: id, columns: {x: {type: category, values: [a, b]}}}
  c: {key: id, parent: {table: p, column: up, max_rows: 2}, columns: {x: {type: category, values: [a, b]}}}
  d: {parent: {table: c, column: up, max_rows: 3, orphans: entity}, columns: {x: {type: category, values: [a, b]}}}
"""


def rows_of_cut_parents_stay_their_entitys() -> None:
    """Two patients with eight stays each, of which two are kept; every stay has two rows below it. Orphans are entities."""
    people = (1, 2)
    stays = [(10 * p + n, p) for p in people for n in range(8)]
    rows: Rows = {
        "p": [{"id": p, "x": "a"} for p in people],
        "c": [{"id": stay, "up": p, "x": "b"} for stay, p in stays],
        "d": [{"up": stay, "x": "a"} for stay, _ in stays for _ in range(2)],
    }
    number, text = pa.int64(), pa.string()
    types = {"p": {"id": number, "x": text}, "c": {"id": number, "up": number, "x": text}, "d": {"up": number, "x": text}}
    report = tape_audit(plan(load_schema(GRANDCHILDREN), BUDGETS[0]), MemorySource.of(rows, types), entities=[1])
    assert report.passed, report.render()


def learning_passes_the_tape() -> None:
    rows = telling_rows()
    recorded = Recorder()
    ledger = learning(rows)(SeededBits(1), recorded)
    faults = account_faults(recorded.record, ledger, ZCDP)
    assert not faults, faults
    for gone in (1, 2, 3):
        replay_against(learning(rows), learning(without(rows, gone)), SeededBits)


def a_value_of_one_alone_is_not_learned() -> None:
    """Patient 2 is the only one in ward c. δ is 1e-9: in a hundred fits the ward does not get out."""
    column = listed({patient: ["c" if patient == 2 else "ab"[patient % 2]] for patient in range(400)})
    for seed in range(100):
        gate = Gate(ZCDP, Ledger(ZCDP, "one patient"), SeededBits(seed))
        found = gate.learner(column, 1.0, delta_share=1.0).categories(most=5)
        assert set(found.values) <= {"a", "b"}, "a value that one patient alone holds was learned"
        assert found.values, "nothing was learned at all, so nothing was tested"


def choices_follow_their_law() -> None:
    """Two candidates, one of them a few entities better: P ∝ e^(score/b), with the b that was paid for."""
    ranks = [NormRank((), bound, 1.0) for bound in (1.0, float(CAP))]
    picked = [Gate(ZCDP, Ledger(ZCDP, "x"), SeededBits(seed)).curator(wards(), 0.05).select(ranks) for seed in range(2000)]
    cut = [int((wards().rows_per_entity() > bound).sum()) for bound in (1, CAP)]
    chance = 1 / (1 + np.exp((abs(cut[1] - 1) - abs(cut[0] - 1)) / picked[0].scale))
    better = sum(one.index for one in picked) / len(picked)
    spread = np.sqrt(chance * (1 - chance) / len(picked))
    assert abs(better - chance) < 6 * spread, f"chosen with a chance of {better:.3f}, the law says {chance:.3f}"


CHECKS = (
    rows_of_cut_parents_stay_their_entitys,
    learning_passes_the_tape,
    a_value_of_one_alone_is_not_learned,
    choices_follow_their_law,
    hospital_passes_the_tape,
    sessions_pass_the_tape,
    sessions_pass_the_canary,
    one_count_passes_the_canary,
    draws_follow_their_distribution,
    empty_cells_get_noise,
    a_seeded_release_says_so,
    two_fits_draw_their_own_noise,
    what_is_spent_is_gone,
    a_breakdown_has_been_paid_for,
    clipped_tables_agree,
    rows_without_an_owner_change_nothing,
)
