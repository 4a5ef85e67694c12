"""Whoever waits for a sample is told how far it is: within a chunk, in the pass before, while a condition is sought."""

from __future__ import annotations

import threading
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from mare.cli.progress import CountProgress
from mare.fitting import FitOptions, run_fit
from mare.planning.planning import plan
from mare.ports import SinkTable
from mare.privacy.bits import SeededBits
from mare.privacy.budget import Budget
from mare.release import Release
from mare.sampling import SampleOptions, pour, start
from mare.sampling.chunking import STEP
from mare.sampling.meter import ChunkWork, GroupWork, Meter, expected_work
from mare.schema.loading import load_schema
from tests.datasets import dataset
from tests.fitted_hospital import fitted_hospital

Told = list[tuple[float, int]]

MANY_STEPS = """
mare: 1
entity: people
tables:
  people:
    key: pid
    columns: {sex: {type: category, values: [F, M]}}
  stays:
    key: sid
    parent: {table: people, column: pid, type: sequential, order_by: n, max_rows: 12}
    columns: {n: {type: position}, ward: {type: category, values: [a, b, c]}}
  labs:
    parent: {table: stays, column: sid, type: sequential, order_by: n, max_rows: 12}
    columns: {n: {type: position}, kind: {type: category, values: [a, b, c]}}
"""
MET_AT_A_VISIT = """
mare: 1
entity: people
model: independent
tables:
  people:
    key: pid
    columns: {sex: {type: category, values: [F, M]}}
  visits:
    key: vid
    parent: {table: people, column: pid, max_rows: 3}
    references: {met: {kind: other_entity, table: visits, fill: random, nullable: true}}
    columns: {kind: {type: category, values: [a, b]}}
"""


def fitted(text: str) -> Release:
    schema = load_schema(text)
    return run_fit(plan(schema, Budget(200.0, 1e-6)), dataset(schema, 1, 60), FitOptions(bits=SeededBits(1)))


class Nowhere:
    """A sink that keeps nothing, and notes how much was told by the time that rows came."""

    label, notes = "nowhere", ()

    def __init__(self, told: Told) -> None:
        self.told, self.at = told, list[float]()

    def create(self, tables: list[SinkTable], release: str = "") -> None: ...

    def write(self, table: str, batch: pa.RecordBatch) -> None:
        self.at.append(self.told[-1][0])


def told_by(release: Release, options: SampleOptions) -> tuple[Told, Nowhere]:
    told: Told = []
    sink = Nowhere(told)
    pour(start(release, options), sink, lambda done, total: told.append((done, total)))  # type: ignore[arg-type]
    return told, sink


@pytest.mark.parametrize("threads", [1, 2])
def test_few_entities_with_many_steps_are_told_step_by_step_though_they_are_one_chunk(threads: int) -> None:
    told, sink = told_by(fitted(MANY_STEPS), SampleOptions(40, 5, threads=threads))
    assert sink.at == sorted(sink.at)
    assert {total for _, total in told} == {40}
    assert (told[0][0], told[-1][0]) == (0, 40)
    assert all(before <= after for (before, _), (after, _) in pairwise(told))
    assert sink.at[0] > 20  # most of the work is done before a row comes out
    assert sink.at[0] < sink.at[2] < 40  # and writing counts too, though a few rows are not worth a word
    if threads == 1:  # otherwise the waiting thread looks now and then
        assert len([done for done, _ in told if done < sink.at[0]]) > 12


def test_the_steps_of_a_chunk_add_up_to_what_was_announced_when_its_rows_were_placed() -> None:
    release = fitted(MANY_STEPS)
    sampling = start(release, SampleOptions(40, 5, threads=1))
    meter = Meter(40, sampling.work)
    work = meter.begin(40)
    expected = dict(work.expected)
    chunk = sampling.job.generate(np.arange(40), work)
    groups = {settled.name: settled for settled in release.plan.groups}
    assert {name: work.done[name] for name in groups} == {name: work.expected[name] for name in groups}
    placed = chunk.placed.tables["labs"]
    rows = groups["labs.rows"]
    assert work.expected["labs.rows"] == len(rows.columns.names) * (placed.rows + STEP * (placed.position.max() + 1))
    assert work.expected["labs.rows"] != expected["labs.rows"]  # which was reckoned from noisy sizes
    sampling.job.write(chunk, {}, work)
    assert work.share < 1
    work.wrote(10**9)
    assert work.share == 1


