"""The tape audit, end to end: a fit on D, and again on D′ with the recorded answers, must do the very same things.

Planted bugs (the caps not enforced) must not pass: an audit that cannot fail proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mare.errors import PrivacyError
from mare.fitting import FitOptions, run_fit
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.privacy.tape import Record, Recorder, Replayer, TapeMismatch
from mare.release import Release
from mare.stage import StagedView, TableNeeds, truncation
from tests.memory_source import MemorySource, Rows, hospital_rows, hospital_schema, without

HEAVIEST = 1
BUDGETS = {"zcdp": Budget(2, 1e-9), "pure": Budget(2, 0)}


def record(rows: Rows, budget: Budget) -> tuple[Release, Record]:
    """A fit on D with everything that crossed the mechanism boundary."""
    recorder = Recorder()
    made = plan(hospital_schema(), budget)
    return run_fit(made, MemorySource.of(rows), FitOptions(bits=SeededBits(1), tape=recorder)), recorder.record


def replay(tape: Record, neighbour: Rows, budget: Budget) -> Release:
    """The same fit on D′ with the recorded answers; raises `TapeMismatch` when the missing entity shows through."""
    replayer = Replayer(tape)
    made = plan(hospital_schema(), budget)
    release = run_fit(made, MemorySource.of(neighbour), FitOptions(bits=SeededBits(2), tape=replayer))
    replayer.finish()
    return release


def audit(rows: Rows, neighbour: Rows, budget: Budget) -> tuple[Release, Release]:
    first, tape = record(rows, budget)
    return first, replay(tape, neighbour, budget)


def dirty_rows() -> Rows:
    """Also what real data holds: rows without an owner, values outside the domain, missing values."""
    rows = hospital_rows()
    stay = rows["stays"][-1]
    rows["stays"] += [{**stay, "sid": 9001, "pid": None}, {**stay, "sid": 9002, "pid": 4711}, {**stay, "sid": 9003, "ward": "?"}]
    rows["stays"] += [{**stay, "sid": 9004, "begins": None}, {**stay, "sid": 9005, "ends": None}]
    rows["patients"][3]["age"] = 250
    return rows


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS.keys())
@pytest.mark.parametrize("make", [hospital_rows, dirty_rows])
def test_no_entity_shows_through_the_fit(make: Callable[[], Rows], budget: Budget) -> None:
    rows = make()
    first, tape = record(rows, budget)
    for removed in (HEAVIEST, 4, 17):
        second = replay(tape, without(rows, removed), budget)
        assert first.plan == second.plan
        for group, arrays in first.arrays.items():
            assert arrays.keys() == second.arrays[group].keys()
            for name, values in arrays.items():
                np.testing.assert_array_equal(values, second.arrays[group][name])


def test_every_entity_of_a_small_hospital_is_covered() -> None:
    rows = hospital_rows(patients=8, seed=8)
    _, tape = record(rows, BUDGETS["zcdp"])
    for patient in rows["patients"]:
        replay(tape, without(rows, patient["pid"]), BUDGETS["zcdp"])


def test_order_of_the_rows_in_the_source_does_not_matter() -> None:
    rows = hospital_rows()
    backwards = {table: content[::-1] for table, content in rows.items()}
    audit(rows, without(backwards, HEAVIEST), BUDGETS["zcdp"])


def test_an_audited_release_is_not_private() -> None:
    rows = hospital_rows(patients=5)
    first, second = audit(rows, without(rows, 2), BUDGETS["zcdp"])
    assert first.status == second.status == "NOT PRIVATE"


def _keep_every_row(connection: object, owned: str, target: str, needs: TableNeeds) -> None:
    connection.execute(f"CREATE TABLE {target} AS SELECT * FROM {owned}")  # type: ignore[attr-defined]


def test_planted_bug_without_truncation_the_gate_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(truncation, "truncate_rows", _keep_every_row)
    rows = hospital_rows()
    with pytest.raises(PrivacyError, match="the cap does not hold"):
        audit(rows, without(rows, HEAVIEST), BUDGETS["zcdp"])


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS.keys())
def test_planted_bug_without_truncation_the_tape_finds_it(monkeypatch: pytest.MonkeyPatch, budget: Budget) -> None:
    monkeypatch.setattr(truncation, "truncate_rows", _keep_every_row)
    # The second line of defence is taken away too: the view lies about its largest entity.
    monkeypatch.setattr(StagedView, "largest_entity", lambda self: 0)
    rows = hospital_rows()
    with pytest.raises(TapeMismatch, match="one entity moves it by"):
        audit(rows, without(rows, HEAVIEST), budget)


def test_planted_bug_truncation_that_looks_at_others_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def keep_some_of_all(connection: object, owned: str, target: str, needs: TableNeeds) -> None:
        """A plausible mistake: the cap is enforced by spreading a total over all parents, in the order they are read."""
        spread = f"SELECT *, row_number() OVER (ORDER BY entity, h) AS n FROM {owned}"
        connection.execute(f"CREATE TABLE {target} AS SELECT * EXCLUDE (n) FROM ({spread}) WHERE n % 3 = 0")  # type: ignore[attr-defined]

    monkeypatch.setattr(truncation, "truncate_rows", keep_some_of_all)
    monkeypatch.setattr(StagedView, "largest_entity", lambda self: 0)
    rows = hospital_rows(patients=200)
    _, tape = record(rows, BUDGETS["zcdp"])

    def shows(pid: object) -> bool:
        try:
            replay(tape, without(rows, pid), BUDGETS["zcdp"])
        except TapeMismatch:
            return True
        return False

    # Whoever comes early in the order of the hash moves nearly every later row; one of ten is early enough.
    assert any(shows(pid) for pid in range(2, 12)), "a truncation that depends on other entities went unnoticed"
