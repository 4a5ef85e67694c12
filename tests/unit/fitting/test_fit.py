"""The fit: what it refuses before it reads, what it charges, and when it is NOT PRIVATE."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest

from mare.errors import PlanError, SourceError
from mare.fitting import FitOptions, fit, run_fit
from mare.planning.planning import plan
from mare.privacy.budget import Budget
from mare.schema.loading import load_schema
from tests.memory_source import HOSPITAL, MemorySource, hospital_rows, hospital_schema

BUDGET = Budget(1, 1e-9)


def source(patients: int = 30) -> MemorySource:
    return MemorySource.of(hospital_rows(patients))


class Unreadable(MemorySource):
    """A source that must not be asked for rows."""

    def read(self, table, columns):
        raise AssertionError(f"{table} was read")


@pytest.mark.parametrize("budget", [BUDGET, Budget(1, 0)], ids=["zcdp", "pure"])
def test_the_whole_budget_is_spent_and_no_more(budget: Budget) -> None:
    totals = fit(plan(hospital_schema(), budget), source()).ledger.totals
    assert 0.999 * budget.epsilon <= totals.epsilon <= budget.epsilon
    assert totals.delta <= budget.delta


def test_sizes_come_first_then_domains_then_the_groups_in_order() -> None:
    release = fit(plan(hospital_schema(), BUDGET), source())
    assert [view for view, _ in groupby(charge.view for charge in release.ledger.charges)] == [
        "patients.sizes",
        "stays.sizes",
        "stays.first(begins)",
        "stays.elapsed(begins)",
        "patients.rows",
        "stays.context",
        "stays.rows",
    ]


def test_noise_differs_from_fit_to_fit_and_a_seed_repeats_it() -> None:
    made = plan(hospital_schema(), BUDGET)

    def weights(seed: int | None) -> list[list[float]]:
        arrays = fit(made, source(), unsafe_seed=seed).arrays
        return [table.ravel().tolist() for group in arrays.values() for table in group.values()]

    assert weights(None) != weights(None)
    assert weights(5) == weights(5)


def test_a_seeded_fit_is_not_private_and_an_ordinary_one_is() -> None:
    made = plan(hospital_schema(), BUDGET)
    assert fit(made, source()).status == "PRIVATE"
    seeded = fit(made, source(), unsafe_seed=1)
    assert seeded.status == "NOT PRIVATE"
    assert "NOT PRIVATE" in str(seeded.warning)


def test_a_peeked_schema_is_refused_unread_and_marked_when_forced() -> None:
    peeked = load_schema(HOSPITAL.replace("values: [F, M]", "values: [F, M], peeked: true"))
    made = plan(peeked, BUDGET)
    with pytest.raises(PlanError, match=r"tables\.patients\.columns\.sex"):
        fit(made, Unreadable.of(hospital_rows(3)))
    forced = fit(made, source(), unsafe_peeked=True)
    assert forced.status == "NOT PRIVATE"
    assert any("looking at the data" in reason for reason in forced.ledger.reasons)


def test_what_cannot_be_coded_is_refused_before_anything_is_read() -> None:
    text = HOSPITAL.replace(
        "bins: 5}\n", "bins: 5}\n      old: {type: integer, min: 0, max: 9, by: sex, after: age, within: 9}\n"
    )
    made = plan(load_schema(text), BUDGET)
    with pytest.raises(PlanError, match="not yet fitted") as caught:
        fit(made, Unreadable.of(hospital_rows(3)))
    assert "patients.old" in str(caught.value)


def test_a_table_that_the_source_does_not_have_is_said() -> None:
    rows = hospital_rows(3)
    lacking = MemorySource.of({"patients": rows["patients"]})
    with pytest.raises(SourceError, match="no table 'stays'"):
        fit(plan(hospital_schema(), BUDGET), lacking)


def test_empty_tables_can_be_fitted() -> None:
    release = fit(plan(hospital_schema(), BUDGET), MemorySource.of({"patients": [], "stays": []}))
    assert release.plan.entities >= 1


def test_nothing_stays_behind_in_the_staging_folder(tmp_path: Path) -> None:
    run_fit(plan(hospital_schema(), BUDGET), source(), FitOptions(folder=tmp_path))
    assert not list(tmp_path.iterdir())


def test_dropped_rows_are_told_to_the_person_and_not_to_the_release() -> None:
    rows = hospital_rows(20)
    rows["stays"].append({**rows["stays"][0], "sid": 9999, "pid": 777_777})
    told = []
    release = run_fit(plan(hospital_schema(), BUDGET), MemorySource.of(rows), FitOptions(notes=told.append))
    assert told[0].orphans == {"stays": 1}
    assert told[0].truncated["stays"].max_rows > 0
    assert "777777" not in release.ledger.to_json()


def test_declared_domains_are_those_of_the_plan_whatever_the_data_holds() -> None:
    made = plan(hospital_schema(), BUDGET)
    for patients in (2, 60):
        for settled in fit(made, source(patients)).plan.groups:
            planned = made.group(settled.name)
            for ours, theirs in ((settled.columns, planned.columns), (settled.history, planned.history)):
                assert ours.names == theirs.names
                for name in ours:
                    learned = "(begins)" in name
                    assert ours.size(name) <= theirs.size(name) if learned else ours.size(name) == theirs.size(name)


def test_values_outside_the_domain_are_told_to_the_person_and_not_to_the_release() -> None:
    rows = hospital_rows(20)
    rows["patients"][0]["age"], rows["patients"][1]["sex"] = 250, "diverse"
    told = []
    release = run_fit(plan(hospital_schema(), BUDGET), MemorySource.of(rows), FitOptions(notes=told.append))
    assert (told[0].outside["patients.age"], told[0].outside["patients.sex"]) == (1, 1)
    assert "diverse" not in release.ledger.to_json()
