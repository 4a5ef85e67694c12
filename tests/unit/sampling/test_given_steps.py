"""Whoever waits for given rows to be taken is told every step, and how much of the work it is."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from mare.errors import SourceError
from mare.ports import WorkStep
from mare.sampling import SampleOptions, sample, start
from mare.sampling.given_files import Given
from mare.sampling.given_steps import STEPS
from tests.fitted_hospital import fitted_hospital


def told_by(given: Given) -> list[WorkStep]:
    told: list[WorkStep] = []
    start(fitted_hospital(), SampleOptions(given=given), told.append)
    return told


def test_every_step_of_every_table_is_told_and_together_they_are_all_the_work() -> None:
    made = sample(fitted_hospital(), entities=50, seed=2)
    assert made is not None
    given = {name: made[name] for name in ("patients", "stays")}
    told = told_by(given)
    assert sorted(step.what for step in told) == sorted(f"{step} {table}" for step in STEPS for table in given)
    assert told[0].before == 0
    assert all(after.before == before.before + before.here for before, after in pairwise(told))
    assert {step.total for step in told} == {told[-1].before + told[-1].here}
    assert {step.what: step.here for step in told}["coding patients"] == made["patients"].size


@pytest.mark.parametrize("form", ["csv", "csv.gz", "parquet"])
def test_a_file_is_guessed_by_its_size_until_it_was_read(form: str, tmp_path: Path) -> None:
    made = sample(fitted_hospital(), entities=3000, seed=2)
    assert made is not None
    file, rows = tmp_path / f"patients.{form}", made["patients"]
    rows.to_parquet(file) if form == "parquet" else rows.to_csv(file, index=False)
    reading, *others = told_by({"patients": file})
    assert reading.what == "reading patients"
    assert rows.size / 4 < reading.here < 4 * rows.size
    assert {step.here for step in others} == {rows.size}


def test_what_cannot_be_read_is_told_as_ever(tmp_path: Path) -> None:
    told: list[WorkStep] = []
    for rows, word in ((tmp_path / "none.csv", "there is no file"), (7, "neither a frame nor")):
        with pytest.raises(SourceError, match=word):
            start(fitted_hospital(), SampleOptions(given={"patients": rows}), told.append)  # type: ignore[dict-item]
