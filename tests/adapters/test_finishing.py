"""After the last row, every sink tells what it does and how much of it is left."""

from __future__ import annotations

from pathlib import Path

import pytest

from mare.finding import open_sink
from mare.ports import Finishes, SinkTable, WorkStep
from tests.targets import ALL, DATABASES, LINES, PATIENTS, ROWS, TABLES, WARDS, batch, fill, make_target, read, write

PATIENT_ROWS, LINE_ROWS = len(ROWS["Patients"]), len(ROWS["lines"])


def told_by(location: str, *, twice: bool = False) -> list[WorkStep]:
    told: list[WorkStep] = []
    with open_sink(location) as sink:
        fill(sink)
        if twice:
            sink.write("empty", batch(TABLES[3], [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]))
            sink.write("empty", batch(TABLES[3], [{"a": 3, "b": "z"}]))
        assert isinstance(sink, Finishes)
        sink.tell_finishing(told.append)
        assert told == []
    return told


def rows_of(steps: list[WorkStep]) -> list[int]:
    """What each of the steps goes over: up to where the next begins."""
    return [
        after - step.before for step, after in zip(steps, [*(step.before for step in steps[1:]), steps[-1].total], strict=True)
    ]


@pytest.mark.parametrize("kind", ALL)
def test_the_steps_add_up_to_what_was_announced(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    told = told_by(make_target(kind, request, tmp_path / "place").location)
    assert told[0].before == 0
    assert min(rows_of(told)) >= 0
    assert {step.total for step in told} == {sum(rows_of(told))}
    assert told[-1].total > 0


@pytest.mark.parametrize("kind", DATABASES)
def test_foreign_keys_are_named_with_the_rows_that_they_go_over(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    told = told_by(make_target(kind, request, tmp_path).location)
    keys = [(step.what, rows) for step, rows in zip(told, rows_of(told), strict=True) if "foreign keys" in step.what]
    assert ("the foreign keys of table Patients", PATIENT_ROWS) in keys
    if kind != "duckdb":  # which checks those that lead to earlier rows as they come
        assert ("the foreign keys of table lines", LINE_ROWS) in keys


def test_rows_of_all_batches_count(tmp_path: Path) -> None:
    once, twice = told_by(str(tmp_path / "a.sqlite")), told_by(str(tmp_path / "b.sqlite"), twice=True)
    assert twice[-1].total == once[-1].total + 3


def test_a_target_that_nobody_watches_is_finished_all_the_same(tmp_path: Path) -> None:
    with open_sink(str(tmp_path / "a.sqlite")) as sink:
        sink.create([SinkTable(table) for table in (WARDS, PATIENTS, LINES)])
    assert (tmp_path / "a.sqlite").exists()


class Stopped(BaseException):
    """As Ctrl-C is: no Exception."""


def stopped_at(number: int, location: str) -> bool:
    """Whether there was such a step."""
    told: list[WorkStep] = []

    def stop(step: WorkStep) -> None:
        told.append(step)
        if len(told) > number:
            raise Stopped

    try:
        with open_sink(location, replace=True) as sink:
            fill(sink)
            assert isinstance(sink, Finishes)
            sink.tell_finishing(stop)
    except Stopped:
        return True
    return False


@pytest.mark.parametrize("kind", ALL)
def test_whoever_stops_it_at_any_step_finds_the_target_as_it_was(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    (tmp_path / "place").mkdir()
    target = make_target(kind, request, tmp_path / "place")
    fewer = {**ROWS, "lines": ROWS["lines"][:1]}
    write(target.location, fewer)
    before, files = read(target.location), sorted(tmp_path.rglob("*"))
    steps = 0
    while stopped_at(steps, target.location):
        assert read(target.location) == before
        assert sorted(tmp_path.rglob("*")) == files
        steps += 1
    assert steps > 1
    assert read(target.location) != before
