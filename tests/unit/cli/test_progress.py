"""How far a fit is: told by its steps and the rows it read, with a clock that the test turns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import pytest

from mare.cli.bars import EVERY, FIRST, in_words, say_lines, with_time_left
from mare.cli.progress import CountedSource, CountProgress, FitProgress, StepProgress, seconds_left
from mare.errors import SourceError
from mare.fitting import FitOptions, run_fit
from mare.planning.planning import plan
from mare.ports import WorkStep
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
def progress(clock: Clock) -> FitProgress:
    return FitProgress(plan(hospital_schema(), Budget(2, 1e-9)), clock)


def after_reading(progress: FitProgress, clock: Clock, seconds: float = 2.0, rows: int = 500_000) -> FitProgress:
    progress.tell("reading")
    clock.now += seconds
    progress.rows |= {"patients": rows, "stays": 3 * rows}
    progress.read |= {"patients", "stays"}
    progress.tell("measuring sizes")
    return progress


def test_the_steps_are_those_that_a_fit_tells() -> None:
    made, told = plan(hospital_schema(), Budget(2, 1e-9)), list[str]()
    run_fit(made, MemorySource.of(hospital_rows(8)), FitOptions(bits=SeededBits(1), tell=told.append))
    assert FitProgress(made, Clock()).steps == told


def test_nothing_is_guessed_before_a_table_was_read(progress: FitProgress) -> None:
    assert (progress.fraction(), progress.left()) == (None, None)
    progress.tell("reading")
    progress.rows["patients"] = 10_000
    assert (progress.fraction(), progress.left()) == (None, None)
    assert progress.doing == "reading patients, 10,000 rows"


def test_it_goes_forward_and_ends_at_the_end(progress: FitProgress, clock: Clock) -> None:
    after_reading(progress, clock)
    seen = [progress.fraction()]
    for step in progress.steps[2:]:
        progress.tell(step)
        for _ in range(5):
            clock.now += 0.3
            seen.append(progress.fraction())
    clock.now += 100
    seen.append(progress.fraction())
    known = [part for part in seen if part is not None]
    assert len(known) == len(seen)
    assert known == sorted(known)
    assert known[0] < 0.6
    assert 0.9 < known[-1] < 1


def test_a_step_that_takes_longer_than_expected_waits_just_before_its_end(progress: FitProgress, clock: Clock) -> None:
    after_reading(progress, clock)
    progress.tell("learning domains")
    clock.now += 1000
    long = progress.fraction()
    clock.now += 1000
    assert long is not None
    assert progress.fraction() == pytest.approx(long, rel=1e-3)
    assert long < 1
    left = progress.left()
    assert left is not None
    assert left > 100  # so slow a machine will take its time for the rest too


def test_the_time_left_follows_the_pace_of_the_machine(clock: Clock) -> None:
    lefts = []
    for seconds in (40.0, 4.0):
        progress = FitProgress(plan(hospital_schema(), Budget(2, 1e-9)), clock)
        after_reading(progress, clock).tell("learning domains")
        clock.now += seconds
        progress.tell("encoding patients")
        lefts.append(progress.left() or 0.0)
    slow, fast = lefts
    assert 5 * fast < slow < 10 * fast  # what was measured elsewhere counts a little too


def test_a_slow_source_says_nothing_about_the_models(clock: Clock) -> None:
    made = plan(hospital_schema(), Budget(2, 1e-9))
    slow = after_reading(FitProgress(made, clock), clock, seconds=400).left()
    fast = after_reading(FitProgress(made, clock), clock, seconds=4).left()
    assert slow == fast is not None


def test_a_source_that_tells_its_sizes_has_a_time_left_from_the_start(progress: FitProgress, clock: Clock) -> None:
    progress.tell("reading")
    progress.expect("patients", {"patients": 500_000, "stays": 1_500_000}.get)
    clock.now += 1
    assert progress.left() is None  # before the first row it would be a guess, which two seconds are worth
    clock.now += 1
    assert progress.left() is not None
    lefts = []
    for rows in range(100_000, 600_000, 100_000):
        clock.now += 1
        progress.rows["patients"] = rows
        lefts.append(progress.left() or 0.0)
    assert lefts == sorted(lefts, reverse=True)
    # A second for 100,000 patients of 500,000: the stays have twice the columns and three times the rows.
    assert 5 < lefts[-1] < 50


def test_a_table_whose_size_is_not_told_is_expected_beside_those_that_are(progress: FitProgress, clock: Clock) -> None:
    progress.tell("reading")
    progress.expect("patients", {"patients": 500_000}.get)
    clock.now += 2
    few = progress.left()
    progress.about["patients"] = 5_000_000
    many = progress.left()
    assert few is not None
    assert many is not None
    assert many > 5 * few


def test_sizes_are_asked_when_the_first_table_that_is_fitted_is_read(progress: FitProgress) -> None:
    asked: list[str] = []

    def about(table: str) -> int | None:
        asked.append(table)
        return None

    progress.expect("drugs", about)  # public: read before the budget is taken
    assert asked == []
    for table in ("patients", "stays"):
        progress.expect(table, about)
        progress.rows[table] = 0
    assert asked == ["patients", "stays"]
    assert progress.about == {}


def test_a_public_table_alone_tells_nothing(progress: FitProgress, clock: Clock) -> None:
    progress.tell("reading")
    progress.rows["drugs"] = 1000
    progress.read.add("drugs")
    clock.now += 5
    assert (progress.fraction(), progress.left()) == (None, None)


def test_where_it_is_told_without_a_number_from_the_data(progress: FitProgress, clock: Clock) -> None:
    places = [progress.place]
    after_reading(progress, clock, rows=123_456)
    places.append(progress.place)
    progress.tell("reading")
    places.append(progress.place)
    assert places == ["starting", "measuring sizes (step 2 of 8)", "reading (step 1 of 8)"]


def test_what_is_not_a_step_breaks_nothing(progress: FitProgress) -> None:
    progress.tell("polishing")
    assert (progress.place, progress.fraction(), progress.left()) == ("polishing", None, None)


def test_rows_are_counted_as_they_are_read(progress: FitProgress) -> None:
    import pandas as pd

    source = CountedSource({"t": pd.DataFrame({"a": range(7)})}, progress)
    with source as opened:
        assert opened.reflect().tables[0].name == "t"
        assert opened.label
        batches = opened.read("t", ["a"])
        next(batches)
        assert progress.rows["t"] > 0
        assert "t" not in progress.read
        list(batches)
    assert progress.rows == {"t": 7}
    assert progress.read == {"t"}


def test_a_count_knows_nothing_before_the_first_and_then_goes_on_at_its_pace(clock: Clock) -> None:
    counted = CountProgress("sampling", clock)
    assert (counted.doing, counted.fraction(), counted.left()) == ("sampling", None, None)
    clock.now += 10
    counted.tell(1000, 4000)
    assert (counted.doing, counted.fraction(), counted.left()) == ("sampling (1,000 of 4,000)", 0.25, 30)
    clock.now += 5
    assert (counted.fraction(), counted.left()) == (0.375, 25)
    clock.now += 100  # the second thousand takes longer: it is not called done
    assert counted.fraction() == pytest.approx((1000 + 970) / 4000)
    counted.tell(4000, 4000)
    assert (counted.fraction(), counted.left()) == (1.0, 0)


def test_those_in_the_making_count_in_parts_and_what_came_before_does_not(clock: Clock) -> None:
    counted = CountProgress("sampling", clock)
    clock.now += 60  # a release is loaded
    counted.tell(0, 10)
    clock.now += 0.1
    counted.tell(0.2, 10)
    assert counted.doing == "sampling (0 of 10)"
    assert counted.left() is None  # a tenth of a second says little about the rest
    clock.now += 0.9
    counted.tell(0.3, 10)
    assert counted.left() == pytest.approx(9.7 / 0.3)
    clock.now += 4
    counted.tell(2.5, 10)
    assert (counted.doing, counted.left()) == ("sampling (2 of 10)", pytest.approx(15))


def test_a_target_that_does_not_tell_has_no_time_left(clock: Clock) -> None:
    finishing = StepProgress("finishing x", 0.5e-6, clock)
    clock.now += 5
    assert (finishing.doing, finishing.fraction(), finishing.left()) == ("finishing x", None, None)
    finishing.tell(WorkStep("the folder", 0, 0, 0))
    assert (finishing.doing, finishing.fraction(), finishing.left()) == ("finishing x: the folder", None, None)


def test_a_target_that_tells_has_one_from_its_first_step_and_it_goes_down(clock: Clock) -> None:
    """A million rows a second here, through four steps of ten million rows."""
    finishing = StepProgress("finishing x", 0.5e-6, clock)
    rows, lefts, parts = 10_000_000, list[float](), list[float]()
    for number in range(4):
        finishing.tell(WorkStep(f"step {number}", number * rows, rows, 4 * rows))
        for _ in range(10):
            lefts.append(finishing.left() or 0.0)
            parts.append(finishing.fraction() or 0.0)
            clock.now += 1
    assert lefts[0] == pytest.approx(20)  # by what was measured elsewhere: twice as fast
    assert 25 < lefts[10] < 35  # from what the first step has taken
    later = lefts[10:]
    assert all(after < before + 1.5 for before, after in pairwise(later))
    assert later[-1] < 3
    assert parts == sorted(parts)


def test_what_takes_longer_than_expected_never_has_nothing_left() -> None:
    lefts = [seconds_left((0.0, 0.0), (seconds, 1.0), 2.0) for seconds in (0.0, 0.5, 0.9, 5.0, 50.0)]
    assert lefts[:3] == pytest.approx([3.0, 2.5, 2.1])
    assert lefts[2] < lefts[3] < lefts[4]


def test_a_line_about_a_count_tells_the_time_left_as_soon_as_it_is_known(clock: Clock) -> None:
    counted = CountProgress("sampling", clock)
    assert with_time_left(counted) == "sampling"
    clock.now += 10
    counted.tell(1000, 4000)
    assert with_time_left(counted) == "sampling (1,000 of 4,000), about 30 s left"


def test_a_count_of_nothing_is_no_division_by_zero(clock: Clock) -> None:
    counted = CountProgress("sampling", clock)
    counted.tell(0, 0)
    assert (counted.fraction(), counted.left()) == (None, None)


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
def test_time_left_in_words(seconds: float, words: str) -> None:
    assert in_words(seconds) == words


@pytest.mark.parametrize("refusal", [SourceError("the catalogue is gone"), ValueError("a source of somebody else's")])
def test_a_source_that_cannot_tell_its_size_is_read_all_the_same(
    refusal: Exception, progress: FitProgress, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pandas as pd

    from mare_adapters.sources.frames import FramesSource

    asked = []

    def lost(self: FramesSource, table: str) -> int | None:
        asked.append(table)
        raise refusal

    monkeypatch.setattr(FramesSource, "about", lost)
    with CountedSource({"patients": pd.DataFrame({"pid": range(7)})}, progress) as source:
        assert sum(batch.num_rows for batch in source.read("patients", ["pid"])) == 7
    assert asked
    assert progress.about == {}
