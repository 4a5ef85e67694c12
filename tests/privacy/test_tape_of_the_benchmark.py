"""The tape audit of the whole fit, end to end, on exactly the configuration that the benchmark is run with.

That each planted bug turns it red is shown in test_planted_bugs.py.
"""

from __future__ import annotations

import pytest

from mare.audit import tape_audit
from mare.audit.tape import artefacts, differing
from mare.fitting import FitOptions, run_fit
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.privacy.tape import Recorder, Replayer
from mare.schema.schema import ModelChoice
from tests.privacy.benchmark import BUDGET, STUFFED, Copies, benchmark_plan, patients, source, with_stuffed


def test_the_configuration_is_the_benchmarks() -> None:
    """No model is named anywhere: whatever the default is, it is what is audited."""
    made = benchmark_plan()
    assert {group.model for group in made.groups} == {"privbayes"}
    assert (made.budget.epsilon, made.budget.delta) == (2, 1e-9)
    assert made.schema.model is None
    assert not any(table.model for table in made.schema.tables.values())


def test_no_patient_shows_through_the_fit() -> None:
    """The heaviest, the rarest, the most extreme, one at random; and one beyond every cap, with values of no domain."""
    data = with_stuffed(patients(60))
    report = tape_audit(benchmark_plan(), source(data), random=1)
    assert report.passed, report.render()
    why = " and ".join(entity.why for entity in report.entities)
    assert "the heaviest" in why
    assert "rare values" in why
    assert "at random" in why
    assert report.tightest == 1


def test_no_patient_who_comes_shows_either() -> None:
    """Recorded without, replayed with: the answers that are fed back are those of data that the patient was not in."""
    data, made = patients(40, seed=5), benchmark_plan()
    recorder = Recorder()
    before = run_fit(made, source(data), FitOptions(bits=SeededBits(1), tape=recorder))
    replayer = Replayer(recorder.record)
    now = run_fit(made, source(with_stuffed(data)), FitOptions(bits=SeededBits(2), tape=replayer))
    replayer.finish()
    assert not differing(artefacts(before), artefacts(now))


OTHER_WAYS: dict[str, tuple[dict[str, object], Budget]] = {
    "noisy scores": ({"search": "noisy_scores"}, BUDGET),
    "carried whatever the rate, all of earlier rows": ({"carry": 0.0, "looks_back": "all"}, BUDGET),
    "caps instead of clips, levels everywhere": ({"clip_portion": 0, "coarsen_above": 1, "carry": 1.0}, BUDGET),
    "pure epsilon": ({}, Budget(2, 0)),
    "pure epsilon, noisy scores": ({"search": "noisy_scores", "replacement": False}, Budget(2, 0)),
}


@pytest.mark.slow
@pytest.mark.parametrize("way", OTHER_WAYS)
def test_no_patient_shows_with_other_options_of_the_model_either(way: str) -> None:
    options, budget = OTHER_WAYS[way]
    schema = benchmark_plan().schema
    chosen = schema.model_copy(update={"model": ModelChoice.model_validate({"name": "privbayes", "options": options})})
    made = plan(chosen, budget)
    assert all(group.options[name] == value for group in made.groups for name, value in options.items())
    data = source(with_stuffed(patients(25), admissions=42, transfers=6))
    report = tape_audit(made, data, entities=[STUFFED], recorder=Copies(times=10_000))
    assert report.passed, report.render()


@pytest.mark.slow  # in `make test`: the checks of many copies, in test_planted_bugs
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_patient_shows_on_the_way_that_large_data_takes(seed: int) -> None:
    """As 300,000 patients would answer: three parents, twenty bins, the finest histograms; and whatever network is chosen."""
    recorder = Copies(times=10_000, seed=seed)
    report = tape_audit(benchmark_plan(), source(with_stuffed(patients(30, seed))), entities=[STUFFED], recorder=recorder)
    assert report.passed, report.render()
    entries = recorder.record.entries
    (entities,) = next(entry.released for entry in entries if entry.query.what == "number of entities")
    assert int(entities.ravel()[0]) > 250_000
    assert max(len(marginal.axes) for entry in entries for marginal in entry.query.marginals) >= 4
    assert any(entry.query.view == "transfers.rows, first rows" for entry in entries)
    assert max(table.size for entry in entries if entry.query.view == "patients.birth_year" for table in entry.released) > 200
