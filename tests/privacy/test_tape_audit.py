"""The tape audit, end to end: a fit on D, and again on D′ with the recorded answers, must do the very same things.

That it can fail is shown in test_planted_bugs.py.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mare.audit import tape_audit
from mare.fitting import FitOptions, run_fit
from mare.models import model_names
from mare.planning import Plan
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.privacy.tape import Recorder, Replayer
from tests.memory_source import MemorySource, Rows, hospital_rows
from tests.privacy.sessions import hospital

HEAVIEST = 1
BUDGETS = {"zcdp": Budget(2, 1e-9), "pure": Budget(2, 0)}


def planned(budget: Budget = BUDGETS["zcdp"], model: str = "independent") -> Plan:
    return plan(hospital(model), budget)


def dirty_rows() -> Rows:
    """Also what real data holds: rows without an owner, values outside the domain, missing values."""
    rows = hospital_rows()
    stay = rows["stays"][-1]
    rows["stays"] += [{**stay, "sid": 9001, "pid": None}, {**stay, "sid": 9002, "pid": 4711}, {**stay, "sid": 9003, "ward": "?"}]
    rows["stays"] += [{**stay, "sid": 9004, "begins": None}, {**stay, "sid": 9005, "ends": None}]
    rows["patients"][3]["age"] = 250
    return rows


@pytest.mark.parametrize(
    ("model", "make", "budget"),
    [
        pytest.param(model, make, BUDGETS[kind], id=f"{model}-{make.__name__}-{kind}", marks=[pytest.mark.slow] * (kind != usual))
        for model in model_names()
        for make, usual in ((hospital_rows, "pure"), (dirty_rows, "zcdp"))
        for kind in BUDGETS
    ],
)
def test_no_entity_shows_through_the_fit(model: str, make: Callable[[], Rows], budget: Budget) -> None:
    report = tape_audit(planned(budget, model), MemorySource.of(make()), random=1)
    assert report.passed, report.render()
    assert {entity.why for entity in report.entities} >= {"the heaviest", "at random"}


def test_every_entity_of_a_small_hospital_is_covered() -> None:
    rows = hospital_rows(patients=8, seed=8)
    report = tape_audit(planned(), MemorySource.of(rows), entities=[patient["pid"] for patient in rows["patients"]])
    assert report.passed, report.render()
    assert len(report.entities) == 8


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS.keys())
def test_the_caps_are_tight_so_the_audit_would_see_a_little_too_little(budget: Budget) -> None:
    report = tape_audit(planned(budget), MemorySource.of(hospital_rows()), entities=[HEAVIEST])
    assert report.tightest == 1
    assert all(query.ratio > 0.9 for query in report.queries)


def test_an_audited_release_is_not_private() -> None:
    source, recorder = MemorySource.of(hospital_rows(patients=5)), Recorder()
    for tape in (recorder, Replayer(recorder.record)):
        assert run_fit(planned(), source, FitOptions(bits=SeededBits(1), tape=tape)).status == "NOT PRIVATE"
