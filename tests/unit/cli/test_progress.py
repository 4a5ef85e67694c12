"""How far a verb is: what is done, how many of how many, and the time left from the rate, with a clock that the test turns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd
import pytest

from mare.cli.progress import EVERY, FIRST, CountedSource, FitProgress, Progress, in_words, say_lines
from mare.errors import SourceError
from mare.finding import open_source
from mare.fitting import FitOptions, run_fit
from mare.planning.planning import plan
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from tests.memory_source import MemorySource, hospital_rows, hospital_schema


@dataclass
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def fit(clock: Clock) -> FitProgress:
    return FitProgress(plan(hospital_schema(), Budget(2, 1e-9)), Progress("starting", clock))


def test_the_time_left_comes_from_the_rate_so_far(clock: Clock) -> None:
    progress = Progress("sampling", clock)
    assert (progress.what, progress.fraction(), progress.left()) == ("sampling", None, None)
    clock.now += 60  # a release is loaded: says nothing about the rest
    progress.show("sampling", 0, 4000)
    assert (progress.fraction(), progress.left()) == (0.0, None)
    clock.now += 10
    progress.show("sampling", 1000, 4000)
    assert (progress.fraction(), progress.left(), progress.spent()) == (0.25, 30, 10)
    assert progress.line == "sampling, about 30 s left"
    clock.now += 5
    assert progress.left() == 25
    clock.now += 25  # the rate was not kept: nobody knows
    assert (progress.left(), progress.line) == (None, "sampling")
    progress.show("sampling", 4000, 4000)
    assert (progress.fraction(), progress.left()) == (1.0, None)


def test_a_count_of_nothing_is_no_division_by_zero(clock: Clock) -> None:
    progress = Progress("sampling", clock)
    progress.show("sampling", 0, 0)
    assert (progress.fraction(), progress.left()) == (None, None)


def test_the_steps_are_those_that_a_fit_tells() -> None:
    made, told = plan(hospital_schema(), Budget(2, 1e-9)), list[str]()
    run_fit(made, MemorySource.of(hospital_rows(8)), FitOptions(bits=SeededBits(1), tell=told.append))
    assert FitProgress(made).steps == told


def test_the_steps_of_a_kind_are_counted(fit: FitProgress, clock: Clock) -> None:
    shown = []
    for step in fit.steps:
        fit.tell(step)
        shown.append((fit.shown.what, fit.shown.fraction()))
        clock.now += 1
    assert shown == [
        ("reading", None),
        ("measuring sizes", None),
        ("learning domains", None),
        ("encoding patients (1 of 2)", 0),
        ("encoding stays (2 of 2)", 1 / 2),
        ("fitting patients.rows (1 of 3)", 0),
        ("fitting stays.context (2 of 3)", 1 / 3),
        ("fitting stays.rows (3 of 3)", 2 / 3),
    ]


def test_a_pipe_is_told_where_a_fit_is_without_a_number_from_the_data(fit: FitProgress, clock: Clock) -> None:
    lines = [fit.line]
    fit.tell("reading")
    fit.reading("patients", 123_456, 500_000)
    clock.now += 1
    lines.append(fit.line)
    fit.tell("measuring sizes")
    lines.append(fit.line)
    assert lines == ["starting", "reading (step 1 of 8)", "measuring sizes (step 2 of 8)"]


def test_what_is_not_a_step_breaks_nothing(fit: FitProgress) -> None:
    fit.tell("polishing")
    assert (fit.line, fit.shown.what, fit.shown.fraction()) == ("polishing", "polishing", None)


def test_a_terminal_is_told_how_many_rows_were_read(fit: FitProgress, clock: Clock) -> None:
    fit.tell("reading")
    fit.reading("patients", 0, 500_000)
    clock.now += 1
    fit.reading("patients", 100_000, 500_000)
    assert (fit.shown.what, fit.shown.left()) == ("reading patients, 100,000 rows", 4)
    fit.reading("stays", 0, None)  # a table whose size the source does not tell
    fit.reading("stays", 7, None)
    assert (fit.shown.what, fit.shown.fraction(), fit.shown.left()) == ("reading stays, 7 rows", None, None)


def test_rows_are_counted_as_they_are_read(fit: FitProgress, clock: Clock) -> None:
    with open_source({"t": pd.DataFrame({"a": range(7)})}) as source, CountedSource(source, fit) as opened:
        assert opened.reflect().tables[0].name == "t"
        assert opened.label
        batches = opened.read("t", ["a"])
        clock.now += 1
        next(batches)
        assert (fit.shown.what, fit.shown.total) == ("reading t, 7 rows", 7)
        assert list(batches) == []


@pytest.mark.parametrize("refusal", [SourceError("the catalogue is gone"), ValueError("a source of somebody else's")])
def test_a_source_that_cannot_tell_its_size_is_read_all_the_same(
    refusal: Exception, fit: FitProgress, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mare_adapters.sources.frames import FramesSource

    asked = []

    def lost(self: FramesSource, table: str) -> int | None:
        asked.append(table)
        raise refusal

    monkeypatch.setattr(FramesSource, "about", lost)
    with open_source({"patients": pd.DataFrame({"pid": range(7)})}) as held, CountedSource(held, fit) as source:
        assert sum(batch.num_rows for batch in source.read("patients", ["pid"])) == 7
    assert asked == ["patients"]
    assert fit.shown.total is None


def test_lines_come_after_a_while_and_when_there_is_something_new() -> None:
    states: Iterator[str] = iter(["reading", "reading", "fitting", "fitting", "fitting"])
    waited: list[float] = []
    said: list[str] = []

    def stopped(seconds: float) -> bool:
        waited.append(seconds)
        return len(waited) > 5

    say_lines(lambda: next(states), said.append, stopped)
    assert said == ["reading", "fitting"]
    assert waited == [FIRST, *[EVERY] * 5]


def test_what_is_over_before_says_nothing() -> None:
    said: list[str] = []
    say_lines(lambda: "reading", said.append, lambda seconds: True)
    assert said == []


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "1 s"), (59.4, "59 s"), (61, "1 min"), (3540, "59 min"), (3600, "1 h 00 min"), (7500, "2 h 05 min")],
)
def test_time_in_words(seconds: float, words: str) -> None:
    assert in_words(seconds) == words