def test_what_is_expected_hangs_on_the_release_alone() -> None:
    release = fitted(MANY_STEPS)
    sampling = start(release, SampleOptions(40, 5))
    assert expected_work(release, sampling.job.generator) == start(release, SampleOptions(9, 6)).work
    by_name = {work.name: work for work in sampling.work}
    assert by_name["labs.rows"].rows > by_name["stays.rows"].rows > 0
    assert by_name["labs.rows"].steps > 1
    assert by_name["people.rows"].steps == by_name["stays.context"].steps == 1


@pytest.mark.parametrize("threads", [1, 2])
def test_who_there_is_is_told_too_when_everything_is_made_twice(threads: int) -> None:
    told, sink = told_by(fitted(MET_AT_A_VISIT), SampleOptions(60, 5, threads=threads, chunk=20))
    before = [done for done, _ in told if done <= 30]
    assert {10, 20, 30} <= set(before)  # a chunk of 20 in the first half is worth ten
    assert sink.at[0] >= 30
    assert told[-1] == (60, 60)


@pytest.mark.parametrize("threads", [1, 2])
def test_entities_that_are_sought_count_before_one_is_made(threads: int) -> None:
    told, _ = told_by(fitted_hospital(), SampleOptions(1000, 5, where="sex = 'F'", threads=threads))
    assert 0 < told[1][0] < 1000
    assert told[-1] == (1000, 1000)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_nothing_found_yet_is_measured_by_what_may_be_tried() -> None:
    meter = Meter(10, (GroupWork("people.rows", "people", 2, 1.0, 1.0),))
    meter.sought("people", 0, 50_000, 200_000)
    early = meter.worth
    meter.sought("people", 0, 100_000, 200_000)
    assert 0 < early < meter.worth < 10


def test_only_the_chunk_that_comes_next_counts_in_parts() -> None:
    told: Told = []
    meter = Meter(30, (GroupWork("people.rows", "people", 2, 1.0, 1.0),), lambda done, total: told.append((done, total)))
    first, second = meter.begin(10, tells=False), meter.begin(20, tells=False)
    second.finished(("people.rows",))
    meter.tell()
    assert told == []
    first.finished(("people.rows",))
    meter.tell()
    assert 0 < told[-1][0] < 10
    meter.end()
    assert 10 < told[-1][0] < 30
    meter.end()
    assert told[-1] == (30, 30)


def test_what_is_drawn_again_does_not_count_and_what_was_not_expected_neither() -> None:
    release = fitted(MANY_STEPS)
    settled = release.plan.groups[0]
    work = ChunkWork(1, {settled.name: 1.0})
    for _ in range(3):
        work.drew(settled, 1000)
    work.finished(["somebody else"])
    assert work.done == {settled.name: 1.0}
    assert ChunkWork().share == 0


def test_an_empty_sample_is_no_division_by_zero() -> None:
    told, _ = told_by(fitted(MANY_STEPS), SampleOptions(0, 5))
    assert set(told) == {(0, 0)}


def test_only_the_thread_that_asked_is_told() -> None:
    tellers: set[int] = set()
    sampling = start(fitted(MANY_STEPS), SampleOptions(40, 5, threads=3, chunk=5))
    for _ in sampling.batches(lambda done, total: tellers.add(threading.get_ident())):
        pass
    assert tellers == {threading.get_ident()}


def test_the_time_left_of_one_chunk_is_known_soon_and_goes_down() -> None:
    """Every telling is a second here."""
    now = 100.0
    counted = CountProgress("sampling", lambda: now)
    lefts: list[float | None] = []

    def tell(done: float, total: int) -> None:
        nonlocal now
        now += 1
        counted.tell(done, total)
        lefts.append(counted.left())

    pour(start(fitted(MANY_STEPS), SampleOptions(40, 5, threads=1)), Nowhere([(0, 0)]), tell)  # type: ignore[arg-type]
    assert lefts[0] is None  # nothing is done yet
    known = [left for left in lefts[1:] if left is not None]
    assert len(known) == len(lefts) - 1
    assert known[len(known) // 2] < known[0]
    assert known[-1] == 0
